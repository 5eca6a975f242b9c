//! Properties in temporal logic and ω-automata: their names resolved in a program, and what is searched for.
//!
//! A formula is violated by the runs that its negation's automaton accepts. The replayer gets the
//! formula as it was written; an automaton of the user's is replayed as a monitor, whose states
//! count the marks seen in turn.
//!
//! What keeps it honest: `tests/ltl.rs` compares the answers of every engine with an oracle that
//! shares nothing with them.

use std::sync::Arc;

use droste_base::StopReason;
use droste_lang::parser::{Dialect, parse_proposition};
use droste_lang::properties;
use droste_ltl::{
    Atom, AtomKind, Atoms, FormulaId, Formulas, Node, ResolvedFormula, Tgba, Vocabulary,
    print_short,
};
use droste_omega::Tableau;
use droste_program::labels;
use droste_program::monitor::{Monitor, MonitorState, StateKind};
use droste_program::temporal::{Formula, Temporal};
use droste_program::{Expr, ExprNode, Operator, Procedure, Program, Proposition};
use droste_source::SourceFile;
use droste_source::diagnostics::{Diagnostic, DiagnosticKind};
use droste_source::suggest::nearest;

/// A formula about a program.
#[derive(Clone, Debug)]
pub struct Ltl {
    /// The formula. What its atoms mean is in `meaning`.
    pub formula: ResolvedFormula<()>,
    /// What it means, for the replayer.
    pub meaning: Formula,
}

/// What the atoms of formulas mean in a program.
struct Names<'a> {
    program: &'a Program,
    dialect: Dialect,
}

/// An automaton that accepts what a program must not do.
#[derive(Clone, Debug)]
pub struct Automaton {
    /// Its name, for people.
    pub name: String,
    /// What its atoms mean.
    pub propositions: Vec<Proposition>,
    /// The automaton.
    pub automaton: Tgba,
    /// The same with a single kind of acceptance, for the replayer.
    pub monitor: Monitor,
}

/// Subformulas are cut off here when they are shown in remarks.
const SHORT: usize = 60;

impl Vocabulary for Names<'_> {
    type Atom = Proposition;

    fn resolve(&self, atom: &Atom, source: &SourceFile) -> Result<Proposition, Vec<Diagnostic>> {
        let span = match atom.kind {
            AtomKind::Expression => atom.text_span,
            // `var(proc::x)`: the expression `proc::x` can mean nothing else.
            AtomKind::Var if atom.text.contains("::") => atom.text_span,
            _ => atom.span,
        };
        if atom.kind == AtomKind::Terminated {
            no_clash(self.program, atom)?;
        }
        let found = proposition(self.program, self.dialect, source.slice(span), span.start);
        found.map_err(|mut diagnostics| {
            in_braces(self.program, atom, &mut diagnostics);
            diagnostics
        })
    }
}

impl Ltl {
    /// Parses and resolves a formula.
    pub fn parse(
        program: &Program,
        source: &SourceFile,
        dialect: Dialect,
    ) -> Result<Self, Vec<Diagnostic>> {
        let formula = ResolvedFormula::parse(source, &Names { program, dialect })?;
        Ok(Ltl::of(formula))
    }

    /// Resolves a formula that was parsed from `source`.
    pub fn new(
        program: &Program,
        source: &SourceFile,
        dialect: Dialect,
        formulas: &Formulas,
        atoms: &Atoms,
        formula: FormulaId,
    ) -> Result<Self, Vec<Diagnostic>> {
        let names = Names { program, dialect };
        let formula = ResolvedFormula::new(source, &names, formulas, atoms, formula)?;
        Ok(Ltl::of(formula))
    }

    fn of(formula: ResolvedFormula<Proposition>) -> Self {
        let (formula, propositions) = formula.split();
        let meaning = meaning(&formula, propositions);
        Ltl { formula, meaning }
    }

    /// The tableau that proves the formula.
    pub(crate) fn tableau(&self) -> Result<Tableau, StopReason> {
        Tableau::new(&self.formula.formulas, self.formula.formula)
    }
}

