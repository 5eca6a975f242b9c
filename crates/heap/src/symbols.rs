//! The names of a heap: types, selectors, variables, nonterminals, annotations.
//!
//! All are interned to small numbers. What kind of variable or type a number stands for can be
//! told from the number, so that no table is needed in the inner loops.

use std::sync::Arc;

use rustc_hash::FxHashMap;

/// A type of nodes: a class, or one of the types of constants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TypeId(pub u16);

impl TypeId {
    /// The type of the node that `null` points to.
    pub const NULL: TypeId = TypeId(0);
    /// The type of the nodes for 0 and 1 that are added where a heap lacks them.
    pub const INT: TypeId = TypeId(1);

    /// Whether nodes of this type are constants. A node of another type in a rule may stand for
    /// `null` in a heap, one of these may not.
    pub fn is_constant(self) -> bool {
        usize::from(self.0) < CONSTANT_TYPES.len()
    }
}

const CONSTANT_TYPES: [&str; 6] = ["NULL", "int", "int_0", "int_1", "int_-1", "bool"];

/// A selector: the name of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Selector(pub u16);

/// What is written on a selector of a single node, say its balance in an AVL tree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Annotation(pub u16);

impl Annotation {
    /// No annotation: the empty text.
    pub const NONE: Annotation = Annotation(0);
}

/// A variable: a constant, a variable of the program, or a marking (its name starts with `%`).
/// Constants come first, markings last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Variable(pub u16);

const CONSTANTS: [&str; 6] = ["null", "0", "1", "-1", "true", "false"];
const MARKING: u16 = 0x8000;
const COMPOSED: u16 = 0x4000;

impl Variable {
    /// `null`.
    pub const NULL: Variable = Variable(0);
    /// `0`.
    pub const ZERO: Variable = Variable(1);
    /// `1`.
    pub const ONE: Variable = Variable(2);
    /// `-1`.
    pub const MINUS_ONE: Variable = Variable(3);
    /// `true`, which shares its node with `1`.
    pub const TRUE: Variable = Variable(4);
    /// `false`, which shares its node with `0`.
    pub const FALSE: Variable = Variable(5);

    /// Whether this is `null`, a number or a truth value.
    pub fn is_constant(self) -> bool {
        usize::from(self.0) < CONSTANTS.len()
    }

    /// Whether this is a marking: its name starts with `%`.
    pub fn is_marking(self) -> bool {
        self.0 & MARKING != 0
    }

    /// Whether this is a composed marking, `%a-b`.
    pub fn is_composed(self) -> bool {
        self.0 & (MARKING | COMPOSED) == MARKING | COMPOSED
    }
}

/// A nonterminal; [`Symbols`] knows its rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Nonterminal(pub u16);

/// Behind all nonterminals that have names of their own, see [`Symbols::MOST`].
const REMEMBERED: u16 = 0xfff0;

impl Nonterminal {
    /// What a fragment's hyperedge without tentacles is labelled with to remember an end of
    /// indices, see [`Grammar::remember_indices`](crate::Grammar::remember_indices).
    pub(crate) fn remembering(end: End) -> Nonterminal {
        Nonterminal(REMEMBERED + end as u16)
    }

    /// The end that is remembered, if that is what this nonterminal is for.
    pub(crate) fn remembered(self) -> Option<End> {
        let ends = [End::Z, End::C, End::X, End::Y];
        ends.into_iter()
            .find(|&end| Nonterminal::remembering(end) == self)
    }

    /// The nonterminal that remembers an end, by its name.
    fn remembering_named(name: &str) -> Option<Nonterminal> {
        let ends = [End::Z, End::C, End::X, End::Y];
        let found = ends.into_iter().find(|&end| entered_with(end) == name);
        found.map(Nonterminal::remembering)
    }
}

/// The name of the nonterminal that remembers an end.
fn entered_with(end: End) -> &'static str {
    match end {
        End::Z => "entered with Z",
        End::C => "entered with C",
        End::Y => "entered with Y",
        End::X | End::Any => "entered with X",
    }
}

/// How an index ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum End {
    /// The bottom `Z`.
    Z,
    /// The bottom `C`.
    C,
    /// Any index that `X -> sX | Z` produces.
    X,
    /// Any index that `Y -> sY | C` produces.
    Y,
    /// The index variable `()`, in rules only.
    Any,
}

/// An index: `s…s` and an end, or none. Indices measure, say, the height of a tree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Index(u16);

impl Index {
    /// No index.
    pub const NONE: Index = Index(0);
    /// The largest number of symbols `s`.
    pub const LONGEST: u16 = (1 << 12) - 1;

    /// `s` so many times, then the end. `None` if that is longer than [`Self::LONGEST`].
    pub fn new(count: u16, end: End) -> Option<Index> {
        let code = end as u16 + 1;
        (count <= Self::LONGEST).then_some(Index(count << 3 | code))
    }

