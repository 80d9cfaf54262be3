//! What a run may use: calls at once, tokens, money, time.

use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use rehearsal::scenario_models::ModelBuilder;
use rehearsal_core::BudgetReport;
use rehearsal_scenario::Scenario;
use rehearsal_sim::{Budget, Limits};

use crate::error::CommandError;
use crate::load::Loaded;
use crate::project;
use crate::times::duration;

/// What a run may use.
#[derive(Debug, Args)]
pub(crate) struct BudgetOptions {
    /// How many calls each model is asked at once, at most; what its provider takes is found out [default: 1024]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024), help_heading = "Limits")]
    max_calls: Option<u32>,
    /// End the run before its models cost more than so many US dollars; each of them needs a price
    #[arg(long, value_name = "USD", value_parser = dollars, help_heading = "Limits")]
    max_cost: Option<f64>,
    /// End the run before its models use more tokens, read and written
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..), help_heading = "Limits")]
    max_tokens: Option<u64>,
    /// End the run after so long, such as `10m`
    #[arg(long, value_name = "TIME", value_parser = duration, help_heading = "Limits")]
    max_time: Option<Duration>,
    /// End a case before its models cost more than so many US dollars
    #[arg(long, value_name = "USD", value_parser = dollars, help_heading = "Limits")]
    case_max_cost: Option<f64>,
    /// End a case before its models use more tokens
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..), help_heading = "Limits")]
    case_max_tokens: Option<u64>,
}

/// A text that is no amount of money.
#[derive(Debug, thiserror::Error)]
#[error("`{0}` is no amount of US dollars; write one above 0, such as `0.50`")]
struct BadMoney(String);

fn dollars(text: &str) -> Result<f64, BadMoney> {
    let amount = text.trim().trim_start_matches('$').parse::<f64>().ok();
    amount.filter(|amount| amount.is_finite() && *amount > 0.0).ok_or_else(|| BadMoney(text.to_owned()))
}

impl BudgetOptions {
    /// Builds the models of the run.
    pub(super) fn models(&self) -> ModelBuilder {
        let most = self.max_calls.map(|most| most as usize).or_else(project::max_calls);
        most.map_or_else(ModelBuilder::default, ModelBuilder::with_calls)
    }

    /// What a case may use, where it is said here.
    fn of_case(&self) -> Limits {
        Limits { tokens: self.case_max_tokens, cost: self.case_max_cost }
    }

    /// What the run may use, where something is limited.
    pub(super) fn budget(&self) -> Result<Option<Arc<Budget>>, CommandError> {
        let project = project::budget()?;
        let limits = Limits { tokens: self.max_tokens, cost: self.max_cost }.or(project.limits);
        let max_time = self.max_time.or(project.max_time);
        let is_limited = !limits.is_empty() || !self.of_case().is_empty() || max_time.is_some();
        Ok(is_limited.then(|| Arc::new(Budget::new(limits, self.of_case(), max_time))))
    }

    /// Refuses scenarios whose cost is limited and whose models have no price, before anything runs.
    pub(super) fn refuse_unpriced(&self, loaded: &[Loaded]) -> Result<(), CommandError> {
        let of_run = self.max_cost.or(project::budget()?.limits.cost).or(self.case_max_cost).is_some();
        let mut before = None;
        for one in loaded {
            // Cases of one file have the budget of their file.
            let is_looked_at = of_run || before != Some(&one.path);
            before = Some(&one.path);
            if is_looked_at {
                let scenario = one.scenario();
                refuse_unpriced_in(&scenario, of_run).map_err(|error| error.about(one.path.display()))?;
            }
        }
        Ok(())
    }

    /// The same for models that stand in no scenario.
    pub(super) fn refuse_unpriced_models<'a>(
        &self,
        unpriced: impl Iterator<Item = &'a str>,
    ) -> Result<(), CommandError> {
        let unpriced: Vec<&str> = unpriced.collect();
        let is_limited = self.max_cost.or(project::budget()?.limits.cost).or(self.case_max_cost).is_some();
        if is_limited && !unpriced.is_empty() { Err(no_price(unpriced.into_iter())) } else { Ok(()) }
    }
}

fn refuse_unpriced_in(scenario: &Scenario, of_run: bool) -> Result<(), CommandError> {
    let unpriced = scenario.unpriced();
    if unpriced.is_empty() || !(of_run || scenario.limits.cost.is_some()) {
        return Ok(());
    }
    Err(no_price(unpriced.iter().map(String::as_str)))
}

fn no_price<'a>(models: impl Iterator<Item = &'a str>) -> CommandError {
    let models: Vec<&str> = models.collect();
    let names: Vec<String> = models.iter().map(|model| format!("`{model}`")).collect();
    let lines: Vec<String> =
        models.iter().map(|model| format!("\n  {model}: {{input: …, output: …}}")).collect();
    let lines = lines.concat();
    CommandError::user(format_args!("the cost is limited, and there is no price for {}", names.join(", ")))
        .hint(format!(
            "add to the file or to `rehearsal.yaml`, in US dollars for a million tokens:\nprices:{lines}"
        ))
}

/// What was used of a budget, in a line for people; nothing where nothing is limited.
pub(super) fn told(report: Option<&BudgetReport>) -> Option<String> {
    let report = report?;
    let mut parts = Vec::new();
    let of = |limit: Option<String>| limit.map(|limit| format!(" of {limit}")).unwrap_or_default();
    if report.spent.tokens > 0 || report.max_tokens.is_some() {
        parts.push(format!(
            "{}{} tokens",
            report.spent.tokens,
            of(report.max_tokens.map(|most| most.to_string()))
        ));
    }
    if let Some(cost) = report.spent.cost {
        parts.push(format!("${cost:.6}{}", of(report.max_cost.map(|most| format!("${most}")))));
    }
    let used = (!parts.is_empty()).then(|| format!("used: {}", parts.join(", ")));
    let ended = report.reached.as_ref().map(|why| format!("ended by its budget: {why}"));
    let lines: Vec<String> = ended.into_iter().chain(used).collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}
