//! Performing what metrics ask for: answers of judges, and calls of tools that were handed in for metrics.

use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures::future::{FutureExt, join_all};
use rehearsal_agent::{
    Agent, AgentRef, Context, DirectPort, Done, Flow, History, LlmAgent, Model, RunError, Session, ToolRef,
    run_at,
};
use rehearsal_core::{
    Content, EventBody, FunctionCall, InvocationId, Ledger, MetricResult, Phase, Player, Settings,
    ToolOutcome, Yield,
};
use rehearsal_metrics::evaluator::CheckRequest;
use rehearsal_metrics::{Assessment, MetricRef, Question, Request};
use serde_json::{Map, Value};

/// Who judges, and what metrics may ask for beside that.
#[derive(Clone, Debug)]
pub struct Judges {
    /// The judge for metrics that name none.
    pub judge: Option<Arc<dyn Model>>,
    /// Judges that metrics ask for by name.
    pub named: BTreeMap<String, Arc<dyn Model>>,
    /// Tools that metrics may ask for, by their names.
    pub tools: BTreeMap<String, ToolRef>,
    /// Who is asked what authors check by programs of their own.
    pub checker: Option<Arc<dyn Checker>>,
    /// How long an answer may take.
    pub timeout: Duration,
}

/// Asks checks that authors write themselves.
#[async_trait]
pub trait Checker: Send + Sync + std::fmt::Debug {
    /// What a check answers.
    ///
    /// # Errors
    /// Why it gave no answer.
    async fn check(&self, request: &CheckRequest) -> Result<Value, String>;
}

impl Default for Judges {
    /// Nobody, and two minutes for each answer.
    fn default() -> Self {
        Self {
            judge: None,
            named: BTreeMap::new(),
            tools: BTreeMap::new(),
            checker: None,
            timeout: Duration::from_mins(2),
        }
    }
}

/// What metrics found, in their order. A metric that panics is an error of that metric. `first` is the number of
/// metrics that were evaluated before.
pub(crate) async fn evaluate(
    judges: &Judges,
    metrics: &[MetricRef],
    first: usize,
    main: &Ledger,
    judging: &mut Session,
    ask_judges: bool,
) -> Vec<(String, MetricResult)> {
    let upto = judging.ledger().events().len();
    let mut running = Vec::new();
    for (index, metric) in metrics.iter().enumerate() {
        let path = question_path(first + index, metric.name());
        let branch = judging.branch(upto, &path);
        running.push(evaluate_one(judges, main, metric, branch, path, ask_judges));
    }
    let mut results = Vec::new();
    for (metric, (branch, result)) in metrics.iter().zip(join_all(running).await) {
        let joined = judging.join(branch);
        let result = match joined {
            Ok(()) => result,
            Err(error) => MetricResult::error(error.to_string()),
        };
        results.push((metric.name().to_owned(), result));
    }
    results
}

/// Where the questions of a metric stand on the judge's ledger, by its place among the metrics of the case.
pub fn question_path(place: usize, metric: &str) -> InvocationId {
    InvocationId::root(format_args!("{place}-{metric}"))
}

async fn evaluate_one(
    judges: &Judges,
    main: &Ledger,
    metric: &MetricRef,
    mut branch: Session,
    path: InvocationId,
    ask_judges: bool,
) -> (Session, MetricResult) {
    let requests = match caught(|| metric.evaluate(main)) {
        Ok(Assessment::Ask(requests)) => requests,
        Ok(Assessment::Done(result)) | Err(result) => return (branch, result),
    };
    if requests.is_empty() {
        return (branch, MetricResult::error("the metric neither decided nor asked anything"));
    }
    if !ask_judges {
        let why = match &requests[0] {
            Request::Judge(_) => "the judge was not asked, because the case ended in an error",
            _ => "the check was not asked, because the case ended in an error",
        };
        return (branch, MetricResult::unscored(why));
    }
    let mut answers = Vec::new();
    for (number, request) in requests.iter().enumerate() {
        let place = path.child(number);
        let answer = match request {
            Request::Judge(question) => ask_once(judges, question, &mut branch, place).await,
            Request::Check(request) => check_once(judges, request).await,
            Request::Tool { tool, args } => call_once(judges, tool, args, &mut branch, place).await,
            other => Err(format!("this program cannot perform what the metric asks for: {other:?}")),
        };
        match answer {
            Ok(answer) => answers.push(answer),
            Err(why) => return (branch, MetricResult::error(why)),
        }
    }
    let result = caught(|| metric.conclude(main, &answers)).unwrap_or_else(|result| result);
    (branch, result)
}

