//! One order of BDD variables for a whole theory. Answers do not depend on it, but speed depends on
//! it more than on anything else.
//!
//! Bits that mean the same thing are put into one *cell*: bit `k` of all variables of one class,
//! and bits that are passed as arguments, with the bits of the parameters they are passed to.
//! Variables that are never in scope together may share BDD variables. So a cell has a few *slots*,
//! next to each other in the order, and each bit has one of them. States `s`, `t`, `u` are thus
//! interleaved. A variable that a quantifier binds has the very BDD variables of the parameter it
//! is passed to, if they are free. So most applications rename nothing, and the others keep the
//! order.
//!
//! A cell holds at most one bit of any one variable, and not too many parameters of one predicate.
//! Where that stands in the way of an argument or a comparison of two or more bits, the cells can
//! become neighbours instead (a *cluster*). Clusters are ordered by the layouts
//! ([`crate::layout`]) of the parameter lists, first those that say what comes before what (`x < y`),
//! and of these the widest first.
//!
//! A cluster of two bits of one variable is against the order in which a class lists its parts.
//! MUCKE keeps that order. Mostly it is the better one: in a ring of cells that are passed to one
//! predicate, it leaves the bits of a cell together. It is the worse one if parts of one variable
//! are compared with each other. So where the two differ there are two orders, and
//! [`crate::trial`] finds out.
//!
//! If many bits of two classes are compared one by one, they are put into one cell, but last of all, and
//! only where nothing else has been decided. An example is a class of globals and a copy of some of them.
//!
//! Parameters that a predicate wants one behind the other (`x < y`), and not interleaved, are never in one
//! cell, although they are of one type. An example is the program counters of three threads. For such types
//! cells are not made by type, but by what is passed to what, in wide predicates first. Then the sets that
//! are computed keep their variables, and the steps of a program are renamed, once.

use std::ops::Range;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::depend::components;
use crate::layout::{Blocks, Union, blocks, interleave};
use crate::syntax::Relation;
use crate::term::{Argument, DefId, Term, TermId, VarId};
use crate::theory::{Action, Theory, Wish};
use crate::types::TypeId;

/// How many parameters of one predicate may come into one cell by being passed around.
const MOST_PARAMETERS: u32 = 4;
/// Fewer pairs of bits of two classes that are compared are cheap wherever they are.
const MANY_PAIRS: usize = 10;

/// The orders to choose from.
#[derive(Debug, Default)]
pub(crate) struct Order {
    /// Parts of variables are in the order of declaration.
    pub(crate) declared: Places,
    /// Related parts are next to each other, if that makes a difference.
    pub(crate) clustered: Option<Places>,
}

/// Where each bit is.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Places {
    /// For each bit of the theory its level, the top of the order being 0.
    pub(crate) level: Vec<u32>,
    /// The levels of each cluster, from the top of the order.
    pub(crate) clusters: Vec<Range<u32>>,
    /// How many levels there are.
    pub(crate) count: u32,
}

struct Allocator<'a> {
    theory: &'a Theory,
    /// The variable of each bit.
    owner: Vec<VarId>,
    /// For parameters, their predicate.
    predicate: Vec<Option<DefId>>,
    cells: Union,
    /// Bits in each cell, at its root.
    members: Vec<Vec<u32>>,
    /// Which variables are in which cell (by root).
    holds: FxHashSet<(u32, VarId)>,
    /// How many parameters of which predicate are in a cell (by root).
    parameters: FxHashMap<(u32, DefId), u32>,
    /// The block of a parameter, if its predicate says what comes before or after it.
    block: Vec<Option<(DefId, u32)>>,
    /// Which block of which predicate is in a cell (by root).
    blocks: FxHashMap<(u32, DefId), u32>,
    /// Cells that are neighbours whatever the order of parts.
    clusters: Union,
    /// Bits of one variable that would be neighbours if the order of parts did not matter.
    related: Vec<(u32, u32)>,
    /// The slot of each bit.
    slot: Vec<u32>,
    /// How many slots each cell has, at its root.
    slots: Vec<u32>,
}

const NONE: u32 = u32::MAX;

