//! The text of affine transformations: assignments where a weight is one, matrices otherwise.
//!
//! A weight is the set of all affine combinations of some transformations
//! (`pds/src/domains/affine.rs`). What is written as an assignment is one whose values may be
//! anything. Two paths with different assignments may give a set that no assignment describes; it is
//! written as matrices that generate it. A row of a matrix begins with the constant.

use droste_pds::Domain as _;
use droste_pds::domains::{Affine, Linear, Module, Relation, equation, sum};
use serde_json::json;

use super::texts::{below, constant, items};
use super::{Json, Notation};

/// `2*x1`, `x1*2`, `x0`, `7`: a variable, if there is one, and a number.
fn term(text: &str, variables: u32) -> Result<(Option<u32>, u64), String> {
    let number = |text: &str| {
        let wrong = || {
            format!(
                "has `{}`, which is not a natural number of 64 bits",
                text.trim()
            )
        };
        text.trim().parse::<u64>().map_err(|_| wrong())
    };
    let variable = |text: &str| text.trim().strip_prefix('x').map(|id| below(id, variables));
    let text = text.trim();
    match text.split_once('*') {
        Some((left, right)) => match (variable(left), variable(right)) {
            (None, Some(id)) => Ok((Some(id?), number(left)?)),
            (Some(id), None) => Ok((Some(id?), number(right)?)),
            (Some(_), Some(_)) => Err(format!("has `{text}`, which is not affine")),
            (None, None) => Err(format!(
                "has `{}`, which is not a variable such as `x0`",
                right.trim()
            )),
        },
        None => match variable(text) {
            Some(id) => Ok((Some(id?), 1)),
            None => Ok((None, number(text)?)),
        },
    }
}

/// `2*x1 - x0 + 7`
fn linear(text: &str, variables: u32) -> Result<Linear, String> {
    let mut sum = Linear::default();
    let mut rest = text.trim();
    let mut negative = false;
    if let Some(after) = rest.strip_prefix('-') {
        (rest, negative) = (after, true);
    }
    loop {
        let end = rest.find(['+', '-']).unwrap_or(rest.len());
        let (variable, number) = term(&rest[..end], variables)?;
        let number = if negative {
            number.wrapping_neg()
        } else {
            number
        };
        match variable {
            Some(variable) => sum.terms.push((variable, number)),
            None => sum.constant = sum.constant.wrapping_add(number),
        }
        if end == rest.len() {
            return Ok(sum);
        }
        negative = rest[end..].starts_with('-');
        rest = &rest[end + 1..];
    }
}

/// What the variables are called.
fn named(terms: &[(u32, u64)]) -> Vec<(String, u64)> {
    let name = |&(id, factor): &(u32, u64)| (format!("x{id}"), factor);
    terms.iter().map(name).collect()
}

/// The assignments of which a weight consists, if it is one transformation whose values may be
/// anything.
fn assignment(domain: Affine, weight: &Module) -> Option<Vec<(u32, Option<Linear>)>> {
    let size = domain.variables() as usize + 1;
    let mut rows = weight.rows();
    let matrix = rows.next()?;
    let mut any = vec![false; size];
    for row in rows {
        let column = row.iter().position(|&entry| entry != 0)?;
        let only = row[column] == 1 && row[column + 1..].iter().all(|&entry| entry == 0);
        if column >= size || !only {
            return None;
        }
        any[column] = true;
    }
    let mut assigns = Vec::new();
    for column in 1..size {
        let variable = column as u32 - 1;
        if any[column] {
            assigns.push((variable, None));
            continue;
        }
        let entries = (0..size).map(|row| matrix[row * size + column]);
        if entries
            .clone()
            .enumerate()
            .all(|(row, entry)| entry == u64::from(row == column))
        {
            continue;
        }
        let terms = (0..).zip(entries.skip(1)).filter(|(_, entry)| *entry != 0);
        let value = Linear {
            constant: matrix[column],
            terms: terms.collect(),
        };
        assigns.push((variable, Some(value)));
    }
    domain
        .equal(&domain.assign(&assigns), weight)
        .then_some(assigns)
}

