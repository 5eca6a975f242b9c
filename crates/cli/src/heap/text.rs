//! A run of a heap program as lines of text, and heaps as text.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use droste_base::words::counted;
use droste_heap::{Heap, Node, Symbols, TypeId, Variable, label_text};
use droste_pointer::MethodId;
use droste_report::visible;
use droste_shape::machine::{Fault, Largest};
use droste_shape::run::{Kind, Position, Reality, Run};
use droste_shape::task::Task;

/// Lines of the source are cut here.
const WIDEST: usize = 60;
/// Of a heap, so many objects are told.
const OBJECTS: usize = 12;
/// Of the places where a run takes a branch on something that is not modelled, so many are told.
const GUESSES: usize = 5;

/// Whether a violation is one of the program, and the input that shows it.
pub(super) fn reality(task: &Task, run: &Run) -> String {
    match &run.reality {
        Reality::Unasked => String::new(),
        Reality::Real(heap, run) => {
            let told = heap_lines(task, task.program.entry, heap);
            let start = if told.is_empty() {
                "when the program starts with no objects"
            } else {
                "on this heap"
            };
            let mut text = match condition(run) {
                Some(condition) => {
                    format!("\nThis happens {start} if {condition}. All else is certain.")
                }
                None if run.overlooks => format!("\nThis happens {start}."),
                None => format!("\nThis is real: it happens {start}."),
            };
            if run.overlooks {
                text.push_str(
                    " But the structure is there: `L` does not recognise it where null is at several \
                     ends, and `sll`, `dll` and `tree` do.",
                );
            }
            text.push('\n');
            if !told.is_empty() {
                text.push('\n');
                text.push_str(&told);
            }
            text
        }
        Reality::Doubtful(..) if !run.contracts.is_empty() => {
            let methods: Vec<String> = run.contracts.iter().map(|one| visible(one)).collect();
            format!(
                "\nWhether this is real cannot be found out on concrete heaps: the run uses the contract of \
                 {}, which cannot be run.\n",
                methods.join(" and that of "),
            )
        }
        Reality::Doubtful(0, true) => {
            "\nThis may be a violation of the abstraction alone: there was \
            no time to follow a concrete heap to the end.\n"
                .into()
        }
        Reality::Doubtful(0, _) => {
            "\nThis may be a violation of the abstraction alone: no concrete \
            heap could be followed to the end.\n"
                .into()
        }
        Reality::Doubtful(tried, _) => format!(
            "\nThis may be a violation of the abstraction alone: it does not happen on {}.\n",
            match tried {
                1 => "the smallest heap".to_owned(),
                tried => format!("the {tried} smallest heaps"),
            }
        ),
    }
}

/// What has to be true so that a run on a concrete heap is one of the program, if that is not certain.
fn condition(run: &Run) -> Option<String> {
    let mut all = Vec::new();
    if !run.guesses.is_empty() {
        all.push(format!(
            "the program takes the branches of this run on values that are not modelled, such as \
             numbers{}",
            places(&run.guesses)
        ));
    }
    if !run.doubts.is_empty() {
        all.push(format!(
            "no exception ends the program before{}",
            places(&run.doubts)
        ));
    }
    (!all.is_empty()).then(|| all.join(", and if "))
}

/// Some files and lines, in parentheses.
fn places(all: &BTreeSet<(String, u32)>) -> String {
    let places = all.iter().filter(|(_, line)| *line > 0);
    let places: Vec<String> = places
        .map(|(file, line)| format!("{}:{line}", visible(file)))
        .collect();
    let more = match places.len().saturating_sub(GUESSES) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    match &places[..places.len().min(GUESSES)] {
        [] => String::new(),
        shown => format!(" ({}{more})", shown.join(", ")),
    }
}

