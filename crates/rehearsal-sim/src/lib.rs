//! Cases: interception, mocks, user agents, the bridge, the simulation loop and suites.
//!
//! A [`Case`] runs an agent against simulated users with every tool mocked, handed in by name, or refused, and
//! judges what came of it. A [`Suite`] runs many. Start from [`Case`].

mod bridge;
mod budget;
mod case;
mod casting;
mod fault;
mod feed;
mod hold;
mod judge;
mod mock;
pub mod person;
mod rejudge;
mod scene;
mod shard;
mod simulation;
mod suite;
mod testing;
mod users;
mod watch;

pub use bridge::{
    Bridge, BridgeFns, DefaultBridge, OPENING_PROMPT, YieldInfo, default_prompt, last_agent_text,
};
pub use budget::{Budget, Limits};
pub use case::{Case, Judgment, Opening, Termination, UserAgents};
pub use casting::{Casting, StandIn, ToolPlayer};
pub use fault::{BUDGET, fault_of, of_failure};
pub use hold::Hold;
pub use judge::{Checker, Judges, question_path};
pub use mock::{Mock, MockContext};
pub use rejudge::judge_ledger;
pub use scene::{LoopUser, Next, Scene, TimeLimit, UserAgent, UserAnswer};
pub use shard::{CaseId, case_ids, turns_of};
pub use simulation::{Cancel, CaseRun, RunOptions};
pub use suite::{CaseMaker, OnFirstFailure, Suite, SuiteEvent, SuiteRun};