/// Asks the judge one question; a judge that panics gave no answer.
pub(crate) async fn ask_once(
    judges: &Judges,
    question: &Question,
    branch: &mut Session,
    path: InvocationId,
) -> Result<Value, String> {
    let asked = AssertUnwindSafe(ask(judges, question, branch, path)).catch_unwind().await;
    asked.unwrap_or_else(|panic| Err(format!("the judge panicked: {}", panic_text(&*panic))))
}

async fn ask(
    judges: &Judges,
    question: &Question,
    branch: &mut Session,
    path: InvocationId,
) -> Result<Value, String> {
    let model = judges.model_for(question)?;
    let is_person = model.player() == Player::Person;
    let settings = Settings { temperature: question.temperature, ..Settings::default() };
    // An agent with an output schema asks again when an answer does not have the form, a bounded number of times.
    let judge: AgentRef = LlmAgent::new("judge", model)
        .instruction(question.instructions.clone())
        .output_schema(question.schema.clone())
        .history(History::Execution)
        .settings(settings)
        .read_fences()
        .into();
    branch.say_to(path.clone(), Content::user(question.prompt.clone())).map_err(|error| error.to_string())?;
    let asked = run_at(path.clone(), &judge, branch, &DirectPort);
    // A person takes the time a person takes.
    let asked =
        async { if is_person { Ok(asked.await) } else { tokio::time::timeout(judges.timeout, asked).await } };
    match asked.await {
        Err(_) => Err(format!("the judge gave no answer within {:?}", judges.timeout)),
        Ok(Err(error)) => {
            let why = error.failure(Phase::Metric).message;
            Err(format!("the judge gave no usable answer: {why}{}", answered(branch.ledger(), &path)))
        }
        Ok(Ok(Flow::Waiting(_))) => Err("the judge waits for somebody, but it has to answer".to_owned()),
        Ok(Ok(Flow::Done(done))) => Ok(done.output),
    }
}

/// Asks a check of the author's own; one that panics gave no answer.
async fn check_once(judges: &Judges, request: &CheckRequest) -> Result<Value, String> {
    let checker =
        judges.checker.as_ref().ok_or("this metric asks a check, and the case has nobody who asks it")?;
    let answer = AssertUnwindSafe(checker.check(request)).catch_unwind().await;
    answer.unwrap_or_else(|panic| Err(format!("the check panicked: {}", panic_text(&*panic))))
}

/// Calls a tool for a metric; one that panics, fails or takes too long gave no answer.
async fn call_once(
    judges: &Judges,
    name: &str,
    args: &Map<String, Value>,
    branch: &mut Session,
    path: InvocationId,
) -> Result<Value, String> {
    let tool = judges.tools.get(name).cloned().ok_or_else(|| {
        format!("this metric asks for the tool `{name}`, but the case has none for it\n\nAdd it:\n  .metric_tool(tool)")
    })?;
    let agent: AgentRef = Arc::new(Caller { name: "metric".into(), tool, args: args.clone() });
    let called = AssertUnwindSafe(run_at(path, &agent, branch, &DirectPort)).catch_unwind();
    match tokio::time::timeout(judges.timeout, called).await {
        Err(_) => Err(format!("the tool `{name}` gave no answer within {:?}", judges.timeout)),
        Ok(Err(panic)) => Err(format!("the tool `{name}` panicked: {}", panic_text(&*panic))),
        Ok(Ok(Err(error))) => Err(error.failure(Phase::Metric).message),
        Ok(Ok(Ok(Flow::Waiting(_)))) => {
            Err(format!("the tool `{name}` waits for somebody, but it has to answer"))
        }
        Ok(Ok(Ok(Flow::Done(done)))) => Ok(done.output),
    }
}

