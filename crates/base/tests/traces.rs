//! Folded traces against the same written out: their length, how they are written for people, and
//! whether they are runs.
//!
//! Random walks through random recursive state machines give the traces; spoilt ones are judged
//! too. `SEED=17 cargo test -p droste-base --test traces` tries one machine alone.

use droste_base::{
    CallId, Claim, Cycle, Event, FlatPosition, Model, Position, PropId, Run, RunId, Step, Steps,
    Trace, Via, replay_trace,
};
use droste_testkit::random::{Random, seeds};
use droste_testkit::rsm::{self, Rsm};

const PROPS: [PropId; 4] = [PropId(0), PropId(1), PropId(2), PropId(3)];

fn steps(rsm: &Rsm, state: u8) -> Steps<u8> {
    let mut steps = Steps::new();
    rsm.steps(&state, &mut steps);
    steps
}

/// All parts of a state that splits.
fn parts(rsm: &Rsm, state: u8) -> Option<Vec<u8>> {
    let split = steps(rsm, state).as_split()?;
    Some(
        (0..split.count)
            .map(|i| rsm.refine(&state, split.tag, i))
            .collect(),
    )
}

fn resumed(rsm: &Rsm, caller: u8, call: CallId, exit: u8) -> Vec<u8> {
    let mut out = Vec::new();
    rsm.resume(&caller, call, &exit, &mut out);
    out
}

/// A walk of at most so many steps, with the calls that returned folded. Equal runs are one.
fn walk(rsm: &Rsm, random: &mut Random, most: usize) -> Trace<u8> {
    let start = |via, state| vec![Position { via, state }];
    let mut runs: Vec<Run<u8>> = Vec::new();
    // The positions of each procedure that has not returned.
    let mut stack = vec![start(Via::Start, *random.pick(&rsm.initial))];
    for _ in 0..most {
        let height = stack.len();
        let top = stack.last_mut().expect("somebody is running");
        let state = top[top.len() - 1].state;
        if let Some(parts) = parts(rsm, state) {
            top.push(Position {
                via: Via::Refine,
                state: *random.pick(&parts),
            });
            continue;
        }
        let steps = steps(rsm, state);
        if steps.items().is_empty() {
            break;
        }
        // Calls are to come back: the stack stays low, and nobody stays who can leave.
        let wanted = |step: &&Step<u8>| match step {
            Step::Internal(_) => true,
            Step::Call(..) => height < 4,
            Step::Exit(_) => height > 1,
        };
        let exits = |step: &&Step<u8>| wanted(step) && matches!(step, Step::Exit(_));
        let some: Vec<_> = steps.items().iter().filter(wanted).collect();
        let step = match steps.items().iter().find(exits) {
            Some(exit) if random.percent(80) => exit,
            _ if some.is_empty() => random.pick(steps.items()),
            _ => random.pick(&some),
        };
        match step {
            Step::Internal(state) => top.push(Position {
                via: Via::Step,
                state: *state,
            }),
            Step::Call(call, entry) => stack.push(start(Via::Call(*call), *entry)),
            Step::Exit(exit) if height == 1 => {
                let Some(state) = rsm.terminated(exit) else {
                    continue;
                };
                let via = Via::Terminated;
                top.push(Position { via, state });
            }
            Step::Exit(exit) => {
                let Via::Call(call) = top[0].via else {
                    unreachable!("it was called")
                };
                let caller = &stack[height - 2];
                let after = resumed(rsm, caller[caller.len() - 1].state, call, *exit);
                if after.is_empty() {
                    continue;
                }
                let mut positions = stack.pop().expect("there are two");
                positions[0].via = Via::Start;
                let run = Run {
                    positions,
                    exit: *exit,
                };
                let known = runs.iter().position(|known| *known == run);
                let id = known.unwrap_or(runs.len());
                if known.is_none() {
                    runs.push(run);
                }
                stack[height - 2].push(Position {
                    via: Via::Summary(call, RunId(id as u32)),
                    state: *random.pick(&after),
                });
            }
        }
    }
    Trace {
        runs,
        positions: stack.concat(),
        cycle: None,
    }
}

