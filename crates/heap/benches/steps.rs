//! How many steps of a heap program a second are possible: a selector is materialised, a variable
//! moves along it, garbage is collected, the heap is abstracted, and its code is computed.
//!
//! `cargo bench -p droste-heap` prints one line for each grammar: its name, the number of nodes
//! of the heaps, the states, the steps, and the steps for each second of processor time.

use std::collections::HashSet;
use std::time::Instant;

use droste_heap::{
    AbstractionOptions, Code, Grammar, Heap, Predefined, Selector, Symbols, TypeId, Variable,
    predefined, read_symbolic_heap,
};

/// Seconds of processor time so far, where the system tells; otherwise of the clock.
fn seconds(begin: Instant) -> f64 {
    let known = std::fs::read_to_string("/proc/self/schedstat").ok();
    let first = known.and_then(|text| text.split(' ').next()?.parse::<f64>().ok());
    first.map_or(begin.elapsed().as_secs_f64(), |nanoseconds| {
        nanoseconds * 1e-9
    })
}

/// A heap in which four variables are spread over a structure; they move at random.
fn run(name: &str, which: Predefined, start: &str, garbage: bool) {
    let mut symbols = Symbols::new();
    let fragments = predefined(&mut symbols, which);
    let grammar = Grammar::new(&symbols, fragments);
    let heap = read_symbolic_heap(&mut symbols, start).expect("the heap is well formed");
    let variables: Vec<Variable> = ["a", "b", "c", "d"].map(|n| symbols.add_variable(n)).into();
    let selectors: Vec<Selector> = symbols.selectors().collect();
    let options = AbstractionOptions::ADMISSIBLE;
    let mut known: HashSet<Code> = HashSet::new();
    let mut todo = vec![heap.code()];
    let (mut steps, mut nodes) = (0_u64, 0);
    let begin = Instant::now();
    let before = seconds(begin);
    while let Some(code) = todo.pop() {
        if steps > 300_000 {
            break;
        }
        if !known.insert(code.clone()) {
            continue;
        }
        let heap = Heap::from_code(&code);
        for &from in &variables {
            let Some(node) = heap.variable(from) else {
                continue;
            };
            if heap.node_type(node) == TypeId::NULL {
                continue;
            }
            for &selector in &selectors {
                for mut next in grammar.reveal(&heap, node, selector).into_iter().flatten() {
                    let Some(target) = next.target(node, selector) else {
                        continue;
                    };
                    for &to in &variables {
                        let mut moved = next.clone();
                        moved.set_variable(to, target);
                        if garbage {
                            grammar.collect_garbage(&mut moved);
                        }
                        grammar.abstract_heap(&mut moved, &options);
                        steps += 1;
                        nodes += moved.node_count();
                        todo.push(moved.code());
                    }
                    next.compact();
                }
            }
        }
    }
    let seconds = seconds(begin) - before;
    let size = nodes as f64 / steps as f64;
    let states = known.len();
    println!(
        "{name}\t{size:.1}\t{states}\t{steps}\t{:.0}",
        steps as f64 / seconds
    );
}

fn main() {
    println!("grammar\tnodes\tstates\tsteps\tsteps/s");
    let list = "H(a{ListNode}, b{ListNode}, c{ListNode}, d{ListNode})
        <= RefSLList(a, b) * RefSLList(b, c) * RefSLList(c, d) * RefSLList(d, null)";
    run("SLList", Predefined::SinglyLinkedList, list, false);
    let double = "H(a{DLListNode}, b{DLListNode}, c{DLListNode}, d{DLListNode})
        <= RefDLList(null, a, b, c) * RefDLList(b, c, d, null)";
    run("DLList", Predefined::DoublyLinkedList, double, false);
    let tree = "H(a{BTNode}, b{BTNode}, c{BTNode}, d{BTNode})
        <= RefTP(a, b, null) * RefTP(b, c, null) * RefTP(c, d, null) * RefBT(d, null)";
    run("BT", Predefined::BinaryTree, tree, false);
    run("BT, collected", Predefined::BinaryTree, tree, true);
}
