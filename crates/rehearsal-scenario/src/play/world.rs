//! The world of a run: started before the first step, asked by mocks that do not answer, ended with the run.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex as SyncMutex, MutexGuard as SyncGuard, PoisonError};
use std::time::Duration;

use futures::future::{BoxFuture, FutureExt as _};
use rehearsal_agent::{FunctionTool, ToolAnswer, ToolContext, ToolOutput, ToolRef};
use rehearsal_core::mask::Masker;
use rehearsal_core::{Schema, StatePatch, ToolError, ToolOutcome, WorldReference, WorldStarted, strip_nulls};
use rehearsal_sim::Scene;
#[cfg(feature = "http")]
use rehearsal_world::mcp::McpAddress;
use rehearsal_world::mcp::McpSettings;
use rehearsal_world::world::{
    McpPlace, McpStarter, Occasion, ProgramStarter, Side, World as LiveWorld, WorldCall, WorldError,
    WorldStarter, WorldState, WorldTool,
};
use serde_json::{Map, Value};
use tokio::sync::{Mutex, MutexGuard};

use super::tools::{Process, Workplace};
use super::{Stage, told};
use crate::file::{World, WorldReached};
use crate::{CompileError, ToolDefinition};

/// How long a world may take to leave when the scenario is over.
const PATIENCE: Duration = Duration::from_secs(2);

/// What makes worlds of a scenario: one for its run, and others that its state is compared with.
#[derive(Clone, Debug)]
pub(crate) struct WorldMaker {
    world: Arc<World>,
    /// Headers as they are sent.
    #[cfg_attr(not(feature = "http"), expect(dead_code, reason = "without HTTP nothing is sent"))]
    headers: BTreeMap<String, String>,
    masker: Masker,
    /// The folder of the scenario's file.
    directory: PathBuf,
}

impl WorldMaker {
    pub(crate) fn new(
        world: &World,
        headers: BTreeMap<String, String>,
        masker: Masker,
        directory: PathBuf,
    ) -> Result<Self, CompileError> {
        if cfg!(not(feature = "http")) && matches!(world.reached, WorldReached::McpUrl { .. }) {
            return Err(CompileError::NoHttp);
        }
        Ok(Self { world: Arc::new(world.clone()), headers, masker, directory })
    }

    pub(crate) fn scope(&self) -> &str {
        &self.world.scope
    }

    /// Starts a world of its own.
    pub(crate) async fn start(
        &self,
        place: Option<&Workplace>,
        occasion: &Occasion,
    ) -> Result<Arc<dyn LiveWorld>, WorldError> {
        self.starter(place)?.start(occasion).await
    }

    fn starter(&self, place: Option<&Workplace>) -> Result<Box<dyn WorldStarter>, WorldError> {
        let limit = Duration::from_millis(self.world.timeout_ms);
        let process = |command| {
            let place = place.ok_or_else(|| WorldError::NotStarted {
                why: "there is no folder to run it in".to_owned(),
            })?;
            let home = self.world.directory.clone().unwrap_or_else(|| self.directory.clone());
            Ok(Process { command, place: Workplace { home, ..place.clone() } })
        };
        let settings = |protocol| McpSettings {
            protocol,
            start_within: limit,
            answer_within: limit,
            masker: self.masker.clone(),
            ..McpSettings::default()
        };
        Ok(match &self.world.reached {
            WorldReached::Command(command) => Box::new(ProgramStarter {
                launcher: Arc::new(process(command.clone())?),
                masker: self.masker.clone(),
                limit,
            }),
            WorldReached::McpCommand { command, protocol } => Box::new(McpStarter {
                server: McpPlace::Process(Arc::new(process(command.clone())?)),
                settings: settings(*protocol),
            }),
            #[cfg(feature = "http")]
            WorldReached::McpUrl { url, protocol, .. } => {
                let headers = self.headers.iter().map(|(name, value)| (name.clone(), value.clone().into()));
                let address = McpAddress { url: url.clone(), headers: headers.collect() };
                Box::new(McpStarter { server: McpPlace::Http(address), settings: settings(*protocol) })
            }
            #[cfg(not(feature = "http"))]
            WorldReached::McpUrl { .. } => {
                return Err(WorldError::NotStarted { why: CompileError::NoHttp.to_string() });
            }
        })
    }
}

