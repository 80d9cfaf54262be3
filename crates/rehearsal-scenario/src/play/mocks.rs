//! Mocks: which one answers a call, and what it answers.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use rehearsal_agent::{Answer, Refusal, Tool, ToolAnswer, ToolEffect, ToolRef, run_tool};
use rehearsal_core::json::text;
use rehearsal_core::{Player, SCENARIO, StatePatch, ToolError, ToolOutcome, strip_nulls};
use rehearsal_sim::StandIn;
use rehearsal_sim::person::PeopleAtHand;
use serde_json::{Map, Number, Value, json};
use tokio::sync::Mutex;

use super::told;
use super::world::Seat;
use rehearsal_js::{Expression, JsError, Scope, Workers};

use crate::{Mock, Scenario, ToolDefinition, World};
use rehearsal_metrics::is_same;

/// Plays the tools of a scenario: by its mocks, for real where the file or the command line says so, else not at all.
#[derive(Debug)]
pub(crate) struct Mocks {
    scenario: Arc<Scenario>,
    tools: Vec<ToolDefinition>,
    /// The tools that may run for real.
    real: BTreeMap<String, ToolRef>,
    scripts: Workers,
    live: bool,
    /// What plays the tools that nothing else does.
    world: Option<Arc<Seat>>,
    /// What scripts of mocks keep between their calls.
    kept: Mutex<Kept>,
    /// Whether there is a scenario, which could let tools run for real.
    in_scenario: bool,
}

/// The object `world` of scripts, which may change it: it is the state's scope of that name.
#[derive(Debug, Default)]
struct Kept {
    /// The scope as the calls of the last turn saw it.
    seen: Map<String, Value>,
    /// What scripts have made of it since.
    now: Map<String, Value>,
}

/// What is known of a call when a mock is chosen.
struct Call<'a> {
    effect: &'a ToolEffect,
    args: Value,
    /// The values of the arguments, in the order in which the tool names them.
    places: Vec<Value>,
    context: Map<String, Value>,
}

impl Call<'_> {
    /// The list of arguments in which the only one has them all, by name.
    fn by_name(&self) -> Vec<Value> {
        vec![self.args.clone()]
    }
}

/// The values of arguments: those that the tool declares in its order, then the others in theirs.
fn by_place(tool: Option<&ToolDefinition>, args: &Map<String, Value>) -> Vec<Value> {
    let declared = tool.and_then(|tool| tool.parameters.as_ref()?.get("properties")?.as_object());
    let declared = declared.cloned().unwrap_or_default();
    let known = declared.keys().filter_map(|name| args.get(name));
    let others = args.iter().filter(|(name, _)| !declared.contains_key(*name)).map(|(_, value)| value);
    known.chain(others).cloned().collect()
}

impl Mocks {
    pub(crate) fn new(
        scenario: Arc<Scenario>,
        tools: Vec<ToolDefinition>,
        real: BTreeMap<String, ToolRef>,
        scripts: Workers,
        live: bool,
    ) -> Self {
        Self { scenario, tools, real, scripts, live, world: None, kept: Mutex::default(), in_scenario: true }
    }

    /// The same mocks with a world that plays what they do not.
    pub(crate) fn world(mut self, world: Option<Arc<Seat>>) -> Self {
        self.world = world;
        self
    }