/// Nothing else in the program is called `terminated`.
fn no_clash(program: &Program, atom: &Atom) -> Result<(), Vec<Diagnostic>> {
    let name = &atom.text;
    let global = program.globals.iter().any(|g| *g.name == **name);
    let label = program
        .nodes
        .iter()
        .any(|node| node.labels.iter().any(|label| **label == **name));
    if !global && !label {
        return Ok(());
    }
    let what = if global { "a variable" } else { "a label" };
    let diagnostic = Diagnostic::error(
        atom.span,
        format!("`{name}` is {what} of the program, and says that the program has ended"),
    )
    .help(format!(
        "write `{{{name}}}` for the end of the program, `var({name})` for a variable, `at({name})` for a label"
    ));
    Err(vec![diagnostic])
}

/// What a piece of text, which begins at `offset` of its source, says about configurations of `program`.
fn proposition(
    program: &Program,
    dialect: Dialect,
    text: &str,
    offset: u32,
) -> Result<Proposition, Vec<Diagnostic>> {
    let source = SourceFile::new("proposition", text);
    let (parsed, diagnostics) = parse_proposition(&source, dialect);
    let resolved = match parsed {
        Some((ast, root)) => properties::proposition(program, &ast, root),
        None => Err(diagnostics),
    };
    resolved.map_err(|diagnostics| {
        let shifted = diagnostics.into_iter().map(|diagnostic| {
            let mut diagnostic = diagnostic.shifted(offset);
            advise(program, &mut diagnostic);
            diagnostic
        });
        shifted.collect()
    })
}

/// Words that mean something in formulas.
const KEYWORDS: [&str; 4] = ["terminated", "true", "false", "xor"];

/// How to go on, where the language itself cannot know.
fn advise(program: &Program, diagnostic: &mut Diagnostic) {
    match &*diagnostic.kind {
        DiagnosticKind::Other | DiagnosticKind::ReadDifferently(_) => {}
        DiagnosticKind::LocalName { procedure, name } => {
            // In a formula, that is written in braces.
            let help = format!(
                "`{name}` is a local variable of `{procedure}`; write `{{{procedure}::{name}}}`"
            );
            diagnostic.help = vec![help];
        }
        DiagnosticKind::UnknownName(name) => {
            if let Some(apart) = spaced(program, name) {
                let help = format!("operators are words of their own: write `{apart}`");
                diagnostic.help = vec![help];
            } else if !diagnostic.help.is_empty() {
                // Something has been suggested.
            } else if let Some(near) = nearest(name, KEYWORDS.into_iter()) {
                diagnostic.help.push(format!("did you mean `{near}`?"));
            } else {
                diagnostic.help.extend(labels::names(program));
            }
        }
        DiagnosticKind::MayDivideByZero => {
            diagnostic.help = vec![
                "a test beside it, as in `m = 0 | 6 / m < 7`, does not help: all of a proposition is computed".to_owned(),
                "compare without dividing, `m = 0 | 6 < 7 * m`, or have the program compute the quotient".to_owned(),
            ];
        }
    }
}

/// The name with space after the operators that it begins with, if the rest is known.
fn spaced(program: &Program, name: &str) -> Option<String> {
    let (apart, rest) = droste_ltl::run_together(name)?;
    let is_global = program.globals.iter().any(|global| *global.name == *rest);
    (is_global || labels::find(program, rest).is_ok()).then_some(apart)
}

/// The braces around an expression of a formula are not part of it. Says so if they are part of the name
/// of a variable.
fn in_braces(program: &Program, atom: &Atom, diagnostics: &mut Vec<Diagnostic>) {
    if atom.kind != AtomKind::Expression {
        return;
    }
    let braced = format!("{{{}}}", atom.text);
    let local = |procedure: &Procedure| {
        let has = procedure.locals.iter().any(|local| *local.name == *braced);
        has.then(|| format!("{}::{braced}", procedure.name))
    };
    let variable = if program.globals.iter().any(|global| *global.name == *braced) {
        Some(braced.clone())
    } else {
        program.procedures.iter().find_map(local)
    };
    if let Some(variable) = variable
        && let Some(first) = diagnostics.first_mut()
    {
        first.help = vec![format!(
            "braces stand around an expression; the variable `{braced}` is written `{{{variable}}}`"
        )];
        diagnostics.truncate(1);
    }
}