/// The walk cut where it comes by a state again, if it does.
fn lasso(trace: &Trace<u8>, random: &mut Random) -> Option<Trace<u8>> {
    let states: Vec<u8> = trace.positions.iter().map(|p| p.state).collect();
    let all = (0..states.len()).flat_map(|i| (i + 1..states.len()).map(move |j| (i, j)));
    let pairs: Vec<_> = all.filter(|&(i, j)| states[i] == states[j]).collect();
    if pairs.is_empty() {
        return None;
    }
    let (start, end) = *random.pick(&pairs);
    let mut trace = trace.clone();
    trace.positions.truncate(end + 1);
    let round = &trace.positions[start + 1..];
    let pumping = round.iter().any(|p| matches!(p.via, Via::Call(_)));
    trace.cycle = Some(Cycle { start, pumping });
    Some(trace)
}

/// A position of a trace that is written out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Flat {
    depth: usize,
    event: Event,
    state: u8,
    /// Of a return: through which exit.
    exit: Option<u8>,
}

/// Writes positions out, calls and all; `None` if a run refers to one that does not come before it.
fn expand(
    trace: &Trace<u8>,
    positions: &[Position<u8>],
    (before, depth): (usize, usize),
    call: Option<CallId>,
    out: &mut Vec<Flat>,
) -> Option<()> {
    let mut depth = depth;
    for (i, &Position { via, state }) in positions.iter().enumerate() {
        let mut exit = None;
        let event = match via {
            Via::Start if i > 0 => return None,
            Via::Start => call.map_or(Event::Start, Event::Call),
            Via::Step => Event::Step,
            Via::Refine => Event::Refine,
            Via::Terminated => Event::Terminated,
            Via::Call(call) => {
                depth += 1;
                Event::Call(call)
            }
            Via::Summary(call, id) => {
                let id = id.0 as usize;
                let run = trace.runs.get(id).filter(|_| id < before)?;
                run.positions.first().filter(|p| p.via == Via::Start)?;
                expand(trace, &run.positions, (id, depth + 1), Some(call), out)?;
                exit = Some(run.exit);
                Event::Return(call)
            }
        };
        out.push(Flat {
            depth,
            event,
            state,
            exit,
        });
    }
    Some(())
}

/// A whole trace, and where in it each of the outermost positions is.
fn expanded(trace: &Trace<u8>) -> Option<(Vec<Flat>, Vec<usize>)> {
    let (mut out, mut places) = (Vec::new(), Vec::new());
    for i in 0..trace.positions.len() {
        let depth = out.last().map_or(0, |last: &Flat| last.depth);
        let before = trace.runs.len();
        expand(
            trace,
            &trace.positions[i..=i],
            (before, depth),
            None,
            &mut out,
        )?;
        places.push(out.len() - 1);
    }
    Some((out, places))
}

fn cost(event: Event) -> u64 {
    match event {
        Event::Start | Event::Refine => 0,
        Event::Step | Event::Call(_) | Event::Return(_) | Event::Terminated => 1,
        Event::Folded { steps, .. } | Event::Skipped(steps) => steps,
    }
}

