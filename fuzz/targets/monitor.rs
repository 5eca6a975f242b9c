//! Monitors, and the expressions of properties.
#![no_main]

use droste_lang::ast::ExprKind;
use droste_source::diagnostics::render;
use droste_lang::parser::{Dialect, parse_monitor, parse_proposition};
use droste_lang::printer::expr_to_string;
use droste_source::SourceFile;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    let source = SourceFile::new("fuzz", &*text);
    for dialect in [Dialect::Union, Dialect::Satabs, Dialect::Getafix] {
        let (monitor, diagnostics) = parse_monitor(&source, dialect);
        render(&diagnostics[..diagnostics.len().min(1)], &source, true);
        let mut expressions = Vec::new();
        if let Some(monitor) = &monitor {
            for state in &monitor.states {
                for (guard, _) in &state.edges {
                    expressions.push((&monitor.ast, *guard));
                }
            }
        }
        let (proposition, diagnostics) = parse_proposition(&source, dialect);
        render(&diagnostics[..diagnostics.len().min(1)], &source, true);
        if let Some((ast, root)) = &proposition {
            expressions.push((ast, *root));
        }
        for (ast, id) in expressions {
            // `var(terminated)` is printed as in a program.
            let hides = |kind: &ExprKind| matches!(kind, ExprKind::Var(name) if &*name.text == "terminated");
            if ast.exprs.iter().any(|expr| hides(&expr.kind)) {
                continue;
            }
            let printed = expr_to_string(ast, id);
            let again = parse_proposition(&SourceFile::new("printed", &*printed), dialect);
            assert_eq!(again.1, [], "{printed}");
            let Some((again, root)) = again.0 else {
                panic!("{printed}");
            };
            assert_eq!(expr_to_string(&again, root), printed);
        }
    }
});