/// The heap that was too large, and what to do.
pub(super) fn largest(task: &Task, largest: &Largest) -> String {
    let method = task.program.method(largest.method);
    let line = method
        .lines
        .get(largest.pc as usize)
        .or(method.lines.last());
    let file = task.program.files.get(method.file as usize);
    let mut text = format!(
        "\n  The largest heap has {} and comes up in {}",
        counted(largest.heap.node_count() as u64, "node"),
        method.name
    );
    if let (Some(file), Some(line)) = (file, line.filter(|&&line| line > 0)) {
        let _ = write!(text, " ({file}:{line})");
    }
    let _ = write!(
        text,
        ":\n\n{}",
        heap_lines(task, largest.method, &largest.heap)
    );
    text.push_str(if task.grammar.rules().is_empty() {
        "\n  There is no grammar, so nothing is abstracted: say with --grammar what heaps look like.\n"
    } else {
        "\n  No rule of the grammar makes it smaller: the grammar may not fit, or --max-heap is low.\n"
    });
    text.push_str(&strangers(task, largest));
    text.push_str(&holders(task, largest));
    text
}

/// The objects of a heap that no rule can match.
fn strangers(task: &Task, largest: &Largest) -> String {
    let heap = &largest.heap;
    let objects: BTreeSet<_> = heap.nodes().map(|node| heap.node_type(node)).collect();
    let told = objects.into_iter().filter_map(|object| {
        let above = task.fits_no_rule(object)?;
        let (class, above) = (visible(task.symbols.type_name(object)), visible(above));
        Some(format!(
            "  Objects of class {class} fit no rule: the grammar has objects of class {above}, and rules \
             match classes exactly.\n"
        ))
    });
    told.collect()
}

/// What keeps objects of a heap from being abstracted: variables, and what callers hold.
fn holders(task: &Task, largest: &Largest) -> String {
    let heap = &largest.heap;
    if task.grammar.rules().is_empty() {
        return String::new();
    }
    let variables = heap.variables().iter().map(|pair| pair.0);
    let variables = variables.filter(|one| !one.is_constant() && !one.is_marking());
    let name = |one| task.source_name(largest.method, task.symbols.variable_name(one));
    let mut names: Vec<String> = variables.map(name).collect();
    names.sort_unstable();
    names.dedup();
    let more = names.len().saturating_sub(OBJECTS);
    names.truncate(OBJECTS);
    let is_constant = |node: Node| heap.variables_at(node).any(Variable::is_constant);
    let held = heap.externals().iter();
    let held = held.filter(|&&node| !is_constant(node)).count();
    let mut parts = Vec::new();
    if !names.is_empty() {
        let more = if more == 0 {
            String::new()
        } else {
            format!(" and {more} more")
        };
        parts.push(format!("{}{more} point to", visible(&names.join(", "))));
    }
    if held > 0 {
        parts.push(format!("callers hold ({held} of them)"));
    }
    if parts.is_empty() {
        return String::new();
    }
    format!(
        "  Objects stay as they are where {}.\n",
        parts.join(", or which ")
    )
}

/// A heap of a method, one line for what variables point to, and one for each object.
fn heap_lines(task: &Task, method: MethodId, heap: &Heap) -> String {
    let symbols = &task.symbols;
    let null = heap.variable(Variable::NULL);
    let constant = |node: Node| heap.variables_at(node).find(|one| one.is_constant());
    let objects: Vec<Node> = (heap.nodes())
        .filter(|&node| constant(node).is_none())
        .collect();
    let name = |node: Node| match constant(node) {
        _ if Some(node) == null => "null".to_owned(),
        Some(constant) => symbols.variable_name(constant).to_owned(),
        None => {
            let number = objects.iter().position(|&one| one == node);
            format!("#{}", number.map_or(0, |number| number + 1))
        }
    };
    let mut text = String::new();
    for &(variable, node) in heap.variables() {
        let written = symbols.variable_name(variable);
        // Composed markings are where the fields of the marked object point to.
        if variable.is_constant() || (variable.is_marking() && written.contains('-')) {
            continue;
        }
        let shown = if variable.is_marking() {
            format!("the mark ({written}) is on {}", name(node))
        } else {
            format!("{} = {}", task.source_name(method, written), name(node))
        };
        let _ = writeln!(text, "    {}", visible(&shown));
    }
    for &node in objects.iter().take(OBJECTS) {
        let fields: Vec<String> = (heap.edges_of(node))
            .map(|edge| {
                let selector = symbols.selector_name(edge.selector);
                format!("{selector} = {}", name(edge.target))
            })
            .collect();
        let class = simple(symbols.type_name(heap.node_type(node)));
        let mut line = format!("{} : {class}", name(node));
        if !fields.is_empty() {
            let _ = write!(line, "  {}", fields.join(", "));
        }
        let _ = writeln!(text, "    {}", visible(&line));
    }
    if objects.len() > OBJECTS {
        let more = (objects.len() - OBJECTS) as u64;
        let _ = writeln!(text, "    … and {} more", counted(more, "object"));
    }
    for hyperedge in heap.hyperedges().take(OBJECTS) {
        let label = label_text(symbols, hyperedge.label);
        let tentacles: Vec<String> = hyperedge.tentacles.iter().map(|&node| name(node)).collect();
        let _ = writeln!(text, "    {}({})", visible(&label), tentacles.join(", "));
    }
    text
}

