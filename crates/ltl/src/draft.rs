//! Automata under construction: guards are decision diagrams, and there may be more marks than in
//! the final automaton.
//!
//! Here are the reductions that need no more than the graph. States from which nothing is accepted
//! are removed, edges between the same states are joined, and marks that say nothing new are
//! dropped.

use droste_base::StopReason;
use droste_bdd::{Bdd, Manager, Var};
use rustc_hash::FxHashMap;

use crate::cover::cover;
use droste_automata::automaton::{Literal, MOST_MARKS, NewEdge, StateInfo, Tgba};
use droste_automata::components::{NONE, components};
use droste_automata::formula::{AtomId, FormulaId};

/// A set of marks, one bit each.
pub(crate) type Marks = u128;
/// The most marks there can be while an automaton is made.
pub(crate) const MOST_DRAFT_MARKS: usize = 128;

#[derive(Clone, Debug)]
pub(crate) struct DraftEdge {
    pub(crate) guard: Bdd,
    pub(crate) marks: Marks,
    pub(crate) target: u32,
}

#[derive(Clone)]
pub(crate) struct Draft {
    pub(crate) manager: Manager,
    /// The variables of the atoms that occur.
    pub(crate) atoms: Vec<(Var, AtomId)>,
    pub(crate) initial: u32,
    pub(crate) edges: Vec<Vec<DraftEdge>>,
    pub(crate) formulas: Vec<Option<FormulaId>>,
    /// How many marks there are.
    pub(crate) marks: usize,
    /// Whether it is known that no two edges of a state have a letter in common.
    pub(crate) deterministic: bool,
    /// Variables below the atoms for whoever needs some for a while.
    pub(crate) spare: Vec<Var>,
}

impl Draft {
    pub(crate) fn len(&self) -> usize {
        self.edges.len()
    }

    pub(crate) fn edge_count(&self) -> usize {
        self.edges.iter().map(Vec::len).sum()
    }

    pub(crate) fn all_marks(&self) -> Marks {
        all_marks(self.marks)
    }

    /// `count` variables that do not occur in guards.
    pub(crate) fn spare_vars(&mut self, count: usize) -> Vec<Var> {
        let more = count.saturating_sub(self.spare.len());
        self.spare.extend(self.manager.new_vars(more as u32));
        self.spare[..count].to_vec()
    }

    /// How many states and edges there are, for comparison; a deterministic automaton is better
    /// than another of the same size.
    pub(crate) fn size(&self) -> Result<(usize, usize, usize, usize), StopReason> {
        Ok((
            self.len(),
            self.nondeterministic_states()?,
            self.edge_count(),
            self.marks,
        ))
    }

    /// In how many states two edges can be taken at once.
    pub(crate) fn nondeterministic_states(&self) -> Result<usize, StopReason> {
        let mut count = 0;
        if self.deterministic {
            return Ok(count);
        }
        for edges in &self.edges {
            let mut taken = self.manager.constant(false);
            for edge in edges {
                if !edge.guard.and(&taken)?.is_false() {
                    count += 1;
                    break;
                }
                taken = taken.or(&edge.guard)?;
            }
        }
        Ok(count)
    }

    /// The component of each state, and for each component all marks inside it (nothing if it has
    /// no edge inside).
    pub(crate) fn components(&self) -> (Vec<u32>, Vec<Option<Marks>>) {
        let found = components(self.len(), [self.initial], |state, out| {
            out.extend(self.edges[state as usize].iter().map(|e| (e.target, ())));
        });
        let mut marks = vec![None; found.count as usize];
        for (state, edges) in self.edges.iter().enumerate() {
            let component = found.of[state];
            for edge in edges {
                if component != NONE && found.of[edge.target as usize] == component {
                    *marks[component as usize].get_or_insert(0) |= edge.marks;
                }
            }
        }
        (found.of, marks)
    }