/// Chooses the order.
pub(crate) fn order(theory: &Theory) -> Order {
    let bits = theory.bits;
    let mut owner = vec![VarId(0); bits as usize];
    for i in 0..theory.variables.len() {
        let id = VarId(i as u32);
        for bit in theory.bits_of(id) {
            owner[bit as usize] = id;
        }
    }
    let mut predicate = vec![None; theory.variables.len()];
    for (i, definition) in theory.definitions.iter().enumerate() {
        for id in &definition.parameters {
            predicate[id.0 as usize] = Some(DefId(i as u32));
        }
    }
    let block = placed_blocks(theory);
    let block_of = |bit: u32| block[owner[bit as usize].0 as usize];
    let in_blocks = (0..bits).filter_map(|bit| block_of(bit).map(|(def, at)| ((bit, def), at)));
    let mut allocator = Allocator {
        theory,
        blocks: in_blocks.collect(),
        holds: (0..bits).map(|bit| (bit, owner[bit as usize])).collect(),
        parameters: (0..bits)
            .filter_map(|bit| Some(((bit, predicate[owner[bit as usize].0 as usize]?), 1)))
            .collect(),
        block,
        owner,
        predicate,
        cells: Union::new(bits),
        members: (0..bits).map(|bit| vec![bit]).collect(),
        clusters: Union::new(bits),
        related: Vec::new(),
        slot: vec![NONE; bits as usize],
        slots: vec![0; bits as usize],
    };
    let bodies = allocator.bodies();
    let split = allocator.split_types();
    allocator.join_types(&split);
    allocator.join_wishes();
    allocator.join_wide_first(&bodies, &split);
    allocator.join_terms(&bodies);
    allocator.assign_slots(&bodies);
    let declared = allocator.place();
    let related = std::mem::take(&mut allocator.related);
    for (a, b) in related {
        allocator.clusters.join(a, b);
    }
    let clustered = allocator.place();
    Order {
        clustered: (clustered.level != declared.level).then_some(clustered),
        declared,
    }
}

/// For each variable its predicate and its block in the layout, if the predicate says what comes
/// before or after it.
fn placed_blocks(theory: &Theory) -> Vec<Option<(DefId, u32)>> {
    let mut placed = vec![None; theory.variables.len()];
    for (def, definition) in (0..).map(DefId).zip(&theory.definitions) {
        let before = |wish: &&Wish| wish.relation == Relation::Before;
        let wishes = definition.wishes.iter().filter(before);
        let named: FxHashSet<u32> = wishes.flat_map(|w| [w.left, w.right]).collect();
        if named.is_empty() {
            continue;
        }
        for (at, block) in (0..).zip(layout(theory, def)) {
            for item in block.into_iter().filter(|item| named.contains(item)) {
                placed[definition.parameters[item as usize].0 as usize] = Some((def, at));
            }
        }
    }
    placed
}

/// The blocks of a predicate's parameters.
fn layout(theory: &Theory, def: DefId) -> Blocks {
    let definition = theory.definition(def);
    let ty = |i: u32| theory.variable(definition.parameters[i as usize]).ty;
    let count = definition.parameters.len() as u32;
    blocks(count, &definition.wishes, |i| ty(i) == ty(i + 1))
}

/// Why two bits are not put into one cell.
enum Clash {
    /// Both cells have a bit of the same variable.
    SameVariable,
    /// There would be too many parameters of one predicate.
    Full,
    /// A predicate wants one behind the other.
    Apart,
}

/// The terms of a body that matter here.
#[derive(Default)]
struct Body {
    applications: Vec<(DefId, Vec<Argument>)>,
    equalities: Vec<(u32, u32, u32)>,
}

