//! Evaluators: what a scenario file can ask of a session, a step or a turn.
//!
//! One evaluator is one file in this folder: its parameters as a table of keys with a sentence each, what it looks at, how
//! it assesses, how it concludes from a judge's answers, its label, and its part of the page of reference. The list in
//! [`evaluators!`](self) is the only one. From it come [`Check`], the reader of scenario files, the JSON Schema for
//! editors, docs/reference/evaluators.md and what Rust cases are judged by.

mod bounds;
mod calls;
mod check_program;
mod files;
mod final_answer;
mod how;
mod page;
mod pattern;
mod place;
mod shown;
mod usage;

use std::sync::Arc;

use rehearsal_core::keys::{self, Given, JsonSource, Key};
use rehearsal_core::{Ledger, MetricResult};
use serde_json::{Map, Value, json};

use crate::judge::record::Record;
use crate::view::{Scope, View};
use crate::watch::{ScopedWatcher, first_breach};
use crate::{Assessment, InvalidAnswer, Metric, Prices, Watcher};

pub use calls::CallStatus;
pub use final_answer::{AnswerPath, InvalidPath};
pub use how::{How, OF_ALL, OF_REPLIES, Replies};
pub use page::evaluators_page;
pub use pattern::{ArgumentPattern, ValueQuery};
pub use place::{LooksAt, Misplaced, Place};

/// What every evaluator is.
pub trait Evaluator: Sized {
    /// The word that stands under `type`.
    const TYPE: &'static str;
    /// What it asks, in a sentence.
    const ABOUT: &'static str;
    /// What it looks at.
    const LOOKS_AT: LooksAt;
    /// Its parameters.
    const KEYS: &'static [Key];
    /// What else the page of reference says of it, with an example.
    const PAGE: &'static str;
    /// Whether it looks at a reply, so that it can be asked of other ones than the last.
    const OF_REPLIES: bool = false;