/// The formula for the replayer.
fn meaning(formula: &ResolvedFormula<()>, propositions: Vec<Proposition>) -> Formula {
    let (formulas, root) = (&formula.formulas, formula.formula);
    let mut nodes: Vec<Temporal> = Vec::new();
    let mut texts: Vec<Arc<str>> = Vec::new();
    let mut places = vec![0u32; root.0 as usize + 1];
    for id in formulas.closure(root) {
        let text: Arc<str> = print_short(formulas, &formula.names, id, SHORT).into();
        let mut push = |node: Temporal| {
            nodes.push(node);
            texts.push(Arc::clone(&text));
            nodes.len() as u32 - 1
        };
        let at = |id: FormulaId| places[id.0 as usize];
        let node = match formulas.node(id) {
            Node::True => push(Temporal::Constant(true)),
            Node::False => push(Temporal::Constant(false)),
            Node::Atom(atom) => push(Temporal::Proposition(atom.0)),
            Node::Not(a) => push(Temporal::Not(at(a))),
            Node::And(operands) => {
                let operands = operands.iter().map(|&a| at(a));
                let whole = operands.reduce(|a, b| push(Temporal::And(a, b)));
                whole.unwrap_or_default()
            }
            Node::Or(operands) => {
                let operands = operands.iter().map(|&a| at(a));
                let whole = operands.reduce(|a, b| push(Temporal::Or(a, b)));
                whole.unwrap_or_default()
            }
            Node::Implies(a, b) => push(Temporal::Implies(at(a), at(b))),
            Node::Iff(a, b) => push(Temporal::Iff(at(a), at(b))),
            Node::Xor(a, b) => {
                let same = push(Temporal::Iff(at(a), at(b)));
                push(Temporal::Not(same))
            }
            Node::Next(a) => push(Temporal::Next(at(a))),
            Node::Finally(a) => push(Temporal::Finally(at(a))),
            Node::Globally(a) => push(Temporal::Globally(at(a))),
            Node::Until(a, b) => push(Temporal::Until(at(a), at(b))),
            Node::Release(a, b) => push(Temporal::Release(at(a), at(b))),
            Node::WeakUntil(a, b) => push(Temporal::WeakUntil(at(a), at(b))),
            Node::StrongRelease(a, b) => push(Temporal::StrongRelease(at(a), at(b))),
        };
        places[id.0 as usize] = node;
    }
    Formula {
        nodes,
        texts,
        propositions,
    }
}

impl Automaton {
    /// Resolves the atoms of an automaton; `described` says where it comes from. If that fails: the texts of
    /// the atoms that are wrong, and what is wrong with them.
    pub fn new(
        program: &Program,
        dialect: Dialect,
        (name, described): (&str, String),
        automaton: Tgba,
        atoms: &[Atom],
    ) -> Result<Self, Vec<(String, Vec<Diagnostic>)>> {
        let mut propositions = Vec::with_capacity(atoms.len());
        let mut problems = Vec::new();
        for atom in atoms {
            let text = match atom.kind {
                AtomKind::Expression => atom.text.clone(),
                _ => atom.to_string(),
            };
            match proposition(program, dialect, &text, 0) {
                Ok(proposition) => propositions.push(proposition),
                Err(mut diagnostics) => {
                    in_braces(program, atom, &mut diagnostics);
                    problems.push((text, diagnostics));
                }
            }
        }
        if !problems.is_empty() {
            return Err(problems);
        }
        let monitor = monitor(program, name, &automaton, &propositions);
        Ok(Automaton {
            name: described,
            propositions,
            automaton,
            monitor,
        })
    }
}

