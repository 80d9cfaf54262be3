//! A scenario becomes a case.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use rehearsal_agent::{AgentRef, LlmAgent, Loop, Model, ModelCall, ModelError, Step as StepAgent, ToolRef};
use rehearsal_core::mask::Masker;
use rehearsal_core::{Clock, ModelResponse, Player, Settings};
use rehearsal_js::{WorkerCommand, Workers};
use rehearsal_metrics::evaluator::LooksAt;
use rehearsal_sim::person::{People, PersonModel};
use rehearsal_sim::{Case, CaseMaker, Judgment, Opening, RunOptions};
use rehearsal_world::environment::{Commands, Environment, EnvironmentProvider, LocalOptions, LocalProvider};
use rehearsal_world::remote::{CommandAgent, Introduction, Listening};
use serde_json::Value;
use tokio::sync::{Mutex, OnceCell};

use crate::play::checks::{Checks, PythonWorkers};
use crate::play::mocks::Mocks;
use crate::play::tools::{self, Process, Workplace};
use crate::play::world::{Seat, WorldMaker};
use crate::play::{Provide, Stage, simulator, users as users_at_play};
use crate::{
    Action, AgentFile, AgentUnderTest, AnsweredBy, Conversation, ConversationUser, Dialect, Evaluation,
    ModelChoice, NamedModel, Reached, Scenario, Server, Strategy, ToolDefinition, UserTool, World,
    WorldReached,
};

mod agent;
mod error;
mod http;
mod people;
mod seeded;
mod users;

pub use agent::compile_agent;
pub(crate) use agent::stage;
pub use error::{CompileError, ModelUnusable};

/// Builds the model that a scenario chose.
pub type BuildModel = dyn Fn(&str, &ModelChoice) -> Result<Arc<dyn Model>, ModelUnusable> + Send + Sync;

/// Reads an environment variable of whoever runs a scenario.
pub type ReadVariable = dyn Fn(&str) -> Option<String> + Send + Sync;

/// What a scenario takes from outside to be run.
#[derive(Clone)]
pub struct Backstage {
    /// Builds the model with this key.
    pub models: Arc<BuildModel>,
    /// Brings to people what they are asked; a scenario in which a person plays a part is not run without.
    pub people: Option<Arc<dyn People>>,
    /// Evaluates JavaScript.
    pub scripts: Workers,
    /// The environment variables of whoever runs it.
    pub variables: Arc<ReadVariable>,
    /// The folder of the scenario's file.
    pub directory: PathBuf,
    /// Whether real tools run and mocks do not answer.
    pub live: bool,
    /// Whether the folders of runs are kept.
    pub keep: bool,
    /// How to start a process that supervises a command; see [`LocalOptions::supervisor`].
    pub supervisor: Option<WorkerCommand>,
    /// How long a run may take.
    pub timeout: Option<Duration>,
    /// The processes that call functions of Python's, which runs share.
    pub python: PythonWorkers,
    /// Whether programs may be started. Whoever says no looks at [`Scenario::commands`] first; this holds whatever that
    /// found.
    pub commands: Commands,
}

impl fmt::Debug for Backstage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Backstage")
            .field("people", &self.people)
            .field("directory", &self.directory)
            .field("live", &self.live)
            .field("keep", &self.keep)
            .field("timeout", &self.timeout)
            .finish_non_exhaustive()
    }
}

impl Backstage {
    fn model(&self, named: &NamedModel) -> Result<Arc<dyn Model>, ModelUnusable> {
        match (&named.model, &self.people) {
            (ModelChoice::Person, Some(people)) => Ok(Arc::new(PersonModel::new(people.clone()))),
            (choice, _) => {
                let model = (self.models)(&named.key, choice)?;
                named.max_calls.into_iter().for_each(|most| model.limit_calls(most));
                Ok(match named.seed {
                    Some(seed) => Arc::new(seeded::Seeded { model, seed }),
                    None => model,
                })
            }
        }
    }
}

/// The parts that a model can play in a scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Agent,
    User,
    Judge,
}