/// The name of a class without its package and without the class around it.
fn simple(class: &str) -> &str {
    let class = class.rsplit('.').next().unwrap_or(class);
    let inner = class.rsplit('$').next().unwrap_or(class);
    let inner = inner.trim_start_matches(|c: char| c.is_ascii_digit());
    if inner.is_empty() { class } else { inner }
}

/// The sources of a program, as far as they are available: lines by the name of the file.
pub(super) struct Sources(BTreeMap<String, Vec<String>>);

impl Sources {
    /// Looks for the files of a program at and in these paths.
    pub(super) fn find(task: &Task, paths: &[PathBuf]) -> Self {
        let mut found = BTreeMap::new();
        for name in &task.program.files {
            let path = paths.iter().find_map(|path| source(path, Path::new(name)));
            if let Some(text) = path.and_then(|path| std::fs::read_to_string(path).ok()) {
                found.insert(name.clone(), text.lines().map(str::to_owned).collect());
            }
        }
        Sources(found)
    }

    /// A line of a file, if it is known.
    pub(super) fn line(&self, file: &str, number: u32) -> Option<&str> {
        let lines = self.0.get(file)?;
        let line = lines.get((number as usize).checked_sub(1)?)?;
        Some(line.trim()).filter(|line| !line.is_empty())
    }
}

/// The file `name`, which begins with the directories of its package, at or in `path`. The path may
/// itself be one of these directories.
fn source(path: &Path, name: &Path) -> Option<PathBuf> {
    let mut path = std::path::absolute(path).ok()?;
    let mut class = None;
    if path.is_file() {
        if path.ends_with(name) {
            return Some(path);
        }
        // Other classes are compiled from sources beside it, and class files often lie beside theirs.
        match path.extension().and_then(|extension| extension.to_str()) {
            Some("java") => {}
            Some("class") => class = Some(path.clone()),
            _ => return None,
        }
        path.pop();
    }
    let parts: Vec<_> = name.components().collect();
    (0..parts.len()).find_map(|at| {
        let (above, below) = (&parts[..at], &parts[at..]);
        let above: PathBuf = above.iter().collect();
        let file = path.join(below.iter().collect::<PathBuf>());
        let fits = class.as_ref().is_none_or(|class| is_older(&file, class));
        (path.ends_with(above) && file.is_file() && fits).then_some(file)
    })
}

/// Whether a source has not been changed since it was compiled: else its lines may be other ones. The class
/// is that of its name, or this one.
fn is_older(source: &Path, class: &Path) -> bool {
    let own = source.with_extension("class");
    let class = if own.is_file() { &own } else { class };
    let changed = |path: &Path| std::fs::metadata(path).and_then(|data| data.modified());
    match (changed(source), changed(class)) {
        (Ok(source), Ok(class)) => source <= class,
        _ => false,
    }
}

/// A line of a run.
struct Row {
    depth: usize,
    number: u32,
    /// The file, if it is not the one in which the run begins.
    file: Option<String>,
    text: String,
    remarks: Vec<String>,
    /// Whether more statements of the same line may be told here.
    open: bool,
}

