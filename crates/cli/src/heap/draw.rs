//! Pictures of heap programs: `--emit dot` and `--emit html`, and what settings files export.

use std::path::Path;

use droste_base::Limits;
use droste_heap::{
    Grammar, Heap, Indices, Symbols, grammar_dot, heaps_dot, read_grammar, read_heap, read_sid,
    read_symbolic_heap,
};
use droste_ltl::ResolvedFormula;
use droste_shape::check::{Answer, Report};
use droste_shape::page::{Sheet, grammar_sheet, heap_sheet, page, run_sheets};
use droste_shape::proposition::Proposition;
use droste_shape::run::Run;
use droste_shape::settings::Settings;
use droste_shape::spaces::StateSpaces;
use droste_shape::task::Task;

use crate::args::{CheckArgs, Emit};
use crate::console::{Console, Failure};
use crate::frame::Frame;
use crate::heap::args::Picture;
use crate::heap::text::Sources;
use crate::{input, output};
use droste_source::io_reason;

/// A page shows so many states at most.
const MOST_STATES: usize = 500;
/// Of the largest heaps, so many are exported.
const LARGEST: usize = 20;

/// What is drawn of a program.
pub(super) struct Drawing<'a> {
    pub(super) task: &'a mut Task,
    pub(super) formulas: &'a [ResolvedFormula<Proposition>],
    pub(super) sources: &'a Sources,
    pub(super) limits: Limits,
    pub(super) title: String,
}

/// The pictures that are asked for.
pub(super) fn wanted(args: &CheckArgs) -> Vec<Picture> {
    let picture = &args.heap.picture;
    match args.output.emit {
        _ if !picture.is_empty() => picture.clone(),
        Some(Emit::Dot) => vec![Picture::States],
        _ => vec![
            Picture::Run,
            Picture::States,
            Picture::Heaps,
            Picture::Grammar,
        ],
    }
}

impl Drawing<'_> {
    /// For Graphviz. One picture is one graph; several follow each other.
    pub(super) fn dot(
        &mut self,
        wanted: &[Picture],
        reports: &[Report],
    ) -> Result<String, Failure> {
        let mut text = String::new();
        for picture in wanted {
            text += &match picture {
                Picture::States => self.states()?.dot(),
                Picture::Grammar => grammar_dot(&self.task.symbols, &self.task.grammar),
                Picture::Heaps => {
                    let heaps = self.initial();
                    let heaps = heaps.iter().map(|(name, heap)| (name.clone(), heap));
                    heaps_dot(&self.task.symbols, "heaps", heaps)
                }
                Picture::Run => {
                    let (_, run) = first_run(reports).ok_or_else(nothing_violated)?;
                    let heaps = run.positions.iter().enumerate().map(|(at, position)| {
                        let title =
                            format!("{}. {}: {}", at + 1, position.line, position.statement);
                        (title, &position.heap)
                    });
                    heaps_dot(&self.task.symbols, "run", heaps)
                }
            };
        }
        Ok(text)
    }

    /// For a browser.
    pub(super) fn html(
        &mut self,
        wanted: &[Picture],
        reports: &[Report],
    ) -> Result<String, Failure> {
        let mut sheets: Vec<Sheet> = Vec::new();
        for picture in wanted {
            // What was not asked for by name is left out if it cannot be had.
            let only = wanted.len() == 1;
            match picture {
                Picture::Run => match first_run(reports) {
                    Some((report, run)) => {
                        let line = |file: &str, number: u32| {
                            self.sources.line(file, number).map(str::to_owned)
                        };
                        let property = &report.property;
                        sheets.extend(run_sheets(run, &self.task.symbols, property, &line));
                    }
                    None if only => return Err(nothing_violated()),
                    None => sheets.extend(self.too_large(reports)),
                },
                Picture::States => match self.states() {
                    Ok(spaces) => sheets.push(spaces.sheet(&self.task.symbols, MOST_STATES)),
                    Err(failure) if only => return Err(failure),
                    Err(_) => {}
                },
                Picture::Heaps => sheets.push(self.heaps()),
                Picture::Grammar => {
                    let sheet = grammar_sheet(&self.task.grammar, &self.task.symbols);
                    if sheet.is_none() && only {
                        return Err(Failure::Because("there is no grammar".into()));
                    }
                    sheets.extend(sheet);
                }
            }
        }
        Ok(page(&self.title, &sheets))
    }

    fn states(&mut self) -> Result<StateSpaces, Failure> {
        let spaces = StateSpaces::new(self.task, self.formulas, &self.limits);
        spaces.map_err(|reason| {
            Failure::Because(format!("the state spaces cannot be drawn: {reason}"))
        })
    }

    /// The heap that was larger than allowed.
    fn too_large(&self, reports: &[Report]) -> Option<Sheet> {
        let largest = reports.iter().find_map(|report| report.largest.as_ref())?;
        let method = &self.task.program.method(largest.method).name;
        let heap = [(format!("in {method}"), largest.heap.clone())];
        let note = "This heap is larger than allowed: no rule of the grammar makes it smaller.";
        Some(heap_sheet("largest heap", note, &heap, &self.task.symbols))
    }

    fn heaps(&self) -> Sheet {
        let note = "The heaps in which the program may start.";
        heap_sheet("initial heaps", note, &self.initial(), &self.task.symbols)
    }

    fn initial(&self) -> Vec<(String, Heap)> {
        let heaps = self.task.initial.iter().enumerate();
        let named: Vec<(String, Heap)> = heaps
            .map(|(at, heap)| (format!("initial heap {}", at + 1), heap.clone()))
            .collect();
        if named.is_empty() {
            return vec![("the empty heap".into(), Heap::new())];
        }
        named
    }

    /// What the settings say is to be written into directories.
    pub(super) fn export(
        &mut self,
        settings: &Settings,
        root: &Path,
        reports: &[Report],
    ) -> Result<(), Failure> {
        if let Some(folder) = &settings.export {
            let all = [
                Picture::Run,
                Picture::States,
                Picture::Heaps,
                Picture::Grammar,
            ];
            let text = self.html(&all, reports)?;
            write(&root.join(folder), "index.html", &text)?;
            if let Ok(states) = self.states() {
                write(&root.join(folder), "states.dot", &states.dot())?;
            }
        }
        if let Some(folder) = &settings.export_grammar {
            let sheets: Vec<Sheet> = grammar_sheet(&self.task.grammar, &self.task.symbols)
                .into_iter()
                .collect();
            let text = grammar_dot(&self.task.symbols, &self.task.grammar);
            write(&root.join(folder), "grammar.dot", &text)?;
            write(
                &root.join(folder),
                "grammar.html",
                &page(&self.title, &sheets),
            )?;
        }
        if let Some(folder) = &settings.export_largest {
            let mut heaps: Vec<(String, Heap)> = (reports.iter())
                .filter_map(|report| report.largest.as_ref())
                .map(|largest| ("larger than allowed".to_owned(), largest.heap.clone()))
                .take(1)
                .collect();
            if let Ok(states) = self.states() {
                heaps.extend(states.largest(LARGEST));
            }
            let note = "The states with the largest heaps.";
            let sheet = heap_sheet("largest heaps", note, &heaps, &self.task.symbols);
            let text = page(&self.title, &[sheet]);
            write(&root.join(folder), "largest.html", &text)?;
        }
        Ok(())
    }
}

