//! Where the bits of variables are: the components of `Local` and `Global`.
//!
//! Globals have their own names. The locals of different procedures share the components of `Local`, and so do
//! the results of a procedure that has returned. Bits of integers are interleaved, most significant
//! first, so that what is compared or added lies close together in the order of variables. Variables that
//! nothing mentions have no bits.

use droste_blast::bits;
use droste_lang::program::{Expr, ExprNode, Node, Op, Program, Type, VarRef, Variable};
use rustc_hash::FxHashSet;

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
    /// With `threads`, there is a bit for atomic sections if there are any.
    pub(crate) fn new(program: &Program, threads: bool) -> Self {
        let used = Used::new(program);
        let widths = |variables: &[Variable], used: &[bool]| -> Vec<usize> {
            let pairs = variables.iter().zip(used);
            pairs
                .map(|(v, &used)| if used { bits(v.ty) } else { 0 })
                .collect()
        };
        let (globals, count) = interleave(&widths(&program.globals, &used.globals));
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
        let atomic = (threads && program.nodes.iter().any(begins)).then(|| {
            names.push("atomic".to_owned());
            names.len() as u32 - 1
        });
        let mut fields = Fields {
            names,
            slots: 0,
            globals,
            atomic,
            locals: Vec::new(),
            results: Vec::new(),
        };
        for (procedure, used) in program.procedures.iter().zip(&used.locals) {
            let (locals, count) = interleave(&widths(&procedure.locals, used));
            let results: Vec<usize> = procedure.results.iter().map(|&ty| bits(ty)).collect();
            let (results, other) = interleave(&results);
            fields.slots = fields.slots.max(count).max(other);
            fields.locals.push(locals);
            fields.results.push(results);
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

/// Places for the bits of variables of these widths, and how many places there are.
fn interleave(widths: &[usize]) -> (Vec<Vec<u32>>, u32) {
    let mut places: Vec<Vec<u32>> = widths.iter().map(|&width| vec![0; width]).collect();
    let mut count = 0;
    // Booleans come with the lowest bits, in the order of their declaration.
    for k in (0..widths.iter().copied().max().unwrap_or(0)).rev() {
        for place in places.iter_mut().filter_map(|place| place.get_mut(k)) {
            *place = count;
            count += 1;
        }
    }
    (places, count)
}

/// Which variables some operation reads or assigns.
struct Used {
    globals: Vec<bool>,
    locals: Vec<Vec<bool>>,
}

impl Used {
    fn new(program: &Program) -> Self {
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
        used
    }
}

/// A name with letters, digits and `_` only.
fn plain(name: &str) -> String {
    name.chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '_' })
        .collect()
}
