//! The laws of a [`Domain`], tested on given weights.

use droste_base::StopReason;

use crate::domain::Domain;
use crate::system::MergeId;

/// Tests the laws on all triples of these weights; `Err` says which one is broken, and by what.
pub fn check<D: Domain>(
    domain: &D,
    weights: &[D::Weight],
    merges: &[MergeId],
) -> Result<(), String> {
    let combine = |a: &D::Weight, b: &D::Weight| domain.combine(a, b).map_err(stopped);
    let extend = |a: &D::Weight, b: &D::Weight| domain.extend(a, b).map_err(stopped);
    let (one, zero) = (domain.one(), domain.zero());
    let same = |law: &str, a: &D::Weight, b: &D::Weight| {
        if domain.equal(a, b) {
            return Ok(());
        }
        Err(format!("{law}: {a:?} is not {b:?}"))
    };
    for a in weights {
        same("a + a = a", &combine(a, a)?, a)?;
        same("a + 0 = a", &combine(a, &zero)?, a)?;
        same("a 1 = a", &extend(a, &one)?, a)?;
        same("1 a = a", &extend(&one, a)?, a)?;
        same("a 0 = 0", &extend(a, &zero)?, &zero)?;
        same("0 a = 0", &extend(&zero, a)?, &zero)?;
        let star = domain.star(a).map_err(stopped)?;
        let again = combine(&one, &extend(a, &star)?)?;
        same("a* = 1 + a a*", &star, &again)?;
        if let Some(bottom) = domain.bottom() {
            same("a + bottom = bottom", &combine(a, &bottom)?, &bottom)?;
            let expected = if domain.is_zero(a) { &zero } else { &bottom };
            same("a bottom = bottom", &extend(a, &bottom)?, expected)?;
        }
        for b in weights {
            let both = combine(a, b)?;
            same("a + b = b + a", &both, &combine(b, a)?)?;
            if domain.is_total() && !domain.equal(&both, a) && !domain.equal(&both, b) {
                return Err(format!("a + b is a or b: {a:?}, {b:?}"));
            }
            if domain.is_best(a) {
                same("a + b = a if a is best", &both, a)?;
            }
            if let (Some(x), Some(y)) = (domain.rank(a), domain.rank(b)) {
                let better = if x <= y { a } else { b };
                same("a + b is what ranks first", &both, better)?;
            }
            if let Some(rest) = domain.rest(a, b) {
                same("a (b / a) = b", &extend(a, &rest)?, b)?;
                same("(b / a) a = b", &extend(&rest, a)?, b)?;
            }
            let new = domain.diff(b, a).map_err(stopped)?;
            same("a + (b - a) = a + b", &combine(a, &new)?, &both)?;
            if domain.equal(&both, a) != domain.is_zero(&new) {
                return Err(format!("a + b = a iff b - a = 0: {a:?}, {b:?}"));
            }
            for c in weights {
                same(
                    "(a + b) + c = a + (b + c)",
                    &combine(&both, c)?,
                    &combine(a, &combine(b, c)?)?,
                )?;
                same(
                    "(a b) c = a (b c)",
                    &extend(&extend(a, b)?, c)?,
                    &extend(a, &extend(b, c)?)?,
                )?;
                same(
                    "(a + b) c = a c + b c",
                    &extend(&both, c)?,
                    &combine(&extend(a, c)?, &extend(b, c)?)?,
                )?;
                same(
                    "c (a + b) = c a + c b",
                    &extend(c, &both)?,
                    &combine(&extend(c, a)?, &extend(c, b)?)?,
                )?;
                for &m in merges {
                    let merge =
                        |a: &D::Weight, b: &D::Weight| domain.merge(m, a, b).map_err(stopped);
                    same("m(0, a) = 0", &merge(&zero, a)?, &zero)?;
                    same("m(a, 0) = 0", &merge(a, &zero)?, &zero)?;
                    same(
                        "m(a + b, c) = m(a, c) + m(b, c)",
                        &merge(&both, c)?,
                        &combine(&merge(a, c)?, &merge(b, c)?)?,
                    )?;
                    same(
                        "m(c, a + b) = m(c, a) + m(c, b)",
                        &merge(c, &both)?,
                        &combine(&merge(c, a)?, &merge(c, b)?)?,
                    )?;
                    same(
                        "m(a b, c) = a m(b, c)",
                        &merge(&extend(a, b)?, c)?,
                        &extend(a, &merge(b, c)?)?,
                    )?;
                }
            }
        }
    }
    Ok(())
}

#[expect(clippy::needless_pass_by_value, reason = "for map_err")]
fn stopped(reason: StopReason) -> String {
    format!("an operation stopped: {reason}")
}
