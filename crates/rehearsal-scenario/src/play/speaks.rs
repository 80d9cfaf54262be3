//! The user of a conversation speaks, does something, or hangs up.

use std::time::Duration;

use rehearsal_core::{
    Content, Decision, Event, EventBody, Failure, HangUp, Phase, Player, StatePatch, UserHungUp,
    UserSimulation,
};
use rehearsal_sim::{Next, Scene, TimeLimit};
use serde_json::Value;

use super::users::ScriptedCaller;
use super::{Stage, TIMEOUT, failure, out_of_time, passed, simulator, turn_limit, view};
use crate::file::conversation::speaker::HANG_UP;
use crate::{Conversation, ConversationEnd, ConversationUser, ScriptTurn, UserSimulator};

/// What the user of a conversation does.
struct Spoken {
    /// What they say.
    message: String,
    decision: Decision,
    /// What their tools change in the agent's session.
    changes: Vec<StatePatch>,
    /// How they hang up with it, if they do, and why.
    hangs_up: Option<(HangUp, Option<String>)>,
}

impl Stage {
    /// Lets the user of a conversation say the next message.
    pub(super) async fn user_speaks(
        &self,
        number: usize,
        conversation: &Conversation,
        scene: &mut Scene<'_>,
    ) -> Result<Option<Next>, Failure> {
        let taken = view(scene, number, |view| view.turns().len());
        let limit = turn_limit(conversation, passed(number, scene));
        if limit.within.is_zero() {
            return out_of_time(&limit, scene).map(Some);
        }
        let spoken = match &conversation.user {
            ConversationUser::Script { turns, .. } => {
                let turn = turns.get(taken.saturating_sub(self.given_messages(number)));
                let turn = turn.cloned().unwrap_or_default();
                if turn.says.is_none() {
                    self.call_by_script(number, &turn, &limit, scene).await?;
                    let detail = "the user's script has no further line".to_owned();
                    let end = end_of(conversation, taken, "script_ended", detail);
                    self.end_conversation(number, conversation, end, scene).await?;
                    return Ok(None);
                }
                self.speak_by_script(number, turn, &limit, scene).await
            }
            ConversationUser::Simulator(simulator) => {
                self.simulate(number, conversation, simulator, &limit, scene).await
            }
            ConversationUser::Person => {
                // Their time is not the agent's, so the limit stays what it was.
                return self.person_speaks(number, conversation, taken, limit, scene).await;
            }
        };
        let is_last = limit.within < Duration::from_millis(conversation.timeout_per_turn_ms);
        let spoken = match spoken {
            Err(failure) if failure.kind == TIMEOUT && is_last => {
                return out_of_time(&limit, scene).map(Some);
            }
            spoken => spoken?,
        };
        if let Some((how, why)) = spoken.hangs_up {
            scene.change(spoken.changes)?;
            let detail = told_end(how, why.as_deref());
            let hung_up = UserHungUp { step: number, how, said: spoken.message, why };
            scene.tell(EventBody::UserHungUp(hung_up))?;
            let end = end_of(conversation, taken, "user_ended", detail);
            self.end_conversation(number, conversation, end, scene).await?;
            return Ok(None);
        }
        let limit = turn_limit(conversation, passed(number, scene));
        if limit.within.is_zero() {
            return out_of_time(&limit, scene).map(Some);
        }
        let content = Content::user(spoken.message);
        let mut next = self.say(number, taken + 1, content, Some(spoken.decision), Some(limit), scene);
        if let Next::Say { changes, .. } = &mut next {
            changes.extend(spoken.changes);
        }
        Ok(Some(next))
    }

    /// Lets a scripted user do what comes before their next words, if anything does.
    async fn call_by_script(
        &self,
        number: usize,
        turn: &ScriptTurn,
        limit: &TimeLimit,
        scene: &mut Scene<'_>,
    ) -> Result<Option<Decision>, Failure> {
        if turn.calls.is_empty() {
            return Ok(None);
        }
        let mut tools = self.user_tools.get(&number).cloned().unwrap_or_default();
        tools.extend(self.world.iter().flat_map(super::world::Seat::users_tools));
        let caller = ScriptedCaller::new(turn.calls.clone(), turn.says.clone().unwrap_or_default(), tools);
        let prompt = "(the user follows a script)".to_owned();
        let answer = scene.play(&caller.into(), Some(prompt), Some(limit.within)).await?;
        scene.change(answer.changes)?;
        Ok(Some(answer.decision))
    }