impl Role {
    pub(crate) fn key(self) -> &'static str {
        match self {
            Self::Agent => "agent",
            Self::User => "user",
            Self::Judge => "judge",
        }
    }

    pub(crate) fn of(self) -> &'static str {
        match self {
            Self::Agent => "the agent",
            Self::User => "the simulated user",
            Self::Judge => "the judge",
        }
    }
}

impl Scenario {
    /// The same scenario with an agent, and models, prices and variables where it has none of that name. Its own mocks
    /// go before those of the agent's file that are as specific.
    #[must_use]
    pub fn with_agent(mut self, file: &AgentFile) -> Self {
        self.agent = Some(AgentUnderTest { span: 0..0, ..file.agent.clone() });
        self.agent_directory.clone_from(&file.directory);
        for model in &file.models {
            if !self.models.iter().any(|own| own.key == model.key) {
                self.models.push(NamedModel { span: 0..0, ..model.clone() });
            }
        }
        self.setup.mocks.extend(file.mocks.iter().cloned());
        if self.world.is_none() {
            let directory = file.directory.clone();
            self.world = file.world.clone().map(|world| World { directory, span: 0..0, ..world });
        }
        self.prices = self.prices.or(&file.prices);
        for variable in &file.variables {
            if !self.variables.iter().any(|own| own.name == variable.name) {
                self.variables.push(variable.clone());
            }
        }
        self
    }

    /// The same scenario with an agent that a program plays, which runs already and listens on this Unix socket. It has
    /// the tools of the agent that it stands in for.
    #[must_use]
    pub fn with_agent_at(mut self, socket: &Path) -> Self {
        let nameless = || AgentUnderTest {
            name: "agent".to_owned(),
            reached: Reached::Socket(socket.to_owned()),
            tools: Vec::new(),
            span: 0..0,
        };
        let agent = self.agent.take().unwrap_or_else(nameless);
        self.agent = Some(AgentUnderTest { reached: Reached::Socket(socket.to_owned()), ..agent });
        self
    }

    /// The same scenario with another model for a key.
    #[must_use]
    pub fn with_model(mut self, key: &str, model: ModelChoice) -> Self {
        self.models.retain(|own| own.key != key);
        self.models.push(NamedModel { key: key.to_owned(), model, seed: None, max_calls: None, span: 0..0 });
        self
    }

    /// The key and the model for a part, where the file names a key for it or not.
    pub(crate) fn model(&self, role: Role, written: Option<&str>) -> Option<&NamedModel> {
        let named = |key: &str| self.models.iter().find(|model| model.key == key);
        match written {
            None => named(role.key()),
            // The shipped runner has its own words for models; whoever runs its files names them by their part.
            Some(key) if self.dialect == Dialect::ElizaOs => named(key).or_else(|| named(role.key())),
            Some(key) => named(key),
        }
    }

    /// The model that judges, by the key that an evaluation names.
    pub(crate) fn judge_of(&self, key: Option<&str>) -> Option<&NamedModel> {
        self.model(Role::Judge, key)
    }

    /// Every use of a model: its part, the key that the file names for it, and where.
    pub(crate) fn uses(&self) -> Vec<(Role, Option<&str>, Range<usize>)> {
        let mut uses = Vec::new();
        if let Some(AgentUnderTest { reached: Reached::Inline(agent), .. }) = &self.agent
            && self.talks()
        {
            uses.push((Role::Agent, Some(agent.model.as_str()), self.head.clone()));
        }
        for step in &self.run {
            if let Action::Conversation { conversation, .. } = &step.action {
                if let ConversationUser::Simulator(simulator) = &conversation.user {
                    uses.push((Role::User, simulator.model_type.as_deref(), simulator.span.clone()));
                }
                let conditions = conversation.termination_conditions.iter();
                let judged = conditions.filter(|condition| condition.llm_judge.is_some());
                uses.extend(judged.map(|condition| (Role::Judge, None, condition.span.clone())));
            }
        }
        for user in &self.users {
            if let AnsweredBy::Model(simulated) = &user.answered_by {
                uses.push((Role::User, simulated.model_type.as_deref(), user.span.clone()));
            }
        }
        for evaluation in self.evaluations() {
            let judges = evaluation.judges().into_iter();
            uses.extend(judges.map(|key| (Role::Judge, key, evaluation.span.clone())));
        }
        uses
    }

