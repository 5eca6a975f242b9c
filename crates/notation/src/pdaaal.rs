//! PDAAAL's JSON: a system, a system with two automata (a solver instance), or an automaton.
//!
//! The rules of a state are grouped by the label on top; the label `*` matches any. `pop`, `swap`
//! and `push` (which keeps the old top) say what happens to the stack. States are numbered by an array,
//! or named by an object.

use droste_base::Limits;
use droste_base::words::counted;
use droste_source::Span;
use droste_source::diagnostics::Diagnostic;
use droste_source::json::{Json, Kind};

use crate::names::Names;
use crate::problems::{Problems, too_many_names};
use crate::read::ReadError;
use crate::sets::suggestion_among;
use crate::system::{ANY, Configurations, Label, ONE, Place, Right, Rule, System, WeightId};
use crate::weight::DomainName;

/// What a file says about weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WeightType {
    /// Nothing: rules tell.
    Unsaid,
    /// There are none.
    None,
    /// One number each.
    Number,
    /// Several numbers each; how many, if the file says so.
    Vector(Option<u32>),
}

struct Reader {
    system: System,
    problems: Problems,
    weight_type: WeightType,
    /// Whether weights are natural numbers.
    unsigned: bool,
    /// The largest number of a state that a rule leads to, and where.
    largest: Option<(u32, Span)>,
    /// A rule with a weight, and one without.
    weighted: Option<Span>,
    bare: Option<Span>,
    /// Whether weights are vectors.
    vectors: bool,
    /// Whether states have names.
    named: bool,
    /// Which named states the file lists, by number.
    listed: Vec<bool>,
    /// The states that a rule leads to before they are listed, and where.
    ahead: Vec<(u32, Span)>,
}

/// More states that are not listed are not told one by one.
const FEW: usize = 5;

/// Reads a system with or without automata.
pub(crate) fn read(text: &str, limits: &Limits) -> Result<(System, Vec<Diagnostic>), ReadError> {
    limits.guard().check_now()?;
    let mut reader = Reader {
        system: System::default(),
        problems: Problems::default(),
        weight_type: WeightType::Unsaid,
        unsigned: false,
        largest: None,
        weighted: None,
        bare: None,
        vectors: false,
        named: false,
        listed: Vec::new(),
        ahead: Vec::new(),
    };
    if let Err(error) = reader.document(&mut Json::new(text)) {
        // After a mistake of this kind nothing that follows can be trusted.
        let _ = reader.problems.error(error);
    }
    Ok(reader.problems.finish(reader.system)?)
}

/// Reads an automaton for a system: `{"P-automaton": …}`, or one of the older names for it.
pub(crate) fn read_automaton(
    text: &str,
    system: &mut System,
) -> Result<Configurations, Diagnostic> {
    let mut json = Json::new(text);
    let mut found = None;
    json.object("an object", |json, key, place| {
        if !matches!(
            key,
            "P-automaton" | "initial_p_automaton" | "final_p_automaton"
        ) {
            let what = format!("`{key}` does not belong to an automaton");
            return Err(Diagnostic::error(place, what).help("expected `P-automaton`"));
        }
        found = Some(automaton(json, system)?);
        Ok(())
    })?;
    json.over()?;
    found.ok_or_else(|| Json::new(text).expected("an object with `P-automaton`"))
}

fn twice(place: Span, key: &str) -> Diagnostic {
    Diagnostic::error(place, format!("the key `{key}` is there twice"))
}

