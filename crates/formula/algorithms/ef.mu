// Section 4.2: summaries from entries that have been reached, and the clause for returns split
// so that the two large relations in it meet when each has been made as small as it can be.
//
// Of an entry u only locals and globals are kept; where it is follows from where v is. So u.pc is
// 0, and summaries of different procedures share what they have in common.

mu bool Summary(State u, State v) u ~+ v
      (Begin(u, v) & u.pc = 0)
    | (exists State x. Summary(u, x) & ProgramInt(x, v))
    | (exists State x, State y.
          Summary(x, y) & IntoCall(y, v) & u.pc = 0 & u.l = v.l & u.g = v.g)
    | (exists PC c, PC e, Local l, Global g.
          (exists State x.
              Summary(u, x) & ReturnA(x, e, v) & IntoCall1(x, e, l, g) & c = x.pc)
        & (exists State y, State z.
              Summary(y, z) & l = y.l & g = y.g & e = z.pc & Exit(z.pc) & ReturnB(z, c, v)));

(exists State u, State v. Summary(u, v) & Target(v.pc));