/// A run as lines: the line of the source, its text, what it changed. Statements of one line are
/// told together; where there is no source, the statements themselves are shown.
pub(super) fn lines(task: &Task, sources: &Sources, run: &Run) -> String {
    if let (Some(method), [enter, leave]) = (run.call_of, &run.positions[..]) {
        let heap = |heap| match heap_lines(task, method, heap) {
            text if text.is_empty() => "    no objects\n".to_owned(),
            text => text,
        };
        let how = match leave.kind {
            Kind::Fault(_) => "left by an exception",
            _ => "left",
        };
        return format!(
            "  It is entered with this heap:\n\n{}\n  and {how} with one that the contract does not \
             have:\n\n{}",
            heap(&enter.heap),
            heap(&leave.heap)
        );
    }
    let mut rows: Vec<Row> = Vec::new();
    let plain = |text: String| Row {
        depth: 0,
        number: 0,
        file: None,
        text,
        remarks: Vec::new(),
        open: false,
    };
    if let Some(first) = run.positions.first() {
        let mut told = given(task, first);
        let propositions = run.propositions.iter().zip(&first.holds);
        told.extend(propositions.map(|(name, holds)| proposition(name, *holds)));
        if !told.is_empty() {
            rows.push(plain(format!("at the beginning: {}", told.join(", "))));
        }
    }
    let main = run.positions.first().map(|first| first.file.as_str());
    for (at, position) in run.positions.iter().enumerate() {
        // What has ended stays as it is for ever.
        if position.kind == Kind::Terminated {
            rows.push(plain("the program has ended".into()));
            break;
        }
        if run.cycle == Some(at) {
            rows.push(plain("from here on it repeats for ever:".into()));
        }
        let next = run.positions.get(at + 1);
        let mut remarks: Vec<String> = remark(task, position, next).into_iter().collect();
        remarks.extend(changes(run, position, next));
        let told = matches!(position.kind, Kind::Skipped(_));
        let text = sources
            .line(&position.file, position.line)
            .filter(|_| !told);
        let elsewhere = Some(position.file.as_str()).filter(|&file| Some(file) != main);
        let here = (position.depth, position.line, elsewhere);
        let same = |row: &&mut Row| {
            let ends = position.kind == Kind::End && row.depth == position.depth;
            row.open
                && (ends
                    || (text.is_some() && (row.depth, row.number, row.file.as_deref()) == here))
        };
        if let Some(row) = rows.last_mut().filter(same) {
            // That the method returns comes first, then what has changed by it.
            if position.kind == Kind::End
                && row
                    .remarks
                    .last()
                    .is_some_and(|one| one.starts_with("now "))
            {
                let at = row.remarks.iter().position(|one| one.starts_with("now "));
                let back = remarks.remove(0);
                row.remarks.insert(at.unwrap_or(0), back);
            }
            row.remarks.extend(remarks);
            row.open = position.kind == Kind::Step;
            continue;
        }
        let text = match text {
            // A jump from the end of a block, or nothing that a person would miss.
            Some("}") | None if position.silent && remarks.is_empty() => continue,
            Some(text) => visible(text),
            None => {
                if let Some(branch) = position.branch {
                    remarks.insert(0, if branch { "yes" } else { "no" }.into());
                }
                visible(&position.told())
            }
        };
        rows.push(Row {
            depth: position.depth,
            number: position.line,
            file: elsewhere.map(str::to_owned),
            text,
            remarks,
            open: position.kind == Kind::Step,
        });
    }
    render(&rows)
}