impl Reader {
    fn document(&mut self, json: &mut Json<'_>) -> Result<(), Diagnostic> {
        let mut start = json.clone();
        let mut seen = false;
        let mut other = None;
        json.object("an object", |json, key, place| match key {
            "pda" | "instance" if seen => Err(twice(place, key)),
            "pda" => {
                seen = true;
                self.pda(json)
            }
            "instance" => {
                seen = true;
                self.instance(json)
            }
            "P-automaton" => Err(
                Diagnostic::error(place, "this is an automaton, not a system")
                    .help("give it with `--initial FILE` or `--target FILE`"),
            ),
            _ => {
                other.get_or_insert_with(|| (key.to_owned(), place));
                json.skip()
            }
        })?;
        json.over()?;
        match other {
            _ if seen => Ok(()),
            Some((key, place)) => {
                let what = format!("`{}` is neither `pda` nor `instance`", key.escape_debug());
                Err(Diagnostic::error(place, what)
                    .help("a system is an object with one of these two keys"))
            }
            None => Err(start.expected("an object with `pda` or `instance`")),
        }
    }

    /// Four things in a fixed order.
    fn instance(&mut self, json: &mut Json<'_>) -> Result<(), Diagnostic> {
        let mut count = 0;
        let mut end = json.clone();
        json.array("an array of four", |json| {
            count += 1;
            match count {
                1 => self.header(json),
                2 => self.pda(json),
                3 => {
                    self.system.initial = automaton(json, &mut self.system)?;
                    Ok(())
                }
                4 => {
                    self.system.target = automaton(json, &mut self.system)?;
                    Ok(())
                }
                _ => Err(json.expected("`]` after four elements")),
            }
        })?;
        if count < 4 {
            let what = "a header, a system, an initial and a final automaton";
            return Err(end.expected(what));
        }
        Ok(())
    }

    fn header(&mut self, json: &mut Json<'_>) -> Result<(), Diagnostic> {
        let (mut names, mut weights) = (false, false);
        let here = json.here();
        json.object("an object", |json, key, place| match key {
            "state-names" if names => Err(twice(place, key)),
            "weight-type" if weights => Err(twice(place, key)),
            "state-names" => {
                names = true;
                self.named = json.boolean()?;
                Ok(())
            }
            "weight-type" => {
                weights = true;
                (self.weight_type, self.unsigned) = weight_type(json)?;
                Ok(())
            }
            _ => Err(
                Diagnostic::error(place, format!("there is no `{key}` here"))
                    .help("there are `state-names` and `weight-type`"),
            ),
        })?;
        if names && weights {
            return Ok(());
        }
        let what = "`state-names` and `weight-type` are both needed here";
        Err(Diagnostic::error(here, what))
    }

    fn pda(&mut self, json: &mut Json<'_>) -> Result<(), Diagnostic> {
        let mut seen = false;
        let mut start = json.clone();
        json.object("an object with `states`", |json, key, place| match key {
            "states" if seen => Err(twice(place, key)),
            "states" => {
                seen = true;
                self.states(json)
            }
            _ => json.skip(),
        })?;
        if !seen {
            return Err(start.expected("an object with `states`"));
        }
        self.check()
    }

    fn states(&mut self, json: &mut Json<'_>) -> Result<(), Diagnostic> {
        if json.kind()? == Kind::Object {
            if self.weight_type != WeightType::Unsaid && !self.named {
                return Err(json.expected("an array, as `state-names` says"));
            }
            self.named = true;
            return json.object("an object", |json, name, place| {
                let states = &mut self.system.states;
                let id = states.intern(name).ok_or_else(|| too_many_names(place))?;
                let place = id as usize;
                if place >= self.listed.len() {
                    self.listed.resize(place + 1, false);
                }
                self.listed[place] = true;
                self.state(json, id)
            });
        }
        if self.named {
            return Err(json.expected("an object, as `state-names` says"));
        }
        let mut count = 0;
        json.array("an array or object of states", |json| {
            count += 1;
            self.state(json, count - 1)
        })?;
        self.system.states = Names::numbered(count);
        Ok(())
    }

    /// The rules of a state, by the label on top.
    fn state(&mut self, json: &mut Json<'_>, from: u32) -> Result<(), Diagnostic> {
        json.object(
            "an object with the rules of a state",
            |json, label, place| {
                let top = self.symbol(label, place)?;
                if json.kind()? == Kind::Array {
                    return json.array("rules", |json| self.rule(json, from, top));
                }
                self.rule(json, from, top)
            },
        )
    }

