//! Irredundant sums of products: a Boolean function as a short list of cubes.
//!
//! The algorithm of Minato (*Fast generation of irredundant sum-of-products forms from binary
//! decision diagrams*, SASIMI 1992), with a stack of its own. Of a function that is monotone in its
//! variables it gives exactly the prime implicants.

use droste_base::StopReason;
use droste_bdd::{Bdd, Manager, Var};

/// Literals of variables, from top to bottom.
pub(crate) type Cube = Vec<(Var, bool)>;

/// A call of `ISOP(lower, upper)` that waits for one of its three inner calls.
struct Frame {
    var: Var,
    lower: (Bdd, Bdd),
    upper: (Bdd, Bdd),
    /// What the inner calls so far have covered.
    covered: Vec<Bdd>,
}

/// Cubes whose disjunction is `function`. No cube can be left out, and no literal of a cube.
pub(crate) fn cover(manager: &Manager, function: &Bdd) -> Result<Vec<Cube>, StopReason> {
    Ok(cover_at_most(manager, function, usize::MAX)?.unwrap_or_default())
}

/// The function as one cube, if it is one.
fn only_cube(function: &Bdd) -> Option<Cube> {
    let mut cube = Vec::new();
    let mut rest = function.clone();
    while let Some((var, low, high)) = rest.decision() {
        let value = low.is_false();
        if !value && !high.is_false() {
            return None;
        }
        cube.push((var, value));
        rest = if value { high } else { low };
    }
    rest.is_true().then_some(cube)
}

/// [`cover`], if there are not more than `most` cubes.
pub(crate) fn cover_at_most(
    manager: &Manager,
    function: &Bdd,
    most: usize,
) -> Result<Option<Vec<Cube>>, StopReason> {
    if let Some(cube) = only_cube(function) {
        return Ok((most > 0).then(|| vec![cube]));
    }
    let mut cubes = Vec::new();
    let mut path: Cube = Vec::new();
    let mut frames: Vec<Frame> = Vec::new();
    let mut call = Some((function.clone(), function.clone()));
    let mut result = manager.constant(false);
    loop {
        if let Some((lower, upper)) = call.take() {
            if lower.is_false() {
                result = lower;
            } else if upper.is_true() {
                if cubes.len() == most {
                    return Ok(None);
                }
                manager.check_limits()?;
                cubes.push(path.clone());
                result = upper;
            } else {
                let top = |f: &Bdd| f.decision().map(|(var, ..)| var);
                // Variables are never reordered here: a smaller number is further up.
                let var = match (top(&lower), top(&upper)) {
                    (Some(a), Some(b)) => a.min(b),
                    (Some(a), None) | (None, Some(a)) => a,
                    (None, None) => unreachable!("true is not below what is not true"),
                };
                let split = |f: &Bdd| match f.decision() {
                    Some((top, low, high)) if top == var => (low, high),
                    _ => (f.clone(), f.clone()),
                };
                let (lower, upper) = (split(&lower), split(&upper));
                call = Some((lower.0.minus(&upper.1)?, upper.0.clone()));
                path.push((var, false));
                frames.push(Frame {
                    var,
                    lower,
                    upper,
                    covered: Vec::new(),
                });
                continue;
            }
        }
        let Some(frame) = frames.last_mut() else {
            return Ok(Some(cubes));
        };
        frame.covered.push(result.clone());
        match &frame.covered[..] {
            [_] => {
                if let Some(last) = path.last_mut() {
                    last.1 = true;
                }
                call = Some((frame.lower.1.minus(&frame.upper.0)?, frame.upper.1.clone()));
            }
            [low, high] => {
                path.pop();
                let rest = frame.lower.0.minus(low)?.or(&frame.lower.1.minus(high)?)?;
                call = Some((rest, frame.upper.0.and(&frame.upper.1)?));
            }
            [low, high, both] => {
                let var = manager.var(frame.var)?;
                result = var.ite(high, low)?.or(both)?;
                frames.pop();
            }
            _ => unreachable!("there are three inner calls"),
        }
    }
}
