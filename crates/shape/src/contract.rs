//! Contracts: what a method makes of a heap. They are saved, loaded, checked and used.
//!
//! A contract is a heap in which a method is entered, with those in which it may be left (Heinen, Jansen,
//! Katoen, Noll: procedure contracts; the format is ATTESTOR's). For a method with a body the machine finds
//! the contracts itself; contracts that a user gives are then claims, which are checked: the method is run
//! in the heap of the contract. For a method whose body is not at hand they are all that is known, and are
//! used.
//!
//! A contract may also say in which heaps an exception leaves the method: the variable `@thrown` is at the
//! exception, and its class says who may catch it. In a heap without `@thrown` the class is not known. A
//! contract that says nothing about exceptions, like those of ATTESTOR, makes no claim about them.

use std::rc::Rc;

use droste_base::{CallId, Limits, Model, PropId, Steps, StopReason};
use droste_explicit::{Spaces, explore};
use droste_heap::{Code, Contract, Heap, MethodContracts, Node, Symbols, Variable, contracts_json};
use droste_pointer::MethodId;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::machine::{Machine, State};
use crate::task::Task;

/// Contracts by method and by the heap in which it is entered.
#[derive(Clone, Debug, Default)]
pub struct Contracts {
    known: FxHashMap<(String, Code), Exits>,
    /// As they were given, to be checked.
    claims: Vec<(String, Contract)>,
    methods: Vec<String>,
    /// A method with contracts for the same heap that cannot be taken together.
    torn: Option<String>,
}

/// The heaps in which a method is left.
#[derive(Clone, Debug, Default)]
pub(crate) struct Exits {
    /// It returns.
    pub(crate) after: Vec<Heap>,
    /// By an exception.
    pub(crate) thrown: Vec<Heap>,
}

/// Of a contract with more external nodes than this, no variants with fewer are made.
const MOST_EXTERNALS: usize = 8;

/// More orders of external nodes are not tried.
const MOST_ORDERS: usize = 1_000;

impl Contracts {
    /// Contracts as they were read. `complete` adds the constants that the task's heaps have, and
    /// `reduce` makes a heap what it is at the end of a method: what is used may say less than what
    /// was given.
    pub(crate) fn new(
        list: Vec<MethodContracts>,
        complete: impl Fn(&mut Heap),
        reduce: impl Fn(&mut Heap),
    ) -> Self {
        let mut contracts = Contracts::default();
        for MethodContracts {
            method,
            contracts: pairs,
            ..
        } in list
        {
            for mut contract in pairs {
                contract.heaps_mut().for_each(&complete);
                let before = &contract.before;
                let constant = |&node: &Node| before.variables_at(node).any(Variable::is_constant);
                let own: Vec<bool> = before.externals().iter().map(|n| !constant(n)).collect();
                let free = own.iter().filter(|own| **own).count();
                // A caller that keeps hold of fewer objects than the contract allows for may rely
                // on it as well.
                let variants = if free <= MOST_EXTERNALS { 1 << free } else { 1 };
                for dropped in 0..variants {
                    let keep = kept(&own, dropped);
                    let mut variant = variant(&contract, &keep);
                    if dropped == 0 {
                        contracts.claim(&method, variant.clone());
                    }
                    variant.heaps_mut().skip(1).for_each(&reduce);
                    contracts.know(&method, variant);
                }
            }
            if !contracts.methods.contains(&method) {
                contracts.methods.push(method);
            }
        }
        contracts
    }

    /// One more contract to be checked. Several for the same heap are one: the method is left in one of
    /// the heaps of any of them.
    fn claim(&mut self, method: &str, new: Contract) {
        let code = new.before.code();
        let mut old = self.claims.iter_mut();
        let old = old.find(|(name, old)| name == method && old.before.code() == code);
        let Some((_, old)) = old else {
            self.claims.push((method.to_owned(), new));
            return;
        };
        let Some(all) = turned(&new) else {
            self.torn = Some(method.to_owned());
            return;
        };
        for turned in all {
            join(&mut old.after, turned.after);
            // One that says nothing about exceptions allows any.
            match (&mut old.thrown, turned.thrown) {
                (Some(old), Some(new)) => join(old, new),
                (old, _) => *old = None,
            }
        }
    }

