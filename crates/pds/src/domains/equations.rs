//! Linear equations modulo a power of two as people read them: each solved for a variable.
//!
//! The [echelon form](super::Module) of a module goes from column to column. If the first number of a row is
//! even, the equation cannot be solved for that variable, and a second equation is needed to say what
//! follows: `2·x₀ − x₁ = 0` becomes `2·x₀ + (2³¹ − 1)·x₁ = 0` and `2³¹·x₁ = 0`. Here the number with the
//! fewest factors of two is taken first, wherever it stands: it divides all others. Equations that follow
//! from its own are left out.

use super::howell::inverse;

/// Rows that generate the same module, each with a power of two at a variable that no other row has
/// (but for at most half of it, with either sign). The last number of a row is its constant.
pub(super) fn solved(mut rows: Vec<Vec<u64>>, width: u32) -> Vec<Vec<u64>> {
    let mask = u64::MAX >> (64 - width);
    let mut done: Vec<(usize, Vec<u64>)> = Vec::new();
    loop {
        let entries = rows.iter().enumerate().flat_map(|(at, row)| {
            let terms = row.split_last().map_or(&[][..], |(_, terms)| terms);
            let terms = terms.iter().enumerate().filter(|(_, entry)| **entry != 0);
            terms.map(move |(column, entry)| (entry.trailing_zeros(), column, at))
        });
        let Some((power, column, at)) = entries.min() else {
            break;
        };
        let mut pivot = rows.swap_remove(at);
        let unit = inverse(pivot[column] >> power);
        for entry in &mut pivot {
            *entry = entry.wrapping_mul(unit) & mask;
        }
        let before = done.iter_mut().map(|(_, row)| row);
        let half = (1 << power) >> 1;
        for row in rows.iter_mut().chain(before) {
            // The nearest multiple; what is left over is as small as it can be.
            let over = row[column] & ((1 << power) - 1);
            let factor = (row[column] >> power) + u64::from(over > half);
            for (entry, own) in row.iter_mut().zip(&pivot) {
                *entry = entry.wrapping_sub(own.wrapping_mul(factor)) & mask;
            }
        }
        done.push((column, pivot));
    }
    done.sort_unstable();
    // A constant alone that is not zero: nothing satisfies the equations.
    let never = rows.into_iter().filter(|row| row.last() != Some(&0));
    done.into_iter().map(|(_, row)| row).chain(never).collect()
}

/// An equation in words, `a₁·x₁ + … + aₙ·xₙ + c = 0` modulo `2^width`: solved for a variable if that
/// can be done, the factors of two that all of it has left out.
pub fn equation(terms: &[(String, u64)], constant: u64, width: u32) -> String {
    let entries = terms.iter().map(|(_, factor)| *factor).chain([constant]);
    let twos = entries.filter(|&entry| entry != 0);
    let twos = twos.map(u64::trailing_zeros).min().unwrap_or(0);
    let twos = if terms.is_empty() {
        0
    } else {
        twos.min(width - 1)
    };
    let width = width - twos;
    let number = |entry: u64, turn: bool| signed(entry >> twos, width, turn);
    let alone = |(_, factor): &(String, u64)| number(*factor, false).abs() == 1;
    let solved = terms.iter().position(alone);
    let (left, turn) = match solved {
        Some(at) => (&*terms[at].0, number(terms[at].1, false) == 1),
        None => ("0", false),
    };
    let mut right = String::new();
    for (at, (name, factor)) in terms.iter().enumerate() {
        if solved != Some(at) {
            push(&mut right, number(*factor, turn), Some(name));
        }
    }
    let constant = number(constant, turn);
    if constant != 0 || right.is_empty() {
        push(&mut right, constant, None);
    }
    match width {
        1 => format!("{left} = {right} mod 2"),
        _ => format!("{left} = {right} mod 2^{width}"),
    }
}

/// A sum of multiples of variables and a constant, modulo `2^width`.
pub fn sum(terms: &[(String, u64)], constant: u64, width: u32) -> String {
    let mut text = String::new();
    for (name, factor) in terms.iter().filter(|term| term.1 != 0) {
        push(&mut text, signed(*factor, width, false), Some(name));
    }
    if constant != 0 || text.is_empty() {
        push(&mut text, signed(constant, width, false), None);
    }
    text
}