    fn symbol(&mut self, label: &str, place: Span) -> Result<u32, Diagnostic> {
        if label == "*" {
            return Ok(ANY);
        }
        let symbols = &mut self.system.symbols;
        symbols.intern(label).ok_or_else(|| too_many_names(place))
    }

    fn rule(&mut self, json: &mut Json<'_>, from: u32, top: u32) -> Result<(), Diagnostic> {
        let start = json.here();
        let (mut to, mut right, mut weight) = (None, None, None);
        json.object("a rule", |json, key, place| match key {
            "to" if to.is_none() => {
                to = Some(self.successor(json)?);
                Ok(())
            }
            "pop" | "swap" | "push" if right.is_none() => {
                let (label, at) = json.string("a label in quotes")?;
                right = Some(self.operation(key, (&label, at), top)?);
                Ok(())
            }
            "weight" if weight.is_none() => {
                weight = Some(self.weight(json, place)?);
                Ok(())
            }
            "pop" | "swap" | "push" => {
                let what = "a rule has one of `pop`, `swap` and `push`, not two";
                Err(Diagnostic::error(place, what))
            }
            "to" | "weight" => Err(twice(place, key)),
            _ => Err(
                Diagnostic::error(place, format!("there is no `{key}` in a rule"))
                    .help("there are `to`, `weight`, and one of `pop`, `swap` and `push`"),
            ),
        })?;
        if weight.is_none() && self.bare.is_none() {
            self.bare = Some(start);
        }
        let (Some(to), Some(right)) = (to, right) else {
            let missing = if to.is_none() {
                "`to`"
            } else {
                "`pop`, `swap` or `push`"
            };
            let error = Diagnostic::error(start, format!("the rule has no {missing}"));
            // The text is well-formed: there is more to be found.
            return self.problems.error(error.clone()).map_err(|_| error);
        };
        self.system.rules.push(Rule {
            from,
            top,
            to,
            right,
            weight: weight.unwrap_or(ONE),
            merge: ONE,
        });
        Ok(())
    }

    fn successor(&mut self, json: &mut Json<'_>) -> Result<u32, Diagnostic> {
        if self.named {
            let (name, place) = json.string("the name of a state")?;
            let states = &mut self.system.states;
            let known = states.len();
            let id = states.intern(&name).ok_or_else(|| too_many_names(place))?;
            if id == known {
                self.ahead.push((id, place));
            }
            return Ok(id);
        }
        let (number, place) = json.index("the number of a state")?;
        if self.largest.is_none_or(|(largest, _)| number > largest) {
            self.largest = Some((number, place));
        }
        Ok(number)
    }

    fn operation(
        &mut self,
        operation: &str,
        (label, place): (&str, Span),
        top: u32,
    ) -> Result<Right, Diagnostic> {
        let error = |what: &str| Err(Diagnostic::error(place, what));
        match operation {
            "pop" if label.is_empty() => Ok(Right::Pop),
            "pop" => error("`pop` has no label: it is written `\"pop\": \"\"`"),
            // The label is kept.
            "swap" if label == "*" => Ok(Right::Step(top)),
            "swap" => Ok(Right::Step(self.symbol(label, place)?)),
            _ if label == "*" => error("`push` needs a label: `*` is none"),
            _ => Ok(Right::Push(self.symbol(label, place)?, top)),
        }
    }