    /// The same for what is used.
    fn know(&mut self, method: &str, new: Contract) {
        let key = (method.to_owned(), new.before.code());
        let Some(old) = self.known.get_mut(&key) else {
            let exits = Exits {
                after: new.after,
                thrown: new.thrown.unwrap_or_default(),
            };
            self.known.insert(key, exits);
            return;
        };
        let Some(all) = turned(&new) else {
            self.torn = Some(method.to_owned());
            return;
        };
        for turned in all {
            join(&mut old.after, turned.after);
            join(&mut old.thrown, turned.thrown.unwrap_or_default());
        }
    }

    /// The same contracts for a machine whose heaps are written in another way: every heap becomes
    /// those that `rewrite` makes of it, which together stand for it.
    pub(crate) fn rewritten(
        &self,
        rewrite: impl Fn(&Heap) -> Result<Vec<Heap>, StopReason>,
    ) -> Result<Self, StopReason> {
        let all = |heaps: &[Heap]| -> Result<Vec<Heap>, StopReason> {
            let lists: Result<Vec<_>, _> = heaps.iter().map(&rewrite).collect();
            Ok(lists?.concat())
        };
        let mut known: FxHashMap<(String, Code), Exits> = FxHashMap::default();
        for ((method, before), exits) in &self.known {
            let (after, thrown) = (all(&exits.after)?, all(&exits.thrown)?);
            for before in rewrite(&Heap::from_code(before))? {
                let key = (method.clone(), before.code());
                let exits = known.entry(key).or_default();
                exits.after.extend(after.iter().cloned());
                exits.thrown.extend(thrown.iter().cloned());
            }
        }
        Ok(Contracts {
            known,
            ..self.clone()
        })
    }

    /// A method that has several contracts for the same heap, in which so many external nodes can be
    /// exchanged that nobody knows which are the same.
    pub(crate) fn torn(&self) -> Option<&str> {
        self.torn.as_deref()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.known.is_empty()
    }

    /// The heaps in which a method is left if it is entered in this one, if that is known.
    pub(crate) fn exits(&self, method: &str, before: &Heap) -> Option<&Exits> {
        let key = (method.to_owned(), before.code());
        self.known.get(&key)
    }

    /// The methods there are contracts for.
    pub fn methods(&self) -> &[String] {
        &self.methods
    }

    /// Runs the methods that have a body in the heaps of their contracts: what is wrong with the
    /// contracts that do not allow all that their methods do.
    pub(crate) fn broken(
        &self,
        task: &Task,
        machine: &Machine<'_>,
        limits: &Limits,
    ) -> Result<Vec<Broken>, StopReason> {
        let reduced = |heap: &Heap| {
            let mut heap = heap.clone();
            task.reduce(&mut heap);
            heap.code()
        };
        // Heaps without the exception allow any. Contracts that say nothing of its class have those.
        let thrown_variable = machine.names.thrown;
        let any = |heap: &Heap| {
            let mut heap = heap.clone();
            heap.remove_variable(thrown_variable);
            task.reduce(&mut heap);
            heap.code()
        };
        let mut broken = Vec::new();
        for (signature, claim) in &self.claims {
            let Some(method) = task.program.method_signed(signature) else {
                continue;
            };
            let entered = Entered {
                machine,
                entry: machine.entry(method, &claim.before)?,
            };
            let options = droste_explicit::Options {
                limits: limits.clone(),
                ..droste_explicit::Options::default()
            };
            let spaces = explore(&entered, &options).map_err(|(reason, _)| reason)?;
            let exits = exits(&spaces, &entered.entry);
            for thrown in [false, true] {
                let heaps = if thrown {
                    claim.thrown.as_deref()
                } else {
                    Some(&claim.after[..])
                };
                // Nothing is said.
                let Some(heaps) = heaps else {
                    continue;
                };
                let claimed: FxHashSet<Code> = heaps.iter().map(Heap::code).collect();
                let rough: FxHashSet<Code> = heaps.iter().map(reduced).collect();
                // Without the exceptions; whether one of a claim may stand for another one is the
                // question only if both are known.
                let is_known = |heap: &Heap| heap.variable(thrown_variable).is_some();
                let claims = heaps.iter().filter(|_| thrown);
                let loose: FxHashMap<Code, bool> =
                    claims.map(|heap| (any(heap), is_known(heap))).collect();
                let allows = |heap: &Heap| {
                    let known = loose.get(&any(heap));
                    known.is_some_and(|&known| !(known && is_known(heap)))
                };
                // A heap is allowed if it, or one that stands for it, is there. Searches that do not
                // go on from what others cover leave out what is covered.
                let covered = |exit: State| {
                    let cover = machine.cover(exit);
                    cover.is_some_and(|cover| claimed.contains(&machine.heap(cover).code()))
                };
                let own = exits
                    .iter()
                    .filter(|&&exit| is_thrown(machine, exit) == thrown);
                let missing = own
                    .filter(|&&exit| !covered(exit))
                    .map(|&exit| machine.heap(exit))
                    .filter(|heap| !claimed.contains(&heap.code()))
                    .map(|heap| (reduced(&heap), heap))
                    .filter(|(code, heap)| {
                        !(claimed.contains(code) || thrown && claimed.contains(&any(heap)))
                    });
                let missing =
                    missing.map(|(code, heap)| (!rough.contains(&code) && !allows(&heap), heap));
                broken.extend(missing.map(|(surely, after)| Broken {
                    method,
                    before: claim.before.clone(),
                    after,
                    thrown,
                    surely,
                }));
            }
        }
        Ok(broken)
    }
}