/// The number with the least absolute value that is the same modulo the power of two.
fn signed(number: u64, width: u32, turn: bool) -> i128 {
    let modulus = 1i128 << width;
    let number = i128::from(number);
    let number = if turn { -number } else { number };
    let number = number.rem_euclid(modulus);
    if number > modulus / 2 {
        number - modulus
    } else {
        number
    }
}

/// One more summand.
fn push(sum: &mut String, number: i128, name: Option<&str>) {
    match (sum.is_empty(), number < 0) {
        (true, true) => sum.push('-'),
        (true, false) => {}
        (false, true) => sum.push_str(" - "),
        (false, false) => sum.push_str(" + "),
    }
    let number = number.unsigned_abs();
    match name {
        Some(name) if number == 1 => sum.push_str(name),
        Some(name) => {
            sum.push_str(&number.to_string());
            sum.push('*');
            sum.push_str(name);
        }
        None => sum.push_str(&number.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::Module;
    use super::*;

    #[test]
    fn equations_are_solved_for_a_variable() {
        let text = |terms: &[u64], constant: u64, width: u32| {
            let named = |(at, factor): (usize, &u64)| (format!("x{at}"), *factor);
            let terms = terms.iter().enumerate().map(named);
            let terms: Vec<_> = terms.filter(|(_, factor)| *factor != 0).collect();
            equation(&terms, constant, width)
        };
        assert_eq!(text(&[254, 1], 0, 8), "x1 = 2*x0 mod 2^8");
        assert_eq!(text(&[2, 255], 3, 8), "x1 = 2*x0 + 3 mod 2^8");
        assert_eq!(text(&[1, 1], 156, 8), "x0 = -x1 + 100 mod 2^8");
        assert_eq!(text(&[2], 252, 8), "x0 = 2 mod 2^7");
        assert_eq!(text(&[128, 128], 0, 8), "x0 = x1 mod 2");
        assert_eq!(text(&[2, 3], 1, 64), "0 = 2*x0 + 3*x1 + 1 mod 2^64");
        assert_eq!(text(&[2], 1, 8), "0 = 2*x0 + 1 mod 2^8");
        assert_eq!(text(&[], 4, 8), "0 = 4 mod 2^8");
        assert_eq!(text(&[u64::MAX], 0, 64), "x0 = 0 mod 2^64");
    }

    #[test]
    fn what_follows_goes_away() {
        let rows = vec![vec![2, (1 << 31) - 1, 0], vec![0, 1 << 31, 0]];
        assert_eq!(solved(rows, 32), [[(1 << 32) - 2, 1, 0]]);
        let rows = vec![vec![4, 2, 6], vec![0, 4, 4]];
        assert_eq!(solved(rows, 3), [[2, 1, 3].map(|x| 2 * x)]);
        assert_eq!(solved(vec![vec![0, 3]], 8), [[0, 3]]);
        // x + 127 y + 1 = 0 where y is even: x = y - 1.
        let rows = vec![vec![1, 127, 1], vec![0, 128, 0]];
        assert_eq!(solved(rows, 8), [[1, 255, 1], [0, 128, 0]]);
        // x = 64 z - 31 y - 65 where y = 2 z - 2 modulo 8: x = y - 1.
        let rows = vec![vec![1, 31, 192, 65], vec![0, 32, 192, 64]];
        let plain = vec![vec![1, 255, 0, 1], vec![0, 32, 192, 64]];
        assert_eq!(solved(rows, 8), plain);
    }

    /// Multiples of the rows that are left make those that were given, and the other way round.
    #[test]
    fn solved_rows_are_equivalent() {
        let mut seed: u64 = 1;
        let mut random = move |below: u64| {
            seed = seed.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
            (seed >> 33) % below
        };
        for round in 0..2000 {
            let width = [1, 2, 3, 8, 32, 64][random(6) as usize];
            let mask = u64::MAX >> (64 - width);
            let columns = 1 + random(4) as usize;
            let mut row = || -> Vec<u64> {
                let entry = |_| (random(1 << 20) << random(u64::from(width))) & mask;
                (0..=columns).map(entry).collect()
            };
            let rows = vec![row(), row(), row()];
            let found = solved(rows.clone(), width);
            let module = |rows: &[Vec<u64>]| {
                let mut module = Module::new(width, columns as u32 + 1);
                module.insert(rows.to_vec());
                module
            };
            let (given, made) = (module(&rows), module(&found));
            assert!(rows.iter().all(|row| made.contains(row)), "round {round}");
            assert!(found.iter().all(|row| given.contains(row)), "round {round}");
        }
    }
}
