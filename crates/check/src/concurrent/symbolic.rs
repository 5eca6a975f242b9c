//! The symbolic engine's driver for programs with threads.

use std::sync::mpsc;

use droste_base::{Limits, Progress, Reporter};
use droste_program::ProcId;
use droste_program::concurrent::{declared, most_started};
use droste_symbolic::Query;
use droste_symbolic::concurrent::{Finding, Question, reach};

use super::schedule::{Schedule, Start, Turn, shared};
use super::search::Found;
use super::{Answer, Asked, LevelProgress, Levels};

/// What the engine reports while it works.
enum News {
    Progress(Progress),
    Level(usize),
}

pub(super) fn search(
    asked: &Asked<'_>,
    limits: &Limits,
    reporter: Option<Reporter<'_>>,
    progress: LevelProgress<'_>,
) -> Answer {
    let procedures: Vec<ProcId> = declared(asked.program)
        .iter()
        .map(|thread| thread.procedure)
        .collect();
    let shared = shared(asked.program);
    let question = Question {
        program: asked.program,
        declared: &procedures,
        shared: &shared,
        query: Query {
            targets: asked.nodes,
            violations: asked.default,
        },
        most_started: most_started(asked.program),
        rounds: asked.levels == Levels::Rounds,
        most: asked.most,
    };
    let (sender, receiver) = mpsc::channel::<News>();
    let (finding, stats) = std::thread::scope(|scope| {
        let question = &question;
        let worker = scope.spawn(move || {
            // Nobody listens any more: then nobody wants to know.
            let tell = |news: News| sender.send(news).unwrap_or_default();
            let report = |progress| tell(News::Progress(progress));
            reach(question, limits, &report, &|level| tell(News::Level(level)))
        });
        for news in receiver {
            match (news, reporter, progress) {
                (News::Progress(now), Some(reporter), _) => reporter(now),
                (News::Level(level), _, Some(progress)) => progress(asked.levels, level),
                _ => {}
            }
        }
        match worker.join() {
            Ok(result) => result,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    });
    let found = match finding {
        Finding::Nothing => Found::Nothing(false),
        Finding::Stopped(reason, level) => Found::Stopped(reason, level),
        Finding::Hit(turns, level) => {
            let turns = turns.into_iter().map(|turn| Turn {
                thread: turn.thread,
                globals: turn.globals,
                starts: turn
                    .starts
                    .into_iter()
                    .map(|(start, locals)| Start { start, locals })
                    .collect(),
            });
            let turns = turns.collect();
            Found::Hit(Schedule { turns }, level)
        }
    };
    Answer {
        found,
        stats: droste_explicit::Stats::default(),
        symbolic: Some(stats),
        raced: false,
    }
}