/// The states in which a method is left that begins in one of these.
fn exits(spaces: &Spaces<State>, entry: &[State]) -> Vec<State> {
    let mut all: Vec<State> = Vec::new();
    for space in entry.iter().filter_map(|state| spaces.of(state)) {
        let new: Vec<State> = (space.exits.iter().copied())
            .filter(|exit| !all.contains(exit))
            .collect();
        all.extend(new);
    }
    all
}

/// Whether an exit is one by an exception.
fn is_thrown(machine: &Machine<'_>, exit: State) -> bool {
    machine.place(exit).fault.is_some()
}

/// A heap in which a method is left, and that its contract does not have.
pub(crate) struct Broken {
    pub(crate) method: MethodId,
    /// The heap in which the method is entered.
    pub(crate) before: Heap,
    /// The heap in which it is left.
    pub(crate) after: Heap,
    /// Whether that is by an exception.
    pub(crate) thrown: bool,
    /// Whether it stays missing if the heaps of the contract are abstracted, too. If not, it may
    /// stand for more than the contract says only because it is abstract.
    pub(crate) surely: bool,
}

/// Which external nodes stay if of the own ones those in the bit set `dropped` go.
fn kept(own: &[bool], dropped: usize) -> Vec<bool> {
    let mut number = 0;
    let keep = own.iter().map(|&own| {
        let stays = own && (dropped >> number) & 1 == 0;
        number += u32::from(own);
        stays
    });
    keep.collect()
}

/// A contract in which only some external nodes are external, and the constants.
fn variant(contract: &Contract, keep: &[bool]) -> Contract {
    let mut variant = contract.clone();
    share_constants(&mut variant.before, keep);
    let order = variant.before.order_externals();
    for heap in variant.heaps_mut().skip(1) {
        share_constants(heap, keep);
        let old = heap.externals().to_vec();
        let new: Vec<Node> = (order.iter())
            .filter_map(|&at| old.get(at).copied())
            .collect();
        heap.set_externals(&new);
    }
    variant
}

/// Adds the heaps that are not there.
fn join(heaps: &mut Vec<Heap>, more: Vec<Heap>) {
    let mut seen: FxHashSet<Code> = heaps.iter().map(Heap::code).collect();
    heaps.extend(more.into_iter().filter(|heap| seen.insert(heap.code())));
}

