//! Building the models that scenarios choose.

use std::fmt;
use std::sync::Arc;

use rehearsal_agent::{Model, ModelError};
use rehearsal_models::{
    InvalidPattern, Matcher, ModelSpec, ParseSpecError, Providers, Reply, Rule, ScriptedModel,
};
use rehearsal_scenario::{ModelChoice, ModelUnusable, ScriptedCondition, ScriptedReply};

use crate::variables::Variables;

/// Says whether this is a model, as files and the command line name one.
pub(crate) fn check_specification(text: &str) -> Result<(), ParseSpecError> {
    if ModelChoice::named(text) == ModelChoice::Person {
        return Ok(());
    }
    text.parse::<ModelSpec>().map(drop)
}

/// The same, as a check of files asks it.
pub(crate) fn check(text: &str) -> Result<(), ModelUnusable> {
    check_specification(text)
        .map_err(|error| ModelUnusable { message: error.to_string(), hint: error.hint() })
}

/// Builds a model.
pub(crate) fn build(
    key: &str,
    choice: &ModelChoice,
    providers: &Providers,
    variables: &Variables,
) -> Result<Arc<dyn Model>, ModelUnusable> {
    let refused = |why: &dyn fmt::Display| ModelUnusable::new(format!("model `{key}`: {why}"));
    match choice {
        ModelChoice::Person => Err(refused(&"this part cannot be played by a person")),
        ModelChoice::Provider(text) => {
            let spec: ModelSpec = text
                .parse()
                .map_err(|error: ParseSpecError| ModelUnusable { hint: error.hint(), ..refused(&error) })?;
            let model = providers.connect(&spec, &|name| variables.get(name));
            Ok(Arc::new(model.map_err(|error| match error {
                ModelError::MissingKey { .. } => {
                    refused(&format_args!("{error}, or put it into a file for `--env-file`"))
                }
                _ => refused(&error),
            })?))
        }
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