    /// Makes one of its parameters.
    fn read(given: &mut Given<'_>) -> Self;

    /// What the JSON Schema says of its keys together.
    fn rules() -> Value {
        json!({})
    }

    /// What is asked, in a few words; its type stands before them.
    fn detail(&self) -> String;

    /// Looks at what happened: gives a result, or what has to be answered first.
    fn assess(&self, view: &View<'_>) -> Assessment;

    /// Somebody who follows the session while it goes on, where it asks for the session to end at the first event that
    /// breaks what it asks.
    fn watch(&self) -> Option<Box<dyn Watcher>> {
        None
    }

    /// Concludes from the answers, in the order of the requests.
    ///
    /// # Errors
    /// They do not have the form that was asked for.
    fn conclude(&self, view: &View<'_>, answers: &[Value]) -> Result<MetricResult, InvalidAnswer> {
        let _ = (view, answers);
        Err(InvalidAnswer::NotAsked { evaluator: Self::TYPE })
    }

    /// Whether a judge has to be asked.
    fn needs_judge(&self) -> bool {
        false
    }

    /// The judge it names, by its key in `models`.
    fn judge_key(&self) -> Option<&str> {
        None
    }

    /// The judges it asks, each by the key in `models` that it is named by.
    fn judges(&self) -> Vec<Option<&str>> {
        if self.needs_judge() { vec![self.judge_key()] } else { Vec::new() }
    }

    /// The checks of the author's own that it asks.
    fn programs(&self) -> Vec<&CheckProgram> {
        Vec::new()
    }

    /// The command that has to be run when the step ends.
    fn command(&self) -> Option<&str> {
        None
    }

    /// The commands that have to be run when the step ends.
    fn commands(&self) -> Vec<&str> {
        self.command().into_iter().collect()
    }

    /// The evaluations that it is made of.
    fn parts(&self) -> Vec<&Part> {
        Vec::new()
    }

    /// The states of a world that have to be made when the step ends, as they then stand on the ledger.
    fn world_references(&self) -> Vec<Value> {
        Vec::new()
    }

    /// The tools of which it looks at calls, by name; nothing where it looks at no calls, and none where at all of them.
    fn tools(&self) -> Option<Vec<&str>> {
        None
    }

    /// The words of the user without which it asks nothing, and always passes.
    fn words_of_user(&self) -> Option<&str> {
        None
    }
}

/// Makes everything that comes from the list of evaluators.
macro_rules! evaluators {
    ($($module:ident::$kind:ident,)*) => {
        $(mod $module;)*
        $(pub use $module::$kind;)*

        /// Something that can be asked: one of the evaluators, with its parameters.
        #[derive(Clone, Debug, PartialEq)]
        #[non_exhaustive]
        pub enum Check {
            $(
                #[doc = concat!("See [`", stringify!($kind), "`].")]
                $kind($kind),
            )*
        }

        $(
            impl From<$kind> for Check {
                fn from(evaluator: $kind) -> Self {
                    Self::$kind(evaluator)
                }
            }
        )*

        /// Every evaluator, in the order of the list.
        pub const KINDS: &[Kind] = &[$(Kind::of::<$kind>(|given| Check::$kind($kind::read(given)))),*];

        impl Check {
            /// Which kind of evaluator it is.
            pub fn kind(&self) -> &'static Kind {
                let name = match self { $(Self::$kind(_) => $kind::TYPE),* };
                KINDS.iter().find(|kind| kind.name == name).expect("the list holds every evaluator")
            }

            fn detail(&self) -> String {
                match self { $(Self::$kind(evaluator) => evaluator.detail()),* }
            }

            /// Looks at what happened: gives a result, or what has to be answered first.
            pub fn assess(&self, view: &View<'_>) -> Assessment {
                match self { $(Self::$kind(evaluator) => evaluator.assess(view)),* }
            }

            /// Somebody who follows the session while it goes on, where it asks for the session to end at the first event
            /// that breaks what it asks.
            pub fn watch(&self) -> Option<Box<dyn Watcher>> {
                match self { $(Self::$kind(evaluator) => evaluator.watch()),* }
            }

            /// Concludes from the judge's answers, in the order of the questions.
            ///
            /// # Errors
            /// They do not have the form that was asked for.
            pub fn conclude(&self, view: &View<'_>, answers: &[Value]) -> Result<MetricResult, InvalidAnswer> {
                match self { $(Self::$kind(evaluator) => evaluator.conclude(view, answers)),* }
            }

            /// Whether a judge has to be asked.
            pub fn needs_judge(&self) -> bool {
                match self { $(Self::$kind(evaluator) => evaluator.needs_judge()),* }
            }

            /// The judges it asks, each by the key in `models` that it is named by.
            pub fn judges(&self) -> Vec<Option<&str>> {
                match self { $(Self::$kind(evaluator) => evaluator.judges()),* }
            }

            /// The checks of the author's own that it asks.
            pub fn programs(&self) -> Vec<&CheckProgram> {
                match self { $(Self::$kind(evaluator) => evaluator.programs()),* }
            }

            /// Whether anybody has to be asked: a judge, or a check of the author's own.
            pub fn asks(&self) -> bool {
                self.needs_judge() || !self.programs().is_empty()
            }

            /// The commands that have to be run when the step ends.
            pub fn commands(&self) -> Vec<&str> {
                match self { $(Self::$kind(evaluator) => evaluator.commands()),* }
            }

            /// The evaluations that it is made of.
            pub fn parts(&self) -> Vec<&Part> {
                match self { $(Self::$kind(evaluator) => evaluator.parts()),* }
            }

            /// The states of a world that have to be made when the step ends, as they then stand on the ledger.
            pub fn world_references(&self) -> Vec<Value> {
                match self { $(Self::$kind(evaluator) => evaluator.world_references()),* }
            }

            /// The tools of which it looks at calls, by name; nothing where it looks at no calls, and none where at all
            /// of them.
            pub fn tools(&self) -> Option<Vec<&str>> {
                match self { $(Self::$kind(evaluator) => evaluator.tools()),* }
            }

            /// The words of the user without which it asks nothing, and always passes.
            pub fn words_of_user(&self) -> Option<&str> {
                match self { $(Self::$kind(evaluator) => evaluator.words_of_user()),* }
            }
        }
    };
}

evaluators! {
    string_contains::StringContains,
    contains_any::ContainsAny,
    contains_all::ContainsAll,
    equals::Equals,
    similar::Similar,
    regex_match::RegexMatch,
    json_path::JsonPath,
    answer_schema::AnswerSchema,
    llm_judge::LlmJudge,
    trajectory_contains_action::TrajectoryContainsAction,
    tool_called::ToolCalled,
    tool_not_called::ToolNotCalled,
    trajectory::Trajectory,
    event_count::EventCount,
    step_count::StepCount,
    tool_order::ToolOrder,
    execution_time::ExecutionTime,
    token_count::TokenCount,
    cost::Cost,
    state::State,
    world_state::WorldState,
    file_exists::FileExists,
    file_contains::FileContains,
    command_exit_code_is::CommandExitCodeIs,
    conversation_length::ConversationLength,
    conversation_flow::ConversationFlow,
    user_satisfaction::UserSatisfaction,
    context_retention::ContextRetention,
    python::Python,
    javascript::JavaScript,
    command::Command,
    group::Group,
}

pub use check_program::{CheckCommand, CheckProgram, CheckRequest};
pub use conversation_flow::FlowPattern;
pub(crate) use cost::known_cost;
pub use group::Part;
pub use json_path::JsonPathCheck;
pub use llm_judge::Expectation;
pub use similar::Similarity;
pub use trajectory::TrajectoryCall;
pub use user_satisfaction::SatisfactionMethod;
pub use world_state::ExpectedWorld;

/// A kind of evaluator: all that is known of it without its parameters.
#[derive(Clone, Copy, Debug)]
pub struct Kind {
    /// The word that stands under `type`.
    pub name: &'static str,
    /// What it asks, in a sentence.
    pub about: &'static str,
    /// What it looks at.
    pub looks_at: LooksAt,
    /// Its parameters.
    pub keys: &'static [Key],
    /// Whether it looks at a reply, so that it can be asked of other ones than the last.
    pub of_replies: bool,
    page: &'static str,
    rules: fn() -> Value,
    read: fn(&mut Given<'_>) -> Check,
}

impl Kind {
    const fn of<E: Evaluator>(read: fn(&mut Given<'_>) -> Check) -> Self {
        Self {
            name: E::TYPE,
            about: E::ABOUT,
            looks_at: E::LOOKS_AT,
            keys: E::KEYS,
            of_replies: E::OF_REPLIES,
            page: E::PAGE,
            rules: E::rules,
            read,
        }
    }

    /// The kind of this name.
    pub fn named(name: &str) -> Option<&'static Self> {
        KINDS.iter().find(|kind| kind.name == name)
    }

