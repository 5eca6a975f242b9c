//! Raw speed: large searches that never find anything.

/// Nested counters in one procedure: about 6 contexts for each of the `a`·`b`·`c` rounds.
///
/// There is one entry state, so contexts and states are the same in number.
pub fn counters(a: u32, b: u32, c: u32) -> String {
    format!(
        "// Three nested counters and two flags that follow them.
decl even, odd;

void main() begin
  decl x : int[0..{a}];
  decl y : int[0..{b}];
  decl z : int[0..{c}];
  even, odd := T, F;
  x := 0;
  while x < {a} do
    y := 0;
    while y < {b} do
      z := 0;
      while z < {c} do
        if * then even, odd := odd, even; fi
        if even = odd then ERROR: skip; fi
        z := z + 1;
      od
      y := y + 1;
    od
    x := x + 1;
  od
end
"
    )
}

/// A recursive walk: every one of the entry states (`n`, `side`, `turn`) leads through
/// states which it shares with others, so there are many more contexts than states.
///
/// `depth` is the depth of the recursion and `width` the length of the loop in each call.
pub fn recursion(depth: u32, width: u32) -> String {
    format!(
        "// Every call loops over i and calls itself in each round; the results are added up.
decl turn;

void main() begin
  decl r : u4;
  turn := F;
  r := walk({depth}, T, *);
  if r = 13 & turn & !turn then ERROR: skip; fi
end

u4 walk(n : int[0..{depth}], side, other) begin
  decl i : int[0..{width}];
  decl sum, part : u4;
  sum := 0;
  i := 0;
  if n > 0 then
    while i < {width} do
      if * then
        part := walk(n - 1, !side, other);
        sum := sum + part;
      else
        turn := !turn;
        sum := sum + 1;
      fi
      i := i + 1;
    od
  fi
  assert(n > 0 | i = 0);
  if other then return sum; fi
  return sum + 1;
end
"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::{answer, verdict};
    use crate::{Ask, Setup};

    #[test]
    fn nothing_is_found() {
        assert_eq!(verdict(&counters(3, 4, 5), &Ask::Default), "holds");
        assert_eq!(verdict(&recursion(3, 3), &Ask::Default), "holds");
    }

    #[test]
    fn recursion_has_more_contexts_than_states() {
        let report = answer(&recursion(6, 6), &Ask::Default, &Setup::default()).unwrap();
        assert!(
            report.stats.contexts > report.stats.states,
            "{:?}",
            report.stats
        );
    }
}