/// Whether the trace is a run that shows what is claimed, told from the trace written out and a
/// whole stack.
fn naive(rsm: &Rsm, trace: &Trace<u8>, claim: &Claim<'_>) -> Option<()> {
    let ok = |condition: bool| condition.then_some(());
    let (flat, places) = expanded(trace)?;
    let has = |state: u8, step: Step<u8>| steps(rsm, state).items().contains(&step);
    let first = flat.first()?;
    ok(first.event == Event::Start && rsm.initial.contains(&first.state))?;
    // The states of all frames; the calls that were made in all but the last.
    let mut stack = vec![first.state];
    let mut calls = Vec::new();
    for now in &flat[1..] {
        let top = stack.pop()?;
        let split = parts(rsm, top);
        ok(split.is_none() || now.event == Event::Refine)?;
        match now.event {
            Event::Refine => ok(split?.contains(&now.state))?,
            Event::Step => ok(has(top, Step::Internal(now.state)))?,
            Event::Call(call) => {
                ok(has(top, Step::Call(call, now.state)))?;
                stack.push(top);
                calls.push(call);
            }
            Event::Return(call) => {
                let exit = now.exit?;
                ok(has(top, Step::Exit(exit)) && calls.pop()? == call)?;
                let caller = stack.pop()?;
                ok(resumed(rsm, caller, call, exit).contains(&now.state))?;
            }
            Event::Terminated => {
                let exits = steps(rsm, top);
                let mut exits = exits.items().iter();
                ok(stack.is_empty())?;
                ok(exits.any(
                    |step| matches!(step, Step::Exit(e) if rsm.terminated(e) == Some(now.state)),
                ))?;
            }
            _ => return None,
        }
        stack.push(now.state);
        ok(stack.len() == now.depth + 1)?;
    }
    let last = *stack.last()?;
    match *claim {
        Claim::Reaches(prop) => {
            ok(trace.cycle.is_none() && parts(rsm, last).is_none() && rsm.holds(&last, prop))
        }
        Claim::Stuck { .. } => unreachable!("not asked"),
        Claim::Repeats {
            marks,
            finite_stack,
        } => {
            let Cycle { start, pumping } = trace.cycle?;
            let from = *places.get(start)?;
            let round = &flat[from..];
            ok(round.len() > 1 && round[0].state == last)?;
            ok(round[1..].iter().any(|p| p.event != Event::Refine))?;
            let grows = round[round.len() - 1].depth > round[0].depth;
            ok(grows == pumping && !(grows && finite_stack))?;
            ok(!grows || round[1..].iter().all(|p| p.event != Event::Terminated))?;
            for &mark in marks {
                // A state that splits is not one of the run; what it is refined to is.
                ok(round.windows(2).any(|pair| {
                    pair[1].event != Event::Refine && rsm.holds(&pair[0].state, mark)
                }))?;
            }
            Some(())
        }
    }
}

fn machines(count: u64) -> impl Iterator<Item = (u64, Rsm, Random)> {
    let seeds = seeds(0, count).into_iter();
    seeds.map(|seed| (seed, rsm::random(seed), Random::new(seed)))
}

#[test]
fn written_out_with_room_enough_a_trace_is_what_it_stands_for() {
    let (mut folded, mut deep) = (0, 0);
    for (seed, rsm, mut random) in machines(500) {
        let trace = walk(&rsm, &mut random, 60);
        let (flat, _) = expanded(&trace).expect("a walk is well-formed");
        assert_eq!(
            trace.length(),
            flat.iter().map(|p| cost(p.event)).sum::<u64>()
        );
        let written = trace.flatten(usize::MAX).positions;
        let same = |a: &Flat, b: &FlatPosition<'_, u8>| {
            (a.depth, a.event, a.state) == (b.depth, b.event, *b.state)
        };
        assert!(
            flat.len() == written.len() && flat.iter().zip(&written).all(|(a, b)| same(a, b)),
            "SEED={seed}\n{trace}"
        );
        folded += trace.runs.len();
        deep += flat.iter().map(|p| p.depth).max().unwrap_or(0);
    }
    let common = folded > 200 && deep > 500;
    assert!(
        common || std::env::var("SEED").is_ok(),
        "{folded} runs, depths {deep}"
    );
}

