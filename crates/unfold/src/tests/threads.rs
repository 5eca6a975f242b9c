//! States of threads: packed and read back, cut in two and put together, for every width.

use droste_program::liveness::AllLive;
use droste_program::valued::{Control, Valued};
use droste_program::{NodeId, Value, Variable};
use droste_testkit::random::{Random, seeds};

use super::program;
use crate::{Machine, ThreadControl, Threading, Words};

fn some(variables: &[Variable], random: &mut Random) -> Vec<Option<Value>> {
    let mut value = |variable: &Variable| {
        let count = variable.ty.hi() - variable.ty.lo() + 1;
        let offset = Value::from(random.bits() >> 1) % count;
        random.percent(70).then_some(variable.ty.lo() + offset)
    };
    variables.iter().map(&mut value).collect()
}

fn check<W: Words + std::fmt::Debug>(seed: u64) {
    let program = program(seed);
    let machine = Machine::new(&program, &AllLive, true);
    if W::zeroed(machine.words()).words().len() < machine.words() {
        return;
    }
    let mut random = Random::new(seed);
    let globals = 0..program.globals.len() as u32;
    let shared: Vec<u32> = globals.filter(|_| random.percent(50)).collect();
    let threading = Threading::<W>::new(&machine, &shared);
    for node in (0..program.nodes.len() as u32).map(NodeId) {
        let procedure = program.procedure(program.node(node).procedure);
        let valued = Valued {
            control: Control::At(node),
            globals: some(&program.globals, &mut random),
            locals: some(&procedure.locals, &mut random),
        };
        let state: W = machine.pack(&valued);
        assert_eq!(threading.control(&state), ThreadControl::At(node));
        assert_eq!(threading.globals(&state), valued.globals, "SEED={seed}");
        assert_eq!(threading.locals(&state), valued.locals, "SEED={seed}");
        // Cut in two and put together.
        let (rest, seen) = (threading.rest(&state), threading.shared(&state));
        assert_eq!(threading.join(&rest, &seen), state);
        let known = |i: usize| shared.contains(&(i as u32));
        for (i, value) in valued.globals.iter().enumerate() {
            let (ours, others) = (threading.globals(&rest)[i], threading.globals(&seen)[i]);
            assert_eq!(
                (ours, others),
                if known(i) {
                    (None, *value)
                } else {
                    (*value, None)
                }
            );
        }
        assert_eq!(threading.rest(&rest), rest);
        assert_eq!(threading.shared(&seen), seen);
        // Another node of the procedure, and the same values.
        let moved = threading.move_to(&state, procedure.entry);
        assert_eq!(
            threading.control(&moved),
            ThreadControl::At(procedure.entry)
        );
        assert_eq!(threading.locals(&moved), valued.locals);
        // What is open is found and filled, one after the other.
        let mut filled = state.clone();
        while let Some((slot, top)) = threading.open_global(&filled) {
            assert_eq!(threading.globals(&filled)[slot as usize], None);
            threading.set_global(&mut filled, slot, top);
            let ty = program.globals[slot as usize].ty;
            assert_eq!(threading.globals(&filled)[slot as usize], Some(ty.hi()));
        }
        let mut after = threading.globals(&filled).into_iter().enumerate();
        assert!(after.all(|(i, value)| value.is_some() || !known(i)));
        let open = threading.open_local(&state).is_some();
        assert_eq!(open, valued.locals.contains(&None));
    }
    let entry = threading.enter(program.main);
    assert!(threading.globals(&entry).iter().all(Option::is_none));
    assert!(threading.locals(&entry).iter().all(Option::is_none));
}

#[test]
fn packed_values_are_read_back_in_every_width() {
    for seed in seeds(0, 100) {
        check::<[u64; 1]>(seed);
        check::<[u64; 2]>(seed);
        check::<[u64; 4]>(seed);
        check::<[u64; 8]>(seed);
        check::<Box<[u64]>>(seed);
    }
}
