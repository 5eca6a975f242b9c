//! Threads that add to each other's numbers, after the Fibonacci programs of the competition on
//! software verification (SV-COMP) and of GETAFIX's regression tests.
//!
//! Each thread has a number, 1 at first, and adds the next thread's number to it a few times. The
//! largest numbers come from taking turns, which takes many switches.

use std::collections::HashSet;
use std::fmt::Write;

/// How a thread adds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Bit by bit, one statement for each, written out for every addition.
    Bits,
    /// In a loop.
    Loop,
    /// One addition for each call of a procedure that calls itself.
    Recursive,
}

/// What the numbers are at the start, and what is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Question {
    /// All are 1. Whether a thread sees the largest possible number at its end.
    Largest,
    /// All are 1. Whether a thread sees a larger one.
    Larger,
    /// They are any even numbers. Whether a thread sees an odd one.
    Odd,
}

/// Which program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// How many.
    pub threads: usize,
    /// How often each adds.
    pub additions: usize,
    /// Bits of the numbers.
    pub bits: usize,
    /// How.
    pub form: Form,
    /// What for.
    pub question: Question,
}

const NAMES: [&str; 4] = ["i", "j", "k", "l"];

/// The largest number that any of the threads can have.
pub fn largest(threads: usize, additions: usize) -> u64 {
    let mut states = HashSet::from([(vec![1u64; threads], vec![additions; threads])]);
    let mut most = 1;
    while !states.is_empty() {
        let mut next = HashSet::new();
        for (numbers, left) in states {
            most = numbers.iter().copied().fold(most, u64::max);
            for t in (0..threads).filter(|&t| left[t] > 0) {
                let (mut numbers, mut left) = (numbers.clone(), left.clone());
                numbers[t] += numbers[(t + 1) % threads];
                left[t] -= 1;
                next.insert((numbers, left));
            }
        }
        states = next;
    }
    most
}

fn bit(name: &str, k: usize) -> String {
    format!("{name}{k}")
}

fn bits(name: &str, count: usize) -> String {
    let bits: Vec<String> = (0..count).map(|k| bit(name, k)).collect();
    bits.join(", ")
}

/// The program.
pub fn program(shape: &Shape) -> String {
    let names = &NAMES[..shape.threads];
    let width = shape.bits;
    let mut text = format!(
        "// {} threads add to each other's numbers, {} times each.\n",
        shape.threads, shape.additions
    );
    for name in names {
        let _ = match shape.form {
            Form::Bits => writeln!(text, "decl {};", bits(name, width)),
            _ => writeln!(text, "decl {name} : u{width};"),
        };
    }
    text.push_str("\nvoid init() begin\n");
    for name in names {
        let _ = match (shape.form, shape.question) {
            (Form::Bits, Question::Odd) => writeln!(text, "  {} := F;", bit(name, 0)),
            (_, Question::Odd) => writeln!(text, "  assume(({name} & 1) = 0);"),
            (Form::Bits, _) => writeln!(
                text,
                "  {} := T{};",
                bits(name, width),
                ", F".repeat(width - 1)
            ),
            _ => writeln!(text, "  {name} := 1;"),
        };
    }
    text.push_str("endinit:\n  skip;\nend\n");
    let largest = largest(shape.threads, shape.additions);
    for (t, name) in names.iter().enumerate() {
        let other = names[(t + 1) % names.len()];
        let condition = bad(shape, name, largest);
        let check = format!("  if {condition} then ERROR: skip; fi\nend\n");
        let n = shape.additions;
        let _ = match shape.form {
            Form::Loop => write!(
                text,
                "
void thread{t}() begin
  decl n : int[0..{n}];
  n := {n};
  while n > 0 do
    {name} := {name} + {other};
    n := n - 1;
  od
{check}"
            ),
            Form::Recursive => write!(
                text,
                "
void add{t}(n : int[0..{n}]) begin
  if n > 0 then
    {name} := {name} + {other};
    add{t}(n - 1);
  fi
end

void thread{t}() begin
  add{t}({n});
{check}"
            ),
            Form::Bits => {
                let _ = write!(text, "\nvoid thread{t}() begin\n  decl c;\n");
                for _ in 0..n {
                    text.push_str("  c := F;\n");
                    for k in 0..width {
                        let (a, b) = (bit(name, k), bit(other, k));
                        let sum = format!("{a} != ({b} != c)");
                        let carry = format!("({a} & {b}) | (c & ({a} | {b}))");
                        let _ = writeln!(text, "  {a}, c := {sum}, {carry};");
                    }
                }
                text.push_str(&check);
                Ok(())
            }
        };
    }
    text
}

/// What a thread must not see.
fn bad(shape: &Shape, name: &str, largest: u64) -> String {
    let wrong = match shape.question {
        Question::Odd if shape.form == Form::Bits => return bit(name, 0),
        Question::Odd => return format!("({name} & 1) = 1"),
        Question::Largest => largest,
        Question::Larger => largest + 1,
    };
    if shape.form != Form::Bits {
        return match shape.question {
            Question::Largest => format!("{name} = {wrong}"),
            _ => format!("{name} > {largest}"),
        };
    }
    let literals: Vec<String> = (0..shape.bits)
        .map(|k| {
            let no = if wrong >> k & 1 == 1 { "" } else { "!" };
            format!("{no}{}", bit(name, k))
        })
        .collect();
    literals.join(" & ")
}
