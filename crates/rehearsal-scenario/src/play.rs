//! Playing a scenario: its steps one after the other, in one session.
//!
//! A [`Stage`] is the user of the agent's loop. Whenever the agent waits, it looks at the ledger for where the
//! scenario is, closes the step or the turn that was just answered, and says what comes next. It keeps nothing
//! itself, except what cannot be on a ledger: a folder, and a server that was started for the agent.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use rehearsal_agent::{AgentRef, ToolRef};
use rehearsal_core::{
    Content, Decision, EndReason, EvaluationScope, EventBody, Failure, Ledger, Phase, SCENARIO, StatePatch,
    TurnDecision, TurnEnded, elapsed,
};
use rehearsal_js::{self as js, Workers};
use rehearsal_metrics::{EveryTurn, MetricRef};
use rehearsal_sim::{LoopUser, Next, Scene, TimeLimit};
use rehearsal_world::environment::{Background, Command, Environment, EnvironmentError, Execution, Program};
use rehearsal_world::remote::CommandAgent;
use rehearsal_world::world::Occasion;
use serde_json::{Map, Value, json};
use tokio::sync::Mutex;

use self::tools::Workplace;
use self::world::Seat;
use crate::{
    Action, CommandLine, CommandRun, Conversation, ConversationEnd, ConversationOpening, ConversationUser,
    Evaluation, Prices, Scenario, Server, Step, StepEnded, StepKind, StepStarted, StepView, TerminationKind,
    TurnView,
};

pub(crate) mod checks;
pub(crate) mod http_tool;
pub(crate) mod mocks;
mod people;
pub(crate) mod simulator;
mod speaks;
pub(crate) mod termination;
pub(crate) mod tools;
pub(crate) mod users;
pub(crate) mod world;

/// How long a code step, a seeding command and a command of an evaluation may take unless told.
const COMMAND_TIMEOUT: Duration = Duration::from_mins(1);

/// How long a command agent may take to leave when the scenario is over.
const PATIENCE: Duration = Duration::from_secs(2);

/// Plays the steps of a scenario.
#[derive(Debug)]
pub(crate) struct Stage {
    pub(crate) scenario: Arc<Scenario>,
    /// The folder of the run; nothing for a scenario that needs none.
    pub(crate) folder: Option<Arc<dyn Environment>>,
    /// Whether the folder stays when the run is over.
    pub(crate) keep: bool,
    /// The agent, where it is a process.
    pub(crate) process: Option<Arc<CommandAgent>>,
    /// What plays the tools that no mock plays.
    pub(crate) world: Option<Arc<Seat>>,
    /// Where programs of the world run.
    pub(crate) place: Option<Workplace>,
    /// Makes another folder like that of the run.
    pub(crate) provide: Provide,
    pub(crate) scripts: Workers,
    pub(crate) prices: Arc<Prices>,
    /// The agents that play simulated users, by the number of their step.
    pub(crate) simulators: BTreeMap<usize, AgentRef>,
    /// The tools of scripted users, by the number of their step.
    pub(crate) user_tools: BTreeMap<usize, Vec<ToolRef>>,
    /// What simulated users are told.
    pub(crate) bridge: users::FileBridge,
    /// A server to start before the first step, with its port.
    pub(crate) server: Option<(Server, u16)>,
    /// The folder of the scenario's file.
    pub(crate) directory: PathBuf,
    /// The folder of the file that has the agent.
    pub(crate) home: PathBuf,
    /// The server that was started; it ends with the run.
    pub(crate) running: Mutex<Option<Background>>,
}

/// Makes a folder.
pub(crate) struct Provide(
    pub(crate) Box<dyn Fn() -> Result<Arc<dyn Environment>, EnvironmentError> + Send + Sync>,
);

impl fmt::Debug for Provide {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Provide").finish_non_exhaustive()
    }
}

/// The kind of a failure of the world.
const WORLD: &str = "world";

/// The kind of a failure to answer in time.
const TIMEOUT: &str = "timeout";

