//! People in a scenario: what they are shown, and the time that is theirs.

use std::sync::Arc;
use std::time::Duration;

use rehearsal_core::{Event, Failure, Player, Timestamp, elapsed};
use rehearsal_sim::person::UserReply;
use rehearsal_sim::{Next, Scene, TimeLimit};
use serde_json::{Map, Value, json};

use super::Stage;
use crate::{Conversation, ConversationEnd, Step};

impl Stage {
    /// Lets a person say the next message of a conversation, or end it.
    pub(super) async fn person_speaks(
        &self,
        number: usize,
        conversation: &Conversation,
        taken: usize,
        limit: TimeLimit,
        scene: &mut Scene<'_>,
    ) -> Result<Option<Next>, Failure> {
        let shown = shown_to_user(self.step(number), number, conversation, taken);
        let (reply, decision) = scene.ask_person(shown).await?;
        match reply {
            UserReply::Say(content) => {
                Ok(Some(self.say(number, taken + 1, content, Some(decision), Some(limit), scene)))
            }
            UserReply::End => {
                let detail = "the person who plays the user ended it".to_owned();
                let end = ConversationEnd { terminated_early: true, reason: "user_ended".to_owned(), detail };
                self.end_conversation(number, conversation, end, scene).await?;
                Ok(None)
            }
        }
    }
}

/// What a person who plays the user is shown beside the transcript.
fn shown_to_user(
    step: &Step,
    number: usize,
    conversation: &Conversation,
    taken: usize,
) -> Map<String, Value> {
    let mut shown = Map::new();
    shown.insert("step".to_owned(), number.into());
    if let Some(name) = &step.name {
        shown.insert("name".to_owned(), json!(name));
    }
    if let Some(description) = &step.description {
        shown.insert("description".to_owned(), json!(description));
    }
    shown.insert("turn".to_owned(), (taken + 1).into());
    shown.insert("max_turns".to_owned(), conversation.max_turns.into());
    shown
}

/// For how long people were waited for. What several of them took at the same time counts once.
pub(super) fn time_of(events: &[Arc<Event>]) -> Duration {
    let mut time = Duration::ZERO;
    let mut counted_from = None;
    // An answer is written when it came or later, so from the last one back each can only begin before those counted.
    for event in events.iter().rev() {
        let Some(decision) = event.decision.as_ref().filter(|decision| decision.by == Player::Person) else {
            continue;
        };
        let took = Duration::from_micros(decision.micros);
        let began = event.at.checked_sub(took).unwrap_or(Timestamp::MIN);
        let until = counted_from.map_or(event.at, |from| event.at.min(from));
        time += elapsed(began, until);
        counted_from = Some(counted_from.map_or(began, |from| began.min(from)));
    }
    time
}

#[cfg(test)]
mod tests {
    use rehearsal_core::{Clock as _, Content, Decision, EventBody, FixedClock};

    use super::*;

    /// The time of answers that came so many seconds after the start and took so many.
    fn time(answers: &[(u64, u64, Player)]) -> u64 {
        let start = FixedClock::default().now();
        let event = |(seq, (at, took, by)): (u64, &(u64, u64, Player))| Event {
            seq,
            session: "s".into(),
            at: start + Duration::from_secs(*at),
            author: "user".into(),
            invocation: None,
            turn: None,
            decision: Some(Decision { by: *by, name: None, micros: took * 1_000_000 }),
            body: EventBody::UserMessage { content: Arc::new(Content::user("hi")) },
        };
        let events: Vec<Arc<Event>> = (1..).zip(answers).map(event).map(Arc::new).collect();
        time_of(&events).as_secs()
    }

    #[test]
    fn only_the_time_of_people_counts() {
        assert_eq!(time(&[]), 0);
        assert_eq!(time(&[(10, 10, Player::Person), (15, 5, Player::Mock), (30, 3, Player::Person)]), 13);
    }

    #[test]
    fn what_people_take_at_the_same_time_counts_once() {
        // Two calls of one turn: their results are written in call order, whoever was first.
        assert_eq!(time(&[(10, 10, Player::Person), (10, 4, Player::Person)]), 10);
        assert_eq!(time(&[(4, 4, Player::Person), (10, 10, Player::Person)]), 10);
        assert_eq!(time(&[(4, 4, Player::Person), (10, 8, Player::Person)]), 10);
    }
}
