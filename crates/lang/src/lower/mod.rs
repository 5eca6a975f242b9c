//! From the syntax tree to the recursive state machine: names, types, control flow.
//!
//! [`lower`] checks everything that can be checked without running the program, reports
//! as many mistakes as one run can, and translates what is right into a [`Program`], whose doc
//! comments say what it means. In order:
//!
//! * `names` collects what is declared; `layout` gives every statement its node;
//! * `statements` and `calls` say what each node does, and `types` and `intervals` what each
//!   expression means and that evaluators compute it exactly;
//! * this file decides where runs start and which threads there are.
//!
//! Every pass is a loop over an arena or has a stack of its own, and takes time proportional to its
//! input (or to the program it makes: `enforce`, and `constrain` as a statement, write out
//! conditions and lists of variables).

mod calls;
pub(crate) mod layout;
mod names;
pub(crate) mod sink;
mod statements;
pub(crate) mod types;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use crate::ast::{Ast, Item, Name};
use droste_program::{NodeId, ProcId, Procedure, Program, Threads, Variable};
use droste_source::Span;
use droste_source::diagnostics::Diagnostic;
use droste_source::suggest::nearest;

use names::Environment;
use sink::Sink;
use statements::{Budget, Emitter};

/// The label at which `init` hands over to the threads (GETAFIX).
pub(crate) const END_INIT: &str = "endinit";

/// How many procedures a message lists.
const LISTED: usize = 10;

/// Resolves names and types of `ast` and translates it. There is a program if and only if none of the
/// diagnostics is an error.
pub fn lower(ast: &Ast) -> (Option<Program>, Vec<Diagnostic>) {
    let mut sink = Sink::default();
    let env = Environment::collect(ast, &mut sink);

    let mut bases = Vec::with_capacity(env.procs.len());
    let mut total: u64 = 0;
    for proc in &env.procs {
        bases.push(total as u32);
        total += proc.layout.slots.len() as u64;
    }
    if total > u64::from(u32::MAX) {
        sink.push(Diagnostic::error(
            Span::default(),
            "the program has too many statements",
        ));
        return (None, sink.finish());
    }

    let mut nodes = Vec::with_capacity(total as usize);
    let mut budget = Budget::default();
    for (i, &base) in bases.iter().enumerate() {
        Emitter::new(ast, &env, i, base, &mut budget, &mut sink).emit(&mut nodes);
    }
    let start = threads(ast, &env, &bases, &mut sink);
    let Some((main, threads)) = start.filter(|_| !sink.failed()) else {
        return (None, sink.finish());
    };
    let procedures = env
        .procs
        .iter()
        .zip(&bases)
        .map(|(proc, &base)| Procedure {
            name: proc.full_name.clone(),
            span: proc.function.name.span,
            params: proc.function.params.len() as u32,
            locals: locals(proc),
            results: proc.function.results.clone(),
            entry: NodeId(base),
            thread: proc.section,
        })
        .collect();
    let program = Program {
        globals: env.globals,
        procedures,
        nodes,
        main,
        threads,
    };
    (Some(program), sink.finish())
}

fn locals(proc: &names::Proc<'_>) -> Vec<Variable> {
    proc.layout
        .locals
        .iter()
        .map(|local| Variable {
            name: Arc::from(local.name),
            ty: local.ty,
            span: local.span,
            thread: None,
        })
        .collect()
}