    /// Whether anything is said to the agent.
    pub(crate) fn talks(&self) -> bool {
        self.run.iter().any(|step| !matches!(step.action, Action::Code { .. }))
    }

    /// The models of providers that it asks and that have no price, as it names them.
    pub fn unpriced(&self) -> BTreeSet<String> {
        let uses = self.uses();
        let named = uses.iter().filter_map(|(role, written, _)| match &self.model(*role, *written)?.model {
            ModelChoice::Provider(name) => Some(name.clone()),
            ModelChoice::Person | ModelChoice::Script(_) | ModelChoice::Rules(_) => None,
        });
        let chat = self.agent.as_ref().filter(|_| self.talks()).and_then(|agent| match &agent.reached {
            Reached::Chat { specification, .. } => Some(specification.clone()),
            _ => None,
        });
        named.chain(chat).filter(|name| !self.prices.0.contains_key(name)).collect()
    }

    /// All evaluations, in the order of the file.
    pub fn evaluations(&self) -> impl Iterator<Item = &Evaluation> {
        self.run.iter().flat_map(|step| {
            let (turn, last): (&[Evaluation], &[Evaluation]) = match &step.action {
                Action::Conversation { conversation, .. } => {
                    (&conversation.turn_evaluations, &conversation.final_evaluations)
                }
                _ => (&[], &[]),
            };
            step.evaluations.iter().chain(turn).chain(last)
        })
    }

    /// Whether a run of it needs a folder.
    fn needs_folder(&self, live: bool) -> bool {
        let setup = &self.setup;
        let code = self.run.iter().any(|step| matches!(step.action, Action::Code { .. }));
        let files = self
            .evaluations()
            .flat_map(Evaluation::checks)
            .any(|check| check.kind().looks_at == LooksAt::Environment);
        let agent = self.agent.as_ref().is_some_and(|agent| {
            let reached = match &agent.reached {
                Reached::Command(_) => true,
                Reached::Http(endpoint) => endpoint.server.is_some(),
                Reached::Chat { server, .. } => server.is_some(),
                Reached::Inline(_) | Reached::Socket(_) => false,
            };
            let real = live || !setup.passthrough.is_empty();
            reached || (real && agent.tools.iter().any(|tool| tool.implementation.is_some()))
        });
        let world = self.world.as_ref().is_some_and(World::starts_program);
        code || files || agent || world || !setup.virtual_fs.is_empty() || !setup.seed.is_empty()
    }

    fn server(&self) -> Option<&Server> {
        match &self.agent.as_ref()?.reached {
            Reached::Http(endpoint) => endpoint.server.as_ref(),
            Reached::Chat { server, .. } => server.as_ref(),
            Reached::Inline(_) | Reached::Command(_) | Reached::Socket(_) => None,
        }
    }
}

/// Makes the cases for runs of a scenario.
///
/// # Errors
/// Why it cannot be run: a model that cannot be built, a variable that is not set.
pub fn compile(scenario: Scenario, backstage: Backstage) -> Result<CaseMaker, CompileError> {
    compile_in(scenario, backstage, Arc::new(LocalProvider))
}

/// The same with other environments than folders on this machine.
///
/// # Errors
/// As [`compile`].
pub fn compile_in(
    scenario: Scenario,
    backstage: Backstage,
    environments: Arc<dyn EnvironmentProvider>,
) -> Result<CaseMaker, CompileError> {
    let compiled = Compiled::new(Arc::new(scenario), backstage, environments)?;
    let name = compiled.scenario.name.clone();
    Ok(CaseMaker::new(&name, move |options| compiled.case(options)))
}

/// The case for one run of a scenario that is made when its turn comes. One that cannot be made says why when it is run.
pub fn make(scenario: Scenario, backstage: Backstage, options: &RunOptions) -> Case {
    let name = scenario.name.clone();
    match Compiled::new(Arc::new(scenario), backstage, Arc::new(LocalProvider)) {
        Ok(compiled) => compiled.case(options),
        Err(why) => Case::new(&name, nobody()).problem(why.told()),
    }
}