/// The world of one run, and what is known of it.
#[derive(Debug)]
pub(crate) struct Seat {
    maker: WorldMaker,
    /// Held from the choice of who answers a call until the world has, so that calls reach it in the agent's order.
    turn: Mutex<()>,
    shown: SyncMutex<Shown>,
}

#[derive(Debug, Default)]
struct Shown {
    world: Option<Arc<dyn LiveWorld>>,
    /// The state that it said last, as it stands on the ledger.
    state: WorldState,
    /// Its tools as they were last listed, and as an agent has them.
    listed: Option<Listed>,
}

#[derive(Clone, Debug)]
struct Listed {
    from: Arc<[WorldTool]>,
    agents: Vec<ToolRef>,
    /// As mocks see them.
    definitions: Vec<ToolDefinition>,
}

impl Seat {
    pub(crate) fn new(maker: WorldMaker) -> Self {
        Self { maker, turn: Mutex::new(()), shown: SyncMutex::default() }
    }

    fn shown(&self) -> SyncGuard<'_, Shown> {
        // Nothing that can panic happens while it is held.
        self.shown.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn world(&self) -> Result<Arc<dyn LiveWorld>, WorldError> {
        let because = || ": it is started before the first step, and ended after the last".to_owned();
        self.shown().world.clone().ok_or_else(|| WorldError::Gone { because: because() })
    }

    /// Starts the world; gives what is to be told of it, and its state.
    pub(crate) async fn start(
        &self,
        place: Option<&Workplace>,
        occasion: &Occasion,
    ) -> Result<(WorldStarted, Option<StatePatch>), WorldError> {
        let world = self.maker.start(place, occasion).await?;
        let names = |side| {
            let tools = world.tools();
            let own = tools.iter().filter(move |tool| tool.side == side);
            own.map(|tool| tool.declaration.name.clone()).collect()
        };
        let started = WorldStarted {
            scope: self.maker.scope().to_owned(),
            tools: names(Side::Agent),
            user_tools: names(Side::User),
        };
        let state = world.state().await?;
        self.shown().world = Some(world);
        Ok((started, state.and_then(|state| self.changed(state))))
    }

    /// What changes on the ledger when this is the state of the world.
    fn changed(&self, mut state: WorldState) -> Option<StatePatch> {
        strip_nulls(&mut state);
        let mut shown = self.shown();
        let patch = StatePatch::between(self.maker.scope(), &shown.state, state.clone());
        shown.state = state;
        Some(patch).filter(|patch| !patch.is_empty())
    }

    /// Asks the world for its state; gives what has changed since it last said it.
    pub(crate) async fn settle(&self) -> Result<Option<StatePatch>, WorldError> {
        let _turn = self.turn.lock().await;
        let state = self.world()?.state().await?;
        Ok(state.and_then(|state| self.changed(state)))
    }

    /// What it said for the log since it was last asked.
    pub(crate) fn take_logs(&self) -> Vec<String> {
        self.world().map(|world| world.take_logs()).unwrap_or_default()
    }