    /// A tool as the file declares it, or else as the world has it.
    fn definition(&self, tool: &str) -> Option<Cow<'_, ToolDefinition>> {
        let declared = self.tools.iter().find(|definition| definition.name == tool);
        let of_world = || self.world.as_ref()?.definition(tool);
        declared.map(Cow::Borrowed).or_else(|| of_world().map(Cow::Owned))
    }

    /// The same mocks without a scenario around them.
    pub(crate) fn by_themselves(mut self) -> Self {
        self.in_scenario = false;
        self
    }

    /// The mocks that could answer for a tool, the most specific first, with their places in the file.
    fn candidates(&self, tool: &str) -> Vec<(usize, &Mock)> {
        let definition = self.definition(tool);
        let plays = |mock: &Mock| definition.as_ref().is_some_and(|definition| mock.plays(definition));
        let mut mocks: Vec<(usize, &Mock)> =
            self.scenario.setup.mocks.iter().enumerate().filter(|(_, mock)| plays(mock)).collect();
        mocks.sort_by_key(|(_, mock)| std::cmp::Reverse(mock.specificity()));
        mocks
    }

    async fn first_match<'a>(
        &'a self,
        call: &Call<'_>,
    ) -> Result<Result<(usize, &'a Mock), Vec<String>>, Refusal> {
        let mut misses = Vec::new();
        for (index, mock) in self.candidates(&call.effect.cx.tool) {
            match self.mismatch(mock, call).await? {
                None => return Ok(Ok((index, mock))),
                Some(why) => misses.push(format!("{}: {why}", label(index, mock))),
            }
        }
        Ok(Err(misses))
    }

    /// Why a mock does not answer a call; nothing when it does.
    async fn mismatch(&self, mock: &Mock, call: &Call<'_>) -> Result<Option<String>, Refusal> {
        let when = &mock.when;
        let list = Value::Array(vec![call.args.clone()]);
        let places = Value::Array(call.places.clone());
        if let Some(args) = &when.args
            && ![&list, &places].into_iter().any(|form| is_same(&Value::Array(args.clone()), form))
        {
            return Ok(Some(format!("`args` is {}, the call has {}", text(&json!(args)), text(&list))));
        }
        if let Some(input) = &when.input
            && let Some(why) = first_difference("input", input, call.args.as_object())
        {
            return Ok(Some(why));
        }
        if let Some(context) = &when.context
            && let Some(why) = first_difference("context", context, Some(&call.context))
        {
            return Ok(Some(why));
        }
        if let Some(partial) = &when.partial_args {
            let fits = partial.len() <= 1 && partial.first().is_none_or(|part| contains(&call.args, part));
            let by_place = partial.len() <= call.places.len()
                && partial.iter().zip(&call.places).all(|(part, value)| contains(value, part));
            if !fits && !by_place {
                return Ok(Some(format!(
                    "`partialArgs` is {}, the call has {}",
                    text(&json!(partial)),
                    text(&list)
                )));
            }
        }
        if let Some(matcher) = &when.matcher {
            let by_name = self.evaluate(matcher, call, call.by_name()).await;
            let holds = match by_name {
                Ok(Value::Bool(true)) => true,
                other => match (other, self.evaluate(matcher, call, call.places.clone()).await) {
                    (_, Ok(value)) => value == Value::Bool(true),
                    (Ok(_), Err(_)) => false,
                    (Err(error), Err(_)) => return Err(refusal("mock_matcher", mock, &error)),
                },
            };
            if !holds {
                return Ok(Some("its `matcher` gives false".to_owned()));
            }
        }
        Ok(None)
    }

    async fn evaluate(
        &self,
        expression: &Expression,
        call: &Call<'_>,
        args: Vec<Value>,
    ) -> Result<Value, JsError> {
        self.scripts.evaluate(expression, Self::scope(call, args)).await
    }

    /// What an expression sees of a call.
    fn scope(call: &Call<'_>, args: Vec<Value>) -> Scope {
        let cx = &call.effect.cx;
        Scope {
            args,
            input: call.args.clone(),
            context: Value::Object(call.context.clone()),
            now_ms: cx.now().as_millisecond(),
            seed: cx.chance.number("javascript", 0),
            ..Scope::default()
        }
    }

    /// Evaluates what a mock answers; the object `world` that its script sees stays as it leaves it.
    async fn compute(
        &self,
        expression: &Expression,
        call: &Call<'_>,
        args: Vec<Value>,
    ) -> Result<(Value, Option<StatePatch>), JsError> {
        if self.world.is_some() || !expression.source().contains(World::SCOPE) {
            return self.evaluate(expression, call, args).await.map(|value| (value, None));
        }
        // Held while it is evaluated: calls of one turn change the world one after the other.
        let mut kept = self.kept.lock().await;
        let seen = call.effect.cx.state.snapshot().scope(World::SCOPE).clone();
        if seen != kept.seen {
            *kept = Kept { now: seen.clone(), seen };
        }
        let globals = Map::from_iter([(World::SCOPE.to_owned(), Value::Object(kept.now.clone()))]);
        let scope = Scope { globals, ..Self::scope(call, args) };
        let (value, left) = self.scripts.evaluate_keeping(expression, scope, World::SCOPE).await?;
        let Value::Object(mut left) = left else {
            return Err(JsError::Thrown {
                place: expression.place().to_owned(),
                message: "nothing that can be kept: `world` stays an object".to_owned(),
                stack: String::new(),
            });
        };
        strip_nulls(&mut left);
        let patch = StatePatch::between(World::SCOPE, &kept.now, left.clone());
        kept.now = left;
        Ok((value, Some(patch).filter(|patch| !patch.is_empty())))
    }

    async fn answer(
        &self,
        index: usize,
        mock: &Mock,
        call: &Call<'_>,
    ) -> Result<(ToolOutcome, Option<StatePatch>), Refusal> {
        if let Some(delay) = mock.delay_ms.filter(|delay| *delay > 0.0) {
            tokio::time::sleep(Duration::from_secs_f64(delay / 1000.0)).await;
        }
        let number = index as u64;
        let fails = match mock.probability {
            Some(probability) => call.effect.cx.chance.fraction("mock", number) < probability,
            None => mock.error.is_some(),
        };
        if fails {
            return Ok((ToolOutcome::Error(mock.failure()), None));
        }
        match (&mock.response_fn, &mock.response) {
            (Some(expression), _) => {
                let computed = match self.compute(expression, call, call.by_name()).await {
                    Err(error @ JsError::Thrown { .. }) => {
                        self.compute(expression, call, call.places.clone()).await.map_err(|_| error)
                    }
                    computed => computed,
                };
                let computed = computed.map(|(value, changes)| (ToolOutcome::Output(value), changes));
                computed.map_err(|error| refusal("mock_response", mock, &error))
            }
            (None, response) => Ok((ToolOutcome::Output(response.clone().unwrap_or_default()), None)),
        }
    }

    /// The world, where it plays this tool now.
    fn of_world(&self, tool: &str) -> Option<&Seat> {
        self.world.as_deref().filter(|world| world.definition(tool).is_some())
    }

    fn unmocked(&self, call: &Call<'_>, misses: &[String]) -> Refusal {
        let (cx, tool) = (&call.effect.cx, &call.effect.cx.tool);
        let definition = self.definition(tool);
        let named = definition.as_deref().map(ToolDefinition::service_and_method);
        let (service, method) = named.unwrap_or((None, &**tool));
        let mut message =
            format!("tool `{tool}` was called by agent `{}`, but no mock answers this call\n", cx.agent);
        if !misses.is_empty() {
            message.push_str("\nThese do not match it:\n");
            for miss in misses {
                let _ = writeln!(message, "  {miss}");
            }
        }
        let place = if self.in_scenario { "" } else { " of the agent's file" };
        let _ = writeln!(message, "\nAdd a mock under `setup.mocks`{place}:");
        match service {
            Some(service) => {
                let (service, method) = (yaml_text(service), yaml_text(method));
                let _ = writeln!(message, "    - service: {service}\n      method: {method}");
            }
            None => {
                let _ = writeln!(message, "    - method: {}", yaml_text(method));
            }
        }
        if call.args.as_object().is_some_and(|args| !args.is_empty()) {
            let _ = writeln!(message, "      when:\n        input: {}", text(&call.args));
        }
        message.push_str("      response: {\"result\": \"…\"}");
        if self.world.is_some() {
            let _ = write!(message, "\n\nOr let the world offer `{tool}`: it does not at this moment.");
        }
        let could_run = definition.as_ref().is_some_and(|definition| definition.implementation.is_some());
        if could_run && self.in_scenario {
            let _ = write!(
                message,
                "\n\nOr, if this tool may run for real, list it:\n  setup:\n    passthrough: [{}]",
                yaml_text(tool)
            );
        }
        Refusal { kind: "unmocked_tool".to_owned(), message }
    }

    fn not_real(effect: &ToolEffect) -> Refusal {
        let message = format!(
            "tool `{tool}` was called by agent `{agent}` under `--live`, where mocks do not answer, and it has \
             nothing that could run\n\nAdd what it does for real:\n  tools:\n    - name: {name}\n      command: [\
             python3, tool.py]   # gets the arguments as JSON on its standard input",
            tool = effect.cx.tool,
            agent = effect.cx.agent,
            name = yaml_text(&effect.cx.tool),
        );
        Refusal { kind: "unmocked_tool".to_owned(), message }
    }
}

