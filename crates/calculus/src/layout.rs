//! The layout of one list of variables (or components), from its allocation constraints.
//!
//! As in MUCKE, variables that are `~+` share a block and are interleaved bit by bit. So are, by
//! default, neighbours of equal type, unless they are `~-`. Blocks are sorted by `<`, from the
//! back: of the blocks without successors, the one whose members were declared last on average goes
//! last. A constraint that contradicts earlier ones is dropped. Speed depends on this layout,
//! answers do not.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use rustc_hash::FxHashSet;

use crate::syntax::Relation;
use crate::theory::Wish;

/// A list of blocks, each a list of items (by index).
pub(crate) type Blocks = Vec<Vec<u32>>;

/// A position as a fraction, to be compared exactly.
#[derive(PartialEq, Eq)]
struct Average {
    sum: u64,
    count: u64,
    block: u32,
}

impl Ord for Average {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        let (a, b) = (self.sum * other.count, other.sum * self.count);
        // What has been put together comes later.
        a.cmp(&b)
            .then(self.count.cmp(&other.count))
            .then(self.block.cmp(&other.block))
    }
}

impl PartialOrd for Average {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

/// Blocks of the items `0..count`. `alike(i)` says that items `i` and `i + 1` are of the same type
/// and should be interleaved if nothing speaks against it.
pub(crate) fn blocks(count: u32, wishes: &[Wish], alike: impl Fn(u32) -> bool) -> Blocks {
    let mut union = Union::new(count);
    let apart: FxHashSet<(u32, u32)> = wishes
        .iter()
        .filter(|wish| wish.relation == Relation::Apart)
        .map(|wish| (wish.left.min(wish.right), wish.left.max(wish.right)))
        .collect();
    let together = |relation| relation == Relation::Together;
    for wish in wishes.iter().filter(|wish| together(wish.relation)) {
        if !apart.contains(&(wish.left.min(wish.right), wish.left.max(wish.right))) {
            union.join(wish.left, wish.right);
        }
    }
    for i in 0..count.saturating_sub(1) {
        if alike(i) && !apart.contains(&(i, i + 1)) {
            union.join(i, i + 1);
        }
    }
    let mut block_of = vec![u32::MAX; count as usize];
    let mut blocks: Blocks = Vec::new();
    for i in 0..count {
        let root = union.find(i) as usize;
        if block_of[root] == u32::MAX {
            block_of[root] = blocks.len() as u32;
            blocks.push(Vec::new());
        }
        blocks[block_of[root] as usize].push(i);
    }
    let block = |i: u32, union: &mut Union| block_of[union.find(i) as usize];
    let before: Vec<(u32, u32)> = wishes
        .iter()
        .filter(|wish| wish.relation == Relation::Before)
        .map(|wish| (block(wish.left, &mut union), block(wish.right, &mut union)))
        .filter(|(a, b)| a != b)
        .collect();
    for wish in wishes.iter().filter(|w| w.relation == Relation::Before) {
        let own = block(wish.left, &mut union);
        if own == block(wish.right, &mut union) {
            let members = &mut blocks[own as usize];
            let place = |members: &[u32], i| members.iter().position(|&m| m == i);
            if let (Some(l), Some(r)) = (place(members, wish.left), place(members, wish.right))
                && l > r
            {
                members.remove(l);
                members.insert(r, wish.left);
            }
        }
    }
    let order = sort(&blocks, &before);
    let mut slots: Vec<Option<Vec<u32>>> = blocks.into_iter().map(Some).collect();
    order
        .into_iter()
        .filter_map(|i| slots[i as usize].take())
        .collect()
}

/// Sorts blocks topologically, from the back.
fn sort(blocks: &Blocks, before: &[(u32, u32)]) -> Vec<u32> {
    let count = blocks.len();
    let mut predecessors = vec![Vec::new(); count];
    let mut successors = vec![0u32; count];
    for &(a, b) in before {
        predecessors[b as usize].push(a);
        successors[a as usize] += 1;
    }
    let average = |block: u32| Average {
        sum: blocks[block as usize].iter().map(|&i| u64::from(i)).sum(),
        count: blocks[block as usize].len() as u64,
        block,
    };
    let mut placed = vec![false; count];
    let mut ready: BinaryHeap<Average> = (0..count as u32)
        .filter(|&block| successors[block as usize] == 0)
        .map(average)
        .collect();
    // Blocks on a cycle of wishes become ready one by one, the last declared first.
    let mut rest: BinaryHeap<Average> = (0..count as u32).map(average).collect();
    let mut order = Vec::with_capacity(count);
    while order.len() < count {
        let Some(Average { block, .. }) = ready.pop().or_else(|| rest.pop()) else {
            break;
        };
        if std::mem::replace(&mut placed[block as usize], true) {
            continue;
        }
        order.push(block);
        for &a in &predecessors[block as usize] {
            let left = &mut successors[a as usize];
            *left = left.saturating_sub(1);
            if *left == 0 && !placed[a as usize] {
                ready.push(average(a));
            }
        }
    }
    order.reverse();
    order
}

/// Sets that are joined (Tarjan).
#[derive(Debug)]
pub(crate) struct Union {
    parent: Vec<u32>,
}

impl Union {
    pub(crate) fn new(count: u32) -> Self {
        Union {
            parent: (0..count).collect(),
        }
    }