    fn weight(&mut self, json: &mut Json<'_>, place: Span) -> Result<WeightId, Diagnostic> {
        self.weighted.get_or_insert(place);
        if self.weight_type == WeightType::None {
            let error = Diagnostic::error(place, "the header says that there are no weights");
            let error =
                error.help("set `weight-type` to \"uint\" or \"int\", or leave it out here");
            let again = error.clone();
            self.problems.error(error).map_err(|_| again)?;
        }
        let (text, at) = if json.kind()? == Kind::Array {
            let start = json.here();
            let mut numbers = Vec::new();
            json.array("an array of numbers", |json| {
                numbers.push(json.number("a number")?.0.to_owned());
                Ok(())
            })?;
            self.vectors = true;
            if let WeightType::Vector(Some(length)) = self.weight_type
                && numbers.len() > length as usize
            {
                let what = format!("this weight has more than {length} numbers");
                return Err(Diagnostic::error(start, what).label("as the header says"));
            }
            if self.weight_type == WeightType::Number {
                let what = "expected a number, as the header says, found an array";
                return Err(Diagnostic::error(start, what));
            }
            (format!("[{}]", numbers.join(", ")), start)
        } else {
            let (text, at) = json.number("a number")?;
            if let WeightType::Vector(_) = self.weight_type {
                let what = "expected an array of numbers, as the header says";
                return Err(Diagnostic::error(at, what));
            }
            (text.to_owned(), at)
        };
        let weights = &mut self.system.weights;
        weights.intern(&text, at).ok_or_else(|| too_many_names(at))
    }

    /// Warns of states that rules lead to and that are not listed. PDAAAL makes a state of every
    /// name that it meets, so files may rely on it; but it may as well be a slip.
    fn warn_of_unlisted(&mut self) {
        let listed = |id: u32| self.listed.get(id as usize) == Some(&true);
        let mut unlisted = self.ahead.iter().filter(|(id, _)| !listed(*id));
        let states = &self.system.states;
        for &(id, place) in unlisted.by_ref().take(FEW) {
            let name = states.get(id);
            let what = format!("the state `{name}` is not listed among the states");
            let warning = Diagnostic::warning(place, what).label("a state without rules");
            let others = (0..states.len()).filter(|id| listed(*id));
            self.problems
                .warning(match suggestion_among(&name, states, others) {
                    Some(near) => warning.help(format!("did you mean `{near}`?")),
                    None => warning.help(format!("if it is meant, list it: `\"{name}\": {{}}`")),
                });
        }
        if let Some(&(_, place)) = unlisted.next() {
            let more = counted(1 + unlisted.count() as u64, "more state");
            let what = format!("not listed among the states either: {more}");
            self.problems
                .warning(Diagnostic::warning(place, what).label("the first of them"));
        }
    }

    /// What can only be said when all rules are known.
    fn check(&mut self) -> Result<(), Diagnostic> {
        self.warn_of_unlisted();
        let count = self.system.states.len();
        if let Some((to, place)) = self.largest
            && to >= count
        {
            let error = Diagnostic::error(place, format!("there is no state {to}"));
            let there = counted(count as u64, "state");
            return Err(error.help(format!("the system has {there}, numbered from 0")));
        }
        let weights = match (self.weight_type, self.weighted) {
            (WeightType::Unsaid, None) | (WeightType::None, _) => WeightType::None,
            (WeightType::Unsaid, _) if self.vectors => WeightType::Vector(None),
            (WeightType::Unsaid, Some(_)) => WeightType::Number,
            (said, _) => said,
        };
        if weights != WeightType::None
            && let Some(bare) = self.bare
        {
            let error = Diagnostic::error(bare, "this rule has no weight");
            return Err(match self.weighted {
                Some(place) => error.also(place, "this one has"),
                None => error.help("`weight-type` says that every rule has one"),
            });
        }
        let texts = &self.system.weights;
        let mut texts = (0..texts.len() as u32).map(|id| texts.get(WeightId(id)));
        if self.unsigned
            && let Some((text, place)) = texts.find(|(text, _)| text.contains('-'))
        {
            let error = Diagnostic::error(place, format!("the weight `{text}` is negative"));
            let help = "`weight-type` says \"uint\"; with \"int\", weights may be negative";
            return Err(error.help(help));
        }
        self.system.domain = Some(match weights {
            WeightType::Unsaid | WeightType::None => DomainName::Bool,
            WeightType::Number => DomainName::MinPlus,
            WeightType::Vector(_) => DomainName::Vector,
        });
        Ok(())
    }
}

