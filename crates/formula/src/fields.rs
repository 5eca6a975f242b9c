//! Where the bits of variables are: the components of `Local` and `Global`.
//!
//! Globals have their own names. The locals of different procedures share the components of
//! `Local`, and so do the results of a procedure that has returned. Bits that occur together in an
//! operation lie close together in the order of variables ([`droste_blast::order`]). Variables that
//! nothing mentions have no bits.

use std::collections::BTreeMap;

use droste_blast::bits;
use droste_blast::order::Line;
use droste_program::{Expr, ExprNode, Node, NodeId, Op, Program, Type, VarRef, Variable};
use rustc_hash::FxHashSet;

use crate::inline::Start;

/// The components of `Local` and `Global`.
#[derive(Clone, Debug)]
pub(crate) struct Fields {
    /// The names of the components of `Global`.
    pub(crate) names: Vec<String>,
    /// How many components `Local` has.
    pub(crate) slots: u32,
    /// Per global and bit: the component of `Global`.
    pub(crate) globals: Vec<Vec<u32>>,
    /// The component of `Global` that says that the active thread is in an atomic section.
    pub(crate) atomic: Option<u32>,
    /// The components of `Global` with the number of threads started so far, lowest bit first.
    pub(crate) started: Vec<u32>,
    /// Per procedure, local and bit: the component of `Local`.
    locals: Vec<Vec<Vec<u32>>>,
    /// Per procedure, result and bit: the component of `Local`.
    results: Vec<Vec<Vec<u32>>>,
}

/// A component: of `Local` or of `Global`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Component {
    Local(u32),
    Global(u32),
}

impl Fields {
    /// With `threads`, there is a bit for atomic sections if there are any, and a counter for as
    /// many started threads as it says. `starts` are those of a program that has been inlined.
    pub(crate) fn new(
        program: &Program,
        threads: Option<u32>,
        starts: &BTreeMap<NodeId, Start>,
    ) -> Self {
        let used = Used::new(program, starts);
        let widths = |variables: &[Variable], used: &[bool]| -> Vec<usize> {
            let pairs = variables.iter().zip(used);
            pairs
                .map(|(v, &used)| if used { bits(v.ty) } else { 0 })
                .collect()
        };
        let line = Line::new(program);
        let (globals, count) = places(&widths(&program.globals, &used.globals), &line.globals);
        let count = count as u32;
        let mut names = vec![String::new(); count as usize];
        let mut taken = FxHashSet::default();
        for (variable, places) in program.globals.iter().zip(&globals) {
            let plain = plain(&variable.name);
            for (k, &place) in places.iter().enumerate() {
                let mut name = match variable.ty {
                    Type::Bool => format!("g_{plain}"),
                    _ => format!("g_{plain}_{k}"),
                };
                while !taken.insert(name.clone()) {
                    name.push('\'');
                }
                names[place as usize] = name;
            }
        }
        let begins = |node: &Node| matches!(node.op, Op::AtomicBegin(_));
        let atomic = (threads.is_some() && program.nodes.iter().any(begins)).then(|| {
            names.push("atomic".to_owned());
            names.len() as u32 - 1
        });
        let width = u32::BITS - threads.unwrap_or(0).leading_zeros();
        let mut started = Vec::new();
        for k in 0..width {
            started.push(names.len() as u32);
            names.push(format!("started_{k}"));
        }
        let mut fields = Fields {
            names,
            slots: 0,
            globals,
            atomic,
            started,
            locals: Vec::new(),
            results: Vec::new(),
        };
        let mut counts = Vec::new();
        for (p, (procedure, used)) in program.procedures.iter().zip(&used.locals).enumerate() {
            let (locals, count) = places(&widths(&procedure.locals, used), &line.locals[p]);
            let results: Vec<usize> = procedure.results.iter().map(|&ty| bits(ty)).collect();
            let (results, other) = places(&results, &line.results[p]);
            fields.slots = fields.slots.max(count as u32).max(other as u32);
            fields.locals.push(locals);
            fields.results.push(results);
            counts.push((count, other));
        }
        // Spread evenly, so that arguments and their parameters are about as far along.
        let slots = fields.slots as usize;
        let spread = |list: &mut Vec<Vec<u32>>, count: usize| {
            for place in list.iter_mut().flatten() {
                *place = (*place as usize * slots / count) as u32;
            }
        };
        for (p, (count, other)) in counts.into_iter().enumerate() {
            spread(&mut fields.locals[p], count);
            spread(&mut fields.results[p], other);
        }
        fields
    }