/// A failure of the scenario's own.
pub(crate) fn failure(kind: &str, message: impl Into<String>) -> Failure {
    Failure { phase: Phase::System, kind: kind.to_owned(), message: message.into() }
}

#[async_trait]
impl LoopUser for Stage {
    async fn next(&self, scene: &mut Scene<'_>) -> Result<Next, Failure> {
        let (begun, open) = {
            let views = StepView::all(scene.ledger());
            (views.len(), views.last().is_some_and(|view| view.ended.is_none()))
        };
        if begun == 0 {
            self.set_up(scene).await?;
        }
        if open && let Some(next) = self.go_on(begun, scene).await? {
            return Ok(next);
        }
        for number in begun + 1..=self.scenario.run.len() {
            if let Some(next) = self.begin(number, scene).await? {
                return Ok(next);
            }
        }
        if let Some(process) = &self.process
            && let Some(line) = process.close(PATIENCE).await
        {
            let why = format!(
                "the agent went on after its last `final`, where nobody looks at what it does; it sent:\n  {line}\n\n\
                 hint: after `final` it may only send `log`"
            );
            return Err(failure("agent", why));
        }
        if let Some(world) = &self.world {
            world.close().await;
        }
        Ok(Next::End(EndReason::Completed))
    }

    fn needs_people(&self) -> bool {
        let by_person = |step: &Step| match &step.action {
            Action::Conversation { conversation, .. } => conversation.user == ConversationUser::Person,
            _ => false,
        };
        self.scenario.run.iter().any(by_person)
    }
}

impl Stage {
    fn step(&self, number: usize) -> &Step {
        &self.scenario.run[number - 1]
    }

    /// Makes ready what the steps find.
    async fn set_up(&self, scene: &mut Scene<'_>) -> Result<(), Failure> {
        self.set_up_folder(scene).await?;
        let Some(world) = &self.world else { return Ok(()) };
        let started = world.start(self.place.as_ref(), &self.occasion(scene.ledger())).await;
        let (started, state) = started.map_err(|why| failure(WORLD, told(&why)))?;
        scene.tell(EventBody::WorldStarted(started))?;
        scene.change(state)?;
        self.take_logs(scene)
    }

    /// The case, as its world is told of it.
    fn occasion(&self, ledger: &Ledger) -> Occasion {
        let started = ledger.started();
        Occasion {
            session: ledger.session().clone(),
            scenario: Some(self.scenario.name.clone()),
            folder: self.folder.as_ref().map(|folder| folder.folder().to_owned()),
            seed: started.and_then(|started| started.seed).unwrap_or_default(),
            row: started.and_then(|started| started.row.clone()).map(Value::Object),
        }
    }

    /// Puts on the ledger what the world has said and changed since it was last asked.
    async fn settle(&self, scene: &mut Scene<'_>) -> Result<(), Failure> {
        let Some(world) = &self.world else { return Ok(()) };
        let changes = world.settle().await.map_err(|why| failure(WORLD, told(&why)))?;
        scene.change(changes)?;
        self.take_logs(scene)
    }

    fn take_logs(&self, scene: &mut Scene<'_>) -> Result<(), Failure> {
        let logs = self.world.iter().flat_map(|world| world.take_logs());
        logs.into_iter().try_for_each(|text| scene.tell(EventBody::WorldLog { text }))
    }

    /// Fills the folder, and starts the agent's server.
    async fn set_up_folder(&self, scene: &mut Scene<'_>) -> Result<(), Failure> {
        let Some(folder) = &self.folder else { return Ok(()) };
        if self.keep {
            scene.tell(EventBody::FolderKept { folder: folder.folder().display().to_string() })?;
        }
        self.fill(&**folder).await.map_err(|why| failure("setup", why))?;
        if let Some((server, port)) = &self.server {
            let started = tools::start_server(server, *port, &**folder, &self.directory, &self.home).await;
            let started = started
                .map_err(|why| failure("setup", format!("the agent's server did not start: {why}")))?;
            *self.running.lock().await = Some(started);
        }
        Ok(())
    }

