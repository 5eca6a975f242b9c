//! Programs as text: a method is numbered lines, each with its line of the source.

use std::fmt::{self, Write};

use crate::{Callees, Handler, MethodId, Operand, Pc, PointerProgram, Statement, Value};

impl fmt::Display for PointerProgram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for class in &self.classes {
            write!(f, "class {}", class.name)?;
            if let Some(parent) = class.parent {
                write!(f, " extends {}", self.class(parent).name)?;
            }
            for (at, (field, kind)) in class.fields.iter().enumerate() {
                f.write_str(if at == 0 { ": " } else { ", " })?;
                write!(f, "{kind} {}", self.field(*field))?;
            }
            f.write_char('\n')?;
        }
        for method in 0..self.methods.len() {
            f.write_char('\n')?;
            f.write_str(&self.print_method(MethodId(method as u32)))?;
        }
        Ok(())
    }
}

impl PointerProgram {
    /// A method as text: position, source line, statement.
    pub fn print_method(&self, id: MethodId) -> String {
        let method = self.method(id);
        let mut text = method.signature.clone();
        if let Some(file) = self.files.get(method.file as usize) {
            let _ = write!(text, "  {file}");
        }
        text.push('\n');
        for pc in 0..method.code.len() {
            let line = match method.lines[pc] {
                0 => "-".to_string(),
                line => line.to_string(),
            };
            let statement = self.print_statement(id, pc as Pc);
            let _ = writeln!(text, "{pc:>4}  {line:>4}  {statement}");
        }
        text
    }

    /// Where an exception may go: `RuntimeException 7 or out`.
    fn print_handlers(&self, handlers: &[Handler], escapes: bool) -> String {
        let handlers = handlers.iter().map(|one| match one.class {
            Some(class) => format!("{} {}", self.class(class).simple_name(), one.target),
            None => one.target.to_string(),
        });
        let out = escapes.then(|| "out".to_string());
        let all: Vec<String> = handlers.chain(out).collect();
        all.join(" or ")
    }

    /// One statement as text, in the manner of Java.
    pub fn print_statement(&self, id: MethodId, pc: Pc) -> String {
        let method = self.method(id);
        let operand = |operand: Operand| match operand {
            Operand::Local(local) => method.local(local).to_string(),
            Operand::Null => "null".to_string(),
            Operand::Int(value) => value.to_string(),
            Operand::Unknown => "?".to_string(),
            Operand::Present => "!".to_string(),
        };
        match &method.code[pc as usize] {
            Statement::Assign { to, value } => {
                let value = match *value {
                    Value::Operand(one) => operand(one),
                    Value::Field(base, field) => {
                        format!("{}.{}", method.local(base), self.field(field))
                    }
                    Value::New(class) => format!("new {}", self.class(class).name),
                    Value::IsInstance(local, class) => {
                        let class = &self.class(class).name;
                        format!("{} instanceof {class}", operand(Operand::Local(local)))
                    }
                    Value::Fits { value, class, .. } => {
                        let class = &self.class(class).name;
                        format!("{} fits {class}", operand(Operand::Local(value)))
                    }
                    Value::This => "@this".to_string(),
                    Value::Parameter(number) => format!("@parameter{number}"),
                    Value::Exception => "@thrown".to_string(),
                };
                format!("{} = {value}", method.local(*to))
            }
            Statement::Store { base, field, value } => {
                format!(
                    "{}.{} = {}",
                    method.local(*base),
                    self.field(*field),
                    operand(*value)
                )
            }
            Statement::Call {
                to,
                receiver,
                arguments,
                callees,
            } => {
                let mut text = String::new();
                if let Some(to) = to {
                    let _ = write!(text, "{} = ", method.local(*to));
                }
                if let Some(receiver) = receiver {
                    let _ = write!(text, "{}.", method.local(*receiver));
                }
                match callees {
                    Callees::One(callee) => text.push_str(&self.method(*callee).signature),
                    Callees::Unavailable(signature) => {
                        let _ = write!(text, "?{signature}");
                    }
                    Callees::Virtual(table) => {
                        text.push('{');
                        for (at, (class, callee)) in table.iter().enumerate() {
                            let (class, callee) = (self.class(*class), self.method(*callee));
                            let comma = if at == 0 { "" } else { ", " };
                            let _ = write!(text, "{comma}{}: {}", class.name, callee.signature);
                        }
                        text.push('}');
                    }
                }
                let arguments: Vec<String> = arguments.iter().map(|&one| operand(one)).collect();
                let _ = write!(text, "({})", arguments.join(", "));
                text
            }
            Statement::Branch { condition, yes, no } => {
                let relation = if condition.equal { "==" } else { "!=" };
                let (left, right) = (operand(condition.left), operand(condition.right));
                format!("if {left} {relation} {right} goto {yes} else {no}")
            }
            Statement::Choose { targets } => {
                let targets: Vec<String> = targets.iter().map(ToString::to_string).collect();
                format!("choose {}", targets.join(" "))
            }
            Statement::Goto(target) => format!("goto {target}"),
            Statement::Return(None) => "return".to_string(),
            Statement::Return(Some(value)) => format!("return {}", operand(*value)),
            Statement::Throw {
                value,
                handlers,
                escapes,
            } => {
                let to = self.print_handlers(handlers, *escapes);
                format!("throw {}: {to}", operand(*value))
            }
            Statement::Caught { handlers, escapes } => {
                format!("caught {}", self.print_handlers(handlers, *escapes))
            }
            Statement::Require(base) => format!("require {}", method.local(*base)),
            Statement::Hand { to, objects, runs } => {
                let objects: Vec<&str> = objects.iter().map(|&one| method.local(one)).collect();
                let runs: Vec<&str> = runs.iter().map(|(_, method)| method.as_str()).collect();
                match (&objects[..], &runs[..]) {
                    ([], []) => to.clone(),
                    ([], runs) => format!("{to} runs {}", runs.join(", ")),
                    (objects, []) => format!("hand {} to {to}", objects.join(", ")),
                    (objects, runs) => {
                        format!("hand {} to {to}: {}", objects.join(", "), runs.join(", "))
                    }
                }
            }
            Statement::Doubt(what) => format!("perhaps the end: {what}"),
            Statement::Nop => "nop".to_string(),
        }
    }
}