#[test]
fn however_little_room_there_is_no_step_is_lost() {
    for (seed, rsm, mut random) in machines(300) {
        let walk = walk(&rsm, &mut random, 40);
        let lasso = lasso(&walk, &mut random);
        for trace in [Some(walk), lasso].into_iter().flatten() {
            for limit in 0..60 {
                let flat = trace.flatten(limit);
                let steps: u64 = flat.positions.iter().map(|p| cost(p.event)).sum();
                let case = format!("SEED={seed}, limit {limit}\n{trace}");
                assert_eq!(steps, trace.length(), "{case}");
                // The ends of stem and cycle are shown in any case; refining takes no room.
                let shown = flat.positions.iter().filter(|p| p.event != Event::Refine);
                assert!(shown.count() <= limit.max(12) + 1, "{case}");
                let [first, .., last] = &trace.positions[..] else {
                    continue;
                };
                let shown = &flat.positions;
                assert_eq!(*shown[0].state, first.state, "{case}");
                assert_eq!(*shown[shown.len() - 1].state, last.state, "{case}");
                let start = flat.cycle.map(|i| *shown[i].state);
                let expected = trace.cycle.map(|cycle| trace.positions[cycle.start].state);
                assert_eq!(start, expected, "{case}");
            }
        }
    }
}

#[test]
fn a_trace_that_doubles_all_the_time_saturates() {
    // Run n is two calls of run n - 1.
    let call = |id: u32| Position {
        via: Via::Summary(CallId(0), RunId(id)),
        state: 0u8,
    };
    let start = Position {
        via: Via::Start,
        state: 0,
    };
    let mut trace = Trace::default();
    for id in 0..100u32 {
        let mut positions = vec![start.clone()];
        if id > 0 {
            positions.extend([call(id - 1), call(id - 1)]);
        }
        trace.runs.push(Run { positions, exit: 0 });
        trace.positions = vec![start.clone(), call(id)];
        // 4 (2^n - 1) steps and the call and the return.
        let length = (1u128 << (id + 2)) - 2;
        assert_eq!(trace.length(), u64::try_from(length).unwrap_or(u64::MAX));
        assert!(trace.flatten(200).positions.len() <= 200);
    }
}

/// The trace with one thing changed.
fn mutant(trace: &Trace<u8>, random: &mut Random) -> Trace<u8> {
    let mut trace = trace.clone();
    let states = 1 + trace.positions.iter().map(|p| p.state).max().unwrap_or(0) as usize;
    let runs = trace.runs.len();
    let which = random.below(runs + 2);
    if let Some(run) = trace.runs.get_mut(which)
        && random.percent(20)
    {
        run.exit = random.below(states) as u8;
        return trace;
    }
    if let Some(cycle) = &mut trace.cycle
        && random.percent(15)
    {
        match random.below(2) {
            0 => cycle.pumping = !cycle.pumping,
            _ => cycle.start = cycle.start.wrapping_add(random.below(3)).wrapping_sub(1),
        }
        return trace;
    }
    let positions = match trace.runs.get_mut(which) {
        Some(run) => &mut run.positions,
        None => &mut trace.positions,
    };
    let i = random.below(positions.len());
    match random.below(6) {
        0 | 1 => positions[i].state = random.below(states) as u8,
        2 => {
            positions.remove(i);
        }
        3 => positions.insert(i, positions[i].clone()),
        4 => {
            let run = RunId(random.below(runs + 1) as u32);
            let call = CallId(random.below(3) as u32);
            let all = [
                Via::Start,
                Via::Step,
                Via::Refine,
                Via::Call(call),
                Via::Summary(call, run),
                Via::Terminated,
            ];
            positions[i].via = *random.pick(&all);
        }
        _ => positions.truncate(i + 1),
    }
    trace
}

/// The runs that the trace has in it.
fn used(trace: &Trace<u8>) -> Vec<bool> {
    let mut used = vec![false; trace.runs.len()];
    let mark = |positions: &[Position<u8>], used: &mut [bool]| {
        for position in positions {
            if let Via::Summary(_, id) = position.via
                && let Some(used) = used.get_mut(id.0 as usize)
            {
                *used = true;
            }
        }
    };
    mark(&trace.positions, &mut used);
    for id in (0..trace.runs.len()).rev() {
        if used[id] {
            mark(&trace.runs[id].positions, &mut used);
        }
    }
    used
}

