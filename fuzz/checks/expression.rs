//! No source makes reading an expression panic, and what could be read is evaluated to an end within its limits.
//!
//! Sources that call something are only read: here nobody can end a native function that does not come to its end.

use rehearsal_js::{Expression, Scope, check_expression};
use serde_json::json;

/// The text is the source of an expression.
pub(crate) fn check(source: &str) {
    let scope = Scope {
        args: vec![json!({"q": "octo", "n": 5}), json!("two")],
        input: json!({"id": "a\"b", "count": 3, "city": "Berlin"}),
        context: json!({"turn": 2}),
        ..Scope::default()
    };
    let read = [Expression::matcher(source), Expression::response(source)];
    assert_eq!(check_expression(source).is_ok(), read[1].is_ok());
    for read in read {
        match read {
            Ok(expression) => {
                expression.why_constant();
                if !source.contains(['(', '`']) {
                    expression.evaluate_here(&scope).ok();
                }
            }
            Err(error) => {
                let line = source.split('\n').nth(error.line - 1).expect("the line is one of the source");
                assert!(error.column <= line.chars().count() + 1);
            }
        }
    }
}