/// A scenario with all that its runs share.
#[derive(Debug)]
pub(crate) struct Compiled {
    scenario: Arc<Scenario>,
    /// The same as its file says it, without values of the environment.
    as_written: Arc<Scenario>,
    backstage: Backstage,
    /// Makes what runs go on in.
    environments: Arc<dyn EnvironmentProvider>,
    models: BTreeMap<String, Arc<dyn Model>>,
    variables: BTreeMap<String, String>,
    /// Hides what comes from the environment, in all that programs and servers say.
    masker: Masker,
}

impl Compiled {
    fn new(
        scenario: Arc<Scenario>,
        backstage: Backstage,
        environments: Arc<dyn EnvironmentProvider>,
    ) -> Result<Self, CompileError> {
        scenario.refuse_missing_people(&backstage)?;
        let compiled = Self::with_models(scenario, backstage, environments, true)?;
        // What would fail in every run is told before the first.
        compiled.agent(1, None)?;
        compiled.mocks(None, None)?;
        compiled.world()?;
        Ok(compiled)
    }

    /// As far as checks of the author's own need it.
    pub(crate) fn for_checks(scenario: Arc<Scenario>, backstage: Backstage) -> Result<Self, CompileError> {
        Self::with_models(scenario, backstage, Arc::new(LocalProvider), false)
    }

    fn models(
        scenario: &Scenario,
        as_written: &Scenario,
        backstage: &Backstage,
        masker: &Masker,
    ) -> Result<BTreeMap<String, Arc<dyn Model>>, CompileError> {
        let mut models = BTreeMap::new();
        for (role, written, _) in scenario.uses() {
            let Some(named) = scenario.model(role, written) else {
                return Err(CompileError::NoModel { part: role.of() });
            };
            if named.model == ModelChoice::Person
                && let Some(instead) = role.instead_of_person()
            {
                return Err(CompileError::NotByPerson { part: role.of(), instead });
            }
            if !models.contains_key(&named.key) {
                let model = backstage.model(named).map_err(|why| ModelUnusable {
                    message: masker.mask(&why.message).into_owned(),
                    hint: why.hint,
                })?;
                let written_model = as_written.models.iter().find(|own| own.key == named.key);
                models.insert(
                    named.key.clone(),
                    match written_model.map(|own| &own.model) {
                        Some(ModelChoice::Provider(name)) if own_words(name, &named.model) => {
                            model.known_as(name);
                            Arc::new(AsWritten { name: name.as_str().into(), model, masker: masker.clone() })
                        }
                        _ => model,
                    },
                );
            }
        }
        Ok(models)
    }

    fn with_models(
        scenario: Arc<Scenario>,
        backstage: Backstage,
        environments: Arc<dyn EnvironmentProvider>,
        has_models: bool,
    ) -> Result<Self, CompileError> {
        let masker = scenario.masker(&*backstage.variables);
        // What the file says is shown; what it stands for is only used.
        let as_written = scenario.clone();
        let scenario = scenario.filled(&*backstage.variables)?.map_or(scenario, Arc::new);
        let models = if has_models {
            Self::models(&scenario, &as_written, &backstage, &masker)?
        } else {
            BTreeMap::new()
        };
        let mut variables = BTreeMap::new();
        for variable in &scenario.variables {
            let value = variable.value.clone().or_else(|| (backstage.variables)(&variable.name));
            let value = value.ok_or_else(|| CompileError::UnsetVariable { name: variable.name.clone() })?;
            variables.insert(variable.name.clone(), value);
        }
        Ok(Self { scenario, as_written, backstage, environments, models, variables, masker })
    }

    /// The case for one run.
    fn case(&self, options: &RunOptions) -> Case {
        match self.try_case(options) {
            Ok(case) => case,
            Err(why) => Case::new(&self.scenario.name, nobody()).problem(why.told()),
        }
    }

