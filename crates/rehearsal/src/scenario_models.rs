//! Building the models that scenario files choose.
//!
//! A file only names its models. Scripts are built from the file alone; a provider's model needs the feature `providers`,
//! and keys from the variables that the caller hands in.

use std::fmt;
use std::sync::Arc;

use rehearsal_agent::{Model, ModelError};
use rehearsal_core::ModelCalls;
use rehearsal_models::{InvalidPattern, Matcher, Reply, Rule, ScriptedModel};
#[cfg(feature = "providers")]
use rehearsal_models::{ModelSpec, Options, ParseSpecError, Providers};
use rehearsal_scenario::{ModelChoice, ModelUnusable, ScriptedCondition, ScriptedReply};

/// Says whether this names a model, such as `openai:gpt-4o`, or a person.
///
/// Without the feature `providers` every name will do: whether it can be built shows when it is.
///
/// # Errors
/// Why it names none.
pub fn check_model(text: &str) -> Result<(), ModelUnusable> {
    if ModelChoice::named(text) == ModelChoice::Person {
        return Ok(());
    }
    #[cfg(feature = "providers")]
    text.parse::<ModelSpec>()
        .map_err(|error| ModelUnusable { message: error.to_string(), hint: error.hint() })?;
    Ok(())
}

/// Builds models. Those of one builder share their connections.
#[derive(Clone, Debug, Default)]
pub struct ModelBuilder {
    #[cfg(feature = "providers")]
    providers: Providers,
}

impl ModelBuilder {
    /// Builds models of which each is asked by no more than so many calls at once.
    #[must_use]
    pub fn with_calls(most: usize) -> Self {
        #[cfg(feature = "providers")]
        return Self { providers: Providers::new(Options { concurrency: most, ..Options::default() }) };
        #[cfg(not(feature = "providers"))]
        {
            let _ = most;
            Self::default()
        }
    }

    /// How calls to the models of providers went so far.
    pub fn calls(&self) -> Vec<ModelCalls> {
        #[cfg(feature = "providers")]
        return self.providers.calls();
        #[cfg(not(feature = "providers"))]
        Vec::new()
    }

    /// Builds the model with this key; keys of providers come from the variables.
    ///
    /// # Errors
    /// Why it cannot be built.
    pub fn build(
        &self,
        key: &str,
        choice: &ModelChoice,
        variables: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Arc<dyn Model>, ModelUnusable> {
        let refused = |why: &dyn fmt::Display| ModelUnusable::new(format!("model `{key}`: {why}"));
        match choice {
            ModelChoice::Person => Err(refused(&"this part cannot be played by a person")),
            ModelChoice::Provider(text) => self.connect(text, variables, &refused),
            ModelChoice::Script(replies) => {
                let replies: Vec<Reply> = replies.iter().map(|script| reply(key, script)).collect();
                Ok(Arc::new(ScriptedModel::list(&format!("script:{key}"), replies)))
            }
            ModelChoice::Rules(rules) => {
                let mut built = Vec::new();
                for rule in rules {
                    let start = match matcher(&rule.when).map_err(|why| refused(&why))? {
                        Some(matcher) => Rule::when(matcher),
                        None => Rule::otherwise(),
                    };
                    built.push(start.reply(reply(key, &rule.reply)));
                }
                Ok(Arc::new(ScriptedModel::rules(&format!("script:{key}"), built)))
            }
        }
    }

    #[cfg(feature = "providers")]
    fn connect(
        &self,
        text: &str,
        variables: &dyn Fn(&str) -> Option<String>,
        refused: &dyn Fn(&dyn fmt::Display) -> ModelUnusable,
    ) -> Result<Arc<dyn Model>, ModelUnusable> {
        let spec: ModelSpec = text
            .parse()
            .map_err(|error: ParseSpecError| ModelUnusable { hint: error.hint(), ..refused(&error) })?;
        let model = self.providers.connect(&spec, variables);
        Ok(Arc::new(model.map_err(|error| match error {
            ModelError::MissingKey { .. } => {
                refused(&format_args!("{error}, or put it into a file for `--env-file`"))
            }
            _ => refused(&error),
        })?))
    }

    #[cfg(not(feature = "providers"))]
    #[expect(clippy::unused_self, reason = "with providers it has connections")]
    fn connect(
        &self,
        text: &str,
        _: &dyn Fn(&str) -> Option<String>,
        refused: &dyn Fn(&dyn fmt::Display) -> ModelUnusable,
    ) -> Result<Arc<dyn Model>, ModelUnusable> {
        let instead = "switch on the feature `providers` of `rehearsal`, or hand in a model for this key";
        Err(refused(&format_args!("`{text}` cannot be asked: providers are not built in")).hint(instead))
    }
}

fn reply(key: &str, script: &ScriptedReply) -> Reply {
    if let Some(why) = &script.fail {
        let model = format!("script:{key}").into();
        return Reply::fail(ModelError::Status {
            model,
            status: 503,
            message: why.clone(),
            retry_after_ms: None,
        });
    }
    let mut calls = script.calls.iter();
    let mut reply = match (&script.json, &script.say) {
        (Some(value), _) => Reply::json(value.clone()),
        (None, Some(text)) => Reply::text(text),
        (None, None) => match calls.next() {
            Some((tool, args)) => Reply::call(tool, args.clone().into()),
            None => Reply::text(""),
        },
    };
    for (tool, args) in calls {
        reply = reply.and_call(tool, args.clone().into());
    }
    match script.usage {
        Some((input, output)) => reply.usage(input, output),
        None => reply,
    }
}

/// All conditions together; nothing when there are none.
fn matcher(conditions: &[ScriptedCondition]) -> Result<Option<Matcher>, InvalidPattern> {
    let mut all: Option<Matcher> = None;
    for condition in conditions {
        let one = match condition {
            ScriptedCondition::UserContains(text) => Matcher::user_contains(text),
            ScriptedCondition::UserMatches(pattern) => Matcher::user_matches(pattern)?,
            ScriptedCondition::ToolResult(tool) => Matcher::tool_result(tool),
            ScriptedCondition::ToolResultContains(tool, text) => Matcher::tool_result_contains(tool, text),
            ScriptedCondition::SystemContains(text) => Matcher::system_contains(text),
            ScriptedCondition::ConversationContains(text) => Matcher::conversation_contains(text),
            ScriptedCondition::Turn(number) => Matcher::turn(number - 1),
        };
        all = Some(match all {
            Some(before) => before.and(one),
            None => one,
        });
    }
    Ok(all)
}
