//! Class files are translated or refused, never a panic; what is translated can be simplified,
//! printed and run.
#![no_main]

use std::collections::BTreeSet;

use droste_java::{Options, load_bytes};
use droste_pointer::interpret::{Heap, Interpreter, Value};
use droste_pointer::{Liveness, simplify};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let options = Options { class: "T".to_string(), method: "m".to_string() };
    let files = vec![("T.class".to_string(), data.to_vec())];
    match load_bytes(files, &options) {
        Ok((mut program, warnings)) => {
            assert!(warnings.iter().all(|warning| !warning.to_string().is_empty()));
            assert!(!program.to_string().is_empty());
            let before = program.clone();
            simplify(&mut program, &BTreeSet::from(["x".to_string()]));
            assert!(!program.to_string().is_empty());
            for (method, before) in program.methods.iter().zip(&before.methods) {
                assert_eq!(method.code.len(), method.lines.len());
                assert!(method.code.len() <= before.code.len());
                let _ = Liveness::new(method);
            }
            let mut heap = Heap::default();
            let object = heap.allocate(&program, program.method(program.entry).class);
            let parameters = vec![Value::Object(object); 4];
            let mut run = Interpreter::new(&program, heap, Value::Object(object), parameters);
            let mut way = 0;
            run.run(1000, |count| { way += 1; way % count }, |_| ());
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
});