#[test]
fn replay_accepts_what_a_whole_stack_would() {
    let (mut accepted, mut rejected, mut spoilt) = (0, 0, 0);
    for (seed, rsm, mut random) in machines(1500) {
        let walk = walk(&rsm, &mut random, 30);
        let lasso = lasso(&walk, &mut random);
        let claims = [
            Claim::Reaches(*random.pick(&PROPS)),
            Claim::Repeats {
                marks: &PROPS[..random.below(3)],
                finite_stack: random.percent(30),
            },
        ];
        for trace in [Some(walk), lasso].into_iter().flatten() {
            let mutants = (0..10).map(|_| mutant(&trace, &mut random));
            let mutants: Vec<Trace<u8>> = mutants.collect();
            for (number, trace) in std::iter::once(&trace).chain(&mutants).enumerate() {
                for claim in &claims {
                    let verdict = replay_trace(&rsm, trace, claim);
                    // Written out, a run that is not used is nowhere.
                    if let Err(mismatch) = &verdict
                        && let Some(id) = mismatch.run
                        && !used(trace)[id.0 as usize]
                    {
                        continue;
                    }
                    let expected = naive(&rsm, trace, claim).is_some();
                    assert_eq!(
                        verdict.is_ok(),
                        expected,
                        "SEED={seed}, mutant {number}, {claim:?}: {verdict:?}\n{trace:?}\n{rsm}"
                    );
                    accepted += usize::from(expected);
                    rejected += usize::from(!expected);
                    spoilt += usize::from(!expected && number > 0);
                }
            }
        }
    }
    if std::env::var("SEED").is_err() {
        let counts = [accepted, rejected, spoilt];
        assert!(counts.iter().all(|&count| count > 1000), "{counts:?}");
    }
}

#[test]
fn rolling_a_lasso_changes_where_its_cycle_begins_and_nothing_else() {
    let mut rolled = 0;
    for (seed, rsm, mut random) in machines(500) {
        let walk = walk(&rsm, &mut random, 30);
        let Some(mut trace) = lasso(&walk, &mut random) else {
            continue;
        };
        // One more round or two, so that there is something to roll back.
        if let Some(cycle) = trace.cycle {
            let round = trace.positions[cycle.start + 1..].to_vec();
            for _ in 0..random.below(3) {
                trace.positions.extend(round.clone());
                let start = trace.cycle.map_or(0, |cycle| cycle.start + round.len());
                trace.cycle = Some(Cycle { start, ..cycle });
            }
        }
        let before = trace.clone();
        droste_base::lasso::roll(&mut trace);
        let word = |trace: &Trace<u8>| -> Vec<Position<u8>> {
            let start = trace.cycle.map_or(0, |cycle| cycle.start);
            let round = trace.positions[start + 1..].iter().cycle();
            let all = trace.positions.iter().cloned().chain(round.cloned());
            all.take(400).collect()
        };
        // The first may start there, and the state is the same.
        let states =
            |trace: &Trace<u8>| -> Vec<u8> { word(trace).iter().map(|p| p.state).collect() };
        assert_eq!(states(&before), states(&trace), "SEED={seed}\n{before:?}");
        let (old, new) = (
            before.cycle.expect("a lasso"),
            trace.cycle.expect("a lasso"),
        );
        assert!(new.start <= old.start && new.pumping == old.pumping);
        rolled += usize::from(new.start < old.start);
        let again = trace.clone();
        droste_base::lasso::roll(&mut trace);
        assert_eq!(again, trace, "rolled once is rolled enough");
    }
    assert!(rolled > 20 || std::env::var("SEED").is_ok(), "{rolled}");
}

#[test]
fn other_states_change_nothing_else() {
    for (_, rsm, mut random) in machines(100) {
        let trace = walk(&rsm, &mut random, 40);
        let there = trace.clone().map(u64::from);
        assert_eq!(there.length(), trace.length());
        assert_eq!(there.map(|state| state as u8), trace);
    }
}