    fn try_case(&self, options: &RunOptions) -> Result<Case, CompileError> {
        let scenario = &self.scenario;
        let local = self.local(options.clock.clone());
        let folder = if scenario.needs_folder(self.backstage.live) {
            Some(self.environments.provide(local.clone()).map_err(CompileError::Folder)?)
        } else {
            None
        };
        let environments = self.environments.clone();
        let provide = move || environments.provide(LocalOptions { keep: false, ..local.clone() });
        let port = match scenario.server() {
            Some(_) => tools::free_port().map_err(CompileError::NoPort)?,
            None => 0,
        };
        let directory = self.backstage.directory.clone();
        let home = scenario.agent_directory.clone().unwrap_or_else(|| directory.clone());
        let place = folder.clone().map(|folder| Workplace { folder, directory, home: home.clone() });
        let world = self.world()?.map(Seat::new).map(Arc::new);
        let process = self.process(place.as_ref(), world.as_ref()).map(Arc::new);
        let agent: AgentRef = match &process {
            Some(process) => process.clone(),
            None => self.agent(port, world.as_ref())?,
        };
        let stage = Stage {
            scenario: scenario.clone(),
            folder,
            keep: self.backstage.keep,
            process,
            world: world.clone(),
            place: place.clone(),
            provide: Provide(Box::new(provide)),
            scripts: self.backstage.scripts.clone(),
            prices: Arc::new(scenario.prices.clone()),
            simulators: self.simulators(world.as_ref()),
            user_tools: self.script_tools(),
            bridge: self.bridge(),
            server: scenario.server().map(|server| (server.clone(), port)),
            directory: self.backstage.directory.clone(),
            home,
            running: Mutex::default(),
        };
        let mut case = Case::new(&scenario.name, Loop::new("conversation", agent))
            .description(&scenario.description)
            .opening(Opening::User)
            .loop_played_by(stage)
            .stand_in(self.mocks(place.as_ref(), world)?)
            .initial_state(Value::Object(scenario.setup.state.clone()))
            .max_turns(u64::MAX)
            .limits(scenario.limits)
            .prices(Arc::new(scenario.prices.clone()))
            .watching(scenario.watching())
            .judgment(match scenario.strategy {
                Strategy::AllPass => Judgment::AllPass,
                Strategy::AnyPass => Judgment::AnyPass,
            });
        if let Some(made) = &scenario.made_from {
            if let Some((_, values)) = &made.row {
                case = case.row(values.clone());
            }
            if !made.variant.is_empty() {
                let values = made.variant.iter().map(|(axis, (_, value))| (axis.clone(), value.clone()));
                case = case.variant(values.collect());
            }
        }
        case = self.with_users(case);
        if let Some(people) = &self.backstage.people {
            case = case.people(people.clone());
        }
        case = case.checker(Arc::new(self.checks(&options.clock)));
        if let Some(limit) = self.backstage.timeout {
            case = case.max_duration(limit);
        }
        for (role, written, _) in scenario.uses() {
            let Some(named) = scenario.model(role, written).filter(|_| role == Role::Judge) else { continue };
            let model = self.models[&named.key].clone();
            case = match written {
                Some(key) => case.named_judge(key, model),
                None => case.judge(model),
            };
        }
        Ok(case)
    }

    /// Who is asked what authors check by programs of their own.
    pub(crate) fn checks(&self, clock: &Arc<dyn Clock>) -> Checks {
        let (environments, local) = (self.environments.clone(), self.local(clock.clone()));
        Checks {
            scripts: self.backstage.scripts.clone(),
            python: self.backstage.python.clone(),
            models: self.backstage.models.clone(),
            provide: Provide(Box::new(move || {
                environments.provide(LocalOptions { keep: false, ..local.clone() })
            })),
            folder: OnceCell::new(),
            directory: self.backstage.directory.clone(),
            masker: self.masker.clone(),
            variables: self.variables.clone(),
        }
    }

    /// What the folders of a run are like.
    fn local(&self, clock: Arc<dyn Clock>) -> LocalOptions {
        LocalOptions {
            keep: self.backstage.keep,
            variables: self.variables.clone(),
            search_path: (self.backstage.variables)("PATH").map(Into::into),
            clock,
            supervisor: self.backstage.supervisor.clone(),
            masker: self.masker.clone(),
            commands: self.backstage.commands,
            ..LocalOptions::default()
        }
    }