#[async_trait]
impl StandIn for Mocks {
    async fn play(
        &self,
        effect: &ToolEffect,
        own: &Arc<dyn Tool>,
        people: &PeopleAtHand,
    ) -> Result<Answer<ToolAnswer>, Refusal> {
        let tool = &*effect.cx.tool;
        let turn = match &self.world {
            Some(world) => Some(world.turn().await),
            None => None,
        };
        if self.live {
            return match (self.real.get(tool), self.of_world(tool)) {
                (Some(real), _) => Ok(run_tool(effect, real).await),
                (None, Some(world)) => play_in(world, effect, own).await,
                (None, None) => Err(Self::not_real(effect)),
            };
        }
        let context =
            effect.cx.state.scope(SCENARIO).get::<Map<String, Value>>("context").unwrap_or_default();
        let places = by_place(self.definition(tool).as_deref(), &effect.args);
        let call = Call { effect, args: Value::Object((*effect.args).clone()), places, context };
        match self.first_match(&call).await? {
            Ok((index, mock)) => {
                drop(turn);
                let (outcome, by, kept) = if mock.person {
                    (people.play_tool(effect, own).await?, Player::Person, None)
                } else {
                    let (outcome, kept) = self.answer(index, mock, &call).await?;
                    (checked(outcome, own), Player::Mock, kept)
                };
                let changes = mock.state.clone().filter(|_| !outcome.is_error());
                let value = ToolAnswer { outcome, main_changes: together(changes, kept) };
                Ok(Answer { value, by, name: Some(label(index, mock).into()) })
            }
            Err(misses) => match self.real.get(tool) {
                Some(real) if self.scenario.setup.passthrough.iter().any(|name| name == tool) => {
                    Ok(run_tool(effect, real).await)
                }
                _ => match self.of_world(tool) {
                    Some(world) => play_in(world, effect, own).await,
                    None => Err(self.unmocked(&call, &misses)),
                },
            },
        }
    }

