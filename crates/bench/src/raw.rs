//! Raw speed: large searches that never find anything.

/// Nested counters in one procedure: about 6 path edges for each of the `a`·`b`·`c` rounds.
///
/// There is one entry state, so there are as many path edges as states.
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

/// A recursive walk. Eight values of the parameter lead through the same states, because only an
/// eighth of it is remembered: there are about eight times as many path edges as states.
///
/// `depth` is the largest parameter and `width` the length of the loop in each call.
pub fn recursion(depth: u32, width: u32) -> String {
    format!(
        "// Every call loops over i and calls itself in some of the rounds; the results are added up.
decl turn;

void main() begin
  decl r : u4;
  decl n : int[0..{depth}];
  turn := F;
  n := 0;
  while n < {depth} do
    n := n + 1;
    r := walk(n);
    if r > 8 & turn then turn := F; fi
  od
end

u4 walk(n : int[0..{depth}]) begin
  decl rest : int[0..{depth}];
  decl i : int[0..{width}];
  decl sum, part : u4;
  rest := n / 8;
  sum := 0;
  i := 0;
  while i < {width} do
    if rest > 0 & * then
      part := walk(rest);
      sum := sum + part;
    else
      turn := !turn;
      sum := sum + 1;
    fi
    i := i + 1;
  od
  if i < {width} then ERROR: skip; fi
  return sum;
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
        let report = answer(&recursion(60, 6), &Ask::Default, Setup::default()).unwrap();
        let stats = report.explicit_stats();
        assert!(stats.path_edges > 4 * stats.states, "{stats:?}");
    }
}