/// Where runs start, and the threads.
fn threads(
    ast: &Ast,
    env: &Environment<'_>,
    bases: &[u32],
    sink: &mut Sink,
) -> Option<(ProcId, Threads)> {
    let main = env.shared.functions.get("main").copied();
    if !env.sections.is_empty() {
        return sections(env, main, sink);
    }
    let init = env.shared.functions.get("init").copied();
    let end_init = init.and_then(|init| {
        let (slot, _) = env.procs[init as usize].layout.labels.get(END_INIT)?;
        Some((init, NodeId(bases[init as usize] + slot)))
    });
    let workers: Vec<ProcId> = (0..env.procs.len() as u32)
        .filter(|&i| {
            env.procs[i as usize]
                .function
                .name
                .text
                .starts_with("thread")
        })
        .map(ProcId)
        .collect();
    if let Some((init, end_init)) = end_init.filter(|_| !workers.is_empty()) {
        if let Some(main) = main {
            sink.push(
                Diagnostic::warning(
                    env.procs[main as usize].function.name.span,
                    "`main` is not where this program starts",
                )
                .label("only called from other procedures, if at all")
                .also(
                    env.procs[init as usize].function.name.span,
                    "this runs first, up to the label `endinit`; then the threads do",
                ),
            );
        }
        let threads = Threads::Init {
            end_init,
            threads: workers,
        };
        return Some((ProcId(init), threads));
    }
    if main.is_none() {
        let diagnostic = no_main(ast, env, init.is_some(), !workers.is_empty());
        sink.push(diagnostic);
    }
    main.map(|main| (ProcId(main), Threads::Dynamic))
}

/// One thread per section, each with a `main`.
fn sections(
    env: &Environment<'_>,
    main: Option<u32>,
    sink: &mut Sink,
) -> Option<(ProcId, Threads)> {
    if let Some(main) = main {
        sink.push(
            Diagnostic::error(
                env.procs[main as usize].function.name.span,
                "a program with thread sections has no `main` of its own",
            )
            .also(env.sections[0].0.span, "the first thread section")
            .help("put it into a section: `thread NAME begin … end`"),
        );
    }
    let mut threads = Vec::with_capacity(env.sections.len());
    for (name, table) in &env.sections {
        if let Some(&main) = table.functions.get("main") {
            threads.push((name.text.clone(), ProcId(main)));
        } else {
            let mut diagnostic =
                Diagnostic::error(name.span, format!("the thread `{name}` has no `main`"))
                    .label("each thread starts at its own `main`");
            let mut names: Vec<&str> = table.functions.keys().copied().collect();
            names.sort_unstable();
            if let Some(suggestion) = nearest("main", names.into_iter()) {
                diagnostic = diagnostic.help(format!("did you mean `{suggestion}`?"));
            }
            sink.push(diagnostic);
        }
    }
    let first = threads.first()?.1;
    Some((first, Threads::Sections(threads)))
}

/// The message for a program without `main`, at the procedure that may be meant or at its end.
fn no_main(ast: &Ast, env: &Environment<'_>, init: bool, workers: bool) -> Diagnostic {
    let last = |names: &[Name]| names.last().map(|name| name.span);
    let end = match ast.items.last() {
        Some(Item::Decl(decl)) => last(&decl.names),
        Some(Item::Function(function)) => Some(function.end.0),
        Some(Item::Thread(name, _)) => Some(name.span),
        None => None,
    };
    let names: Vec<&str> = env.procs.iter().map(|p| &*p.function.name.text).collect();
    let suggestion = nearest("main", names.iter().copied());
    let meant = suggestion.and_then(|suggestion| names.iter().position(|&n| n == suggestion));
    let place = match meant {
        Some(i) => env.procs[i].function.name.span,
        None => end.unwrap_or_default(),
    };
    let mut diagnostic = Diagnostic::error(
        place,
        "there is no procedure `main`, where the program would start",
    );
    if let Some(suggestion) = suggestion {
        diagnostic = diagnostic.help(format!("did you mean `{suggestion}`?"));
    } else if !names.is_empty() {
        let list: Vec<String> = names
            .iter()
            .take(LISTED)
            .map(|name| format!("`{name}`"))
            .collect();
        let more = if names.len() > LISTED { ", …" } else { "" };
        diagnostic = diagnostic.help(format!("the procedures are {}{more}", list.join(", ")));
    }
    if init || workers {
        diagnostic = diagnostic.help(
            "without `main`, a procedure `init` with a label `endinit` and procedures whose names start with `thread` are needed",
        );
    }
    diagnostic
}