    async fn speak_by_script(
        &self,
        number: usize,
        turn: ScriptTurn,
        limit: &TimeLimit,
        scene: &mut Scene<'_>,
    ) -> Result<Spoken, Failure> {
        let decision = self.call_by_script(number, &turn, limit, scene).await?;
        let decision = decision.unwrap_or_else(|| Decision {
            by: Player::Script,
            name: Some("user script".into()),
            micros: 0,
        });
        let hangs_up = turn.hangs_up.then_some((HangUp::Script, None));
        Ok(Spoken { message: turn.says.unwrap_or_default(), decision, changes: Vec::new(), hangs_up })
    }

    async fn simulate(
        &self,
        number: usize,
        conversation: &Conversation,
        simulator: &UserSimulator,
        limit: &TimeLimit,
        scene: &mut Scene<'_>,
    ) -> Result<Spoken, Failure> {
        let agent =
            self.simulators.get(&number).ok_or_else(|| failure("model", "no model plays the user"))?;
        let (prompt, last) = view(scene, number, |view| {
            let turns = view.turns();
            let last = turns.last().and_then(|turn| turn.agent.clone()).map(|(_, text)| text);
            (simulator::prompt(&turns, conversation.max_turns), last)
        });
        let prompt = self.bridge.prompt(scene.ledger(), &scene.waiting(), prompt).await.map_err(|why| {
            let message = format!("the simulated user of step {number} could not be told what to say: {why}");
            Failure { phase: Phase::UserAgent, kind: "bridge".to_owned(), message }
        })?;
        let before = scene.users_ledger().events().len();
        let answer = scene.play(agent, Some(prompt.clone()), Some(limit.within)).await;
        let answer = answer.map_err(|mut failure| {
            if failure.kind == TIMEOUT {
                failure.message = format!(
                    "the simulated user of step {number} said nothing within {}\n\nhint: raise that limit, or see why \
                     its model is slow",
                    limit.what
                );
            }
            failure
        })?;
        let played = &scene.users_ledger().events()[before.min(scene.users_ledger().events().len())..];
        if let Some(reason) = hung_up(played).filter(|_| simulator.may_hang_up) {
            let message = said(played);
            let reason = Some(reason).filter(|reason| !reason.is_empty());
            let hangs_up = Some((HangUp::Decision, reason));
            return Ok(Spoken { message, decision: answer.decision, changes: answer.changes, hangs_up });
        }
        let raw = answer.text(agent)?;
        let message = simulator::message(&raw, last.as_deref()).map_err(|why| Failure {
            phase: Phase::UserAgent,
            kind: "role_break".to_owned(),
            message: format!(
                "the simulated user of step {number} fell out of its role: {why}\n\nIt said:\n  {}\n\nhint: a stronger \
                 model for `models.user`, a clearer persona, or `user: {{script: […]}}` instead",
                raw.trim().replace('\n', "\n  ")
            ),
        })?;
        if conversation.log_user_simulation {
            let message = message.clone();
            scene.tell(EventBody::UserSimulation(UserSimulation { step: number, prompt, message }))?;
        }
        let word = simulator.stop.iter().find(|word| raw.contains(word.as_str()));
        let hangs_up = word.map(|word| (HangUp::StopWord, Some(word.clone())));
        Ok(Spoken { message, decision: answer.decision, changes: answer.changes, hangs_up })
    }
}

fn end_of(conversation: &Conversation, taken: usize, reason: &str, detail: String) -> ConversationEnd {
    let terminated_early = (taken as u64) < conversation.max_turns;
    ConversationEnd { terminated_early, reason: reason.to_owned(), detail }
}

fn told_end(how: HangUp, why: Option<&str>) -> String {
    match (how, why) {
        (HangUp::StopWord, Some(word)) => format!("the user said the stop word `{word}`"),
        (HangUp::Script, _) => "the user hung up, as their script has it".to_owned(),
        (_, Some(why)) => format!("the user hung up: {why}"),
        (_, None) => "the user hung up".to_owned(),
    }
}

/// The reason a simulated user gave for hanging up among these events, if it did; empty where it gave none.
fn hung_up(events: &[std::sync::Arc<Event>]) -> Option<String> {
    events.iter().find_map(|event| match &event.body {
        EventBody::ToolCall { tool, args, .. } if &**tool == HANG_UP => {
            Some(args.get("reason").and_then(Value::as_str).unwrap_or_default().trim().to_owned())
        }
        _ => None,
    })
}

/// What was said up to the call that hung up.
fn said(events: &[std::sync::Arc<Event>]) -> String {
    let texts = events.iter().take_while(|event| !matches!(event.body, EventBody::ToolResult(_))).filter_map(
        |event| match &event.body {
            EventBody::ModelResponse(response) => Some(response.content.text()),
            _ => None,
        },
    );
    texts.filter(|text| !text.trim().is_empty()).collect::<Vec<_>>().join("\n")
}