    /// Waits until the world has answered the calls that were made before.
    pub(crate) async fn turn(&self) -> MutexGuard<'_, ()> {
        self.turn.lock().await
    }

    fn listed(&self) -> Option<Listed> {
        let mut shown = self.shown();
        let from = shown.world.as_ref()?.tools();
        if let Some(listed) = shown.listed.as_ref().filter(|listed| Arc::ptr_eq(&listed.from, &from)) {
            return Some(listed.clone());
        }
        let own = from.iter().filter(|tool| tool.side == Side::Agent);
        let agents = own.clone().map(declared).collect();
        let definitions = own.map(definition).collect();
        let listed = Listed { from, agents, definitions };
        shown.listed = Some(listed.clone());
        Some(listed)
    }

    /// The agent's tools that it has now, but for those that the file declares.
    pub(crate) fn agents_tools(&self, declared: &[ToolDefinition]) -> Vec<ToolRef> {
        let is_new = |tool: &ToolRef| !declared.iter().any(|own| own.name == tool.spec().name());
        self.listed().map(|listed| listed.agents.into_iter().filter(is_new).collect()).unwrap_or_default()
    }

    /// A tool of the agent's as it has it now.
    pub(crate) fn definition(&self, tool: &str) -> Option<ToolDefinition> {
        self.listed()?.definitions.into_iter().find(|definition| definition.name == tool)
    }

    /// Calls a tool of the agent's; whoever does holds the turn.
    pub(crate) async fn play(&self, tool: &str, args: &Map<String, Value>) -> Result<ToolAnswer, WorldError> {
        let (outcome, state) = self.call(tool, args, Side::Agent).await?;
        Ok(ToolAnswer { outcome, main_changes: state.and_then(|state| self.changed(state)) })
    }

    async fn call(
        &self,
        tool: &str,
        args: &Map<String, Value>,
        by: Side,
    ) -> Result<(ToolOutcome, Option<WorldState>), WorldError> {
        let call = WorldCall { tool: tool.to_owned(), args: args.clone(), by };
        let answer = self.world()?.call(&call).await?;
        Ok((answer.outcome, answer.state))
    }

    /// Whether it has tools of the user's now.
    pub(crate) fn has_users_tools(&self) -> bool {
        self.listed().is_some_and(|listed| listed.from.iter().any(|tool| tool.side == Side::User))
    }

    /// The user's tools that it has now.
    pub(crate) fn users_tools(self: &Arc<Self>) -> Vec<ToolRef> {
        let Some(listed) = self.listed() else { return Vec::new() };
        let own = listed.from.iter().filter(|tool| tool.side == Side::User);
        own.map(|tool| self.users_tool(tool)).collect()
    }

    fn users_tool(self: &Arc<Self>, tool: &WorldTool) -> ToolRef {
        let (seat, name) = (self.clone(), tool.declaration.name.clone());
        let run = move |args: Value, _: ToolContext| -> BoxFuture<'static, Result<ToolOutput, ToolError>> {
            let (seat, name) = (seat.clone(), name.clone());
            async move {
                let args = args.as_object().cloned().unwrap_or_default();
                let _turn = seat.turn().await;
                let called = seat.call(&name, &args, Side::User).await;
                // What a user's tool cannot do ends the case: the world is gone.
                let (outcome, state) =
                    called.map_err(|why| ToolError::new(super::users::AT_FAULT, why.to_string()))?;
                match outcome {
                    ToolOutcome::Output(value) => {
                        let main_changes = state.and_then(|state| seat.changed(state));
                        Ok(ToolOutput { main_changes, ..ToolOutput::new(value) })
                    }
                    // An error carries no changes; they are seen when the world is next asked for its state.
                    ToolOutcome::Error(error) => Err(error),
                }
            }
            .boxed()
        };
        FunctionTool::raw(tool.declaration.clone(), run).into()
    }

    /// Tells the world that the run is over, and waits for it to end.
    pub(crate) async fn close(&self) {
        let world = self.shown().world.take();
        if let Some(world) = world {
            world.close(PATIENCE).await;
        }
    }
}

impl Stage {
    /// Makes the states with which evaluations of a step compare that of the world.
    pub(super) async fn references(&self, number: usize, scene: &Scene<'_>) -> Vec<WorldReference> {
        let mut references: Vec<WorldReference> = Vec::new();
        for of in self.step(number).asked().flat_map(|evaluation| evaluation.check.world_references()) {
            if references.iter().all(|made| made.of != of) {
                references.push(self.reference(of, scene).await);
            }
        }
        references
    }

    async fn reference(&self, of: Value, scene: &Scene<'_>) -> WorldReference {
        let mut made = WorldReference { of, state: None, failed: Vec::new(), problem: None };
        let state = match (&made.of["file"], made.of["after"].as_array()) {
            (Value::String(path), _) => read_state(&self.directory.join(path)).await,
            (_, Some(calls)) => {
                let calls = calls.clone();
                self.state_after(&calls, &mut made.failed, scene).await
            }
            _ => Err("nothing says what it is the state of".to_owned()),
        };
        match state {
            Ok(state) => made.state = state,
            Err(why) => made.problem = Some(why),
        }
        made
    }

    /// The state of a world of its own after these calls.
    async fn state_after(
        &self,
        calls: &[Value],
        failed: &mut Vec<String>,
        scene: &Scene<'_>,
    ) -> Result<Option<WorldState>, String> {
        let seat = self.world.as_ref().ok_or("the scenario has no world")?;
        let place = match &self.place {
            None => None,
            Some(place) => Some(self.place_for_reference(place).await?),
        };
        let folder = place.as_ref().map(|place| place.folder.folder().to_owned());
        let occasion = Occasion { folder, ..self.occasion(scene.ledger()) };
        let world = seat.maker.start(place.as_ref(), &occasion).await.map_err(|why| told(&why))?;
        let state = play_calls(&*world, calls, failed).await;
        world.close(PATIENCE).await;
        state
    }