    /// The component with bit `k` of a variable of the procedure with this index; none if nothing
    /// mentions the variable.
    pub(crate) fn component(&self, procedure: usize, var: VarRef, k: usize) -> Option<Component> {
        match var {
            VarRef::Global(i) => self.globals[i as usize]
                .get(k)
                .copied()
                .map(Component::Global),
            VarRef::Local(i) => {
                let places = &self.locals[procedure][i as usize];
                places.get(k).copied().map(Component::Local)
            }
        }
    }

    /// The components of a local.
    pub(crate) fn local(&self, procedure: usize, local: usize) -> &[u32] {
        &self.locals[procedure][local]
    }

    /// The components of a result.
    pub(crate) fn result(&self, procedure: usize, result: usize) -> &[u32] {
        &self.results[procedure][result]
    }

    /// How many bits `Global` has.
    pub(crate) fn global_bits(&self) -> u32 {
        self.names.len() as u32
    }
}

/// Places for the bits of variables of these widths, in the order of the line, and how many places
/// there are.
fn places(widths: &[usize], line: &[Vec<u32>]) -> (Vec<Vec<u32>>, usize) {
    let mut places: Vec<Vec<u32>> = widths.iter().map(|&width| vec![0; width]).collect();
    let mut bits: Vec<(u32, usize, usize)> = Vec::new();
    for (i, &width) in widths.iter().enumerate() {
        bits.extend((0..width).map(|k| (line[i][k], i, k)));
    }
    bits.sort_unstable();
    for (place, &(_, i, k)) in bits.iter().enumerate() {
        places[i][k] = place as u32;
    }
    (places, bits.len())
}

/// Which variables some operation reads or assigns.
struct Used {
    globals: Vec<bool>,
    locals: Vec<Vec<bool>>,
}

impl Used {
    fn new(program: &Program, starts: &BTreeMap<NodeId, Start>) -> Self {
        let locals = program
            .procedures
            .iter()
            .map(|p| vec![false; p.locals.len()]);
        let mut used = Used {
            globals: vec![false; program.globals.len()],
            locals: locals.collect(),
        };
        for node in &program.nodes {
            let mut mention = |var: VarRef| match var {
                VarRef::Global(i) => used.globals[i as usize] = true,
                VarRef::Local(i) => used.locals[node.procedure.0 as usize][i as usize] = true,
            };
            match &node.op {
                Op::Assign { assigns, .. } => assigns.iter().for_each(|(var, _)| mention(*var)),
                Op::Call { targets, .. } => targets.iter().flatten().for_each(|&v| mention(v)),
                _ => {}
            }
            let mut read = |expr: &Expr| {
                for node in &expr.nodes {
                    if let ExprNode::Var(var) | ExprNode::Next(var) = *node {
                        mention(var);
                    }
                }
            };
            node.op.for_each_expr(&mut read);
            node.ensure.iter().for_each(|expr| read(expr));
        }
        // A local that a started thread uses is copied to it, perhaps through other threads.
        loop {
            let mut changed = false;
            for (node, start) in starts {
                let here = program.node(*node).procedure.0 as usize;
                for (i, &local) in start.copied.iter().enumerate() {
                    if used.locals[start.procedure.0 as usize][i] {
                        let known = &mut used.locals[here][local as usize];
                        changed |= !std::mem::replace(known, true);
                    }
                }
            }
            if !changed {
                return used;
            }
        }
    }
}

/// A name with letters, digits and `_` only.
fn plain(name: &str) -> String {
    name.chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '_' })
        .collect()
}