    /// How many `s` there are, and the end; `None` if there is no index.
    pub fn parts(self) -> Option<(u16, End)> {
        let end = match self.0 & 7 {
            0 => return None,
            1 => End::Z,
            2 => End::C,
            3 => End::X,
            4 => End::Y,
            _ => End::Any,
        };
        Some((self.0 >> 3, end))
    }
}

/// What is written on a hyperedge: a nonterminal and an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Label {
    /// The nonterminal.
    pub nonterminal: Nonterminal,
    /// Its index, [`Index::NONE`] in a grammar without indices.
    pub index: Index,
}

impl From<Nonterminal> for Label {
    fn from(nonterminal: Nonterminal) -> Self {
        let index = Index::NONE;
        Label { nonterminal, index }
    }
}

/// The label as one number, and back.
impl Label {
    pub(crate) fn words(self) -> [u16; 2] {
        [self.nonterminal.0, self.index.0]
    }

    pub(crate) fn from_words(words: [u16; 2]) -> Label {
        let (nonterminal, index) = (Nonterminal(words[0]), Index(words[1]));
        Label { nonterminal, index }
    }
}

/// A nonterminal that is declared with another rank than before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RankMismatch {
    /// The rank of the first declaration.
    pub first: usize,
}

/// Names with numbers.
#[derive(Clone, Debug, Default)]
struct Names {
    names: Vec<Arc<str>>,
    numbers: FxHashMap<Arc<str>, u16>,
}

impl Names {
    fn with(names: &[&str]) -> Names {
        let mut made = Names::default();
        for name in names {
            made.add(name, 0);
        }
        made
    }

    /// The number of a name; a new one gets `flags` and its place in the list.
    fn add(&mut self, name: &str, flags: u16) -> u16 {
        if let Some(&number) = self.numbers.get(name) {
            return number;
        }
        assert!(
            self.names.len() < Symbols::MOST,
            "a heap has at most {} names of a kind",
            Symbols::MOST
        );
        let number = self.names.len() as u16 | flags;
        let name: Arc<str> = name.into();
        self.names.push(Arc::clone(&name));
        self.numbers.insert(name, number);
        number
    }
}

/// All names. Ids of one table mean nothing in another.
#[derive(Clone, Debug)]
pub struct Symbols {
    types: Names,
    selectors: Names,
    annotations: Names,
    variables: Names,
    nonterminals: Names,
    ranks: Vec<u16>,
}

impl Default for Symbols {
    fn default() -> Self {
        Symbols::new()
    }
}

impl Symbols {
    /// At most so many names of a kind can be told apart. Readers refuse more.
    pub const MOST: usize = 1 << 14;

    /// Constants and their types, nothing else.
    pub fn new() -> Symbols {
        Symbols {
            types: Names::with(&CONSTANT_TYPES),
            selectors: Names::default(),
            annotations: Names::with(&[""]),
            variables: Names::with(&CONSTANTS),
            nonterminals: Names::default(),
            ranks: Vec::new(),
        }
    }

    /// The type of that name, new or not.
    pub fn add_type(&mut self, name: &str) -> TypeId {
        TypeId(self.types.add(name, 0))
    }

    /// The selector of that name, new or not.
    pub fn add_selector(&mut self, name: &str) -> Selector {
        Selector(self.selectors.add(name, 0))
    }

    /// The annotation of that text, new or not.
    pub fn add_annotation(&mut self, text: &str) -> Annotation {
        Annotation(self.annotations.add(text, 0))
    }

    /// The variable of that name, new or not. A name that starts with `%` is a marking.
    pub fn add_variable(&mut self, name: &str) -> Variable {
        let marking = name.starts_with('%');
        let flags = match marking {
            true if name.contains('-') => MARKING | COMPOSED,
            true => MARKING,
            false => 0,
        };
        Variable(self.variables.add(name, flags))
    }

    /// The nonterminal of that name, new or not.
    pub fn add_nonterminal(
        &mut self,
        name: &str,
        rank: usize,
    ) -> Result<Nonterminal, RankMismatch> {
        let number = self.nonterminals.add(name, 0);
        match self.ranks.get(usize::from(number)) {
            None => self.ranks.push(rank as u16),
            Some(&first) if usize::from(first) != rank => {
                let first = first.into();
                return Err(RankMismatch { first });
            }
            Some(_) => (),
        }
        Ok(Nonterminal(number))
    }

    /// The type of that name, if there is one.
    pub fn type_id(&self, name: &str) -> Option<TypeId> {
        self.types.numbers.get(name).copied().map(TypeId)
    }

    /// The selector of that name, if there is one.
    pub fn selector(&self, name: &str) -> Option<Selector> {
        self.selectors.numbers.get(name).copied().map(Selector)
    }