    /// Joins the edges between the same states. Edges with the same marks become one; where an edge
    /// has more marks than another, the other is not needed for the letters of the first.
    pub(crate) fn merge_edges(&mut self) -> Result<(), StopReason> {
        for edges in &mut self.edges {
            let mut joined: FxHashMap<(u32, Marks), Bdd> = FxHashMap::default();
            for edge in edges.iter() {
                let key = (edge.target, edge.marks);
                let guard = match joined.get(&key) {
                    Some(guard) => guard.or(&edge.guard)?,
                    None => edge.guard.clone(),
                };
                joined.insert(key, guard);
            }
            let mut keys: Vec<(u32, Marks)> = joined.keys().copied().collect();
            keys.sort_unstable();
            let mut result = Vec::with_capacity(keys.len());
            for &(target, marks) in &keys {
                let mut guard = joined[&(target, marks)].clone();
                let first = keys.partition_point(|&(t, _)| t < target);
                for &(t, more) in &keys[first..] {
                    if t != target {
                        break;
                    }
                    if more != marks && more & marks == marks {
                        guard = guard.minus(&joined[&(t, more)])?;
                    }
                }
                if !guard.is_false() {
                    result.push(DraftEdge {
                        guard,
                        marks,
                        target,
                    });
                }
            }
            *edges = result;
        }
        Ok(())
    }

    /// Removes states that are not reachable or from which nothing is accepted, and renumbers the
    /// rest in the order of a breadth-first search. The initial state stays, even if nothing is
    /// accepted.
    pub(crate) fn prune(&mut self) {
        let (component, marks) = self.components();
        let all = self.all_marks();
        // Components are numbered so that edges lead downwards.
        let mut useful: Vec<bool> = marks.iter().map(|&m| m == Some(all)).collect();
        let mut order: Vec<u32> = (0..self.len() as u32)
            .filter(|&s| component[s as usize] != NONE)
            .collect();
        order.sort_by_key(|&s| component[s as usize]);
        for &state in &order {
            let own = component[state as usize] as usize;
            let reaches = self.edges[state as usize]
                .iter()
                .any(|e| useful[component[e.target as usize] as usize]);
            useful[own] |= reaches;
        }
        let is_useful = |s: u32| useful[component[s as usize] as usize];
        let mut number = vec![NONE; self.len()];
        number[self.initial as usize] = 0;
        let mut queue = vec![self.initial];
        let mut at = 0;
        while at < queue.len() {
            let state = queue[at];
            at += 1;
            for edge in &self.edges[state as usize] {
                if is_useful(edge.target) && number[edge.target as usize] == NONE {
                    number[edge.target as usize] = queue.len() as u32;
                    queue.push(edge.target);
                }
            }
        }
        let mut edges = Vec::with_capacity(queue.len());
        let mut formulas = Vec::with_capacity(queue.len());
        for &state in &queue {
            let mut list = std::mem::take(&mut self.edges[state as usize]);
            list.retain(|edge| is_useful(edge.target));
            for edge in &mut list {
                edge.target = number[edge.target as usize];
            }
            edges.push(list);
            formulas.push(self.formulas[state as usize]);
        }
        self.edges = edges;
        self.formulas = formulas;
        self.initial = 0;
    }