    /// Makes one of its parameters.
    pub fn read(&self, given: &mut Given<'_>) -> Check {
        (self.read)(given)
    }

    /// The keys that say how one of this kind is asked.
    pub fn how_keys(&self) -> &'static [Key] {
        if self.of_replies { OF_REPLIES } else { OF_ALL }
    }

    /// The JSON Schema of an evaluation of this kind, `type` and `description` included.
    pub fn schema(&self) -> Value {
        let mut schema = keys::schema(self.keys);
        let own = schema["properties"].take();
        let how = keys::schema(self.how_keys())["properties"].take();
        let mut properties = json!({
            "type": {"const": self.name, "description": self.about},
            "description": {"type": "string", "description": "Why it is asked, in your own words."},
        });
        extend(&mut properties, own, |name| name != "description");
        extend(&mut properties, how, |name| name != "description");
        schema["description"] = self.about.into();
        schema["properties"] = properties;
        let required = schema["required"].as_array().cloned().unwrap_or_default();
        schema["required"] = [json!("type")].into_iter().chain(required).collect();
        extend(&mut schema, (self.rules)(), |_| true);
        if self.keys.iter().any(|key| key.name == "stop") {
            let negated =
                json!({"not": {"required": ["stop", "not"], "properties": {"not": {"const": true}}}});
            match schema["allOf"].as_array_mut() {
                Some(all) => all.push(negated),
                None => schema["allOf"] = json!([negated]),
            }
        }
        schema
    }
}

fn extend(schema: &mut Value, more: Value, wanted: impl Fn(&str) -> bool) {
    if let (Value::Object(fields), Value::Object(more)) = (schema, more) {
        fields.extend(more.into_iter().filter(|(name, _)| wanted(name)));
    }
}

/// An evaluation that cannot be asked as it is written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", problems.join("; "))]
pub struct InvalidCheck {
    /// All that is wrong with it; at least one.
    pub problems: Vec<String>,
}

impl Check {
    /// Reads how an evaluation is asked, and the evaluation, from JSON: an object with its `type` and its parameters.
    ///
    /// # Errors
    /// All that is wrong with it.
    pub fn asked_from_json(value: Value) -> Result<(How, Self), InvalidCheck> {
        let Value::Object(mut fields) = value else {
            return Err(InvalidCheck { problems: vec!["an evaluation is an object".to_owned()] });
        };
        let name = fields.get("type").and_then(Value::as_str);
        let Some(kind) = name.and_then(Kind::named) else {
            return Self::from_json(Value::Object(fields)).map(|check| (How::default(), check));
        };
        let mut own = Map::new();
        for key in kind.how_keys() {
            own.extend(fields.shift_remove_entry(key.name));
        }
        let how = JsonSource::read(kind.how_keys(), own, |given| How::read(given, kind))
            .map_err(|problems| InvalidCheck { problems })?;
        Self::from_json(Value::Object(fields)).map(|check| (how, check))
    }

