// Section 4.3: in each round, internal steps to the end, then one call or return, and both only
// from program counters at which something new was found in the round before.
//
// Not monotone: Relevant shrinks when what was new becomes old. The bit fr is 1 for all pairs
// found so far, 0 for all found before the last round. Two clauses differ from the paper: a call
// (clause 7) makes a summary of the entry of the procedure called, and clauses 8 and 9 take the pairs with fr = 1.

mu bool Summary(bool fr, State u, State v);
mu bool Relevant(PC pc);
mu bool New1(State u, State v);
mu bool New2(State u, State v);

mu bool Summary(bool fr, State u, State v) u ~+ v
      (fr = 1 & Init(u) & u = v)
    | Summary(1, u, v)
    | (fr = 1 & (New1(u, v) | New2(u, v)));

mu bool Relevant(PC pc)
      (exists State u, State v. Summary(1, u, v) & !Summary(0, u, v) & v.pc = pc);

mu bool New1(State u, State v) u ~+ v
      (Summary(1, u, v) & Relevant(v.pc))
    | (exists State x. New1(u, x) & ProgramInt(x, v));

mu bool New2(State u, State v) u ~+ v
      (exists State x, State y. Relevant(y.pc) & Summary(1, x, y) & IntoCall(y, u) & u = v)
    | (exists PC c, PC e, Local l, Global g.
          (exists State x.
              Summary(1, u, x) & ReturnA(x, e, v) & IntoCall1(x, e, l, g) & c = x.pc)
        & (exists State y, State z.
              Summary(1, y, z) & l = y.l & g = y.g & e = z.pc & Exit(z.pc) & ReturnB(z, c, v))
        & (Relevant(c) | Relevant(e)));

(exists State u, State v. Summary(1, u, v) & Target(v.pc));