    /// Puts into a folder what the steps find there.
    async fn fill(&self, folder: &dyn Environment) -> Result<(), String> {
        let setup = &self.scenario.setup;
        let written = folder.write(&setup.virtual_fs).await;
        written
            .map_err(|error| format!("the files of `virtual_fs` could not be written: {}", told(&error)))?;
        for (index, command) in setup.seed.iter().enumerate() {
            let what = format!("command {} of `seed` failed", index + 1);
            let run = folder.run(&Command::new(program(command))).await;
            let run = run.map_err(|error| format!("{what}: {}", told(&error)))?;
            if run.exit_code != Some(0) {
                return Err(format!("{what}: {}", describe(&run)));
            }
        }
        Ok(())
    }

    /// Begins a step; gives what is said to the agent, or nothing when the step is over already.
    async fn begin(&self, number: usize, scene: &mut Scene<'_>) -> Result<Option<Next>, Failure> {
        let step = self.step(number);
        let kind = match &step.action {
            Action::Input(_) => StepKind::Input,
            Action::Conversation { .. } => StepKind::Conversation,
            Action::Code { .. } => StepKind::Code,
        };
        let started =
            StepStarted { step: number, name: step.name.clone(), kind, context: step.context.clone() };
        scene.tell(EventBody::StepStarted(started))?;
        match &step.action {
            Action::Input(input) => {
                let limit = step.timeout_ms.map(|millis| TimeLimit {
                    within: Duration::from_millis(millis),
                    what: format!("`timeout_ms` of step {number} ({millis} ms)"),
                });
                Ok(Some(self.say(number, 1, Content::user(input), None, limit, scene)))
            }
            Action::Conversation { input: Some(input), conversation } => {
                let limit = turn_limit(conversation, Duration::ZERO);
                Ok(Some(self.say(number, 1, Content::user(input), None, Some(limit), scene)))
            }
            Action::Conversation { input: None, conversation }
                if conversation.opening == ConversationOpening::Agent =>
            {
                let limit = Some(turn_limit(conversation, Duration::ZERO));
                Ok(Some(Next::Listen { changes: vec![self.context(number, 1, scene)], limit }))
            }
            Action::Conversation { input: None, conversation } => {
                self.user_speaks(number, conversation, scene).await
            }
            Action::Code { lang, interpreter, code } => {
                let program = match interpreter {
                    Some(program) => Program::Argv(vec![program.clone(), "-c".to_owned(), code.clone()]),
                    None => Program::Code { lang: *lang, code: code.clone() },
                };
                self.run_code(number, step, program, scene).await?;
                Ok(None)
            }
        }
    }

    async fn run_code(
        &self,
        number: usize,
        step: &Step,
        program: Program,
        scene: &mut Scene<'_>,
    ) -> Result<(), Failure> {
        let folder = self
            .folder
            .as_ref()
            .ok_or_else(|| failure("environment", "there is no folder to run code in"))?;
        let timeout = step.timeout_ms.map_or(COMMAND_TIMEOUT, Duration::from_millis);
        let command = Command { timeout, ..Command::new(program) };
        let run = folder.run(&command).await;
        let run = run.map_err(|error| failure("code", format!("step {number}: {}", told(&error))))?;
        if run.timed_out {
            let why = format!(
                "step {number}: its code did not end within {timeout:?}{}\n\nhint: `timeout_ms` on the step allows more",
                written(&run)
            );
            return Err(failure(TIMEOUT, why));
        }
        if run.stdout_omitted > 0 {
            let why = format!(
                "step {number}: its code wrote {} bytes more than are kept, so nothing can be said of its output\n\nhint: \
                 let it write less, or into a file",
                run.stdout_omitted
            );
            return Err(failure("output_limit", why));
        }
        let ended = StepEnded {
            step: number,
            exit_code: run.exit_code,
            stdout: run.stdout,
            stderr: kept(run.stderr, run.stderr_omitted),
            ..self.ended(number).await?
        };
        self.finish(number, ended, Vec::new(), scene).await
    }

