//! Buggy quicksort (Alur, Chaudhuri, Etessami and Madhusudan, TACAS 2005, section 5.1, Fig. 6).
//!
//! MOPED's `quicksort_error` is not at hand; this is the same idea written anew. The array is
//! abstracted away, the bounds are kept as `bits`-bit integers: partitioning moves `lo`
//! up or `hi` down until they have passed each other. If only `lo` moved, the left part is
//! the whole array again and the recursion never ends.

/// Whether the recursion may fail to get smaller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Partition {
    /// The left part may be the whole array.
    Buggy,
    /// The whole array is not taken for a part.
    Fixed,
}

/// The program. The label `ENTRY` of `quicksort` is passed at every call, `DONE` of `main` at the
/// end.
pub fn program(bits: u32, partition: Partition) -> String {
    let (left, right) = match partition {
        Partition::Buggy => ("quicksort(left, hi);", "quicksort(lo, right);"),
        Partition::Fixed => (
            "if hi < right then quicksort(left, hi); fi",
            "if left < lo then quicksort(lo, right); fi",
        ),
    };
    format!(
        "// Quicksort with {bits}-bit bounds; the contents of the array are abstracted away.
void main() begin
  decl first, last : u{bits};
  quicksort(first, last);
  DONE: skip;
end

void quicksort(left : u{bits}, right : u{bits}) begin
  decl lo, hi : u{bits};
  ENTRY: if left >= right then return; fi
  lo, hi := left, right;
  // Partition: the pivot stops either `lo` or `hi`; which of them depends on the array.
  while lo <= hi do
    if * then
      // hi would become -1 or lo would pass the last index: the array ends there.
      if lo = right then goto split; fi
      lo := lo + 1;
    else
      if hi = left then goto split; fi
      hi := hi - 1;
    fi
  od
  split: skip;
  {left}
  {right}
end
"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Ask;
    use crate::measure::verdict;

    #[test]
    fn buggy_partition_recurses_for_ever() {
        let text = program(4, Partition::Buggy);
        assert_eq!(verdict(&text, &Ask::Repeat("quicksort:ENTRY")), "violated");
        assert_eq!(verdict(&text, &Ask::Reach("main:DONE")), "violated");
    }

    #[test]
    fn fixed_partition_terminates() {
        let text = program(3, Partition::Fixed);
        assert_eq!(verdict(&text, &Ask::Repeat("quicksort:ENTRY")), "holds");
        assert_eq!(verdict(&text, &Ask::Reach("main:DONE")), "violated");
    }

    #[test]
    fn work_does_not_grow_with_the_bits() {
        let contexts = |bits| {
            let text = program(bits, Partition::Buggy);
            let ask = Ask::Repeat("quicksort:ENTRY");
            crate::measure::answer(&text, &ask, crate::Setup::default())
                .unwrap()
                .explicit_stats()
                .path_edges
        };
        assert_eq!(contexts(4), contexts(32));
    }
}