    pub(crate) fn find(&mut self, mut i: u32) -> u32 {
        while self.parent[i as usize] != i {
            let up = self.parent[self.parent[i as usize] as usize];
            self.parent[i as usize] = up;
            i = up;
        }
        i
    }

    /// Joins two sets; the lower root stays root.
    pub(crate) fn join(&mut self, a: u32, b: u32) {
        let (a, b) = (self.find(a), self.find(b));
        let Reverse(high) = Reverse(a).min(Reverse(b));
        self.parent[high as usize] = a.min(b);
    }
}

/// The bits of a block's items, interleaved: pairs of an item and its bit (by place in its layout).
pub(crate) fn interleave(block: &[u32], width: impl Fn(u32) -> u32) -> Vec<(u32, u32)> {
    let widest = block.iter().map(|&i| width(i)).max().unwrap_or(0);
    let mut list = Vec::new();
    for bit in 0..widest {
        for &item in block {
            if bit < width(item) {
                list.push((item, bit));
            }
        }
    }
    list
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Items are letters; `C` and `E` are types.
    fn layout(head: &str, wishes: &[(usize, Relation, usize)]) -> String {
        let items: Vec<(char, char)> = head
            .split(' ')
            .map(|item| {
                let mut chars = item.chars();
                (chars.next().unwrap(), chars.next().unwrap())
            })
            .collect();
        let wishes: Vec<Wish> = wishes
            .iter()
            .map(|&(left, relation, right)| Wish {
                left: left as u32,
                relation,
                right: right as u32,
            })
            .collect();
        let alike = |i: u32| items[i as usize].0 == items[i as usize + 1].0;
        let blocks = blocks(items.len() as u32, &wishes, alike);
        let blocks: Vec<String> = blocks
            .iter()
            .map(|block| block.iter().map(|&i| items[i as usize].1).collect())
            .collect();
        blocks.join("/")
    }

    #[test]
    fn layouts_are_muckes() {
        use Relation::{Apart, Before, Together};
        assert_eq!(layout("Cx Cy Ee", &[]), "xy/e");
        assert_eq!(layout("Cx Ee Cy", &[]), "x/e/y");
        assert_eq!(layout("Cx Ee Cy", &[(0, Together, 2)]), "e/xy");
        assert_eq!(layout("Cx Ee Cy", &[(1, Before, 0)]), "e/x/y");
        assert_eq!(
            layout("Cx Ee Cy", &[(2, Before, 1), (1, Before, 0)]),
            "y/e/x"
        );
        assert_eq!(layout("Cx Cy Ee", &[(0, Apart, 1)]), "x/y/e");
        assert_eq!(layout("Cx Cy Ee", &[(1, Before, 0)]), "yx/e");
        assert_eq!(layout("bp bq br bs", &[(2, Before, 0)]), "rpqs");
        assert_eq!(
            layout("Cx Ee Cy Ed", &[(0, Together, 2), (3, Before, 0)]),
            "e/d/xy"
        );
        assert_eq!(
            layout(
                "bp Cq Cr Es Et bu",
                &[
                    (5, Before, 3),
                    (3, Together, 4),
                    (1, Together, 2),
                    (1, Before, 0)
                ]
            ),
            "qr/p/u/st"
        );
    }

    #[test]
    fn contradictions_do_no_harm() {
        use Relation::Before;
        let cycle = [(0, Before, 1), (1, Before, 2), (2, Before, 0)];
        assert_eq!(layout("Ax By Cz", &cycle).len(), 5);
    }
}