    /// Goes on with a step that the agent has just answered in.
    async fn go_on(&self, number: usize, scene: &mut Scene<'_>) -> Result<Option<Next>, Failure> {
        self.settle(scene).await?;
        let step = self.step(number);
        let Action::Conversation { conversation, .. } = &step.action else {
            let reply = view(scene, number, |view| view.reply().unwrap_or_default());
            let ended = StepEnded { exit_code: Some(0), stdout: reply, ..self.ended(number).await? };
            self.finish(number, ended, Vec::new(), scene).await?;
            return Ok(None);
        };
        let taken = view(scene, number, |view| view.turns().len());
        let StepEnded { files, files_left_out, .. } = self.ended(number).await?;
        if !files.is_empty() {
            let ended = TurnEnded { step: number, turn: taken, files, files_left_out };
            scene.tell(EventBody::TurnEnded(ended))?;
        }
        let metrics: Vec<MetricRef> =
            self.metrics(&conversation.turn_evaluations, EvaluationScope::Turn { step: number, turn: taken });
        scene.evaluate(&metrics).await;
        if let Some(end) = self.conversation_end(number, conversation, taken, scene).await? {
            self.end_conversation(number, conversation, end, scene).await?;
            return Ok(None);
        }
        self.user_speaks(number, conversation, scene).await
    }

    async fn end_conversation(
        &self,
        number: usize,
        conversation: &Conversation,
        end: ConversationEnd,
        scene: &mut Scene<'_>,
    ) -> Result<(), Failure> {
        let transcript = if conversation.export_full_transcript {
            view(scene, number, |view| termination::transcript(&view.turns()))
        } else {
            String::new()
        };
        let ended = StepEnded {
            exit_code: Some(0),
            stdout: transcript,
            conversation: Some(end),
            ..self.ended(number).await?
        };
        let scope = EvaluationScope::Final { step: number };
        let metrics = self.metrics(&conversation.final_evaluations, scope);
        self.finish(number, ended, metrics, scene).await
    }

    /// What ends the conversation now, if something does.
    async fn conversation_end(
        &self,
        number: usize,
        conversation: &Conversation,
        taken: usize,
        scene: &mut Scene<'_>,
    ) -> Result<Option<ConversationEnd>, Failure> {
        let terminated_early = (taken as u64) < conversation.max_turns;
        let end = |reason: &str, detail: String| {
            Ok(Some(ConversationEnd { terminated_early, reason: reason.to_owned(), detail }))
        };
        for condition in &conversation.termination_conditions {
            let events = scene.ledger().clone();
            let views = StepView::nth(&events, number).map(|view| view.turns()).unwrap_or_default();
            let finding = termination::holds(condition, number, &views, self, scene).await?;
            if conversation.log_turn_decisions {
                scene.tell(EventBody::TurnDecision(TurnDecision {
                    step: number,
                    turn: taken,
                    condition: condition.kind.word().to_owned(),
                    holds: finding.holds,
                    why: finding.why.clone(),
                }))?;
            }
            if finding.holds {
                let about = condition.description.as_ref();
                let why = about.map_or(finding.why.clone(), |about| format!("{} ({about})", finding.why));
                return end(condition.kind.word(), why);
            }
        }
        let script = conversation.user.script();
        let next = script.map(|turns| turns.get(taken.saturating_sub(self.given_messages(number))));
        // What a script does at its end takes no turn.
        if matches!(next, Some(Some(turn)) if turn.hangs_up || turn.says.is_none()) {
            return Ok(None);
        }
        if !terminated_early {
            let why = format!("all {} turns were taken", conversation.max_turns);
            return end(TerminationKind::MaxTurnsReached.word(), why);
        }
        match next {
            Some(None) => end("script_ended", "the user's script has no further line".to_owned()),
            _ => Ok(None),
        }
    }