/// A contract in all the ways in which its external nodes can be exchanged so that its first heap stays
/// the same. Of two contracts for the same heap nobody knows otherwise which external node is which: it may
/// be any of these. `None` if there may be too many.
fn turned(contract: &Contract) -> Option<Vec<Contract>> {
    let code = contract.before.code();
    let count = contract.before.externals().len();
    // By the node at each place alone: only these can be exchanged.
    let alone: Vec<Code> = (contract.before.externals().iter())
        .map(|&node| {
            let mut heap = contract.before.clone();
            heap.set_externals(&[node]);
            heap.code()
        })
        .collect();
    let mut orders: Vec<Vec<usize>> = vec![Vec::new()];
    for place in 0..count {
        let longer = orders.iter().flat_map(|order| {
            let fits = |at: &usize| alone[*at] == alone[place] && !order.contains(at);
            let next = (0..count).filter(fits);
            next.map(|at| [&order[..], &[at]].concat())
        });
        orders = longer.take(MOST_ORDERS + 1).collect();
        if orders.len() > MOST_ORDERS {
            return None;
        }
    }
    let in_order = |order: &Vec<usize>| {
        let mut turned = contract.clone();
        for heap in turned.heaps_mut() {
            let old = heap.externals().to_vec();
            let new: Vec<Node> = order.iter().map(|&at| old[at]).collect();
            heap.set_externals(&new);
        }
        turned
    };
    let all = orders.iter().map(in_order);
    Some(all.filter(|turned| turned.before.code() == code).collect())
}

/// A machine that is entered by one method alone.
struct Entered<'a> {
    machine: &'a Machine<'a>,
    entry: Rc<[State]>,
}

impl Model for Entered<'_> {
    type State = State;

    fn initial(&self, out: &mut Vec<State>) {
        out.extend(&*self.entry);
    }

    fn steps(&self, state: &State, out: &mut Steps<State>) {
        self.machine.steps(state, out);
    }

    fn resume(&self, caller: &State, call: CallId, exit: &State, out: &mut Vec<State>) -> bool {
        self.machine.resume(caller, call, exit, out)
    }

    fn holds(&self, state: &State, proposition: PropId) -> bool {
        self.machine.holds(state, proposition)
    }

    fn gave_up(&self) -> StopReason {
        self.machine.gave_up()
    }
}

/// Constants are external in fragments: caller and callee share them. Behind the other external
/// nodes, they come in the order of their names.
fn share_constants(heap: &mut Heap, own: &[bool]) {
    let externals = heap.externals().iter().zip(own);
    let mut externals: Vec<Node> = externals
        .filter(|pair| *pair.1)
        .map(|pair| *pair.0)
        .collect();
    for &(variable, node) in heap.variables() {
        if variable.is_constant() && !externals.contains(&node) {
            externals.push(node);
        }
    }
    heap.set_externals(&externals);
}

/// The contracts that a machine has found, as JSON: a list with an object for each method.
pub(crate) fn found(
    task: &Task,
    symbols: &Symbols,
    machine: &Machine<'_>,
    spaces: &Spaces<State>,
) -> String {
    let mut by_method: Vec<(MethodId, Vec<Contract>)> = Vec::new();
    let given = spaces.list.iter().flat_map(|space| {
        let method = machine.place(space.entry).method;
        let all = machine.given(space.entry).into_iter();
        all.map(move |(heap, entry)| (method, heap, entry))
    });
    let mut seen: FxHashSet<(MethodId, Code)> = FxHashSet::default();
    for (method, before, entry) in given {
        if !seen.insert((method, before.code())) {
            continue;
        }
        let (thrown, after): (Vec<State>, Vec<State>) =
            (exits(spaces, &entry).iter()).partition(|&&exit| is_thrown(machine, exit));
        // The same heap may be thrown at several statements.
        let heaps = |exits: &[State]| {
            let mut seen = FxHashSet::default();
            let heaps = exits.iter().map(|&exit| machine.heap(exit));
            heaps.filter(|heap| seen.insert(heap.code())).collect()
        };
        let contract = Contract {
            before,
            after: heaps(&after),
            thrown: Some(heaps(&thrown)),
        };
        match by_method.iter_mut().find(|pair| pair.0 == method) {
            Some((_, list)) => list.push(contract),
            None => by_method.push((method, vec![contract])),
        }
    }
    let objects: Vec<String> = (by_method.iter())
        .map(|(method, list)| {
            contracts_json(symbols, &task.program.method(*method).signature, list)
        })
        .collect();
    format!("[{}]\n", objects.join(",\n"))
}