impl Allocator<'_> {
    /// The bodies of all predicates, and, last, all queries as one body.
    fn bodies(&self) -> Vec<Body> {
        let mut list: Vec<Body> = self
            .theory
            .definitions
            .iter()
            .map(|definition| self.body(definition.body.iter().chain(&definition.dual).copied()))
            .collect();
        let questions = self
            .theory
            .actions
            .iter()
            .filter_map(|action| match action {
                Action::Query(question) | Action::Witness(_, question) => Some(question),
                _ => None,
            });
        list.push(self.body(questions.flat_map(|q| [q.root, q.dual])));
        list
    }

    fn body(&self, roots: impl Iterator<Item = TermId>) -> Body {
        let terms = &self.theory.terms;
        let mut body = Body::default();
        let mut seen = FxHashSet::default();
        let mut stack: Vec<TermId> = roots.collect();
        stack.reverse();
        while let Some(id) = stack.pop() {
            if !seen.insert(id) {
                continue;
            }
            match terms.get(id) {
                Term::Apply(def, _, arguments) => {
                    body.applications.push((*def, arguments.to_vec()));
                }
                Term::Equal(a, b, n) => body.equalities.push((*a, *b, *n)),
                _ => {}
            }
            let start = stack.len();
            terms.operands(id, |operand| stack.push(operand));
            stack[start..].reverse();
        }
        body
    }

    /// Puts two bits into one cell, or says why that is not allowed.
    fn join(&mut self, a: u32, b: u32, limited: bool) -> Result<(), Clash> {
        let (a, b) = (self.cells.find(a), self.cells.find(b));
        if a == b {
            return Ok(());
        }
        let (small, large) = if self.members[a as usize].len() < self.members[b as usize].len() {
            (a, b)
        } else {
            (b, a)
        };
        let moved = std::mem::take(&mut self.members[small as usize]);
        let mut owners = moved.iter().map(|&bit| self.owner[bit as usize]);
        let elsewhere = |id: VarId| {
            let block = self.block[id.0 as usize];
            let there = block.and_then(|(def, _)| self.blocks.get(&(large, def)));
            there.is_some_and(|&there| block.is_some_and(|(_, here)| here != there))
        };
        let clash = if owners.clone().any(|id| self.holds.contains(&(large, id))) {
            Some(Clash::SameVariable)
        } else if owners.clone().any(elsewhere) {
            Some(Clash::Apart)
        } else if limited
            && owners.any(|owner| {
                self.predicate[owner.0 as usize].is_some_and(|def| {
                    let count = |root| self.parameters.get(&(root, def)).copied().unwrap_or(0);
                    count(small) + count(large) > MOST_PARAMETERS
                })
            })
        {
            Some(Clash::Full)
        } else {
            None
        };
        if let Some(clash) = clash {
            self.members[small as usize] = moved;
            return Err(clash);
        }
        // The union keeps the lower root.
        let root = a.min(b);
        self.cells.join(a, b);
        let mut all = std::mem::take(&mut self.members[large as usize]);
        for &bit in if root == large { &moved } else { &all } {
            let owner = self.owner[bit as usize];
            self.holds.insert((root, owner));
            if let Some(def) = self.predicate[owner.0 as usize] {
                *self.parameters.entry((root, def)).or_default() += 1;
            }
            if let Some((def, block)) = self.block[owner.0 as usize] {
                self.blocks.insert((root, def), block);
            }
        }
        all.extend(moved);
        self.members[root as usize] = all;
        Ok(())
    }

    /// Joins rows of bits, or makes them neighbours.
    fn join_rows(&mut self, a: u32, b: u32, bits: u32) {
        for k in 0..bits {
            match self.join(a + k, b + k, true) {
                Err(Clash::SameVariable) if bits > 1 => self.related.push((a + k, b + k)),
                Err(Clash::Full) if bits > 1 => self.clusters.join(a + k, b + k),
                _ => {}
            }
        }
    }

    /// The types of which a predicate wants two parameters one behind the other.
    fn split_types(&self) -> FxHashSet<TypeId> {
        let mut split = FxHashSet::default();
        for definition in &self.theory.definitions {
            let mut first: FxHashMap<TypeId, u32> = FxHashMap::default();
            for id in &definition.parameters {
                if let Some((_, block)) = self.block[id.0 as usize] {
                    let ty = self.theory.variable(*id).ty;
                    if *first.entry(ty).or_insert(block) != block {
                        split.insert(ty);
                    }
                }
            }
        }
        split
    }

    /// Variables of the same class or array type, unless it is to be split.
    fn join_types(&mut self, split: &FxHashSet<TypeId>) {
        let mut apart = FxHashSet::default();
        for definition in &self.theory.definitions {
            for wish in &definition.wishes {
                if wish.relation == Relation::Apart {
                    apart.insert(definition.parameters[wish.left as usize]);
                    apart.insert(definition.parameters[wish.right as usize]);
                }
            }
        }
        let mut first: FxHashMap<TypeId, VarId> = FxHashMap::default();
        for (i, variable) in self.theory.variables.iter().enumerate() {
            let id = VarId(i as u32);
            let scalar = self.theory.types.get(variable.ty).is_scalar();
            if scalar || apart.contains(&id) || split.contains(&variable.ty) {
                continue;
            }
            let known = *first.entry(variable.ty).or_insert(id);
            if known != id {
                let from = self.theory.variable(known).first;
                for k in 0..self.theory.width(id) {
                    // Two variables of one type never clash: nothing else has been joined yet.
                    let _ = self.join(from + k, variable.first + k, false);
                }
            }
        }
    }

    /// `x ~+ y`
    fn join_wishes(&mut self) {
        for definition in &self.theory.definitions {
            for wish in &definition.wishes {
                if wish.relation != Relation::Together {
                    continue;
                }
                let ids = [wish.left, wish.right].map(|i| definition.parameters[i as usize]);
                let rows = ids.map(|id| {
                    let variable = self.theory.variable(id);
                    let bits: Vec<u32> = self.theory.types.layout(variable.ty).collect();
                    (variable.first, bits)
                });
                for (a, b) in rows[0].1.iter().zip(&rows[1].1) {
                    let (a, b) = (rows[0].0 + a, rows[1].0 + b);
                    if let Err(Clash::SameVariable | Clash::Full) = self.join(a, b, false) {
                        self.clusters.join(a, b);
                    }
                }
            }
        }
    }

    /// What is passed to parameters of types that are to be split: in the bodies of wide predicates
    /// first, and there to wide predicates first.
    fn join_wide_first(&mut self, bodies: &[Body], split: &FxHashSet<TypeId>) {
        if split.is_empty() {
            return;
        }
        let theory = self.theory;
        let mut all = Vec::new();
        for (i, body) in bodies.iter().enumerate() {
            let known = i < theory.definitions.len();
            let outer = if known {
                theory.total_width(DefId(i as u32))
            } else {
                0
            };
            all.extend(
                body.applications
                    .iter()
                    .map(|application| (outer, application)),
            );
        }
        all.sort_by_key(|(outer, (def, _))| std::cmp::Reverse((*outer, theory.total_width(*def))));
        for (_, (def, arguments)) in all {
            let parameters = &theory.definition(*def).parameters;
            for (argument, &parameter) in arguments.iter().zip(parameters) {
                if let Argument::Bits(first) = argument
                    && split.contains(&theory.variable(parameter).ty)
                {
                    let to = theory.variable(parameter).first;
                    self.join_rows(*first, to, theory.width(parameter));
                }
            }
        }
    }

    fn join_terms(&mut self, bodies: &[Body]) {
        for body in bodies {
            for (def, arguments) in &body.applications {
                let parameters = &self.theory.definition(*def).parameters;
                for (argument, &parameter) in arguments.iter().zip(parameters) {
                    if let Argument::Bits(first) = argument {
                        let to = self.theory.variable(parameter).first;
                        self.join_rows(*first, to, self.theory.width(parameter));
                    }
                }
            }
        }
        for body in bodies {
            for &(a, b, bits) in &body.equalities {
                if bits > 1 {
                    self.join_rows(a, b, bits);
                }
            }
        }
        for body in bodies {
            self.join_compared(body);
        }
    }

    /// Classes that are compared bit by bit, each with one bit only, mean the same although they are
    /// not of one type. Each pair of bits that are far from each other doubles the diagram, so pairs are
    /// brought together if there are many.
    fn join_compared(&mut self, body: &Body) {
        let mut pairs: FxHashMap<(VarId, VarId), Vec<(u32, u32)>> = FxHashMap::default();
        for &(a, b, bits) in &body.equalities {
            if bits == 1 && !self.is_scalar(a) && !self.is_scalar(b) {
                let owners = (self.owner[a as usize], self.owner[b as usize]);
                pairs.entry(owners).or_default().push((a, b));
            }
        }
        let mut pairs: Vec<Vec<(u32, u32)>> = pairs.into_values().collect();
        for list in &mut pairs {
            list.sort_unstable();
            list.dedup();
        }
        pairs.retain(|list| {
            let left: FxHashSet<u32> = list.iter().map(|pair| pair.0).collect();
            let right: FxHashSet<u32> = list.iter().map(|pair| pair.1).collect();
            list.len() >= MANY_PAIRS && left.len() == list.len() && right.len() == list.len()
        });
        pairs.sort_unstable();
        for (a, b) in pairs.into_iter().flatten() {
            if let Err(Clash::Full) = self.join(a, b, true) {
                self.clusters.join(a, b);
            }
        }
    }

    /// Whether the bit belongs to a variable without parts.
    fn is_scalar(&self, bit: u32) -> bool {
        let ty = self.theory.variable(self.owner[bit as usize]).ty;
        self.theory.types.get(ty).is_scalar()
    }

    /// Gives every bit a slot of its cell, predicates that are applied before those that apply
    /// them.
    fn assign_slots(&mut self, bodies: &[Body]) {
        let theory = self.theory;
        let all: Vec<DefId> = (0..theory.definitions.len() as u32).map(DefId).collect();
        let list = components(&all, |def, out| {
            out.extend(theory.definition(def).references.iter().map(|(d, _)| *d));
        });
        for mut members in list {
            // Those first that apply wide relations: these say where the parameters are to be, and
            // members that are passed the same get the same places.
            members.sort_by_cached_key(|def| {
                let applied = bodies[def.0 as usize].applications.iter();
                let widths = applied.map(|(def, _)| theory.total_width(*def));
                std::cmp::Reverse(widths.max())
            });
            for def in &members {
                let definition = theory.definition(*def);
                let body = &bodies[def.0 as usize];
                let (parameters, locals) = (&definition.parameters, &definition.locals);
                self.assign_body(parameters, locals, body, &members);
            }
        }
        if let Some(queries) = bodies.last() {
            self.assign_body(&[], &theory.query_locals, queries, &[]);
        }
    }

    fn assign_body(
        &mut self,
        parameters: &[VarId],
        locals: &[VarId],
        body: &Body,
        members: &[DefId],
    ) {
        let theory = self.theory;
        // Which slots a bit would like to have: those of the parameters it is passed to. A relation
        // between states is dearer to rename than a set of states: wide ones first. Of equal ones
        // those come first that are computed together with this one, because they change.
        let mut liked: FxHashMap<u32, Vec<u32>> = FxHashMap::default();
        let mut applications: Vec<&(DefId, Vec<Argument>)> = body.applications.iter().collect();
        applications.sort_by_cached_key(|(def, _)| {
            std::cmp::Reverse((theory.total_width(*def), members.contains(def)))
        });
        for (def, arguments) in applications {
            for (argument, &parameter) in arguments.iter().zip(&theory.definition(*def).parameters)
            {
                let Argument::Bits(first) = argument else {
                    continue;
                };
                for (k, to) in theory.bits_of(parameter).enumerate() {
                    let bit = first + k as u32;
                    let slot = self.slot[to as usize];
                    if slot != NONE && self.cells.find(bit) == self.cells.find(to) {
                        let list = liked.entry(bit).or_default();
                        if !list.contains(&slot) {
                            list.push(slot);
                        }
                    }
                }
            }
        }
        let mut taken: FxHashSet<(u32, u32)> = FxHashSet::default();
        for &id in parameters {
            for bit in theory.bits_of(id) {
                let cell = self.cells.find(bit);
                let slot = self.choose(bit, &liked, |slot| !taken.contains(&(cell, slot)));
                taken.insert((cell, slot));
            }
        }
        // For each cell the slots that locals have got so far, and whose they are (by place in the
        // list). There may be thousands in one cell: what is known about the present one is in
        // tables, under its own number.
        let mut given: FxHashMap<u32, Vec<(u32, usize)>> = FxHashMap::default();
        let mut compared = vec![(usize::MAX, false); locals.len()];
        let mut used = Vec::new();
        for (i, &id) in locals.iter().enumerate() {
            for bit in theory.bits_of(id) {
                let cell = self.cells.find(bit);
                let others = given.entry(cell).or_default();
                for &(slot, other) in others.iter() {
                    let (of, overlaps) = &mut compared[other];
                    if *of != i {
                        (*of, *overlaps) = (i, theory.overlap(id, locals[other]));
                    }
                    if *overlaps {
                        used.resize(used.len().max(slot as usize + 1), NONE);
                        used[slot as usize] = bit;
                    }
                }
                let slot = self.choose(bit, &liked, |slot| {
                    used.get(slot as usize) != Some(&bit) && !taken.contains(&(cell, slot))
                });
                others.push((slot, i));
            }
        }
    }

    fn choose(
        &mut self,
        bit: u32,
        liked: &FxHashMap<u32, Vec<u32>>,
        free: impl Fn(u32) -> bool,
    ) -> u32 {
        let cell = self.cells.find(bit);
        let slot = liked
            .get(&bit)
            .and_then(|list| list.iter().copied().find(|&slot| free(slot)))
            // There are fewer bits in the cell than slots that are tried.
            .unwrap_or_else(|| {
                let mut all = 0..=self.owner.len() as u32;
                all.find(|&slot| free(slot)).unwrap_or(0)
            });
        self.slot[bit as usize] = slot;
        let count = &mut self.slots[cell as usize];
        *count = (*count).max(slot + 1);
        slot
    }

    /// The order of the clusters, of the cells in them, and of the slots in those.
    fn place(&mut self) -> Places {
        let theory = self.theory;
        // Which cells a cluster has: joined bits stand for their cells.
        for bit in 0..theory.bits {
            let cell = self.cells.find(bit);
            self.clusters.join(bit, cell);
        }
        let mut cells_of: Vec<Vec<u32>> = vec![Vec::new(); theory.bits as usize];
        for bit in 0..theory.bits {
            if self.cells.find(bit) == bit {
                let cluster = self.clusters.find(bit);
                cells_of[cluster as usize].push(bit);
            }
        }
        let mut base = vec![NONE; theory.bits as usize];
        let mut count = 0;
        let mut clusters = Vec::new();
        let mut put = |bit: u32, allocator: &mut Self| {
            let cluster = allocator.clusters.find(bit) as usize;
            let first = count;
            for cell in std::mem::take(&mut cells_of[cluster]) {
                base[cell as usize] = count;
                count += allocator.slots[cell as usize];
            }
            if count > first {
                clusters.push(first..count);
            }
        };
        // What the file says about the order comes first.
        let says = |i: usize| {
            let mut wishes = theory.definitions[i].wishes.iter();
            wishes.any(|wish| wish.relation == Relation::Before)
        };
        let mut lists: Vec<usize> = (0..theory.definitions.len()).collect();
        lists.sort_by_cached_key(|&i| {
            let width = theory.total_width(DefId(i as u32));
            std::cmp::Reverse((says(i), width))
        });
        for i in lists {
            let parameters = &theory.definitions[i].parameters;
            let layouts: Vec<Vec<u32>> = parameters
                .iter()
                .map(|id| theory.types.layout(theory.variable(*id).ty).collect())
                .collect();
            for block in layout(theory, DefId(i as u32)) {
                for (item, bit) in interleave(&block, |i| layouts[i as usize].len() as u32) {
                    let first = theory.variable(parameters[item as usize]).first;
                    put(first + layouts[item as usize][bit as usize], self);
                }
            }
        }
        for i in 0..theory.variables.len() {
            let variable = &theory.variables[i];
            for bit in theory.types.layout(variable.ty) {
                put(variable.first + bit, self);
            }
        }
        let level = (0..theory.bits)
            .map(|bit| {
                let cell = self.cells.find(bit);
                // A variable of a body that is wrong has no slot, and nobody asks for it.
                let slot = self.slot[bit as usize];
                base[cell as usize] + if slot == NONE { 0 } else { slot }
            })
            .collect();
        Places {
            level,
            clusters,
            count,
        }
    }
}
