//! Evaluations in a scenario file.
//!
//! What can be asked, and by which keys, stands in `rehearsal_metrics::evaluator`, once for each.

mod prices;
mod source;

use rehearsal_core::keys::{Form, Given, Key};
use rehearsal_metrics::evaluator::{Check, KINDS, Kind, Misplaced, Place};

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
}

impl Evaluation {
    /// The word that stands under `type`.
    pub fn type_name(&self) -> &'static str {
        self.check.kind().name
    }

    /// What is asked, in a few words.
    pub fn label(&self) -> String {
        self.check.label()
    }

    /// Whether a judge has to be asked.
    pub fn needs_judge(&self) -> bool {
        self.check.needs_judge()
    }

    /// The judge it names, by its key in `models`.
    pub fn judge_key(&self) -> Option<&str> {
        self.check.judge_key()
    }

    /// The command that has to be run when the step ends.
    pub fn command(&self) -> Option<&str> {
        self.check.command()
    }

    /// Whether it can be asked there.
    ///
    /// # Errors
    /// There is nothing there that it could look at; the text says where to ask instead.
    pub fn allowed_in(&self, place: Place) -> Result<(), Misplaced> {
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
    fields.finish(reader);
    let (line, span) = (reader.line(node.span.start), reader.line_span(node.span.start));
    let evaluation = Evaluation { line, span, description, check };
    if let Err(why) = evaluation.allowed_in(place) {
        reader.report_without_effect(Problem::error("not-here", word.span.clone(), why.to_string()));
    }
    Some(evaluation)
}