    /// The variable of that name, if there is one.
    pub fn variable(&self, name: &str) -> Option<Variable> {
        self.variables.numbers.get(name).copied().map(Variable)
    }

    /// The nonterminal of that name, if there is one.
    pub fn nonterminal(&self, name: &str) -> Option<Nonterminal> {
        let number = self.nonterminals.numbers.get(name).copied();
        number
            .map(Nonterminal)
            .or_else(|| Nonterminal::remembering_named(name))
    }

    /// How a type is called.
    pub fn type_name(&self, id: TypeId) -> &str {
        &self.types.names[usize::from(id.0)]
    }

    /// How a selector is called.
    pub fn selector_name(&self, id: Selector) -> &str {
        &self.selectors.names[usize::from(id.0)]
    }

    /// What an annotation says.
    pub fn annotation_text(&self, id: Annotation) -> &str {
        &self.annotations.names[usize::from(id.0)]
    }

    /// How a variable is called.
    pub fn variable_name(&self, id: Variable) -> &str {
        &self.variables.names[usize::from(id.0 & !(MARKING | COMPOSED))]
    }

    /// How a nonterminal is called.
    pub fn nonterminal_name(&self, id: Nonterminal) -> &str {
        match id.remembered() {
            Some(end) => entered_with(end),
            None => &self.nonterminals.names[usize::from(id.0)],
        }
    }

    /// How many tentacles a nonterminal has.
    pub fn rank(&self, id: Nonterminal) -> usize {
        match id.remembered() {
            Some(_) => 0,
            None => self.ranks[usize::from(id.0)].into(),
        }
    }

    /// Every nonterminal, in the order of declaration.
    pub fn nonterminals(&self) -> impl Iterator<Item = Nonterminal> + use<> {
        (0..self.ranks.len() as u16).map(Nonterminal)
    }

    /// Every type, in the order of declaration.
    pub fn types(&self) -> impl Iterator<Item = TypeId> + use<> {
        (0..self.types.names.len() as u16).map(TypeId)
    }

    /// Every selector, in the order of declaration.
    pub fn selectors(&self) -> impl Iterator<Item = Selector> + use<> {
        (0..self.selectors.names.len() as u16).map(Selector)
    }

    /// Whether so many more names of each kind can be told apart.
    pub fn has_room(&self, more: usize) -> bool {
        let mut counts = self.kinds().into_iter().map(|kind| kind.names.len());
        counts.all(|count| count + more < Self::MOST)
    }

    /// Whether these names can be told apart, of whatever kind they are; each is given once.
    pub(crate) fn has_room_for<'a>(&self, names: &(impl Iterator<Item = &'a str> + Clone)) -> bool {
        let new = |kind: &Names| {
            let new = names.clone();
            new.filter(|&name| !kind.numbers.contains_key(name)).count()
        };
        let mut kinds = self.kinds().into_iter();
        kinds.all(|kind| kind.names.len() + new(kind) < Self::MOST)
    }

    fn kinds(&self) -> [&Names; 5] {
        [
            &self.types,
            &self.selectors,
            &self.annotations,
            &self.variables,
            &self.nonterminals,
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_told_from_numbers() {
        let mut symbols = Symbols::new();
        let x = symbols.add_variable("x");
        let visited = symbols.add_variable("%visited");
        let composed = symbols.add_variable("%neighbourhood-next");
        assert!(!x.is_constant() && !x.is_marking() && !x.is_composed());
        assert!(visited.is_marking() && !visited.is_composed() && !visited.is_constant());
        assert!(composed.is_marking() && composed.is_composed());
        assert!(symbols.variable("-1").unwrap() == Variable::MINUS_ONE);
        assert!(Variable::FALSE.is_constant() && TypeId::NULL.is_constant());
        assert_eq!(symbols.variable_name(composed), "%neighbourhood-next");
        assert_eq!(symbols.add_variable("%visited"), visited);
        assert!(!symbols.add_type("List").is_constant());
    }

    #[test]
    fn a_nonterminal_has_one_rank() {
        let mut symbols = Symbols::new();
        let list = symbols.add_nonterminal("List", 2).unwrap();
        assert_eq!(symbols.add_nonterminal("List", 2), Ok(list));
        assert_eq!(
            symbols.add_nonterminal("List", 3),
            Err(RankMismatch { first: 2 })
        );
        assert_eq!(symbols.rank(list), 2);
    }

    #[test]
    fn indices_have_two_parts() {
        for end in [End::Z, End::C, End::X, End::Y, End::Any] {
            let index = Index::new(3, end).unwrap();
            assert_eq!(index.parts(), Some((3, end)));
        }
        assert_eq!(Index::new(1 << 12, End::Z), None);
        assert_eq!(Index::NONE.parts(), None);
    }
}