/// Calls one tool, as a metric asks. The call and what came of it stand on the judge's ledger.
#[derive(Debug)]
struct Caller {
    name: Arc<str>,
    tool: ToolRef,
    args: Map<String, Value>,
}

#[async_trait]
impl Agent for Caller {
    fn name(&self) -> &Arc<str> {
        &self.name
    }

    fn kind(&self) -> &'static str {
        "metric"
    }

    async fn run(&self, cx: &mut Context<'_>) -> Result<Flow, RunError> {
        let ids = cx.session().around().ids;
        let turn = ids.turn(cx.ledger().session(), cx.invocation(), 0);
        let id = ids.call(&turn, 0);
        let name = self.tool.spec().name();
        let call = FunctionCall {
            id: Some(id.clone()),
            name: name.to_owned(),
            args: self.args.clone(),
            ..FunctionCall::default()
        };
        let calls = cx.call_tools(&turn, &[call], std::slice::from_ref(&self.tool)).await?;
        if !calls.is_empty() {
            return Ok(Flow::Waiting(Yield::Tools { calls }));
        }
        let answered = cx.ledger().call(&id).and_then(|call| call.result());
        match answered.map(|result| &result.outcome) {
            Some(ToolOutcome::Output(value)) => Ok(Flow::Done(Done::new(value.clone()))),
            Some(ToolOutcome::Error(error)) => {
                Err(RunError::agent(&self.name, format!("the tool `{name}` failed: {error}")))
            }
            None => Err(RunError::agent(&self.name, format!("the tool `{name}` gave nothing"))),
        }
    }
}

/// What a judge answered last and how often it was asked, for messages.
fn answered(ledger: &Ledger, path: &InvocationId) -> String {
    let answers: Vec<String> = ledger
        .events()
        .iter()
        .filter(|event| event.invocation.as_ref() == Some(path))
        .filter_map(|event| match &event.body {
            EventBody::ModelResponse(response) => Some(response.content.text()),
            _ => None,
        })
        .collect();
    let Some(last) = answers.last() else { return String::new() };
    let shown = rehearsal_core::shorten(last, SHOWN);
    let times = if answers.len() == 1 { "once".to_owned() } else { format!("{} times", answers.len()) };
    format!("; it was asked {times} and last answered {shown:?}")
}

/// How much of a judge's answer a message shows, in characters.
const SHOWN: usize = 300;

impl Judges {
    fn model_for(&self, question: &Question) -> Result<Arc<dyn Model>, String> {
        match &question.judge {
            Some(name) => self.named.get(name).cloned().ok_or_else(|| {
                format!("no judge is called `{name}`\n\nAdd it:\n  .named_judge(\"{name}\", model)")
            }),
            None => self.judge.clone().ok_or_else(|| {
                "this metric asks a judge, but the case names no model for it\n\nAdd one:\n  .judge(model)"
                    .to_owned()
            }),
        }
    }
}

/// Runs a metric's own code; a panic in it is an error of the metric.
pub(crate) fn caught<T>(work: impl FnOnce() -> T) -> Result<T, MetricResult> {
    std::panic::catch_unwind(AssertUnwindSafe(work))
        .map_err(|panic| MetricResult::error(format!("the metric panicked: {}", panic_text(&*panic))))
}

pub(crate) fn panic_text(panic: &(dyn std::any::Any + Send)) -> String {
    match (panic.downcast_ref::<&str>(), panic.downcast_ref::<String>()) {
        (Some(text), _) => (*text).to_owned(),
        (_, Some(text)) => text.clone(),
        _ => "no message".to_owned(),
    }
}