    /// A folder like that of the run when it began.
    async fn place_for_reference(&self, place: &Workplace) -> Result<Workplace, String> {
        let folder = (self.provide.0)().map_err(|why| told(&why))?;
        self.fill(&*folder).await?;
        Ok(Workplace { folder, ..place.clone() })
    }
}

/// Makes the calls of a reference, and gives the state after them. A call that fails is one of `failed`; one of a tool
/// that the world does not offer at that moment is none that could have been made, so there is no state after it.
async fn play_calls(
    world: &dyn LiveWorld,
    calls: &[Value],
    failed: &mut Vec<String>,
) -> Result<Option<WorldState>, String> {
    for (index, call) in calls.iter().enumerate() {
        let tool = call["tool"].as_str().unwrap_or_default().to_owned();
        let args = call["args"].as_object().cloned().unwrap_or_default();
        let tools = world.tools();
        let mut named = tools.iter().filter(|listed| {
            listed.declaration.name == tool && call["by"].as_str().is_none_or(|by| by == listed.side.word())
        });
        let Some(listed) = named.next() else {
            return Err(not_offered(index + 1, &tool, call["by"].as_str(), &tools));
        };
        // Arguments that break the schema never reach a tool.
        let schema = Schema::new(listed.declaration.parameters.clone());
        let broken = schema.check(&Value::Object(args.clone())).unwrap_or_default();
        if let Some(violation) = broken.first() {
            failed.push(format!("`{tool}`: its arguments break its schema: {violation}"));
            continue;
        }
        let call = WorldCall { tool: tool.clone(), args, by: listed.side };
        let answer = world.call(&call).await.map_err(|why| told(&why))?;
        if let ToolOutcome::Error(error) = answer.outcome {
            failed.push(format!("`{tool}`: {error}"));
        }
    }
    world.state().await.map_err(|why| told(&why))
}

/// Says that a tool is not there, and which are.
fn not_offered(number: usize, tool: &str, by: Option<&str>, tools: &[WorldTool]) -> String {
    let named = |tool: &WorldTool| {
        let name = &tool.declaration.name;
        if tool.side == Side::User { format!("`{name}` (by the user)") } else { format!("`{name}`") }
    };
    let of_whom = by.map(|by| format!(" of the {by}'s")).unwrap_or_default();
    let offered = tools.iter().map(named).collect::<Vec<_>>().join(", ");
    let offered = if offered.is_empty() { "none".to_owned() } else { rehearsal_core::shorten(&offered, 300) };
    format!(
        "call {number} of `after` is of `{tool}`, and the world offers no such tool{of_whom} at that moment; it offers {offered}. \
         If a call makes it appear, that call belongs before it"
    )
}

async fn read_state(path: &Path) -> Result<Option<WorldState>, String> {
    let shown = path.display();
    let text = tokio::fs::read_to_string(path).await;
    let text = text.map_err(|error| format!("`{shown}` cannot be read: {error}"))?;
    match rehearsal_core::json::from_str::<Value>(&text) {
        Ok(Value::Object(state)) => Ok(Some(state)),
        Ok(_) => Err(format!("`{shown}` holds no JSON object")),
        Err(error) => Err(format!("`{shown}` is no JSON: {error}")),
    }
}

/// A tool of the agent's: whoever stands in for the agent's tools answers its calls.
fn declared(tool: &WorldTool) -> ToolRef {
    let name = tool.declaration.name.clone();
    let refuse = move |_: Value, _: ToolContext| -> BoxFuture<'static, Result<ToolOutput, ToolError>> {
        let why = format!("tool `{name}` is played by the world of the case");
        futures::future::ready(Err(ToolError::new("NotImplemented", why))).boxed()
    };
    FunctionTool::raw(tool.declaration.clone(), refuse).into()
}

fn definition(tool: &WorldTool) -> ToolDefinition {
    let declaration = &tool.declaration;
    ToolDefinition {
        name: declaration.name.clone(),
        service: None,
        description: declaration.description.clone(),
        parameters: Some(declaration.parameters.clone()),
        output: declaration.output.clone(),
        implementation: None,
        span: 0..0,
    }
}