fn render(rows: &[Row]) -> String {
    let shown = |row: &Row| {
        let text = format!("{}{}", "  ".repeat(row.depth.min(40)), row.text);
        let cut = text.chars().count() > WIDEST && row.number > 0;
        if cut {
            text.chars().take(WIDEST - 1).chain(['…']).collect()
        } else {
            text
        }
    };
    let with_remark = rows.iter().filter(|row| !row.remarks.is_empty());
    let wide = with_remark.map(|row| shown(row).chars().count()).max();
    let wide = wide.unwrap_or(0);
    let number = |row: &Row| match (row.number, &row.file) {
        (0, _) => String::new(),
        (number, None) => number.to_string(),
        (number, Some(file)) => format!("{}:{number}", visible(file)),
    };
    let digits = rows.iter().map(|row| number(row).chars().count()).max();
    let digits = digits.unwrap_or(0);
    let mut text = String::new();
    for row in rows {
        let number = number(row);
        let line = format!(
            "  {number:>digits$} │ {:<wide$}   {}",
            shown(row),
            row.remarks.join(", ")
        );
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// A proposition that holds or does not.
fn proposition(name: &str, holds: bool) -> String {
    if holds {
        format!("{{{}}}", visible(name))
    } else {
        format!("not {{{}}}", visible(name))
    }
}

/// The propositions that a step makes true or false.
fn changes(run: &Run, position: &Position, next: Option<&Position>) -> Vec<String> {
    let Some(next) = next else {
        return Vec::new();
    };
    let both = position.holds.iter().zip(&next.holds);
    (run.propositions.iter().zip(both))
        .filter(|(_, (before, after))| before != after)
        .map(|(name, (_, &after))| format!("now {}", proposition(name, after)))
        .collect()
}

/// The remark after a statement.
fn remark(task: &Task, position: &Position, next: Option<&Position>) -> Option<String> {
    Some(match position.kind {
        Kind::Fault(Fault::NullDereference) => "✗ null is dereferenced here".into(),
        Kind::Fault(Fault::UnknownMemory) if position.hands => {
            "✗ what this runs is not followed".into()
        }
        Kind::Fault(Fault::UnknownMemory) => "✗ what this points to is not modelled".into(),
        Kind::Fault(Fault::Thrown) => "↯ an exception leaves the method".into(),
        Kind::Fault(Fault::Leak) => "✗ before this, an object has become unreachable".into(),
        Kind::Call => match next {
            Some(callee) => {
                let name = match &*callee.method {
                    "<init>" => "constructor".to_owned(),
                    name => visible(name),
                };
                match &given(task, callee)[..] {
                    [] => format!("→ {name}"),
                    given => format!("→ {name}, {}", given.join(", ")),
                }
            }
            None => "→ call".into(),
        },
        Kind::End => match value(&task.symbols, &position.heap, "@return") {
            Some(value) => format!("← returns {value}"),
            None => "← returns".into(),
        },
        Kind::Folded(steps) => format!("⋯ {}", counted(steps, "step")),
        Kind::Skipped(steps) => format!("after {} more", counted(steps, "step")),
        Kind::Terminated => return None,
        Kind::Step => {
            let next = next?;
            if let Some((base, field)) = &position.change.field {
                // The value that was written, seen from the object.
                let node = next.heap.variable(task.symbols.variable(base)?)?;
                let target = next.heap.target(node, task.symbols.selector(field)?)?;
                let told = node_text(&task.symbols, &next.heap, target, None);
                return (!base.starts_with('$')).then(|| format!("{base}.{field} = {told}"));
            }
            let variable = position.change.variable.as_ref()?;
            // Intermediate values are nobody's variables.
            if variable.starts_with('$') {
                return None;
            }
            let value = value(&task.symbols, &next.heap, variable)?;
            format!("{variable} = {value}")
        }
    })
}

/// What a method is given that begins at this position.
fn given(task: &Task, position: &Position) -> Vec<String> {
    let named = position.given.iter().filter(|name| !name.starts_with('$'));
    let told = named.filter_map(|name| {
        let value = value(&task.symbols, &position.heap, name)?;
        Some(format!("{name} = {value}"))
    });
    told.collect()
}

/// What a variable is now.
fn value(symbols: &Symbols, heap: &Heap, name: &str) -> Option<String> {
    let variable = symbols.variable(name)?;
    let node = heap.variable(variable)?;
    Some(node_text(symbols, heap, node, Some(variable)))
}

/// What an object is to people: other variables that point to it, or else its class.
fn node_text(symbols: &Symbols, heap: &Heap, node: Node, but: Option<Variable>) -> String {
    if heap.node_type(node) == TypeId::NULL {
        return "null".into();
    }
    let own = |variable: &Variable| {
        let name = symbols.variable_name(*variable);
        Some(*variable) != but && !variable.is_marking() && !name.starts_with(['$', '@'])
    };
    let others: Vec<&str> = (heap.variables_at(node).filter(own))
        .map(|other| symbols.variable_name(other))
        .collect();
    let constant = heap.variables_at(node).find(|other| other.is_constant());
    match (constant, &others[..]) {
        (Some(constant), _) => symbols.variable_name(constant).to_owned(),
        (None, []) => {
            let class = simple(symbols.type_name(heap.node_type(node)));
            let vowel = class.starts_with(['A', 'E', 'I', 'O']);
            format!("{} {class}", if vowel { "an" } else { "a" })
        }
        (None, others) => others.join(" = "),
    }
}