    /// Reads an evaluation from JSON: an object with its `type` and its parameters.
    ///
    /// ```
    /// use rehearsal_metrics::evaluator::Check;
    /// use serde_json::json;
    ///
    /// let check = Check::from_json(json!({"type": "string_contains", "value": "refund"})).unwrap();
    /// assert_eq!(check.label(), "string_contains \"refund\"");
    /// assert!(Check::from_json(json!({"type": "string_contains"})).is_err());
    /// ```
    ///
    /// # Errors
    /// All that is wrong with it.
    pub fn from_json(value: Value) -> Result<Self, InvalidCheck> {
        let Value::Object(mut fields) = value else {
            return Err(InvalidCheck { problems: vec!["an evaluation is an object".to_owned()] });
        };
        let name = fields.shift_remove("type");
        let kind = name.as_ref().and_then(Value::as_str).and_then(Kind::named);
        let Some(kind) = kind else {
            let names: Vec<&str> = KINDS.iter().map(|kind| kind.name).collect();
            let problem = format!("`type` must be one of: {}", names.join(", "));
            return Err(InvalidCheck { problems: vec![problem] });
        };
        JsonSource::read(kind.keys, fields, |given| kind.read(given))
            .map_err(|problems| InvalidCheck { problems })
    }

    /// What is asked, in a few words.
    pub fn label(&self) -> String {
        let (name, detail) = (self.kind().name, self.detail());
        if detail.is_empty() { name.to_owned() } else { format!("{name} {detail}") }
    }

