//! WALi's XML: a query (a system and an automaton), a system, or an automaton.
//!
//! Whichever of its solver classes a tag names, the system is the same. The weight of a state is
//! where WALi's solver keeps its sums; it says nothing about the automaton and is not used. Nor is the
//! order of weights in the automaton of a query: before WALi solves it, it sets that order itself, to
//! `REVERSE` for post* and to `INORDER` for pre*.

use droste_base::Limits;
use droste_source::Span;
use droste_source::diagnostics::Diagnostic;

use crate::names::Names;
use crate::problems::{Problems, too_many_names};
use crate::read::ReadError;
use crate::system::{
    Configurations, Edge, Label, ONE, Place, Reading, Right, Rule, System, WeightId,
};
use crate::weight::DomainName;
use crate::xml::{Piece, Tag, Xml};

const SYSTEMS: [&str; 5] = ["WPDS", "DebugWPDS", "EWPDS", "FWPDS", "SWPDS"];

/// An automaton whose states are names: the control states may not be known yet.
#[derive(Default)]
struct Wfa {
    states: Names,
    edges: Vec<(u32, Label, u32, WeightId)>,
    accepting: Vec<u32>,
    initial: Vec<(u32, Span)>,
    reading: Option<Reading>,
}

struct Reader<'a> {
    xml: Xml<'a>,
    system: System,
    problems: Problems,
}

/// Reads a query or a system.
pub(crate) fn read(text: &str, limits: &Limits) -> Result<(System, Vec<Diagnostic>), ReadError> {
    limits.guard().check_now()?;
    let mut reader = Reader {
        xml: Xml::new(text),
        system: System::default(),
        problems: Problems::default(),
    };
    if let Err(error) = reader.document() {
        let _ = reader.problems.error(error);
    }
    reader.guess_domain();
    Ok(reader.problems.finish(reader.system)?)
}

/// Reads an automaton for a system: `<WFA>`. The new texts of weights go to the system.
pub(crate) fn read_automaton(
    text: &str,
    system: &mut System,
) -> Result<(Configurations, Vec<Diagnostic>), Vec<Diagnostic>> {
    let mut reader = Reader {
        xml: Xml::new(text),
        system: std::mem::take(system),
        problems: Problems::default(),
    };
    let result = reader.lone_automaton();
    *system = reader.system;
    match result {
        Ok(set) => reader.problems.finish(set),
        Err(error) => Err(vec![error]),
    }
}

fn foreign(tag: &Tag<'_>, known: &str) -> Diagnostic {
    let error = Diagnostic::error(tag.place, format!("`<{}>` does not belong here", tag.name));
    error.help(format!("expected {known}"))
}

/// What a file may begin with.
fn roots() -> String {
    let systems = SYSTEMS.map(|name| format!("`<{name}>`"));
    format!("`<Query>`, or a system: {}", systems.join(", "))
}

