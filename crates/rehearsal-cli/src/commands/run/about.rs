//! What tells a run from others of the same: its name, what it was run from, and with which models.

use std::collections::BTreeSet;
use std::path::Path;

use rehearsal_scenario::{AgentUnderTest, ModelChoice, NamedModel, Reached};
use rehearsal_store::{Recipe, RunAbout};

use crate::checkout::Checkout;
use crate::load::Loaded;
use crate::process;

/// The most characters of a run's name.
const LONGEST: usize = 200;

/// A text that cannot be the name of a run.
#[derive(Debug, thiserror::Error)]
#[error("a name has 1 to {LONGEST} characters, all in one line")]
pub(crate) struct BadName;

/// Reads a name of a run, as people write one.
pub(super) fn name(text: &str) -> Result<String, BadName> {
    let name = text.trim();
    if name.is_empty() || name.chars().count() > LONGEST || name.chars().any(char::is_control) {
        return Err(BadName);
    }
    Ok(name.to_owned())
}

/// What is known of a run that is started here.
pub(super) fn about(name: Option<&str>, models: BTreeSet<String>, recipe: Recipe) -> RunAbout {
    let checkout = Checkout::around(Path::new("."));
    RunAbout {
        name: name.map(str::to_owned),
        commit: checkout.commit,
        branch: checkout.branch,
        model: (!models.is_empty()).then(|| models.into_iter().collect::<Vec<_>>().join(", ")),
        recipe: Some(Box::new(recipe)),
        process: Some(process::this()),
    }
}

/// The models that play the agents of these scenarios.
pub(super) fn models(loaded: &[Loaded]) -> BTreeSet<String> {
    loaded.iter().filter_map(|one| one.model.as_deref().map(str::to_owned)).collect()
}

/// Who plays an agent's model: a provider's model or a person. A script has no name, and an agent elsewhere does not say.
pub(crate) fn model(agent: &AgentUnderTest, models: &[NamedModel]) -> Option<String> {
    match &agent.reached {
        Reached::Inline(inline) => match &models.iter().find(|model| model.key == inline.model)?.model {
            ModelChoice::Provider(name) => Some(name.clone()),
            ModelChoice::Person => Some("person".to_owned()),
            ModelChoice::Script(_) | ModelChoice::Rules(_) => None,
        },
        Reached::Chat { specification, .. } => Some(specification.clone()),
        Reached::Http(_) | Reached::Command(_) | Reached::Socket(_) => None,
    }
}