    /// How many turns of a conversation are begun by somebody else than its user: by the input of the step, or the agent.
    fn given_messages(&self, number: usize) -> usize {
        let Action::Conversation { input, conversation } = &self.step(number).action else { return 0 };
        usize::from(input.is_some() || conversation.opening == ConversationOpening::Agent)
    }

    /// Says something to the agent, with what its calls will find around them.
    fn say(
        &self,
        number: usize,
        turn: usize,
        message: Content,
        decision: Option<Decision>,
        limit: Option<TimeLimit>,
        scene: &Scene<'_>,
    ) -> Next {
        let changes = vec![self.context(number, turn, scene)];
        Next::Say { content: message, decision, changes, limit }
    }

    /// What the calls of a turn find around them.
    fn context(&self, number: usize, turn: usize, scene: &Scene<'_>) -> StatePatch {
        let mut context = self.step(number).context.clone();
        context.insert("session".to_owned(), scene.ledger().session().as_str().into());
        context.insert("step".to_owned(), number.into());
        context.insert("turn".to_owned(), turn.into());
        StatePatch::replacing(scene.ledger().state(), SCENARIO, "context", Value::Object(context))
    }

    /// How a step ended, as far as the environment knows.
    async fn ended(&self, number: usize) -> Result<StepEnded, Failure> {
        let mut ended = StepEnded {
            step: number,
            exit_code: None,
            stdout: String::new(),
            stderr: String::new(),
            files: Map::new(),
            files_left_out: 0,
            commands: Vec::new(),
            conversation: None,
        };
        let Some(folder) = &self.folder else { return Ok(ended) };
        let files = folder.files().await;
        let files =
            files.map_err(|error| failure("environment", format!("step {number}: {}", told(&error))))?;
        ended.files_left_out = files.truncated;
        ended.files = files.files.iter().map(|(path, file)| (path.clone(), json!(file))).collect();
        Ok(ended)
    }

    /// Closes a step and evaluates it.
    async fn finish(
        &self,
        number: usize,
        ended: StepEnded,
        mut metrics: Vec<MetricRef>,
        scene: &mut Scene<'_>,
    ) -> Result<(), Failure> {
        scene.tell(EventBody::StepEnded(Box::new(ended)))?;
        if let Some(folder) = &self.folder {
            // After the end is noted: neither their time nor their files belong to the step.
            let mut commands = Vec::new();
            for command in self.step(number).commands() {
                commands.push(run_for_evaluation(&**folder, command).await);
            }
            if !commands.is_empty() {
                scene.tell(EventBody::StepCommands { commands })?;
            }
        }
        let references = self.references(number, scene).await;
        if !references.is_empty() {
            scene.tell(EventBody::WorldReferences { references })?;
        }
        let scope = EvaluationScope::Step { step: number };
        metrics.extend(self.metrics(&self.step(number).evaluations, scope));
        scene.evaluate(&metrics).await;
        Ok(())
    }

    fn metrics(&self, evaluations: &[Evaluation], scope: EvaluationScope) -> Vec<MetricRef> {
        evaluators(evaluations, scope, &self.prices)
    }

    /// What a condition's expression sees.
    pub(crate) fn expression_scope(scene: &Scene<'_>, turns: &[TurnView<'_>]) -> js::Scope {
        let list: Vec<Value> = turns
            .iter()
            .map(|turn| {
                let said = |message: &Option<(u64, String)>| message.as_ref().map(|(_, text)| text.clone());
                json!({"number": turn.number, "user": said(&turn.user), "agent": said(&turn.agent)})
            })
            .collect();
        let mut globals = Map::new();
        globals.insert("transcript".to_owned(), termination::transcript(turns).into());
        globals.insert("turns".to_owned(), list.into());
        globals.insert("state".to_owned(), scene.ledger().state().to_value());
        js::Scope {
            globals,
            now_ms: scene.now().as_millisecond(),
            seed: scene.chance().number("condition", turns.len() as u64),
            ..js::Scope::default()
        }
    }
}

