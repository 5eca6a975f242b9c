//! Demands: which unknown variables are wanted to have which values. Each different one is
//! kept once and named by 32 bits; nearly all are equal, and most are empty.

use std::rc::Rc;

use rustc_hash::FxHashMap;

/// A variable, by slot, and the offset of the value it is wanted to have.
pub(super) type Want = (u32, u64);

/// Values wanted of unknown variables, by slot, sorted.
pub(super) type Wants = [Want];

/// A demand in [`Demands`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct WantsId(u32);

pub(super) fn lookup(wants: &Wants, slot: u32) -> Option<u64> {
    wants
        .binary_search_by_key(&slot, |&(slot, _)| slot)
        .ok()
        .map(|i| wants[i].1)
}

pub(super) struct Demands {
    all: Vec<Rc<Wants>>,
    ids: FxHashMap<Rc<Wants>, WantsId>,
}

impl Demands {
    /// The empty demand.
    pub(super) const NOTHING: WantsId = WantsId(0);

    pub(super) fn new() -> Self {
        Demands {
            all: vec![Rc::from([])],
            ids: FxHashMap::default(),
        }
    }

    pub(super) fn get(&self, id: WantsId) -> &Wants {
        &self.all[id.0 as usize]
    }

    pub(super) fn id(&mut self, wants: Vec<Want>) -> WantsId {
        if wants.is_empty() {
            return Self::NOTHING;
        }
        if let Some(&id) = self.ids.get(&wants[..]) {
            return id;
        }
        let id = WantsId(self.all.len() as u32);
        let wants: Rc<Wants> = Rc::from(wants);
        self.all.push(Rc::clone(&wants));
        self.ids.insert(wants, id);
        id
    }
}