/// The type of weights, and whether they are natural numbers.
fn weight_type(json: &mut Json<'_>) -> Result<(WeightType, bool), Diagnostic> {
    let expected = "expected \"none\", \"uint\", \"int\", or one of the last two in brackets";
    // Whether they are natural numbers.
    let number = |text: &str, place| match text {
        "uint" => Ok(true),
        "int" => Ok(false),
        _ => Err(Diagnostic::error(place, expected)),
    };
    if json.kind()? != Kind::Array {
        let (text, place) = json.string("a type of weights")?;
        return match &*text {
            "none" => Ok((WeightType::None, false)),
            text => Ok((WeightType::Number, number(text, place)?)),
        };
    }
    let (mut count, mut length, mut unsigned) = (0, None, false);
    let start = json.here();
    json.array("a type of weights", |json| {
        count += 1;
        match count {
            1 => {
                let (text, place) = json.string("\"uint\" or \"int\"")?;
                unsigned = number(&text, place)?;
                Ok(())
            }
            2 => {
                let (number, place) = json.index("how many numbers a weight has")?;
                if number == 0 {
                    return Err(Diagnostic::error(place, "a weight has at least one number"));
                }
                length = Some(number);
                Ok(())
            }
            _ => Err(json.expected("`]`")),
        }
    })?;
    if count == 0 {
        return Err(Diagnostic::error(start, expected));
    }
    Ok((WeightType::Vector(length), unsigned))
}

/// A state of an automaton.
fn place(
    json: &mut Json<'_>,
    system: &System,
    extra: &mut Names,
) -> Result<(Place, Span), Diagnostic> {
    let (name, at) = if json.kind()? == Kind::String {
        let (name, at) = json.string("a state")?;
        (name.into_owned(), at)
    } else {
        let (number, at) = json.index("a state")?;
        (number.to_string(), at)
    };
    Ok((named(&name, at, system, extra)?, at))
}

fn named(name: &str, at: Span, system: &System, extra: &mut Names) -> Result<Place, Diagnostic> {
    if let Some(id) = system.states.find(name) {
        return Ok(Place::Control(id));
    }
    let id = extra.intern(name).ok_or_else(|| too_many_names(at))?;
    Ok(Place::Extra(id))
}

/// The label of an edge.
fn label(json: &mut Json<'_>, system: &mut System) -> Result<Label, Diagnostic> {
    let (text, at) = json.string("a label in quotes")?;
    match &*text {
        "" => Ok(Label::Epsilon),
        "*" => Err(Diagnostic::error(at, "`*` is no label of an edge").help(
            "only as the key of a rule it matches every label; here, write an edge for each",
        )),
        text => {
            let id = system.symbols.intern(text);
            Ok(Label::One(id.ok_or_else(|| too_many_names(at))?))
        }
    }
}

/// An older form, state by state: `[{"edges": [{"label": …, "to": …}, …], "accepting": true,
/// "initial": true}, …]`, or an object with the names of the states.
fn by_states(
    json: &mut Json<'_>,
    system: &mut System,
    extra: &mut Names,
    set: &mut Configurations,
) -> Result<(), Diagnostic> {
    if json.kind()? == Kind::Object {
        return json.object("states by name", |json, name, at| {
            let from = named(name, at, system, extra)?;
            state(json, (from, at), system, extra, set)
        });
    }
    let mut number = 0u64;
    json.array("states", |json| {
        let at = json.here();
        let from = named(&number.to_string(), at, system, extra)?;
        number += 1;
        state(json, (from, at), system, extra, set)
    })
}