    /// Keeps only marks that matter. Inside each accepting component, a mark whose edges include
    /// all edges of another mark says nothing new. The marks that are left are numbered anew in
    /// each component. A component with fewer marks than another has the missing ones on all its
    /// edges. Edges between components get no marks, or with `generous` all.
    pub(crate) fn simplify_marks(&mut self, generous: bool) {
        let (component, present) = self.components();
        let all = self.all_marks();
        let count = self.marks;
        // For each accepting component: which marks are missing on an edge together is enough to
        // compare sets of edges.
        let accepting = |c: u32| c != NONE && present[c as usize] == Some(all);
        let mut inside: Vec<Vec<Marks>> = vec![Vec::new(); present.len()];
        for (state, edges) in self.edges.iter().enumerate() {
            let own = component[state];
            for edge in edges {
                if accepting(own) && component[edge.target as usize] == own {
                    inside[own as usize].push(edge.marks);
                }
            }
        }
        let mut kept: Vec<Vec<usize>> = Vec::with_capacity(inside.len());
        for list in &mut inside {
            list.sort_unstable();
            list.dedup();
            // `below[i]`: the marks that are on every edge that has mark i.
            let below: Vec<Marks> = (0..count)
                .map(|i| {
                    list.iter()
                        .filter(|&&m| m >> i & 1 != 0)
                        .fold(all, |common, &m| common & m)
                })
                .collect();
            let mut keep: Vec<usize> = Vec::new();
            for i in 0..count {
                // Mark i is implied by another, or equal to one that is kept.
                let implied = (0..count).any(|j| {
                    let j_implies_i = below[j] >> i & 1 != 0;
                    let i_implies_j = below[i] >> j & 1 != 0;
                    i != j && j_implies_i && (!i_implies_j || j < i)
                });
                let everywhere = list.iter().all(|&m| m >> i & 1 != 0);
                if !list.is_empty() && !implied && !everywhere {
                    keep.push(i);
                }
            }
            kept.push(keep);
        }
        // If no cycle of the automaton is forbidden, no marks are needed.
        let rejecting_cycle = present
            .iter()
            .any(|&marks| marks.is_some() && marks != Some(all));
        let mut needed = kept.iter().map(Vec::len).max().unwrap_or(0);
        if needed == 0 && rejecting_cycle {
            needed = 1;
        }
        let new_all = all_marks(needed);
        for (state, edges) in self.edges.iter_mut().enumerate() {
            let own = component[state];
            for edge in edges {
                let stays = own != NONE && component[edge.target as usize] == own;
                edge.marks = if !stays {
                    if generous { new_all } else { 0 }
                } else if accepting(own) {
                    let keep = &kept[own as usize];
                    let mut marks = new_all & !all_marks(keep.len());
                    for (new, &old) in keep.iter().enumerate() {
                        if edge.marks >> old & 1 != 0 {
                            marks |= 1 << new;
                        }
                    }
                    marks
                } else {
                    0
                };
            }
        }
        self.marks = needed;
    }

    /// The finished automaton over atoms below `atoms`; nothing if it still has too many marks.
    pub(crate) fn finish(&self, atoms: usize) -> Result<Option<Tgba>, StopReason> {
        if self.marks > MOST_MARKS as usize {
            return Ok(None);
        }
        let names: FxHashMap<Var, AtomId> = self.atoms.iter().copied().collect();
        let mut covers: FxHashMap<Bdd, Vec<Vec<Literal>>> = FxHashMap::default();
        let mut edges = Vec::new();
        for (source, list) in self.edges.iter().enumerate() {
            for edge in list {
                if !covers.contains_key(&edge.guard) {
                    let cubes = cover(&self.manager, &edge.guard)?
                        .into_iter()
                        .map(|cube| {
                            cube.into_iter()
                                .map(|(var, value)| Literal::new(names[&var], value))
                                .collect()
                        })
                        .collect();
                    covers.insert(edge.guard.clone(), cubes);
                }
                edges.push(NewEdge {
                    source: source as u32,
                    guard: covers[&edge.guard].clone(),
                    marks: edge.marks as u32,
                    target: edge.target,
                });
            }
        }
        let states = self
            .formulas
            .iter()
            .map(|&formula| StateInfo {
                formula,
                name: None,
            })
            .collect();
        Ok(Some(Tgba::new(
            atoms,
            self.initial,
            states,
            edges,
            self.marks as u32,
        )))
    }
}

pub(crate) fn all_marks(count: usize) -> Marks {
    if count >= MOST_DRAFT_MARKS {
        Marks::MAX
    } else {
        (1 << count) - 1
    }
}
