// Recursion by summaries, after section 4.1 of the GETAFIX paper: which exits can follow an entry of a procedure?
//
// The program has one global Boolean g and one procedure:
//
//   0: if (*) then goto 1 else goto 3     2: g := !g; goto 3
//   1: call p; goto 2                     3: return
//
//   droste solve summary.mu     violated

enum Pc { 0 .. 3 };
class State { Pc pc; bool g; };

bool Internal(State u, State v)
  (u.pc = 0 & (v.pc = 1 | v.pc = 3) & v.g = u.g) | (u.pc = 2 & v.pc = 3 & v.g != u.g);

bool IntoCall(State u, State v)
  u.pc = 1 & v.pc = 0 & v.g = u.g;

// u is the call, z the callee's exit, v the state after the return.
bool Return(State u, State z, State v)
  u.pc = 1 & z.pc = 3 & v.pc = 2 & v.g = z.g;

mu bool Summary(State u, State v)
    (u.pc = 0 & u = v)
  | (exists State x. Summary(u, x) & Internal(x, v))
  | (exists State x, State y, State z.
       Summary(u, x) & IntoCall(x, y) & Summary(y, z) & Return(x, z, v));

// Can the procedure change g, and can it leave g alone?
exists State u, State v. Summary(u, v) & v.pc = 3 & u.g != v.g;
exists State u, State v. Summary(u, v) & v.pc = 3 & u.g = v.g;

// Is g always the same at the exit? No:
#cex forall State u, State v. Summary(u, v) & v.pc = 3 -> u.g = v.g;

#tuples Summary 6;