impl Notation for Affine {
    /// `x0 := 2*x1 + 3, x2 := *`, `id`, `none`, or matrices that generate it: `[1 3; 0 2] [0 1; 0 0]`.
    fn parse(&self, text: &str) -> Result<Module, String> {
        match text {
            "id" => return Ok(self.one()),
            "none" => return Ok(self.zero()),
            _ => {}
        }
        if let Some(weight) = constant(self, text) {
            return Ok(weight);
        }
        let shape = || "is not such as `x0 := 2*x1 + 3, x2 := *`, `id` or `none`".to_owned();
        if !text.starts_with('[') {
            let mut assigns: Vec<(u32, Option<Linear>)> = Vec::new();
            for item in items(text) {
                let (name, value) = item.split_once(":=").ok_or_else(shape)?;
                let id = name.trim().strip_prefix('x').ok_or_else(shape)?;
                let variable = below(id, self.variables())?;
                if assigns.iter().any(|(other, _)| *other == variable) {
                    return Err(format!("assigns to x{variable} twice"));
                }
                let value = match value.trim() {
                    "*" => None,
                    value => Some(linear(value, self.variables())?),
                };
                assigns.push((variable, value));
            }
            return Ok(self.assign(&assigns));
        }
        let size = self.variables() as usize + 1;
        let mut module = self.zero();
        for matrix in text.split('[').skip(1) {
            let inside = matrix.trim().strip_suffix(']').ok_or_else(shape)?;
            let rows: Vec<&str> = inside.split(';').collect();
            let mut entries = Vec::new();
            for row in &rows {
                let before = entries.len();
                for word in row.split_whitespace() {
                    let wrong =
                        |_| format!("has `{word}`, which is not a natural number of 64 bits");
                    entries.push(word.parse::<u64>().map_err(wrong)?);
                }
                if entries.len() - before != size || rows.len() != size {
                    return Err(format!("has a matrix that is not of {size} rows of {size}"));
                }
            }
            // The constant stays what it is: no variable has an effect on it.
            if entries.chunks(size).skip(1).any(|row| row[0] != 0) {
                let what = "has a matrix whose first column is not zero below the first row";
                return Err(what.to_owned());
            }
            module.insert([&entries]);
        }
        let first = module.rows().next();
        if first.is_none_or(|matrix| matrix[0] != 1) {
            let what = "stands for no transformation: no sum of multiples of its matrices has a 1 in the \
                        first row and column";
            return Err(what.to_owned());
        }
        Ok(module)
    }

    fn print(&self, weight: &Module) -> String {
        if self.is_zero(weight) {
            return "none".to_owned();
        }
        let Some(assigns) = assignment(*self, weight) else {
            let size = self.variables() as usize + 1;
            let matrices = weight.rows().map(|matrix| {
                let rows = matrix.chunks(size).map(|row| {
                    let entries: Vec<String> = row.iter().map(u64::to_string).collect();
                    entries.join(" ")
                });
                format!("[{}]", rows.collect::<Vec<_>>().join("; "))
            });
            return matrices.collect::<Vec<_>>().join(" ");
        };
        let assigns = assigns.iter().map(|(variable, value)| match value {
            None => format!("x{variable} := *"),
            Some(Linear { constant, terms }) => {
                let value = sum(&named(terms), *constant, self.width());
                format!("x{variable} := {value}")
            }
        });
        let text = assigns.collect::<Vec<_>>().join(", ");
        if text.is_empty() {
            "id".to_owned()
        } else {
            text
        }
    }

    /// The relations between the variables that hold after it, whatever they were before.
    fn relations(&self, weight: &Module) -> Vec<String> {
        let after = self.apply(weight, &self.states(&[]));
        let relations = Affine::relations(*self, &after).into_iter();
        let text = |r: Relation| equation(&named(&r.terms), r.constant, self.width());
        relations.map(text).collect()
    }

    fn json<'a>(&self, weight: &'a Module) -> Json<'a> {
        let object = json!({ "text": self.print(weight), "relations": self.relations(weight) });
        Json::Value(object)
    }
}