    fn needs_people(&self) -> bool {
        !self.live && self.scenario.setup.mocks.iter().any(|mock| mock.person)
    }
}

/// Two changes as one: where both touch a key, what the file has written comes after what its script has made.
fn together(written: Option<StatePatch>, kept: Option<StatePatch>) -> Option<StatePatch> {
    match (written, kept) {
        (Some(written), Some(mut kept)) => match kept.absorb(written) {
            None => Some(kept),
            Some(written) => Some(written),
        },
        (one, other) => one.or(other),
    }
}

/// Lets the world answer. One that cannot go on ends the case.
async fn play_in(
    world: &Seat,
    effect: &ToolEffect,
    own: &Arc<dyn Tool>,
) -> Result<Answer<ToolAnswer>, Refusal> {
    let played = world.play(&effect.cx.tool, &effect.args).await;
    let mut value = played.map_err(|why| Refusal { kind: "world".to_owned(), message: told(&why) })?;
    value.outcome = checked(value.outcome, own);
    Ok(Answer { value, by: Player::World, name: None })
}

/// An answer held to the output schema of its tool, as that of the tool itself would be.
fn checked(outcome: ToolOutcome, own: &Arc<dyn Tool>) -> ToolOutcome {
    match outcome {
        ToolOutcome::Output(value) => match own.spec().check_output(&value) {
            Ok(()) => ToolOutcome::Output(value),
            Err(error) => ToolOutcome::Error(error),
        },
        failed @ ToolOutcome::Error(_) => failed,
    }
}

/// A number as people write it: 429, not 429.0.
#[expect(clippy::cast_possible_truncation, reason = "whole numbers of this size are exact")]
fn number(status: f64) -> Option<Number> {
    let is_whole = status.fract() == 0.0 && status.abs() < 1e15;
    if is_whole { Some((status as i64).into()) } else { Number::from_f64(status) }
}