/// The evaluators of a list of evaluations, with names that are unique in a case.
pub(crate) fn evaluators(
    evaluations: &[Evaluation],
    scope: EvaluationScope,
    prices: &Arc<Prices>,
) -> Vec<MetricRef> {
    let mut names: Vec<String> = Vec::new();
    let evaluator = |evaluation: &Evaluation| -> MetricRef {
        let label = format!("{scope}: {}", evaluation.label());
        let mut name = label.clone();
        let mut number = 1;
        while names.contains(&name) {
            number += 1;
            name = format!("{label} ({number})");
        }
        names.push(name.clone());
        Arc::new(
            evaluation.check.clone().scoped(name, scope.into()).how(evaluation.how).prices(prices.clone()),
        )
    };
    evaluations.iter().map(evaluator).collect()
}

impl Scenario {
    /// The evaluators that watch a run and end it at the first breach, with the names they are evaluated under.
    pub(crate) fn watching(&self) -> Vec<MetricRef> {
        (1..=self.run.len()).flat_map(|step| self.watching_step(step)).collect()
    }

    /// Those of a step, by its number from 1, of its turns and of its conversation. How many turns there will be is not
    /// known, so each evaluator of turns watches all of them.
    fn watching_step(&self, step: usize) -> Vec<MetricRef> {
        let mut found = Vec::new();
        if let Action::Conversation { conversation, .. } = &self.run[step - 1].action {
            let first = EvaluationScope::Turn { step, turn: 1 };
            let evaluations = &conversation.turn_evaluations;
            let named = evaluators(evaluations, first, &Arc::default());
            let watching = named.iter().zip(evaluations).filter(|(metric, _)| metric.watch().is_some());
            found.extend(watching.map(|(metric, evaluation)| -> MetricRef {
                let name = metric.name();
                let label = name.strip_prefix(&format!("{first}: ")).unwrap_or(name).to_owned();
                let name_of = move |turn| format!("{}: {label}", EvaluationScope::Turn { step, turn });
                Arc::new(EveryTurn::new(evaluation.check.clone(), step, name_of))
            }));
        }
        found.extend(self.watching_whole(step));
        found
    }

    /// Those of a step and its conversation as a whole.
    fn watching_whole(&self, step: usize) -> Vec<MetricRef> {
        let prices = Arc::new(self.prices.clone());
        let Step { action, evaluations, .. } = &self.run[step - 1];
        let mut found = Vec::new();
        if let Action::Conversation { conversation, .. } = action {
            found.extend(evaluators(
                &conversation.final_evaluations,
                EvaluationScope::Final { step },
                &prices,
            ));
        }
        found.extend(evaluators(evaluations, EvaluationScope::Step { step }, &prices));
        found.retain(|metric| metric.watch().is_some());
        found
    }

    /// Those of a step that was played so many turns far, each turn by itself.
    pub(crate) fn watching_played(&self, step: usize, turns: usize) -> Vec<MetricRef> {
        let prices = Arc::new(self.prices.clone());
        let mut found = Vec::new();
        if let Action::Conversation { conversation, .. } = &self.run[step - 1].action {
            let of_turn = |turn| {
                evaluators(&conversation.turn_evaluations, EvaluationScope::Turn { step, turn }, &prices)
            };
            found.extend((1..=turns).flat_map(of_turn).filter(|metric| metric.watch().is_some()));
        }
        found.extend(self.watching_whole(step));
        found
    }
}

impl Step {
    /// What is asked when it ends.
    fn asked(&self) -> impl Iterator<Item = &Evaluation> {
        let finals: &[Evaluation] = match &self.action {
            Action::Conversation { conversation, .. } => &conversation.final_evaluations,
            _ => &[],
        };
        self.evaluations.iter().chain(finals)
    }

    /// The commands that its evaluations ask for.
    fn commands(&self) -> impl Iterator<Item = &str> {
        let mut seen = Vec::new();
        let all = self.asked().flat_map(Evaluation::commands);
        all.filter(move |command| {
            let fresh = !seen.contains(command);
            seen.push(*command);
            fresh
        })
    }
}