    fn simulators(&self, world: Option<&Arc<Seat>>) -> BTreeMap<usize, AgentRef> {
        let steps = self.scenario.run.iter().enumerate();
        let simulators = steps.filter_map(|(index, step)| match &step.action {
            Action::Conversation { conversation, .. } => {
                let Conversation { user: ConversationUser::Simulator(simulator), .. } = &**conversation
                else {
                    return None;
                };
                let named = self.scenario.model(Role::User, simulator.model_type.as_deref())?;
                let mut tools = self.tools_of_user(&simulator.tools);
                tools.extend(simulator.may_hang_up.then(users_at_play::hang_up));
                let model = self.models[&named.key].clone();
                Some((index + 1, simulator::agent(simulator, model, tools, world.cloned())))
            }
            _ => None,
        });
        simulators.collect()
    }

    /// The tools of scripted users, by the number of their step.
    fn script_tools(&self) -> BTreeMap<usize, Vec<ToolRef>> {
        let steps = self.scenario.run.iter().zip(1..);
        let scripted = steps.filter_map(|(step, number)| match &step.action {
            Action::Conversation { conversation, .. } if conversation.user.script().is_some() => {
                Some((number, self.tools_of_user(conversation.user.tools())))
            }
            _ => None,
        });
        scripted.collect()
    }

    /// The tools that the user of a conversation can call.
    fn tools_of_user(&self, own: &[UserTool]) -> Vec<ToolRef> {
        own.iter().map(|tool| users_at_play::own_tool(tool, &self.backstage.scripts)).collect()
    }

    /// What makes the world of a run, where the scenario has one.
    fn world(&self) -> Result<Option<WorldMaker>, CompileError> {
        let Some(world) = &self.scenario.world else { return Ok(None) };
        let mut headers = BTreeMap::new();
        #[cfg(feature = "http")]
        if let WorldReached::McpUrl { headers: written, .. } = &world.reached {
            for (name, value) in written {
                let value = crate::filled::filled(value, &*self.backstage.variables)?;
                headers.insert(name.clone(), value);
            }
        }
        let directory = self.backstage.directory.clone();
        WorldMaker::new(world, std::mem::take(&mut headers), self.masker.clone(), directory).map(Some)
    }

    fn mocks(&self, place: Option<&Workplace>, world: Option<Arc<Seat>>) -> Result<Mocks, CompileError> {
        let scenario = &self.scenario;
        let definitions = scenario.agent.as_ref().map(|agent| agent.tools.clone()).unwrap_or_default();
        let mut real = BTreeMap::new();
        let may_run =
            |tool: &&ToolDefinition| self.backstage.live || scenario.setup.passthrough.contains(&tool.name);
        for tool in definitions.iter().filter(may_run) {
            if let Some(tool) = tools::real(tool, place, &*self.backstage.variables, &self.masker)? {
                real.insert(tool.spec().name().to_owned(), tool);
            }
        }
        let scripts = self.backstage.scripts.clone();
        Ok(Mocks::new(scenario.clone(), definitions, real, scripts, self.backstage.live).world(world))
    }

    /// The agent under test, where it is a process.
    fn process(&self, place: Option<&Workplace>, world: Option<&Arc<Seat>>) -> Option<CommandAgent> {
        let agent = self.scenario.agent.as_ref().filter(|_| self.scenario.talks())?;
        let process = match &agent.reached {
            Reached::Command(command) => {
                let process = Process { command: command.clone(), place: place?.clone() };
                CommandAgent::new(&agent.name, process)
            }
            Reached::Socket(socket) => CommandAgent::new(&agent.name, Listening { socket: socket.clone() }),
            Reached::Inline(_) | Reached::Chat { .. } | Reached::Http(_) => return None,
        };
        let process = process.tools(self.declared(agent)).masker(self.masker.clone());
        let process = match world {
            Some(world) => {
                let (world, declared) = (world.clone(), agent.tools.clone());
                process.toolset(move || world.agents_tools(&declared))
            }
            None => process,
        };
        Some(process.introduction(self.introduction(place.map(|place| &*place.folder))))
    }

