//! How random programs look: the knobs, and settings for common purposes.

/// How often each kind of statement is chosen, relative to the others.
#[derive(Clone, Copy, Debug)]
pub struct Weights {
    /// Assignments.
    pub assign: u32,
    /// Calls.
    pub call: u32,
    /// `assert` and `abortif`.
    pub assert: u32,
    /// `assume`.
    pub assume: u32,
    /// `constrain` as a statement.
    pub constrain: u32,
    /// `enforce`.
    pub enforce: u32,
    /// `if`.
    pub branch: u32,
    /// `while`.
    pub repeat: u32,
    /// `goto`.
    pub goto: u32,
    /// `return` before the end.
    pub give_back: u32,
    /// `skip` and `print`.
    pub skip: u32,
    /// `dead`, and `decl` of a variable that has been declared already.
    pub dead: u32,
    /// A guarded statement with the label `ERROR`.
    pub error: u32,
    /// One of the shapes that make recursion and infinite runs interesting.
    pub shape: u32,
}

/// What random programs look like. Ranges include both ends.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// Procedures beside `main`.
    pub procedures: (usize, usize),
    /// Globals.
    pub globals: (usize, usize),
    /// Locals of a procedure, without parameters.
    pub locals: (usize, usize),
    /// Parameters of a procedure.
    pub params: (usize, usize),
    /// Results of a procedure.
    pub results: (usize, usize),
    /// Statements of a procedure's outermost block.
    pub statements: (usize, usize),
    /// How deep blocks are nested.
    pub depth: usize,
    /// How deep expressions are nested.
    pub expression_depth: usize,
    /// In how many of 100 cases a variable is an integer.
    pub integers: u32,
    /// In how many of 100 cases an operand of an expression is `*`.
    pub stars: u32,
    /// In how many of 100 cases a statement has a label.
    pub labels: u32,
    /// In how many of 100 cases there is a declaration before a statement.
    pub declarations: u32,
    /// In how many of 100 cases a call that may recur is under a `*`, whatever else it is under, so that
    /// runs need not recur.
    pub escapes: u32,
    /// The most valuations of globals and locals together, per procedure.
    pub valuations: usize,
    /// The most variables, globals and locals together, that the expressions of a procedure read.
    pub readable: usize,
    /// Kinds of statements.
    pub weights: Weights,
}

impl Config {
    /// Small enough for the naive oracle, with every form of the language: for differential tests.
    pub fn tiny() -> Self {
        Config {
            procedures: (0, 3),
            globals: (1, 3),
            locals: (0, 2),
            params: (0, 2),
            results: (0, 2),
            statements: (2, 7),
            depth: 2,
            expression_depth: 2,
            integers: 25,
            stars: 15,
            labels: 30,
            declarations: 0,
            escapes: 0,
            valuations: 64,
            readable: usize::MAX,
            weights: Weights {
                assign: 30,
                call: 16,
                assert: 4,
                assume: 4,
                constrain: 1,
                enforce: 2,
                branch: 12,
                repeat: 5,
                goto: 4,
                give_back: 2,
                skip: 5,
                dead: 2,
                error: 5,
                shape: 2,
            },
        }
    }

    /// Booleans only, otherwise as [`Config::tiny`].
    pub fn boolean() -> Self {
        Config {
            integers: 0,
            ..Config::tiny()
        }
    }

    /// Many loops and much recursion, so that infinite runs of both kinds are frequent.
    pub fn liveness() -> Self {
        Config {
            procedures: (1, 3),
            globals: (1, 3),
            locals: (0, 1),
            params: (0, 1),
            results: (0, 1),
            statements: (2, 5),
            integers: 10,
            labels: 40,
            valuations: 32,
            weights: Weights {
                assign: 20,
                call: 16,
                assert: 1,
                assume: 2,
                constrain: 1,
                enforce: 1,
                branch: 12,
                repeat: 5,
                goto: 3,
                give_back: 3,
                skip: 6,
                dead: 2,
                error: 0,
                shape: 22,
            },
            ..Config::tiny()
        }
    }

    /// Recursion that can run away and loops that cannot, so that a formula is often true of the runs on a
    /// bounded stack and false of others. Small, for products with automata.
    pub fn runaway() -> Self {
        Config {
            procedures: (1, 2),
            globals: (1, 2),
            locals: (0, 1),
            params: (0, 1),
            results: (0, 1),
            statements: (1, 4),
            expression_depth: 1,
            integers: 10,
            stars: 10,
            labels: 45,
            escapes: 75,
            valuations: 16,
            weights: Weights {
                assign: 14,
                call: 10,
                assert: 1,
                assume: 1,
                constrain: 1,
                enforce: 1,
                branch: 8,
                repeat: 5,
                goto: 3,
                give_back: 2,
                skip: 8,
                dead: 1,
                error: 0,
                shape: 30,
            },
            ..Config::tiny()
        }
    }

    /// As [`Config::runaway`], with declarations all over the bodies, which are no positions of a run.
    pub fn declaring() -> Self {
        Config {
            locals: (1, 1),
            declarations: 50,
            ..Config::runaway()
        }
    }

    /// Many variables without a value of which few are read: hard for eager enumeration,
    /// easy for an engine that gives values on demand. Too large for the oracle.
    pub fn wide() -> Self {
        Config {
            globals: (8, 16),
            locals: (6, 12),
            params: (0, 3),
            integers: 20,
            valuations: usize::MAX,
            readable: 4,
            ..Config::tiny()
        }
    }

    /// Longer programs with more procedures, for the front end and for benchmarks.
    pub fn large() -> Self {
        Config {
            procedures: (5, 20),
            globals: (3, 8),
            locals: (1, 5),
            statements: (5, 25),
            depth: 4,
            expression_depth: 4,
            valuations: usize::MAX,
            ..Config::tiny()
        }
    }
}

impl Default for Config {
    fn default() -> Self {
        Config::tiny()
    }
}
