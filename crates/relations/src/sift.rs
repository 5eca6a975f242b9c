//! When variables are reordered: the diagrams have grown, and sifting may take as long as the
//! search has.

use droste_bdd::{Manager, Var};

use crate::encode::Result;

/// Reorders the variables of diagrams from time to time.
#[derive(Clone, Copy, Debug)]
pub struct Sifter {
    from: usize,
    at: usize,
    /// How many steps operations had taken when the variables were sifted last. Sifting may look at
    /// as many nodes as there have been steps since then, so it takes about as long as the search
    /// has. Moving all bits of a program with hundreds of them would take longer than the search
    /// that is to be helped.
    last: u64,
    /// How often variables were reordered.
    pub reorderings: u64,
}

impl Sifter {
    /// Variables are reordered when the diagrams have this number of nodes.
    pub fn new(from: usize) -> Self {
        Sifter {
            from,
            at: from,
            last: 0,
            reorderings: 0,
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
            let effort = manager.steps() - self.last;
            manager.sift_groups(groups().as_ref(), effort)?;
            self.last = manager.steps();
            self.reorderings += 1;
        }
        self.at = self.from.max(manager.node_count() * 4);
        Ok(())
    }
}
