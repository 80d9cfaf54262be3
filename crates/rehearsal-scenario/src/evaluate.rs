//! Running evaluations: each is a metric over the ledger of its scenario.

use std::sync::Arc;

use rehearsal_core::{Ledger, MetricResult};
use rehearsal_metrics::{Assessment, Metric};
use serde_json::Value;

use crate::file::{Check, Evaluation, Prices, SatisfactionMethod};
use record::Record;
use scene::Scene;

mod answer;
mod environment;
mod flow;
mod judge;
mod reasoning;
mod record;
mod retention;
mod satisfaction;
mod scene;
mod text;
mod tools;
mod usage;

/// What an evaluation is asked of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EvaluationScope {
    /// The step, by its number from 1.
    pub step: usize,
    /// The turn of its conversation, by its number from 1; none asks of the whole step.
    pub turn: Option<usize>,
}

/// An evaluation of one step or turn.
///
/// What it looks for and what it found is said by the first piece of evidence. A step that did not come to its end,
/// a snapshot that left files out, a model without a price: what it cannot decide is unscored and says why.
#[derive(Clone, Debug)]
pub struct Evaluator {
    name: String,
    scope: EvaluationScope,
    evaluation: Evaluation,
    prices: Arc<Prices>,
}

impl Evaluator {
    /// An evaluation of what `scope` names; its result goes by `name`.
    pub fn new(name: String, scope: EvaluationScope, evaluation: Evaluation, prices: Arc<Prices>) -> Self {
        Self { name, scope, evaluation, prices }
    }

    /// What it asks.
    pub fn evaluation(&self) -> &Evaluation {
        &self.evaluation
    }

    /// What it asks of.
    pub fn scope(&self) -> EvaluationScope {
        self.scope
    }

    fn scene<'a>(&self, ledger: &'a Ledger) -> Result<Scene<'a>, MetricResult> {
        let scene = Scene::find(ledger, self.scope).map_err(MetricResult::unscored)?;
        self.evaluation.allowed_in(scene.place()).map_err(MetricResult::unscored)?;
        Ok(scene)
    }

    fn look(&self, scene: &Scene<'_>) -> Assessment {
        let result = match &self.evaluation.check {
            Check::StringContains { value, case_sensitive } => text::contains(scene, value, *case_sensitive),
            Check::RegexMatch { pattern, case_sensitive } => text::matches(scene, pattern, *case_sensitive),
            Check::FileExists { path } => environment::file_exists(scene, path),
            Check::FileContains { path, value, case_sensitive } => {
                environment::file_contains(scene, path, value, *case_sensitive)
            }
            Check::CommandExitCodeIs { command, expected_code } => {
                environment::command_exit_code_is(scene, command, *expected_code)
            }
            Check::ExecutionTime { max_duration_ms, min_duration_ms, target_duration_ms } => {
                environment::execution_time(scene, *max_duration_ms, *min_duration_ms, *target_duration_ms)
            }
            Check::TrajectoryContainsAction { action } => tools::contains_action(scene, action),
            Check::ToolCalled(called) => tools::called(scene, called),
            Check::ToolNotCalled { tool, args } => tools::not_called(scene, tool, args.as_ref()),
            Check::StepCount { min_steps, max_steps, target_steps, action_prefix } => {
                let prefix = action_prefix.as_deref().unwrap_or_default();
                tools::step_count(scene, (*min_steps, *max_steps), *target_steps, prefix)
            }
            Check::TokenCount { max_input_tokens, max_output_tokens, max_total_tokens } => {
                usage::token_count(scene, [*max_input_tokens, *max_output_tokens, *max_total_tokens])
            }
            Check::Cost { max_cost_usd } => usage::cost(scene, *max_cost_usd, &self.prices),
            Check::State { matches } => answer::state(scene, matches),
            Check::JsonPath { path, check } => answer::json_path(scene, path, check),
            Check::AnswerSchema { schema } => answer::schema(scene, schema),
            Check::ConversationLength { min_turns, max_turns, optimal_turns, target_range } => {
                flow::length(scene, (*min_turns, *max_turns), *target_range, *optimal_turns)
            }
            Check::UserSatisfaction {
                satisfaction_threshold,
                positive,
                negative,
                measurement_method: SatisfactionMethod::KeywordAnalysis,
            } => satisfaction::by_words(
                scene,
                positive.as_deref(),
                negative.as_deref(),
                *satisfaction_threshold,
            ),
            _ => return self.ask(scene),
        };
        Assessment::Done(result)
    }

    /// What the judge is asked.
    fn ask(&self, scene: &Scene<'_>) -> Assessment {
        if Record::of(scene).is_empty() {
            let why = format!("nothing happened in {} that could be judged", scene.name());
            return Assessment::Done(MetricResult::unscored(why));
        }
        Assessment::Ask(match &self.evaluation.check {
            Check::LlmJudge(judge) => vec![judge::question(scene, judge)],
            Check::ConversationFlow { required_patterns, .. } => flow::questions(scene, required_patterns),
            Check::UserSatisfaction { positive, negative, measurement_method, .. } => {
                let words = (positive.as_deref(), negative.as_deref());
                vec![satisfaction::question(scene, *measurement_method, words)]
            }
            Check::ContextRetention { test_memory_of, retention_turns, .. } => {
                match retention::memories(scene, test_memory_of, *retention_turns) {
                    Ok(memories) => {
                        memories.iter().map(|memory| retention::question(scene, memory)).collect()
                    }
                    Err(why) => return Assessment::Done(MetricResult::unscored(why)),
                }
            }
            _ => unreachable!("all others are decided without a judge"),
        })
    }
}

impl Metric for Evaluator {
    fn name(&self) -> &str {
        &self.name
    }

    fn evaluate(&self, ledger: &Ledger) -> Assessment {
        self.scene(ledger).map_or_else(Assessment::Done, |scene| self.look(&scene))
    }

    fn conclude(&self, ledger: &Ledger, answers: &[Value]) -> MetricResult {
        let scene = match self.scene(ledger) {
            Ok(scene) => scene,
            Err(result) => return result,
        };
        let result = match &self.evaluation.check {
            Check::LlmJudge(judge) => judge::conclude(&scene, judge, answers),
            Check::ConversationFlow { required_patterns, flow_quality_threshold } => {
                flow::conclude(&scene, required_patterns, *flow_quality_threshold, answers)
            }
            Check::UserSatisfaction { satisfaction_threshold, .. } => {
                satisfaction::conclude(&scene, *satisfaction_threshold, answers)
            }
            Check::ContextRetention { test_memory_of, retention_turns, memory_accuracy_threshold } => {
                match retention::memories(&scene, test_memory_of, *retention_turns) {
                    Ok(memories) => {
                        retention::conclude(&scene, &memories, *memory_accuracy_threshold, answers)
                    }
                    Err(why) => Ok(MetricResult::unscored(why)),
                }
            }
            _ => Err(format!("evaluation `{}` was given a judge's answers but asked nothing", self.name)),
        };
        result.unwrap_or_else(MetricResult::error)
    }
}