/// The automaton with a counter of the marks seen in turn: `state/i` waits for mark `i`, and having seen
/// them all is what repeats.
fn monitor(
    program: &Program,
    name: &str,
    automaton: &Tgba,
    propositions: &[Proposition],
) -> Monitor {
    let marks = automaton.mark_count();
    // Waiting for mark 0, 1, ..., and having seen the last one.
    let levels = marks + 1;
    let guards: Vec<Proposition> = (0..automaton.guards().len() as u32)
        .map(|guard| combined(program, automaton, guard, propositions))
        .collect();
    let mut states = Vec::new();
    for state in 0..automaton.state_count() as u32 {
        let label = automaton.state(state).name.clone();
        let label = label.unwrap_or_else(|| state.to_string());
        for level in 0..levels {
            let edges = automaton.edges_from(state).iter().map(|edge| {
                // All marks in turn that this edge has, from the one that is waited for.
                let mut next = if level == marks { 0 } else { level };
                while next < marks && edge.marks >> next & 1 == 1 {
                    next += 1;
                }
                (
                    guards[edge.guard as usize].clone(),
                    edge.target * levels + next,
                )
            });
            let name = match level {
                _ if marks == 0 => label.clone(),
                level if level == marks => format!("{label}/good"),
                _ if marks == 1 => label.clone(),
                level => format!("{label}/{level}"),
            };
            states.push(MonitorState {
                name: name.into(),
                kind: if level == marks {
                    StateKind::Repeating
                } else {
                    StateKind::Plain
                },
                edges: edges.collect(),
                otherwise: None,
            });
        }
    }
    Monitor {
        name: name.into(),
        states,
        initial: automaton.initial() * levels,
    }
}

/// A guard as a proposition: a disjunction of conjunctions.
fn combined(
    program: &Program,
    automaton: &Tgba,
    guard: u32,
    propositions: &[Proposition],
) -> Proposition {
    let build = |choose: &dyn Fn(&Proposition) -> Expr| {
        let mut nodes: Vec<ExprNode> = Vec::new();
        let join = |nodes: &mut Vec<ExprNode>, op: Operator, a: Option<u32>, b: u32| match a {
            None => b,
            Some(a) => {
                nodes.push(ExprNode::Binary(op, a, b));
                nodes.len() as u32 - 1
            }
        };
        let mut any = None;
        for cube in automaton.guards().cubes(guard) {
            let mut all = None;
            for literal in cube {
                let expr = choose(&propositions[literal.atom().0 as usize]);
                let offset = nodes.len() as u32;
                nodes.extend(expr.nodes.iter().map(|node| moved(node, offset)));
                let mut root = nodes.len() as u32 - 1;
                if !literal.positive() {
                    nodes.push(ExprNode::Not(root));
                    root += 1;
                }
                all = Some(join(&mut nodes, Operator::And, all, root));
            }
            let all = all.unwrap_or_else(|| {
                nodes.push(ExprNode::Const(1));
                nodes.len() as u32 - 1
            });
            any = Some(join(&mut nodes, Operator::Or, any, all));
        }
        if any.is_none() {
            nodes.push(ExprNode::Const(0));
        }
        Expr { nodes }
    };
    Proposition {
        by_procedure: (0..program.procedures.len())
            .map(|p| build(&|proposition| proposition.by_procedure[p].clone()))
            .collect(),
        terminated: build(&|proposition| proposition.terminated.clone()),
    }
}

/// The node with operands that lie `offset` further on.
fn moved(node: &ExprNode, offset: u32) -> ExprNode {
    match node {
        ExprNode::Not(a) => ExprNode::Not(a + offset),
        ExprNode::BitNot(a) => ExprNode::BitNot(a + offset),
        ExprNode::Neg(a) => ExprNode::Neg(a + offset),
        ExprNode::Binary(op, a, b) => ExprNode::Binary(*op, a + offset, b + offset),
        ExprNode::Schoose(a, b) => ExprNode::Schoose(a + offset, b + offset),
        leaf => leaf.clone(),
    }
}
