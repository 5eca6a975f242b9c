//! When variables are reordered: the diagrams have grown, and sifting may take as long as the
//! search has. A careful [`Sifter`] moves a few groups first, and goes on only if that pays.

use crate::{Manager, Result, Var};

/// A careful sifter first takes this part of the effort that it may take.
const PROBE: u64 = 8;

/// Reorders the variables of diagrams from time to time.
#[derive(Clone, Copy, Debug)]
pub struct Sifter {
    from: usize,
    at: usize,
    careful: bool,
    /// How many steps operations had taken when the variables were sifted last. Sifting may look at
    /// as many nodes as there have been steps since then, so it takes about as long as the search
    /// has. Moving all bits of a program with hundreds of them would take longer than the search
    /// that is to be helped.
    last: u64,
    /// How often variables were reordered.
    pub reorderings: u64,
    /// Nodes before and after that, the last time that it paid.
    pub paid: Option<(usize, usize)>,
}

impl Sifter {
    /// Variables are reordered when the diagrams have this number of nodes.
    pub fn new(from: usize) -> Self {
        Sifter {
            from,
            at: from,
            careful: false,
            last: 0,
            reorderings: 0,
            paid: None,
        }
    }

    /// The same for diagrams whose order is mostly good already: an eighth of the effort is spent on
    /// finding out whether more is worth it, and after a failure the diagrams have to grow more
    /// before it is tried again.
    pub fn careful(from: usize) -> Self {
        Sifter {
            careful: true,
            ..Self::new(from)
        }
    }

    /// Collects garbage if there are many nodes, and reorders if there still are; then `tell` is
    /// called first. The variables of a group stay together.
    pub fn tend<G: AsRef<[Vec<Var>]>>(
        &mut self,
        manager: &Manager,
        groups: impl FnOnce() -> G,
        tell: impl FnOnce(),
    ) -> Result<()> {
        if manager.node_count() <= self.at {
            return Ok(());
        }
        manager.collect();
        if manager.node_count() > self.at / 2 {
            tell();
            return self.reorder(manager, groups().as_ref());
        }
        self.at = self.from.max(manager.node_count() * 4);
        Ok(())
    }

    /// Reorders now, however few nodes there are.
    pub fn sift(&mut self, manager: &Manager, groups: &[Vec<Var>]) -> Result<()> {
        manager.collect();
        self.reorder(manager, groups)
    }

    fn reorder(&mut self, manager: &Manager, groups: &[Vec<Var>]) -> Result<()> {
        let before = manager.node_count();
        let effort = manager.steps() - self.last;
        let mut patience = 4;
        if self.careful {
            manager.sift_groups(groups, effort / PROBE)?;
            // While each time saves a quarter, the next one may do so, too.
            let (mut old, mut new) = (before, manager.node_count());
            patience = if pays(old, new) { 4 } else { 16 };
            while pays(old, new) {
                manager.sift_groups(groups, effort)?;
                (old, new) = (new, manager.node_count());
            }
        } else {
            manager.sift_groups(groups, effort)?;
        }
        let after = manager.node_count();
        if pays(before, after) {
            self.paid = Some((before, after));
        }
        self.last = manager.steps();
        self.reorderings += 1;
        self.at = self.from.max(after * patience);
        Ok(())
    }
}

/// Whether a quarter of the nodes was saved.
fn pays(before: usize, after: usize) -> bool {
    after < before && after <= before - before / 4
}