fn write(folder: &Path, name: &str, text: &str) -> Result<(), Failure> {
    let path = folder.join(name);
    let written = std::fs::create_dir_all(folder).and_then(|()| output::save_text(&path, text));
    written.map_err(|error| {
        let (path, why) = (path.display(), io_reason(&error));
        Failure::Because(format!("cannot write `{path}`: {why}"))
    })
}

fn nothing_violated() -> Failure {
    Failure::Because("nothing is violated: there is no run to be shown".to_owned())
}

/// The first violation that has a run.
pub(super) fn first_run(reports: &[Report]) -> Option<(&Report, &Run)> {
    reports.iter().find_map(|report| match &report.answer {
        Answer::Violated(run) => Some((report, &**run)),
        _ => None,
    })
}

/// Draws a file with a heap or a grammar, without any program.
pub(super) fn file(args: &CheckArgs, frame: &Frame<'_>) -> Result<u8, Failure> {
    let Some(emit @ (Emit::Dot | Emit::Html)) = args.output.emit else {
        return Err(Failure::Because(format!(
            "`{}` is no program: draw it with --emit html or --emit dot, or give it to a program \
             with --initial or --grammar",
            input::name(&args.file)
        )));
    };
    let mut symbols = Symbols::new();
    let mut fragments = Vec::new();
    for name in &args.heap.grammar {
        if let Some(which) = droste_heap::Predefined::named(name) {
            fragments.extend(droste_heap::predefined(&mut symbols, which));
            continue;
        }
        let source = frame.read(Path::new(name))?;
        let read = if source.text().trim_start().starts_with(['[', '{']) {
            read_grammar(&mut symbols, source.text(), Indices::Read)
        } else {
            read_sid(&mut symbols, source.text())
        };
        match read {
            Ok(read) => fragments.extend(read),
            Err(problems) => {
                frame.refused(&problems, &source)?;
                return Err(Failure::Told);
            }
        }
    }
    let source = frame.read(&args.file)?;
    let text = source.text();
    let mut heaps = Vec::new();
    let name = title(&args.file);
    let read = match text.trim_start().chars().next() {
        Some('[') => read_grammar(&mut symbols, text, Indices::Read).map(|read| {
            fragments.extend(read);
        }),
        Some('{') => read_heap(&mut symbols, text, Indices::Read)
            .map(|heap| heaps.push((name.clone(), heap))),
        // The cases of a predicate end with a semicolon, a heap does not.
        _ if text.contains(';') => read_sid(&mut symbols, text).map(|read| fragments.extend(read)),
        _ => read_symbolic_heap(&mut symbols, text).map(|heap| heaps.push((name.clone(), heap))),
    };
    if let Err(problems) = read {
        frame.refused(&problems, &source)?;
        return Err(Failure::Told);
    }
    let grammar = Grammar::new(&symbols, fragments);
    frame.claim();
    let drawn = if emit == Emit::Dot {
        if heaps.is_empty() {
            grammar_dot(&symbols, &grammar)
        } else {
            let heaps = heaps.iter().map(|(name, heap)| (name.clone(), heap));
            heaps_dot(&symbols, "heap", heaps)
        }
    } else {
        let mut sheets = Vec::new();
        if !heaps.is_empty() {
            sheets.push(heap_sheet("heap", "", &heaps, &symbols));
        }
        sheets.extend(grammar_sheet(&grammar, &symbols));
        page(&title(&args.file), &sheets)
    };
    Console::print(&drawn)?;
    Ok(0)
}

/// The title of a page: the name of the file without the way to it.
pub(super) fn title(file: &Path) -> String {
    match file.file_name() {
        Some(name) => name.to_string_lossy().into_owned(),
        None => input::name(file),
    }
}