/// A state of the older form.
fn state(
    json: &mut Json<'_>,
    (from, at): (Place, Span),
    system: &mut System,
    extra: &mut Names,
    set: &mut Configurations,
) -> Result<(), Diagnostic> {
    let (mut initial, mut accepting) = (false, false);
    json.object("a state of an automaton", |json, key, at| match key {
        "initial" => {
            initial = json.boolean()?;
            Ok(())
        }
        "accepting" => {
            accepting = json.boolean()?;
            Ok(())
        }
        "edges" => json.array("an array of edges", |json| {
            let (mut read, mut to) = (None, None);
            let mut start = json.clone();
            json.object("an edge", |json, key, at| match key {
                "label" => {
                    read = Some(label(json, system)?);
                    Ok(())
                }
                "to" => {
                    to = Some(place(json, system, extra)?.0);
                    Ok(())
                }
                _ => Err(
                    Diagnostic::error(at, format!("there is no `{key}` in an edge"))
                        .help("there are `label` and `to`"),
                ),
            })?;
            let (Some(label), Some(to)) = (read, to) else {
                return Err(start.expected("an edge with `label` and `to`"));
            };
            set.edges.push(crate::system::Edge {
                from,
                label,
                to,
                weight: ONE,
            });
            Ok(())
        }),
        _ => Err(
            Diagnostic::error(at, format!("there is no `{key}` in a state"))
                .help("there are `initial`, `accepting` and `edges`"),
        ),
    })?;
    if accepting {
        set.accepting.push((from, ONE));
    }
    match from {
        Place::Extra(_) if initial => Err(Diagnostic::error(
            at,
            "an initial state must be a state of the system",
        )),
        Place::Control(_) if !initial => Err(Diagnostic::error(
            at,
            "this is a state of the system, but it is not initial",
        )
        .help("other states of the automaton need names or numbers of their own")),
        _ => Ok(()),
    }
}

/// `{"initial": …, "accepting": …, "edges": …}`
fn automaton(json: &mut Json<'_>, system: &mut System) -> Result<Configurations, Diagnostic> {
    let mut set = Configurations::default();
    let mut extra = Names::new();
    let (mut accepting, mut edges) = (false, false);
    let mut start = json.clone();
    json.object("an automaton", |json, key, at| match key {
        "accepting" if accepting => Err(twice(at, key)),
        "edges" if edges => Err(twice(at, key)),
        "initial" => json.array("an array of states", |json| {
            let mut none = Names::new();
            match place(json, system, &mut none)? {
                (Place::Control(_), _) => Ok(()),
                (Place::Extra(_), at) => Err(Diagnostic::error(
                    at,
                    "an initial state must be a state of the system",
                )),
            }
        }),
        "accepting" => {
            accepting = true;
            json.array("an array of states", |json| {
                let (state, _) = place(json, system, &mut extra)?;
                set.accepting.push((state, ONE));
                Ok(())
            })
        }
        "edges" => {
            edges = true;
            json.array("an array of edges", |json| {
                set.edges.push(edge(json, system, &mut extra)?);
                Ok(())
            })
        }
        "states" if !accepting && !edges => {
            (accepting, edges) = (true, true);
            by_states(json, system, &mut extra, &mut set)
        }
        _ => Err(
            Diagnostic::error(at, format!("there is no `{key}` in an automaton"))
                .help("there are `initial`, `accepting` and `edges`"),
        ),
    })?;
    if !accepting || !edges {
        return Err(start.expected("an automaton with `accepting` and `edges`"));
    }
    set.extra = extra.len();
    Ok(set)
}

fn edge(
    json: &mut Json<'_>,
    system: &mut System,
    extra: &mut Names,
) -> Result<crate::system::Edge, Diagnostic> {
    let (mut from, mut read, mut to) = (None, None, None);
    let mut count = 0;
    let mut start = json.clone();
    json.array("an edge", |json| {
        count += 1;
        match count {
            1 => from = Some(place(json, system, extra)?.0),
            2 => read = Some(label(json, system)?),
            3 => to = Some(place(json, system, extra)?.0),
            _ => return Err(json.expected("`]`")),
        }
        Ok(())
    })?;
    match (from, read, to) {
        (Some(from), Some(label), Some(to)) => Ok(crate::system::Edge {
            from,
            label,
            to,
            weight: ONE,
        }),
        _ => Err(start.expected("a state, a label and a state")),
    }
}
