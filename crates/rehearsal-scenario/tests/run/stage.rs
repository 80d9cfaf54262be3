//! Runs the text of a scenario file.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use rehearsal_agent::{Model, ModelCall, ModelError};
use rehearsal_core::{
    CaseResult, Clock, Event, EventBody, FixedClock, Ledger, ModelRequest, ModelResponse, StepResult,
    Timestamp, Verdict,
};
use rehearsal_js::{WorkerCommand, Workers};
use rehearsal_models::{
    IntoAnswer, Matcher, ModelSpec, ParseSpecError, Providers, Reply, Rule, ScriptedModel,
};
use rehearsal_scenario::{
    Backstage, CheckOptions, CompileError, EnvironmentProvider, LocalProvider, ModelChoice, ModelUnusable,
    Problem, Scenario, ScriptedCondition, ScriptedReply, check_with, compile_in,
};
use rehearsal_sim::person::People;
use rehearsal_sim::{Cancel, CaseMaker, CaseRun, Suite};
use serde_json::Value;

/// What every file needs and few tests are about.
const ALWAYS: [(&str, &str); 4] = [
    ("name:", "name: a test\n"),
    ("description:", "description: of the runner\n"),
    ("environment:", "environment: {type: local}\n"),
    ("judgment:", "judgment: {strategy: all_pass}\n"),
];

/// The text with the keys that every file needs.
pub(crate) fn file(text: &str) -> String {
    let has = |key: &str| text.lines().any(|line| line.starts_with(key));
    let added: String = ALWAYS.iter().filter(|(key, _)| !has(key)).map(|(_, line)| *line).collect();
    format!("{}\n{added}", text.trim_end())
}

/// The scenario of a text that has no problems.
pub(crate) fn scenario(text: &str) -> Scenario {
    let text = file(text);
    let checked = check_with(&text, &CheckOptions::default());
    let scenario = checked.scenario.unwrap_or_else(|| panic!("{}\n{text}", told(&checked.problems)));
    let missing = scenario.missing();
    assert!(missing.is_empty(), "{missing:#?}");
    scenario
}

/// What is wrong with a text: each problem with its help.
pub(crate) fn problems(text: &str) -> String {
    let text = file(text);
    let checked = check_with(&text, &CheckOptions::default());
    let mut problems = checked.problems;
    if let Some(scenario) = checked.scenario {
        problems.extend(scenario.missing());
    }
    told(&problems)
}

