//! `flip` of Basu, Narayan Kumar, Pokorny and Ramakrishnan (TACAS 2002), Fig. 1(a,c) and Fig. 5.
//!
//! Every call of `flip(n)` negates `g`, after two calls of `flip(n - 1)` unless `g` is
//! true. A run is exponentially long in the depth; a model checker that keeps summaries
//! sees each `n` with each value of `g` once, and needs time and memory linear in the depth.

/// How `g` begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// With `g` false: two flips leave it false, so `reach` is visited in every round.
    False,
    /// With `g` uninitialised: if it is true, `reach` is never visited.
    Undefined,
}

/// The program: `reach` in `main` is passed when `g` is false after two flips, `BAD` when it is
/// true.
pub fn program(depth: u32, start: Start) -> String {
    let init = match start {
        Start::False => "g := F;",
        Start::Undefined => "skip;",
    };
    format!(
        "// Fig. 1(a,c): flip({depth}) for ever.
decl g;

void main() begin
  {init}
  while T do
    flip({depth});
    flip({depth});
    if !g then
      reach: skip;
    else
      BAD: skip;
    fi
  od
end

void flip(n : int[0..{depth}]) begin
  decl i : int[0..7];
  if g then
    i := 0;
    while i < 7 do
      i := i + 1;
    od
  elsif n > 0 then
    flip(n - 1);
    flip(n - 1);
  fi
  g := !g;
end
"
    )
}

/// A monitor that is violated by the runs that visit `reach` only finitely often: it
/// guesses that the last visit is over.
pub const AGF_REACH: &str = "monitor always_again {
  initial state watching { when true goto watching; when !at(reach) goto never_again; }
  repeating state never_again { when at(reach) goto wrong; }
  state wrong { otherwise block; }
}
";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::{answer, verdict};
    use crate::{Ask, Setup};

    #[test]
    fn g_initially_false() {
        let text = program(6, Start::False);
        assert_eq!(verdict(&text, &Ask::Reach("BAD")), "holds");
        assert_eq!(verdict(&text, &Ask::Repeat("reach")), "violated");
        assert_eq!(verdict(&text, &Ask::Monitor(AGF_REACH)), "holds");
    }

    /// Calls with `g` true do not look at `n` and share what they do; straight-line code and calls
    /// whose outcome is known are passed. One path edge for each level and state of the automaton
    /// is left: the first call.
    #[test]
    fn contexts_for_each_level() {
        let contexts = |depth, start| {
            let text = program(depth, start);
            let report = answer(&text, &Ask::Ltl("G F reach"), Setup::default());
            report
                .expect("there is an answer")
                .explicit_stats()
                .path_edges
        };
        for (start, expected) in [(Start::Undefined, 1), (Start::False, 2)] {
            let difference = contexts(300, start) - contexts(100, start);
            assert_eq!(difference, 200 * expected);
        }
    }

    #[test]
    fn g_uninitialised() {
        let text = program(6, Start::Undefined);
        assert_eq!(verdict(&text, &Ask::Reach("BAD")), "violated");
        assert_eq!(verdict(&text, &Ask::Monitor(AGF_REACH)), "violated");
    }
}