fn view<T>(scene: &Scene<'_>, number: usize, read: impl FnOnce(&StepView<'_>) -> T) -> T {
    match StepView::nth(scene.ledger(), number) {
        Some(view) => read(&view),
        None => unreachable!("step {number} was begun before it is looked at"),
    }
}

/// How much time of a step has passed that is not people's.
fn passed(number: usize, scene: &Scene<'_>) -> Duration {
    let now = scene.now();
    view(scene, number, |view| elapsed(view.started_at, now).saturating_sub(people::time_of(view.events)))
}

/// How long the agent may take for its next answer, when so much of the conversation's time has passed.
fn turn_limit(conversation: &Conversation, passed: Duration) -> TimeLimit {
    let (total, turn) = (conversation.total_timeout_ms, conversation.timeout_per_turn_ms);
    let left = Duration::from_millis(total).saturating_sub(passed);
    if left < Duration::from_millis(turn) {
        TimeLimit { within: left, what: format!("`total_timeout_ms` ({total} ms)") }
    } else {
        TimeLimit { within: Duration::from_millis(turn), what: format!("`timeout_per_turn_ms` ({turn} ms)") }
    }
}

/// Ends the run because of a limit, and says which.
fn out_of_time(limit: &TimeLimit, scene: &mut Scene<'_>) -> Result<Next, Failure> {
    let limit = limit.what.clone();
    scene.tell(EventBody::TimeLimit(rehearsal_core::ReachedLimit { limit, millis: None }))?;
    Ok(Next::End(EndReason::MaxDuration))
}

async fn run_for_evaluation(folder: &dyn Environment, command: &str) -> CommandRun {
    let run = folder.run(&Command::new(Program::Shell(command.to_owned()))).await;
    let mut result = CommandRun {
        command: command.to_owned(),
        exit_code: None,
        stdout: String::new(),
        stderr: String::new(),
        problem: None,
    };
    match run {
        Ok(run) => {
            result.problem = run.timed_out.then(|| format!("it did not end within {COMMAND_TIMEOUT:?}"));
            result.exit_code = run.exit_code;
            result.stdout = kept(run.stdout, run.stdout_omitted);
            result.stderr = kept(run.stderr, run.stderr_omitted);
        }
        Err(error) => result.problem = Some(told(&error)),
    }
    result
}

pub(crate) fn program(command: &CommandLine) -> Program {
    match command {
        CommandLine::Shell(line) => Program::Shell(line.clone()),
        CommandLine::Words(words) => Program::Argv(words.clone()),
    }
}

fn kept(text: String, omitted: u64) -> String {
    if omitted == 0 { text } else { format!("{text}\n… {omitted} more bytes were not kept") }
}

/// How a command ended, in words.
pub(crate) fn describe(run: &Execution) -> String {
    let mut text = match (run.exit_code, run.signal) {
        _ if run.timed_out => "it did not end in time".to_owned(),
        (Some(code), _) => format!("it ended with code {code}"),
        (None, Some(signal)) => format!("signal {signal} ended it"),
        (None, None) => "it did not end by itself".to_owned(),
    };
    text.push_str(&written(run));
    text
}

/// What a command wrote, its complaints before all else, as lines to be added to a message.
fn written(run: &Execution) -> String {
    let mut outputs = [&run.stderr, &run.stdout].into_iter().map(|output| output.trim());
    let output = outputs.find(|output| !output.is_empty());
    output.map(|output| format!("\n  {}", output.replace('\n', "\n  "))).unwrap_or_default()
}

/// An error with its causes.
pub(crate) fn told(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(source) = cause {
        let words = source.to_string();
        if !text.contains(&words) {
            let (message, hint) =
                text.split_once("\n\n").map_or((text.as_str(), None), |(m, h)| (m, Some(h)));
            text = match hint {
                Some(hint) => format!("{message}: {words}\n\n{hint}"),
                None => format!("{message}: {words}"),
            };
        }
        cause = source.source();
    }
    text
}