impl Mock {
    /// The error it fails with.
    fn failure(&self) -> ToolError {
        match &self.error {
            Some(error) => ToolError {
                status: error.status.and_then(number),
                ..ToolError::new(&error.code, &error.message)
            },
            None => ToolError::new("RandomFailure", "this call was made to fail by chance"),
        }
    }

    /// How specific it is: the sum of the kinds of conditions it has.
    fn specificity(&self) -> u32 {
        let when = &self.when;
        let kinds = [
            (when.args.is_some(), 10),
            (when.input.is_some(), 8),
            (when.context.is_some(), 6),
            (when.matcher.is_some(), 4),
            (when.partial_args.is_some(), 2),
        ];
        kinds.iter().filter(|(given, _)| *given).map(|(_, weight)| weight).sum()
    }
}

/// What a mock is called on the ledger and in messages.
pub(crate) fn label(index: usize, mock: &Mock) -> String {
    if mock.of_agent {
        return format!("mock of `{}` (line {} of the agent's file)", mock.method, mock.line);
    }
    if let Some(file) = &mock.shared {
        return format!("mock of `{}` ({file}:{})", mock.method, mock.line);
    }
    format!("mocks[{index}] (line {})", mock.line)
}

fn refusal(kind: &str, mock: &Mock, error: &JsError) -> Refusal {
    let what = if kind == "mock_matcher" { "matcher" } else { "responseFn" };
    let message = format!(
        "the `{what}` of the mock of `{}` at line {} failed: {}",
        mock.method,
        mock.line,
        told(error)
    );
    Refusal { kind: kind.to_owned(), message }
}

fn first_difference(
    what: &str,
    expected: &Map<String, Value>,
    found: Option<&Map<String, Value>>,
) -> Option<String> {
    expected.iter().find_map(|(key, value)| match found.and_then(|found| found.get(key)) {
        Some(other) if is_same(value, other) => None,
        Some(other) => Some(format!(
            "`{what}.{key}` is {}, the call has {}",
            rehearsal_core::json::shown(value),
            rehearsal_core::json::shown(other)
        )),
        None => Some(format!("`{what}.{key}` is {}, the call has none", rehearsal_core::json::shown(value))),
    })
}

/// Whether a value has all that a part of it names.
fn contains(whole: &Value, part: &Value) -> bool {
    match (whole, part) {
        (Value::Object(whole), Value::Object(part)) => {
            part.iter().all(|(key, part)| whole.get(key).is_some_and(|whole| contains(whole, part)))
        }
        _ => is_same(whole, part),
    }
}

/// A text as YAML, in quotes where it needs them.
fn yaml_text(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    let starts = text.starts_with(|c: char| c.is_ascii_alphabetic());
    let word = matches!(text.to_lowercase().as_str(), "true" | "false" | "null");
    if starts && !word && text.chars().all(plain) { text.to_owned() } else { Value::from(text).to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_the_same_however_they_are_written() {
        assert!(is_same(&json!({"a": [1, 2.0]}), &json!({"a": [1.0, 2]})));
        assert!(!is_same(&json!({"a": 1}), &json!({"a": 1, "b": 2})));
        assert!(!is_same(&json!([1]), &json!([1, 2])));
        assert!(!is_same(&json!("1"), &json!(1)));
        assert!(!is_same(&json!(9_007_199_254_740_993_i64), &json!(9_007_199_254_740_992_i64)));
    }

    #[test]
    fn a_part_leaves_things_out() {
        assert!(contains(&json!({"a": {"b": 1, "c": 2}, "d": 3}), &json!({"a": {"b": 1}})));
        assert!(!contains(&json!({"a": {"b": 1}}), &json!({"a": {"b": 2}})));
        assert!(!contains(&json!({"a": [1, 2]}), &json!({"a": [1]})));
    }

    #[test]
    fn names_are_quoted_where_they_need_it() {
        assert_eq!(yaml_text("look_up"), "look_up");
        assert_eq!(yaml_text("true"), "\"true\"");
        assert_eq!(yaml_text("7up"), "\"7up\"");
        assert_eq!(yaml_text("a: b"), "\"a: b\"");
    }
}