pub(crate) fn told(problems: &[Problem]) -> String {
    let lines = problems.iter().map(|problem| {
        let help = problem.help.as_deref().map(|help| format!(" [{help}]")).unwrap_or_default();
        format!("{}: {}{help}", problem.code, problem.message)
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// How a scenario is run.
#[derive(Clone)]
pub(crate) struct Play {
    scenario: Scenario,
    live: bool,
    keep: bool,
    seed: u64,
    clock: Arc<dyn Clock>,
    timeout: Option<Duration>,
    directory: PathBuf,
    variables: Vec<(String, String)>,
    cancel: Cancel,
    people: Option<Arc<dyn People>>,
    environments: Arc<dyn EnvironmentProvider>,
}

impl Play {
    pub(crate) fn new(text: &str) -> Self {
        Self::of(scenario(text))
    }

    pub(crate) fn of(scenario: Scenario) -> Self {
        Self {
            scenario,
            live: false,
            keep: false,
            seed: 7,
            clock: Arc::new(FixedClock::default()),
            timeout: None,
            directory: std::env::temp_dir(),
            variables: std::env::var("PATH").map(|path| ("PATH".to_owned(), path)).into_iter().collect(),
            cancel: Cancel::default(),
            people: None,
            environments: Arc::new(LocalProvider),
        }
    }

    pub(crate) fn environments(mut self, environments: impl EnvironmentProvider + 'static) -> Self {
        self.environments = Arc::new(environments);
        self
    }

    pub(crate) fn live(mut self) -> Self {
        self.live = true;
        self
    }

    pub(crate) fn keep(mut self) -> Self {
        self.keep = true;
        self
    }

    pub(crate) fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    pub(crate) fn clock(mut self, clock: impl Clock + 'static) -> Self {
        self.clock = Arc::new(clock);
        self
    }

    pub(crate) fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    pub(crate) fn directory(mut self, directory: &Path) -> Self {
        directory.clone_into(&mut self.directory);
        self
    }

    pub(crate) fn variable(mut self, name: &str, value: &str) -> Self {
        self.variables.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(crate) fn cancel(mut self, cancel: &Cancel) -> Self {
        self.cancel = cancel.clone();
        self
    }

    pub(crate) fn people(mut self, people: impl People + 'static) -> Self {
        self.people = Some(Arc::new(people));
        self
    }

    pub(crate) fn compile(&self) -> Result<CaseMaker, CompileError> {
        let variables = self.variables.clone();
        let variable = move |name: &str| {
            variables.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone())
        };
        let nothing = WorkerCommand { program: "no-worker".into(), args: Vec::new() };
        compile_in(
            self.scenario.clone(),
            Backstage {
                supervisor: None,
                models: Arc::new(build),
                people: self.people.clone(),
                scripts: Workers::new(nothing),
                variables: Arc::new(variable),
                directory: self.directory.clone(),
                live: self.live,
                keep: self.keep,
                timeout: self.timeout,
                python: rehearsal_scenario::PythonWorkers::default(),
                commands: rehearsal_scenario::Commands::Allowed,
            },
            self.environments.clone(),
        )
    }

    pub(crate) async fn run(&self) -> Played {
        let maker = self.compile().unwrap();
        let suite = Suite::new([maker]).exact_seed(self.seed).clock(self.clock.clone());
        let run = suite.cancel(self.cancel.clone()).run().await;
        let run = run.runs.into_iter().next().unwrap();
        let result = self.scenario.result("a.scenario.yaml", &run);
        Played { result, run }
    }
}

/// Runs a text.
pub(crate) async fn play(text: &str) -> Played {
    Play::new(text).run().await
}

/// A scenario that was run.
pub(crate) struct Played {
    pub(crate) result: CaseResult,
    pub(crate) run: Arc<CaseRun>,
}

impl Played {
    /// Says that it passed, or why it did not.
    #[track_caller]
    pub(crate) fn passed(&self) {
        self.came_to(Verdict::Passed);
    }

    #[track_caller]
    pub(crate) fn came_to(&self, verdict: Verdict) {
        let result = || rehearsal_core::json::to_string_pretty(&self.result).unwrap();
        assert_eq!(self.result.status, verdict, "{}", result());
    }

    /// The phase, the kind and the message of its error.
    pub(crate) fn error(&self) -> String {
        let error = self.result.error.as_ref().expect("it has an error");
        format!("{:?} {}: {}", error.phase, error.kind, error.message)
    }

    pub(crate) fn step(&self, number: usize) -> &StepResult {
        &self.result.steps[number - 1]
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::to_value(&self.result).unwrap()
    }

    /// What the tools gave, in order.
    pub(crate) fn outcomes(&self) -> Vec<Value> {
        let results = self.run.events().iter().filter_map(|event| match &event.body {
            EventBody::ToolResult(result) => Some(serde_json::to_value(&result.outcome).unwrap()),
            _ => None,
        });
        results.collect()
    }

    /// Which mocks answered, by their places in the file.
    pub(crate) fn answered(&self) -> Vec<&str> {
        self.result.mocks.answered.iter().map(|answer| answer.by.split(' ').next().unwrap()).collect()
    }

    /// The notes of this name on the agent's ledger.
    pub(crate) fn told(&self, wanted: &str) -> Vec<Value> {
        let told = self.run.events().iter().filter(|event| event.body.kind() == wanted).map(|event| {
            let mut body = serde_json::to_value(&event.body).unwrap();
            body.as_object_mut().unwrap().remove("type");
            body
        });
        told.collect()
    }

    /// What the agent's model was asked, in order.
    pub(crate) fn requests(&self) -> Vec<ModelRequest> {
        requests(&self.run.main)
    }

    /// What the simulated user's model was asked, in order.
    pub(crate) fn user_requests(&self) -> Vec<ModelRequest> {
        self.run.users.as_ref().map(requests).unwrap_or_default()
    }

    /// What the agent's model was asked, in order.
    pub(crate) fn agent_requests(&self) -> Vec<ModelRequest> {
        requests(&self.run.main)
    }

    /// What the judge was asked, in order.
    pub(crate) fn judge_requests(&self) -> Vec<ModelRequest> {
        self.run.judge.as_ref().map(requests).unwrap_or_default()
    }

    /// What a conversation came to.
    pub(crate) fn conversation(&self, step: usize) -> &rehearsal_core::ConversationResult {
        self.step(step).conversation.as_ref().expect("it is a conversation")
    }

    /// What ended a conversation, and after how many turns.
    pub(crate) fn ended(&self, step: usize) -> (&str, usize) {
        let conversation = self.conversation(step);
        (conversation.termination_reason.as_deref().unwrap_or("nothing"), conversation.turns.len())
    }
}

fn requests(ledger: &Ledger) -> Vec<ModelRequest> {
    let asked = |event: &&Arc<Event>| matches!(event.body, EventBody::ModelRequest(_));
    let turns = ledger.events().iter().filter(asked).map(|event| event.turn.clone().unwrap());
    turns.map(|turn| ledger.request(&turn).unwrap()).collect()
}

/// All that is said in a request, a line each.
pub(crate) fn said(request: &ModelRequest) -> Vec<String> {
    request.contents.iter().map(|content| content.text()).collect()
}

/// Time as tokio tells it, so that pausing it stops this clock too.
#[derive(Debug)]
pub(crate) struct TokioClock(tokio::time::Instant);

impl TokioClock {
    pub(crate) fn start() -> Self {
        #[expect(clippy::disallowed_methods, reason = "this is a clock")]
        let now = tokio::time::Instant::now();
        Self(now)
    }
}

impl Clock for TokioClock {
    fn now(&self) -> Timestamp {
        FixedClock::default().now() + self.0.elapsed()
    }

    fn monotonic(&self) -> Duration {
        self.0.elapsed()
    }
}

/// Builds models as the command does, and two that it does not know: `silent` never answers, and
/// `slow:MILLISECONDS:TEXT` takes its time.
fn build(key: &str, choice: &ModelChoice) -> Result<Arc<dyn Model>, ModelUnusable> {
    let refused = |why: &dyn std::fmt::Display| ModelUnusable::new(format!("model `{key}`: {why}"));
    let name = format!("script:{key}");
    Ok(match choice {
        ModelChoice::Person => return Err(refused(&"a person")),
        ModelChoice::Provider(text) if text == "silent" => {
            Arc::new(Slow { delay: None, text: String::new() })
        }
        ModelChoice::Provider(text) if text.starts_with("slow:") => {
            let (delay, text) = text["slow:".len()..].split_once(':').unwrap();
            let delay = Some(Duration::from_millis(delay.parse().unwrap()));
            Arc::new(Slow { delay, text: text.to_owned() })
        }
        ModelChoice::Provider(text) => {
            let spec: ModelSpec = text.parse().map_err(|error: ParseSpecError| refused(&error))?;
            let model = Providers::default().connect(&spec, &|_| None);
            Arc::new(model.map_err(|error| refused(&error))?)
        }
        ModelChoice::Script(replies) => Arc::new(ScriptedModel::list(&name, replies.iter().map(reply))),
        ModelChoice::Rules(rules) => {
            let rules = rules.iter().map(|rule| {
                let all = rule.when.iter().map(matcher).reduce(Matcher::and);
                all.map_or_else(Rule::otherwise, Rule::when).reply(reply(&rule.reply))
            });
            Arc::new(ScriptedModel::rules(&name, rules.collect::<Vec<_>>()))
        }
    })
}

fn reply(script: &ScriptedReply) -> Reply {
    if let Some(why) = &script.fail {
        let model = "script".into();
        return Reply::fail(ModelError::Status {
            model,
            status: 503,
            message: why.clone(),
            retry_after_ms: None,
        });
    }
    let mut calls = script.calls.iter();
    let mut reply = match (&script.json, &script.say, calls.len()) {
        (Some(value), _, _) => Reply::json(value.clone()),
        (None, None, 1..) => {
            let (tool, args) = calls.next().unwrap();
            Reply::call(tool, args.clone().into())
        }
        (None, text, _) => Reply::text(text.clone().unwrap_or_default()),
    };
    for (tool, args) in calls {
        reply = reply.and_call(tool, args.clone().into());
    }
    script.usage.map_or(reply.clone(), |(input, output)| reply.usage(input, output))
}

fn matcher(condition: &ScriptedCondition) -> Matcher {
    match condition {
        ScriptedCondition::UserContains(text) => Matcher::user_contains(text),
        ScriptedCondition::UserMatches(pattern) => Matcher::user_matches(pattern).unwrap(),
        ScriptedCondition::ToolResult(tool) => Matcher::tool_result(tool),
        ScriptedCondition::ToolResultContains(tool, text) => Matcher::tool_result_contains(tool, text),
        ScriptedCondition::SystemContains(text) => Matcher::system_contains(text),
        ScriptedCondition::ConversationContains(text) => Matcher::conversation_contains(text),
        ScriptedCondition::Turn(number) => Matcher::turn(number - 1),
    }
}

/// A model that answers late, or never.
#[derive(Debug)]
struct Slow {
    delay: Option<Duration>,
    text: String,
}

#[async_trait]
impl Model for Slow {
    fn name(&self) -> Arc<str> {
        "slow".into()
    }

    async fn respond(&self, _: &ModelCall) -> Result<ModelResponse, ModelError> {
        match self.delay {
            Some(delay) => tokio::time::sleep(delay).await,
            None => std::future::pending().await,
        }
        self.text.as_str().into_answer()
    }
}
