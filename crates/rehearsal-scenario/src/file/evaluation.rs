//! Evaluations in a scenario file.
//!
//! What can be asked, and by which keys, stands in `rehearsal_metrics::evaluator`, once for each.

mod prices;
mod source;

use rehearsal_core::keys::{Form, Given, Key};
use rehearsal_metrics::evaluator::{Check, How, KINDS, Kind, Misplaced, Place};

use self::source::FileSource;
use crate::Problem;
use crate::read::{Reader, choose};
use crate::yaml::Node;

pub(crate) use prices::read_prices;

/// Something that is asked of a step, a turn or a conversation.
#[derive(Clone, Debug, PartialEq)]
pub struct Evaluation {
    /// The line it stands on, from 1.
    pub line: usize,
    /// That line, in bytes.
    pub span: std::ops::Range<usize>,
    /// Why it is asked, in its author's words.
    pub description: Option<String>,
    /// What is asked.
    pub check: Check,
    /// How it is asked.
    pub how: How,
}

impl Evaluation {
    /// The word that stands under `type`.
    pub fn type_name(&self) -> &'static str {
        self.check.kind().name
    }

    /// What is asked, in a few words.
    pub fn label(&self) -> String {
        self.how.label(&self.check)
    }

    /// Whether a judge has to be asked.
    pub fn needs_judge(&self) -> bool {
        self.check.needs_judge()
    }

    /// The judges it asks, each by the key in `models` that it is named by.
    pub fn judges(&self) -> Vec<Option<&str>> {
        self.check.judges()
    }

    /// The commands that have to be run when the step ends.
    pub fn commands(&self) -> Vec<&str> {
        self.check.commands()
    }

    /// The checks that it is made of, itself among them.
    pub fn checks(&self) -> Vec<&Check> {
        fn parts<'a>(check: &'a Check, found: &mut Vec<&'a Check>) {
            found.push(check);
            for part in check.parts() {
                parts(&part.check, found);
            }
        }
        let mut found = Vec::new();
        parts(&self.check, &mut found);
        found
    }

    /// Whether it can be asked there.
    ///
    /// # Errors
    /// There is nothing there that it could look at; the text says where to ask instead.
    pub fn allowed_in(&self, place: Place) -> Result<(), Misplaced> {
        self.how.allowed_in(&self.check, place)?;
        self.check.allowed_in(place)
    }
}

pub(super) fn read_all(reader: &mut Reader<'_>, node: &Node, what: &str, place: Place) -> Vec<Evaluation> {
    reader.list(node, what).iter().filter_map(|node| read(reader, node, place)).collect()
}

/// What every evaluation has, beside the keys of its type.
const EVALUATION: &[Key] = &[
    Key::required("type", Form::Text, "type: string_contains", "What is asked."),
    Key::optional("description", Form::Text, "Why it is asked, in your own words."),
];

fn read(reader: &mut Reader<'_>, node: &Node, place: Place) -> Option<Evaluation> {
    let mut fields = reader.fields_by(node, "an evaluation", vec![EVALUATION])?;
    let word = fields.require(reader, "type")?;
    let text = reader.text(word, "the `type` of an evaluation")?;
    let kinds: Vec<(&str, &Kind)> = KINDS.iter().map(|kind| (kind.name, kind)).collect();
    let kind = choose(reader, word, &text, "the `type` of an evaluation", &kinds)?;
    let description = fields.text(reader, "description");
    fields.with(kind.keys);
    let check = kind.read(&mut Given::new(kind.keys, &mut FileSource::new(reader, &mut fields)));
    fields.with(kind.how_keys());
    let how = How::read(&mut Given::new(kind.how_keys(), &mut FileSource::new(reader, &mut fields)), kind);
    fields.finish(reader);
    let (line, span) = (reader.line(node.span.start), reader.line_span(node.span.start));
    let evaluation = Evaluation { line, span, description, check, how };
    if let Err(why) = evaluation.allowed_in(place) {
        reader.report_without_effect(Problem::error("not-here", word.span.clone(), why.to_string()));
    }
    for check in evaluation.checks().into_iter().skip(1) {
        if let Err(why) = check.allowed_in(place) {
            let message = format!("an evaluation of the group has no place here: {why}");
            reader.report_without_effect(Problem::error("bad-evaluation", word.span.clone(), message));
        }
    }
    Some(evaluation)
}
