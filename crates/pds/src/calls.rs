//! The calls of a pushdown system, as post* sees them: a state for each callee, and what is behind
//! calls of it.
//!
//! All this depends on the rules alone. It is found once, however many questions there are.

use crate::saturate::NONE;
use crate::system::{POP, Pds, STEP, SymbolId};

/// The states of callees, by number, and the heads that start there.
#[derive(Debug)]
pub(crate) struct Calls {
    /// For each callee, whether its callers merge.
    merges: Vec<bool>,
    /// For each callee, its procedure.
    procedures: Vec<u32>,
    /// For each push rule, by its place among the rules sorted by left-hand sides: its callee.
    of_item: Vec<u32>,
    /// For each push rule likewise: what is behind it, among `sites`.
    site_of_item: Vec<u32>,
    /// A callee, and a symbol that is behind calls of it, sorted.
    sites: Vec<(u32, SymbolId)>,
    /// For each callee, where its sites begin; one more at the end.
    first_site: Vec<u32>,
}

impl Calls {
    pub(crate) fn new<W>(pds: &Pds<W>) -> Self {
        let items = &pds.left().items;
        let mut of_item = vec![NONE; items.len()];
        let mut site_of_item = of_item.clone();
        let (mut merges, mut procedures) = (Vec::new(), Vec::new());
        // For each head that is called, with a merge function or without.
        let mut of_head = [vec![NONE; pds.heads().len() as usize], Vec::new()];
        let mut behind = Vec::new();
        for (number, item) in (0..).zip(items) {
            if item.second == POP || item.second == STEP {
                continue;
            }
            let merge = pds.rules()[item.rule as usize].merge.is_some();
            let known = &mut of_head[usize::from(merge)];
            if known.is_empty() {
                known.resize(pds.heads().len() as usize, NONE);
            }
            let known = &mut known[item.head as usize];
            if *known == NONE {
                *known = merges.len() as u32;
                merges.push(merge);
                let (_, entry) = pds.heads().get(item.head);
                procedures.push(pds.procedures().of(entry.0));
            }
            of_item[number as usize] = *known;
            behind.push((*known, SymbolId(item.second), number));
        }
        behind.sort_unstable();
        let mut sites: Vec<(u32, SymbolId)> = Vec::new();
        let mut first_site = vec![0; merges.len() + 1];
        for (callee, second, number) in behind {
            if sites.last() != Some(&(callee, second)) {
                sites.push((callee, second));
                first_site[callee as usize + 1] = sites.len() as u32;
            }
            site_of_item[number as usize] = sites.len() as u32 - 1;
        }
        Calls {
            merges,
            procedures,
            of_item,
            site_of_item,
            sites,
            first_site,
        }
    }

    /// How many callees there are.
    pub(crate) fn states(&self) -> u32 {
        self.merges.len() as u32
    }

    /// The callee of a push rule.
    #[inline]
    pub(crate) fn of(&self, item: usize) -> u32 {
        self.of_item[item]
    }

    /// Whether those who call a callee merge.
    #[inline]
    pub(crate) fn merges(&self, callee: u32) -> bool {
        self.merges.get(callee as usize) == Some(&true)
    }

    /// The procedures of all callees.
    pub(crate) fn callees(&self) -> impl Iterator<Item = u32> {
        self.procedures.iter().copied()
    }

    /// How many sites there are.
    pub(crate) fn sites(&self) -> u32 {
        self.sites.len() as u32
    }

    /// What is behind a push rule.
    #[inline]
    pub(crate) fn site(&self, item: usize) -> u32 {
        self.site_of_item[item]
    }

    /// The callee and the symbol of a site.
    #[inline]
    pub(crate) fn name(&self, site: u32) -> (u32, SymbolId) {
        self.sites[site as usize]
    }

    /// The site of a symbol behind calls of a callee.
    #[inline]
    pub(crate) fn find(&self, callee: u32, second: SymbolId) -> Option<u32> {
        let begin = *self.first_site.get(callee as usize)?;
        let end = *self.first_site.get(callee as usize + 1)?;
        let sites = &self.sites[begin as usize..end as usize];
        let found = sites.binary_search_by_key(&second, |&(_, symbol)| symbol);
        found.ok().map(|at| begin + at as u32)
    }
}