impl<'a> Reader<'a> {
    /// The next tag inside an element; nothing when it closes.
    fn inside(&mut self) -> Result<Option<Tag<'a>>, Diagnostic> {
        match self.xml.next()? {
            Piece::Open(tag) => Ok(Some(tag)),
            Piece::Close | Piece::End => Ok(None),
            Piece::Text(_, place) => Err(Diagnostic::error(place, "there is no text here")),
        }
    }

    fn document(&mut self) -> Result<(), Diagnostic> {
        let Some(root) = self.inside()? else {
            let place = crate::problems::span(0, 0);
            return Err(Diagnostic::error(place, format!("expected {}", roots())));
        };
        match root.name {
            "Query" => self.query(&root)?,
            name if SYSTEMS.contains(&name) => self.rules(&root)?,
            "WFA" => {
                let error = Diagnostic::error(root.place, "this is an automaton, not a system");
                return Err(error.help("give it with `--initial FILE` or `--target FILE`"));
            }
            _ => return Err(foreign(&root, &roots())),
        }
        self.over()
    }

    fn over(&mut self) -> Result<(), Diagnostic> {
        match self.inside()? {
            None => Ok(()),
            Some(tag) => Err(foreign(&tag, "the end of the text")),
        }
    }

    fn lone_automaton(&mut self) -> Result<Configurations, Diagnostic> {
        let root = match self.inside()? {
            Some(root) if root.name == "WFA" => root,
            Some(root) => return Err(foreign(&root, "`<WFA>`")),
            None => {
                let place = crate::problems::span(0, 0);
                return Err(Diagnostic::error(place, "expected `<WFA>`"));
            }
        };
        let wfa = self.automaton(&root)?;
        self.over()?;
        Ok(self.resolve(wfa))
    }

    fn query(&mut self, root: &Tag<'_>) -> Result<(), Diagnostic> {
        root.only(&["type"])?;
        let (kind, place) = root.need("type")?;
        let forward = match kind {
            "poststar" => true,
            "prestar" => false,
            _ => {
                let error = Diagnostic::error(place, format!("there is no query `{kind}`"));
                return Err(error.help("there are `poststar` and `prestar`"));
            }
        };
        let (mut system, mut wfa) = (false, None);
        while !root.is_empty
            && let Some(tag) = self.inside()?
        {
            match tag.name {
                name if SYSTEMS.contains(&name) && !system => {
                    system = true;
                    self.rules(&tag)?;
                }
                "WFA" if wfa.is_none() => wfa = Some(self.automaton(&tag)?),
                name if SYSTEMS.contains(&name) || name == "WFA" => {
                    let what = format!("a query has one `<{name}>`, not two");
                    return Err(Diagnostic::error(tag.place, what));
                }
                _ => return Err(foreign(&tag, "`<WPDS>` or `<WFA>`")),
            }
        }
        let (true, Some(mut wfa)) = (system, wfa) else {
            let what = "a query has a system and an automaton: `<WPDS>` and `<WFA>`";
            return Err(Diagnostic::error(root.place, what));
        };
        // The order that each query has anyhow.
        wfa.reading = None;
        let set = self.resolve(wfa);
        if forward {
            self.system.initial = set;
        } else {
            self.system.target = set;
        }
        Ok(())
    }

    fn rules(&mut self, root: &Tag<'_>) -> Result<(), Diagnostic> {
        while !root.is_empty
            && let Some(tag) = self.inside()?
        {
            match tag.name {
                "Rule" => self.rule(&tag)?,
                // Where procedures begin and end; the rules say it as well.
                "Function" => {
                    tag.only(&["name", "entry", "exit"])?;
                    if !tag.is_empty
                        && let Some(inner) = self.inside()?
                    {
                        return Err(foreign(&inner, "`</Function>`"));
                    }
                }
                _ => return Err(foreign(&tag, "`<Rule>` or `<Function>`")),
            }
        }
        Ok(())
    }

    fn state(&mut self, (name, place): (&str, Span)) -> Result<u32, Diagnostic> {
        let states = &mut self.system.states;
        states.intern(name).ok_or_else(|| too_many_names(place))
    }

    fn symbol(&mut self, (name, place): (&str, Span)) -> Result<u32, Diagnostic> {
        let symbols = &mut self.system.symbols;
        symbols.intern(name).ok_or_else(|| too_many_names(place))
    }

    fn rule(&mut self, tag: &Tag<'_>) -> Result<(), Diagnostic> {
        tag.only(&["from", "fromStack", "to", "toStack1", "toStack2"])?;
        let from = self.state(tag.need("from")?)?;
        let top = self.symbol(tag.need("fromStack")?)?;
        let to = self.state(tag.need("to")?)?;
        let given = |name| {
            tag.get(name)
                .filter(|(symbol, _)| !matches!(*symbol, "*" | ""))
        };
        let right = match (given("toStack1"), given("toStack2")) {
            (None, None) => Right::Pop,
            (Some(only), None) => Right::Step(self.symbol(only)?),
            (Some(first), Some(second)) => Right::Push(self.symbol(first)?, self.symbol(second)?),
            (None, Some((_, place))) => {
                let what = "`toStack2` without `toStack1`: the top of the stack is missing";
                return Err(Diagnostic::error(place, what));
            }
        };
        let (weight, merge) = self.weights(tag, matches!(right, Right::Push(..)))?;
        self.system.rules.push(Rule {
            from,
            top,
            to,
            right,
            weight,
            merge,
        });
        Ok(())
    }

    /// The weight and the merge function inside an element, which ends there.
    fn weights(&mut self, tag: &Tag<'_>, push: bool) -> Result<(WeightId, WeightId), Diagnostic> {
        let (mut weight, mut merge) = (None, None);
        while !tag.is_empty
            && let Some(inner) = self.inside()?
        {
            let place = match inner.name {
                "Weight" if weight.is_none() => &mut weight,
                "MergeFn" if merge.is_none() && push => &mut merge,
                "MergeFn" if !push => {
                    let what = "only a rule with two symbols on the right merges";
                    return Err(Diagnostic::error(inner.place, what));
                }
                "Weight" | "MergeFn" => {
                    let what = format!("`<{}>` is there twice", inner.name);
                    return Err(Diagnostic::error(inner.place, what));
                }
                _ => {
                    let known = match (weight, merge) {
                        (None, None) if push => "`<Weight>` or `<MergeFn>`".to_owned(),
                        (None, _) => "`<Weight>`".to_owned(),
                        (_, None) if push => "`<MergeFn>`".to_owned(),
                        _ => format!("`</{}>`", tag.name),
                    };
                    return Err(foreign(&inner, &known));
                }
            };
            *place = Some(ONE);
            if inner.is_empty {
                continue;
            }
            let text = match self.xml.next()? {
                Piece::Close => continue,
                Piece::Text(text, at) => {
                    let weights = &mut self.system.weights;
                    weights
                        .intern(text.trim(), at)
                        .ok_or_else(|| too_many_names(at))?
                }
                Piece::Open(tag) => return Err(foreign(&tag, "the text of a weight")),
                Piece::End => return Err(Diagnostic::error(inner.place, "it is not closed")),
            };
            *place = Some(text);
            if let Some(tag) = self.inside()? {
                return Err(foreign(&tag, "the text of a weight"));
            }
        }
        Ok((weight.unwrap_or(ONE), merge.unwrap_or(ONE)))
    }

    fn automaton(&mut self, root: &Tag<'_>) -> Result<Wfa, Diagnostic> {
        root.only(&["query"])?;
        let mut wfa = Wfa {
            reading: Some(match root.get("query") {
                None | Some(("INORDER", _)) => Reading::FromTop,
                Some(("REVERSE", _)) => Reading::FromBottom,
                Some((_, place)) => {
                    return Err(Diagnostic::error(place, "expected `INORDER` or `REVERSE`"));
                }
            }),
            ..Wfa::default()
        };
        while !root.is_empty
            && let Some(tag) = self.inside()?
        {
            match tag.name {
                "State" => {
                    tag.only(&["Name", "name", "initial", "final"])?;
                    let name = tag.get("name").map_or_else(|| tag.need("Name"), Ok)?;
                    let id = wfa
                        .states
                        .intern(name.0)
                        .ok_or_else(|| too_many_names(name.1))?;
                    if truth(&tag, "initial")? {
                        wfa.initial.push((id, name.1));
                    }
                    if truth(&tag, "final")? {
                        wfa.accepting.push(id);
                    }
                    self.weights(&tag, false)?;
                }
                "Trans" => {
                    tag.only(&["from", "stack", "to"])?;
                    let mut state = |name: &str| {
                        let (name, place) = tag.need(name)?;
                        wfa.states.intern(name).ok_or_else(|| too_many_names(place))
                    };
                    let (from, to) = (state("from")?, state("to")?);
                    let label = match tag.need("stack")? {
                        ("*", _) => Label::Epsilon,
                        symbol => Label::One(self.symbol(symbol)?),
                    };
                    let (weight, _) = self.weights(&tag, false)?;
                    wfa.edges.push((from, label, to, weight));
                }
                _ => return Err(foreign(&tag, "`<State>` or `<Trans>`")),
            }
        }
        Ok(wfa)
    }

    /// The automaton as a set of configurations, now that the control states are known.
    fn resolve(&mut self, wfa: Wfa) -> Configurations {
        let mut set = Configurations {
            reading: wfa.reading,
            ..Configurations::default()
        };
        let places: Vec<Place> = (wfa.states.iter())
            .map(|name| match self.system.states.find(&name) {
                Some(id) => Place::Control(id),
                None => set.state(),
            })
            .collect();
        for (id, place) in wfa.initial {
            if let Place::Extra(_) = places[id as usize] {
                let what = "this initial state is no control state of the system";
                let warning = Diagnostic::warning(place, what);
                self.problems
                    .warning(warning.help("configurations begin in control states"));
            }
        }
        let state = |id: u32| places[id as usize];
        set.edges = (wfa.edges.into_iter())
            .map(|(from, label, to, weight)| Edge {
                from: state(from),
                label,
                to: state(to),
                weight,
            })
            .collect();
        set.accepting = wfa
            .accepting
            .into_iter()
            .map(|id| (state(id), ONE))
            .collect();
        set
    }

    /// No file says what its weights are, but some weights do.
    fn guess_domain(&mut self) {
        let system = &self.system;
        let mut is_weight = vec![true; system.weights.len()];
        for rule in system.rules.iter().filter(|rule| rule.merge != ONE) {
            is_weight[rule.merge.0 as usize] = false;
        }
        let texts: Vec<_> = (0..)
            .zip(is_weight)
            .filter(|(_, is_weight)| *is_weight)
            .map(|(id, _)| system.weights.get(WeightId(id)).0)
            .collect();
        let plain = |text: &str| matches!(text, "ONE" | "ZERO");
        let length = |text: &str| text.starts_with("ShortestPathSemiring(");
        let domain = if texts.iter().all(|text| plain(text)) {
            Some(DomainName::Bool)
        } else if texts.iter().all(|text| plain(text) || length(text)) {
            Some(DomainName::MinPlus)
        } else {
            None
        };
        self.system.domain = domain;
    }
}

fn truth(tag: &Tag<'_>, name: &str) -> Result<bool, Diagnostic> {
    match tag.get(name) {
        None | Some(("FALSE" | "false", _)) => Ok(false),
        Some(("TRUE" | "true", _)) => Ok(true),
        Some((_, place)) => Err(Diagnostic::error(place, "expected `TRUE` or `FALSE`")),
    }
}
