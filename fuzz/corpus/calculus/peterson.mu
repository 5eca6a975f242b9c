// Peterson's algorithm for two processes, as a transition system and three questions.
//
//   droste solve peterson.mu    holds

enum Where { idle, asking, waiting, critical };

class State {
  Where at[2];      // where each process is
  bool wants[2];    // the flags
  bool turn;        // whose turn it is: false is process 0
};

bool Init(State s)
  s.at[0] = idle & s.at[1] = idle & !s.wants[0] & !s.wants[1];

bool Step0(State s, State t)
  t.at[1] = s.at[1] & t.wants[1] = s.wants[1] & (
    case
      s.at[0] = idle     : t.at[0] = asking & t.wants[0] & t.turn = s.turn;
      s.at[0] = asking   : t.at[0] = waiting & t.wants[0] & t.turn;
      s.at[0] = waiting  : t.wants[0] & t.turn = s.turn &
                           (if (!s.wants[1] | !s.turn) t.at[0] = critical else t.at[0] = waiting);
      s.at[0] = critical : t.at[0] = idle & !t.wants[0] & t.turn = s.turn;
    esac);

bool Step1(State s, State t)
  t.at[0] = s.at[0] & t.wants[0] = s.wants[0] & (
    case
      s.at[1] = idle     : t.at[1] = asking & t.wants[1] & t.turn = s.turn;
      s.at[1] = asking   : t.at[1] = waiting & t.wants[1] & !t.turn;
      s.at[1] = waiting  : t.wants[1] & t.turn = s.turn &
                           (if (!s.wants[0] | s.turn) t.at[1] = critical else t.at[1] = waiting);
      s.at[1] = critical : t.at[1] = idle & !t.wants[1] & t.turn = s.turn;
    esac);

bool Step(State s, State t) Step0(s, t) | Step1(s, t);

// The states that can be reached.
mu bool Reach(State s) Init(s) | (exists State t. Reach(t) & Step(t, s));

// The two are never in the critical section together.
forall State s. Reach(s) -> !(s.at[0] = critical & s.at[1] = critical);

// Each of them can get there.
exists State s. Reach(s) & s.at[0] = critical;
#wit exists State s. Reach(s) & s.at[1] = critical;

// There is no deadlock.
forall State s. Reach(s) -> (exists State t. Step(s, t));

#ons Reach;
