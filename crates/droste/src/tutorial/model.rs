/// A target is compiled although something it needs has not been built.
const UNREADY: PropId = PropId(0);
/// The outermost `build` has not returned.
const RUNNING: PropId = PropId(1);
/// The compiler is at work.
const COMPILING: PropId = PropId(2);
/// The goal itself is about to be compiled.
const GOAL: PropId = PropId(3);

impl Model for Build {
    type State = State;

    fn initial(&self, out: &mut Vec<State>) {
        let at = if self.cached { At::Cache } else { At::Enter };
        out.push(State { at, target: self.goal.clone(), built: BTreeSet::new() });
    }

    fn steps(&self, state: &State, out: &mut Steps<State>) {
        let goto = |at| State { at, ..state.clone() };
        match state.at {
            At::Cache => out.split(0, 1 << self.rules.len()),
            At::Enter if state.built.contains(&state.target) => out.step(goto(At::Leave)),
            At::Enter => out.step(goto(At::Next(0))),
            At::Next(i) => match self.needs(&state.target).get(i) {
                Some(needed) => {
                    let entry = State { target: needed.clone(), ..goto(At::Enter) };
                    out.call(CallId(0), entry);
                }
                None => out.step(goto(At::Compile)),
            },
            At::Compile => {
                // The compiler succeeds, or it does not: two steps.
                let mut done = goto(At::Leave);
                done.built.insert(state.target.clone());
                out.step(done);
                out.step(goto(if self.retry { At::Compile } else { At::Leave }));
            }
            At::Leave => out.exit(state.clone()),
            At::Finished => out.step(state.clone()),
        }
    }

    fn resume(&self, caller: &State, _: CallId, exit: &State, out: &mut Vec<State>) -> bool {
        if let At::Next(i) = caller.at {
            let (target, built) = (caller.target.clone(), exit.built.clone());
            out.push(State { at: At::Next(i + 1), target, built });
        }
        true
    }

    fn holds(&self, state: &State, proposition: PropId) -> bool {
        let compiling = state.at == At::Compile;
        match proposition {
            UNREADY => {
                let mut needs = self.needs(&state.target).iter();
                compiling && needs.any(|needed| !state.built.contains(needed))
            }
            RUNNING => state.at != At::Finished,
            COMPILING => compiling,
            GOAL => compiling && state.target == self.goal,
            _ => false,
        }
    }

    fn refine(&self, state: &State, _: u32, index: u64) -> State {
        let targets = self.targets().into_iter().enumerate();
        let built = targets.filter(|(i, _)| index >> i & 1 == 1).map(|(_, name)| name.clone());
        State { at: At::Enter, built: built.collect(), ..state.clone() }
    }

    fn terminated(&self, exit: &State) -> Option<State> {
        Some(State { at: At::Finished, ..exit.clone() })
    }

    fn call_name(&self, _: CallId) -> String {
        "build".to_owned()
    }
}
