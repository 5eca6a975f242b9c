// Section 4.1: all summaries, from all entries of all procedures, whether they can be reached or not.

// v can be reached from the entry u of its procedure, and all calls on the way have returned.
mu bool Summary(State u, State v) u ~+ v
      (EntryState(u) & u = v)
    | (exists State x. Summary(u, x) & ProgramInt(x, v))
    | (exists State x, State y, State z.
          Summary(u, x) & IntoCall(x, y) & Summary(y, z) & Exit(z.pc) & Return(x, z, v));

// Entries that can be reached; the paper asks about states of main only.
mu bool Entered(State u)
      Init(u)
    | (exists State x, State y. Entered(x) & Summary(x, y) & IntoCall(y, u));

(exists State u, State v. Entered(u) & Summary(u, v) & Target(v.pc));
