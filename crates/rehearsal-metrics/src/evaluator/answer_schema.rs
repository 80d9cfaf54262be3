//! `answer_schema`.

use rehearsal_core::keys::{At, Complaint, Form, Given, Key};
use rehearsal_core::{MetricResult, Schema};
use serde_json::Value;

use super::{Evaluator, LooksAt, final_answer};
use crate::Assessment;
use crate::view::View;

/// How many violations are told beside the first.
const TOLD: usize = 10;

/// The final answer satisfies a JSON Schema.
#[derive(Clone, Debug, PartialEq)]
pub struct AnswerSchema {
    /// The schema.
    pub schema: Schema,
}

impl Evaluator for AnswerSchema {
    const TYPE: &'static str = "answer_schema";
    const ABOUT: &'static str = "The final answer satisfies a JSON Schema.";
    const LOOKS_AT: LooksAt = LooksAt::Reply;
    const OF_REPLIES: bool = true;
    const KEYS: &'static [Key] =
        &[Key::required("schema", Form::Schema, "schema: {type: object}", "The JSON Schema.")];
    const PAGE: &'static str = "\
The answer is read as for `json_path`. The evidence lists where it does not satisfy the schema.

```yaml
- type: answer_schema
  schema:
    type: object
    required: [id]
    properties:
      id: {type: integer}
```";

    fn read(given: &mut Given<'_>) -> Self {
        let source = given.map("schema");
        let is_given = source.is_some();
        let schema = Schema::new(Value::Object(source.unwrap_or_default()));
        if is_given && let Err(error) = schema.check(&Value::Null) {
            let message = format!("`schema`: {error}");
            given.complain(Complaint::spoils("invalid-schema", At::Value("schema"), message));
        }
        Self { schema }
    }

    fn detail(&self) -> String {
        String::new()
    }

    fn assess(&self, view: &View<'_>) -> Assessment {
        let (seq, answer) = match final_answer::read(view) {
            Ok(read) => read,
            Err(result) => return result.into(),
        };
        let violations = match self.schema.check(&answer) {
            Ok(violations) => violations,
            Err(error) => return MetricResult::error(error.to_string()).into(),
        };
        let Some(first) = violations.first() else {
            return MetricResult::from_pass(true)
                .because_of("the answer has the form asked for", [seq])
                .into();
        };
        let more = violations.len() - 1;
        let message = match more {
            0 => format!("the answer does not have the form asked for: {first}"),
            _ => format!("the answer does not have the form asked for: {first}, and {more} more"),
        };
        let result = MetricResult::from_pass(false).because_of(message, [seq]);
        let rest = violations.iter().skip(1).take(TOLD);
        rest.fold(result, |result, violation| result.because_of(violation.to_string(), [seq])).into()
    }
}
