//! WALi's XML: a query, or a system alone.

use std::borrow::Cow;
use std::io::Write;

use super::flat::{Lacks, flat};
use super::{WriteError, cannot, fresh, in_rules};
use crate::system::{Configurations, Label, ONE, Place, Reading, System, WeightId};
use crate::weight::DomainName;
use crate::xml::encode;

pub(super) fn write(system: &System, out: &mut impl Write) -> Result<(), WriteError> {
    let lacks = Lacks {
        any: true,
        long: true,
    };
    let system = &*flat(system, lacks)?;
    if let Some(name) = system
        .symbols
        .iter()
        .find(|name| matches!(&**name, "*" | ""))
    {
        return cannot(format!("the format has no symbol {name:?}"));
    }
    let (kind, set) = match (system.initial.is_empty(), system.target.is_empty()) {
        (true, true) => return rules(system, out),
        (false, true) => ("poststar", &system.initial),
        (true, false) => ("prestar", &system.target),
        (false, false) => {
            return cannot(
                "a query has one automaton, but there are initial configurations and a target; \
                 leave one out with `--drop initial` or `--drop target`",
            );
        }
    };
    let mentioned = in_rules(system);
    let places = set.edges.iter().flat_map(|edge| [edge.from, edge.to]);
    for place in places.chain(set.accepting.iter().map(|(place, _)| *place)) {
        if let Place::Control(id) = place
            && !mentioned[id as usize]
        {
            let name = system.states.get(id);
            return cannot(format!("the control state `{name}` is in no rule"));
        }
    }
    writeln!(out, "<Query type='{kind}'>")?;
    rules(system, out)?;
    automaton(system, kind, set, out)?;
    writeln!(out, "</Query>")?;
    Ok(())
}

fn weight(system: &System, id: WeightId) -> Result<String, WriteError> {
    let text = system.weight_text(id).unwrap_or("ONE".into());
    if text.trim() != text {
        return cannot(format!("the weight {text:?} has white space around it"));
    }
    Ok(encode(&text).into_owned())
}

fn rules(system: &System, out: &mut impl Write) -> Result<(), WriteError> {
    let tag = if system.has_merges() { "EWPDS" } else { "WPDS" };
    writeln!(out, "<{tag}>")?;
    for rule in &system.rules {
        let state = |id| encode(&system.states.get(id)).into_owned();
        let symbol = |id| encode(&system.symbols.get(id)).into_owned();
        let (from, top, to) = (state(rule.from), symbol(rule.top), state(rule.to));
        write!(out, "<Rule from='{from}' fromStack='{top}' to='{to}'")?;
        let mut room = [0; 2];
        for (place, &id) in (1..).zip(system.right(rule, &mut room)) {
            write!(out, " toStack{place}='{}'", symbol(id))?;
        }
        write!(out, "><Weight>{}</Weight>", weight(system, rule.weight)?)?;
        if rule.merge != ONE {
            write!(out, "<MergeFn>{}</MergeFn>", weight(system, rule.merge)?)?;
        }
        writeln!(out, "</Rule>")?;
    }
    writeln!(out, "</{tag}>")?;
    Ok(())
}

/// The same set without weights at final states, which the format does not have. The weight of a
/// configuration can stand at the transition that reads the lowest symbol of its stack, if that has no
/// weight of its own and nothing else goes through it.
fn with_weights_before_ends<'a>(
    system: &System,
    set: &'a Configurations,
) -> Result<Cow<'a, Configurations>, WriteError> {
    let mut moved = Cow::Borrowed(set);
    for &(place, weight) in &set.accepting {
        if system.is_one(weight) {
            continue;
        }
        let alone = set.accepting.iter().filter(|end| end.0 == place).count() == 1;
        let last = alone
            && matches!(place, Place::Extra(_))
            && set
                .edges
                .iter()
                .all(|edge| edge.from != place && (edge.to != place || system.is_one(edge.weight)));
        if !last {
            let text = system.weight_text(weight).unwrap_or_default();
            return cannot(format!(
                "only transitions have weights there, and no transition can take the weight `{text}` of \
                 the configurations: that takes stacks that are not empty and end with a symbol of their own"
            ));
        }
        for edge in &mut moved.to_mut().edges {
            if edge.to == place {
                edge.weight = weight;
            }
        }
    }
    Ok(moved)
}

fn automaton(
    system: &System,
    kind: &str,
    set: &Configurations,
    out: &mut impl Write,
) -> Result<(), WriteError> {
    let set = &*with_weights_before_ends(system, set)?;
    let taken = |name: &str| system.states.find(name).is_some();
    let place = |place: Place| match place {
        Place::Control(id) => encode(&system.states.get(id)).into_owned(),
        Place::Extra(id) => encode(&fresh(&format!("q{id}"), taken)).into_owned(),
    };
    // Where runs begin, weights are extended from the bottom, unless something else is said.
    let weighted = set.edges.iter().any(|edge| edge.weight != ONE);
    let usual = if weighted && kind == "poststar" {
        Reading::FromBottom
    } else {
        Reading::FromTop
    };
    let other = set.reading.is_some_and(|reading| reading != usual);
    let commutes = (system.domain.as_ref()).is_some_and(DomainName::is_commutative);
    if weighted && other && !commutes {
        let order = match usual {
            Reading::FromTop => "from the top of the stack",
            Reading::FromBottom => "from the bottom of the stack",
        };
        return cannot(format!(
            "the weights of an automaton in a query for {kind} are extended {order}"
        ));
    }
    let query = match usual {
        Reading::FromTop => "INORDER",
        Reading::FromBottom => "REVERSE",
    };
    writeln!(out, "<WFA query='{query}'>")?;
    let mut starts: Vec<Place> = set.edges.iter().map(|edge| edge.from).collect();
    starts.extend(set.accepting.iter().map(|(place, _)| *place));
    starts.retain(|place| matches!(place, Place::Control(_)));
    starts.sort_unstable();
    starts.dedup();
    let is_final = |at: Place| set.accepting.iter().any(|(place, _)| *place == at);
    let extra = (0..set.extra).map(Place::Extra);
    for at in starts.into_iter().chain(extra) {
        let initial = if matches!(at, Place::Control(_)) {
            " initial='TRUE'"
        } else {
            ""
        };
        let last = if is_final(at) { " final='TRUE'" } else { "" };
        writeln!(
            out,
            "<State Name='{}'{initial}{last}><Weight>ZERO</Weight></State>",
            place(at)
        )?;
    }
    for edge in &set.edges {
        let label = match edge.label {
            Label::Epsilon => "*".into(),
            Label::One(symbol) => encode(&system.symbols.get(symbol)).into_owned(),
            // Written out before.
            Label::Except(_) => continue,
        };
        let (from, to) = (place(edge.from), place(edge.to));
        let weight = weight(system, edge.weight)?;
        writeln!(
            out,
            "<Trans from='{from}' stack='{label}' to='{to}'><Weight>{weight}</Weight></Trans>"
        )?;
    }
    writeln!(out, "</WFA>")?;
    Ok(())
}