    /// The agent under test, where it is no process, with the port of its server.
    fn agent(&self, port: u16, world: Option<&Arc<Seat>>) -> Result<AgentRef, CompileError> {
        let Some(agent) = self.scenario.agent.as_ref().filter(|_| self.scenario.talks()) else {
            return Ok(nobody());
        };
        match &agent.reached {
            Reached::Inline(inline) => {
                let named = self.scenario.model(Role::Agent, Some(&inline.model));
                let named = named.ok_or(CompileError::NoModel { part: Role::Agent.of() })?;
                let mut llm = LlmAgent::new(&agent.name, self.models[&named.key].clone());
                llm = llm.tools(self.declared(agent));
                if let Some(world) = world {
                    let (world, declared) = (world.clone(), agent.tools.clone());
                    llm = llm.toolset(move |_| world.agents_tools(&declared));
                }
                if !inline.instructions.is_empty() {
                    llm = llm.instruction(&inline.instructions);
                }
                if let Some(schema) = &inline.output_schema {
                    llm = llm.output_schema(schema.clone());
                }
                if let Some(rounds) = inline.max_rounds {
                    llm = llm.max_rounds(rounds);
                }
                let (temperature, max_tokens) = (inline.temperature, inline.max_tokens);
                Ok(llm.settings(Settings { temperature, max_tokens, ..Settings::default() }).into())
            }
            Reached::Chat { specification, .. } => {
                let reached = specification.replace("${port}", &port.to_string());
                let model = (self.backstage.models)("agent", &ModelChoice::Provider(reached))?;
                let name = self.chat_as_written(specification);
                model.known_as(&name);
                let model = AsWritten { name, model, masker: self.masker.clone() };
                Ok(LlmAgent::new(&agent.name, Arc::new(model)).into())
            }
            Reached::Http(endpoint) => self.http_agent(&agent.name, endpoint, port),
            Reached::Command(_) | Reached::Socket(_) => Ok(nobody()),
        }
    }

    /// The specification of a chat endpoint as its file says it.
    fn chat_as_written(&self, specification: &str) -> Arc<str> {
        match self.as_written.agent.as_ref().map(|agent| &agent.reached) {
            Some(Reached::Chat { specification, .. }) => specification.as_str().into(),
            _ => self.masker.mask(specification).as_ref().into(),
        }
    }

    fn introduction(&self, folder: Option<&dyn Environment>) -> Introduction {
        Introduction {
            plugins: self.scenario.plugins.clone(),
            context: tools::introduction_context(&self.backstage.directory, folder),
        }
    }
}

/// A model under the name that the file gives it, which has no port that changes from run to run. Its server may have been
/// started with secrets, so they are hidden in what it says.
#[derive(Debug)]
struct AsWritten {
    name: Arc<str>,
    model: Arc<dyn Model>,
    masker: Masker,
}

#[async_trait]
impl Model for AsWritten {
    fn name(&self) -> Arc<str> {
        self.name.clone()
    }

    fn player(&self) -> Player {
        self.model.player()
    }

    fn model_id(&self) -> &str {
        // What was filled in stands nowhere but in the request.
        if self.masker.mask(self.model.model_id()) == self.model.model_id() {
            self.model.model_id()
        } else {
            &self.name
        }
    }

    async fn respond(&self, call: &ModelCall) -> Result<ModelResponse, ModelError> {
        let mut response = self.model.respond(call).await.map_err(|mut error| {
            if let Some(words) = error.words_mut() {
                self.masker.mask_text(words);
            }
            *error.model_mut() = self.name.clone();
            error
        })?;
        self.masker.mask_response(&mut response);
        Ok(response)
    }
}

/// Whether a model is another than its file says in so many words, because something was filled in.
fn own_words(written: &str, model: &ModelChoice) -> bool {
    !matches!(model, ModelChoice::Provider(name) if name == written)
}

/// An agent for scenarios that only run code: nothing is ever said to it.
fn nobody() -> AgentRef {
    StepAgent::new("nobody", |cx| Ok(cx.respond("there is no agent"))).into()
}