    /// As a metric that goes by `name` and looks at `scope`.
    pub fn scoped(self, name: impl Into<String>, scope: Scope) -> ScopedCheck {
        ScopedCheck { name: name.into(), scope, check: self, how: How::default(), prices: Arc::default() }
    }
}

/// A check of a session, a step or a turn, as a metric.
///
/// What it looks for and what it found is said by the first piece of evidence. A step that did not come to its end,
/// a snapshot that left files out, a model without a price: what it cannot decide is unscored and says why.
///
/// ```
/// use rehearsal_metrics::evaluator::{Check, ToolCalled};
/// use rehearsal_metrics::{Assessment, Metric, Scope};
/// use serde_json::json;
/// # use rehearsal_testkit::ledger;
///
/// let check = Check::from_json(json!({"type": "tool_called", "tool": "refund", "count": 1})).unwrap();
/// let metric = check.scoped("refunds once", Scope::Session);
/// let ledger = ledger(r#"user: hi / call refund {"order": 7} / result refund {} / agent: Done. / end"#);
/// let Assessment::Done(result) = metric.evaluate(&ledger) else { unreachable!() };
/// assert!(result.passed());
/// ```
#[derive(Clone, Debug)]
pub struct ScopedCheck {
    name: String,
    scope: Scope,
    check: Check,
    how: How,
    prices: Arc<Prices>,
}

impl ScopedCheck {
    /// Asked in this way.
    #[must_use]
    pub fn how(self, how: How) -> Self {
        Self { how, ..self }
    }

    /// With what models cost.
    #[must_use]
    pub fn prices(self, prices: Arc<Prices>) -> Self {
        Self { prices, ..self }
    }

    /// What it asks.
    pub fn check(&self) -> &Check {
        &self.check
    }

    /// What it asks of.
    pub fn scope(&self) -> Scope {
        self.scope
    }

    fn view<'a>(&'a self, ledger: &'a Ledger) -> Result<View<'a>, MetricResult> {
        if let Some(result) = crate::metric::nothing_to_read(ledger) {
            return Err(result);
        }
        let view = View::find(ledger, self.scope).map_err(|why| MetricResult::unscored(why.to_string()))?;
        let allowed = self.check.allowed_in(Place::of(&view));
        allowed.map_err(|why| MetricResult::unscored(why.to_string()))?;
        Ok(view.with_prices(&self.prices))
    }
}

impl Metric for ScopedCheck {
    fn name(&self) -> &str {
        &self.name
    }

    fn evaluate(&self, ledger: &Ledger) -> Assessment {
        let view = match self.view(ledger) {
            Ok(view) => view,
            // A rule that is broken stays broken, also in what did not come to its end.
            Err(result) => {
                let breach = self.watch().and_then(|watcher| first_breach(watcher, ledger));
                return breach.map_or(result, MetricResult::from).into();
            }
        };
        if self.check.needs_judge() && Record::of(&view).is_empty() {
            let why = format!("nothing happened in {} that could be judged", view.name());
            return Assessment::Done(MetricResult::unscored(why));
        }
        self.how.assess(&self.check, &view)
    }

    fn conclude(&self, ledger: &Ledger, answers: &[Value]) -> MetricResult {
        if !self.check.asks() {
            let why = format!("evaluation `{}` was given answers but asked nothing", self.name);
            return MetricResult::error(why);
        }
        match self.view(ledger) {
            Ok(view) => {
                let concluded = self.check.conclude(&view, answers);
                let concluded = concluded.unwrap_or_else(|why| MetricResult::error(why.to_string()));
                self.how.turned(concluded)
            }
            Err(result) => result,
        }
    }

    fn watch(&self) -> Option<Box<dyn Watcher>> {
        let watcher = self.check.watch().filter(|_| !self.how.negated)?;
        Some(Box::new(ScopedWatcher::new(watcher, self.scope)))
    }
}

/// The values of a map as JSON text, for what is shown of them.
pub(crate) fn object_text(fields: &Map<String, Value>) -> String {
    rehearsal_core::json::text(&Value::Object(fields.clone()))
}
