//! Conversations as an ADK runtime plays them, and messages that no runtime would send.

use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::prelude::*;
use proptest::sample::select;
use rehearsal_core::{
    CallId, Content, EventBody, FunctionCall, FunctionResponse, Ledger, ModelRequest, Part, TurnId,
};
use serde_json::{Value, json};

use crate::play::{Play, call, calls, message, response, results, text};

/// What the model decides in a turn.
#[derive(Clone, Debug)]
enum Move {
    /// Calls of plain tools.
    Tools(Vec<(&'static str, Given)>),
    /// Calls of the agent that is used as a tool, side by side, each of which calls so many tools first.
    Helpers(Vec<usize>),
    /// The conversation goes to the other agent.
    HandOver,
}

/// The id that a decision gives a call.
#[derive(Clone, Copy, Debug)]
enum Given {
    None,
    Unique,
    Same,
}

/// One message of the user, the moves it leads to, and whether the agent has the last word.
#[derive(Clone, Debug)]
struct Round {
    says: &'static str,
    moves: Vec<Move>,
    is_answered: bool,
}

fn moves() -> impl Strategy<Value = Move> {
    let given = select(vec![Given::None, Given::Unique, Given::Same]);
    prop_oneof![
        4 => proptest::collection::vec((select(vec!["add", "now"]), given), 1..4).prop_map(Move::Tools),
        2 => proptest::collection::vec(0_usize..3, 1..3).prop_map(Move::Helpers),
        1 => Just(Move::HandOver),
    ]
}

fn rounds() -> impl Strategy<Value = Vec<Round>> {
    let round = (select(vec!["yes", "no", "go"]), proptest::collection::vec(moves(), 0..4), 0_u8..5)
        .prop_map(|(says, moves, answered)| Round { says, moves, is_answered: answered > 0 });
    proptest::collection::vec(round, 1..4)
}

/// An ADK runtime with two agents that hand the conversation to each other and one that is used as a tool.
struct Runtime {
    play: Play,
    speaker: &'static str,
    /// What happened in the conversation: who said it, and what.
    history: Vec<(&'static str, Content)>,
    number: usize,
    /// What each call should have given.
    expected: BTreeMap<CallId, Value>,
    said: Vec<&'static str>,
    finals: Vec<String>,
}

impl Runtime {
    fn new() -> Self {
        Self {
            play: Play::new(),
            speaker: "root",
            history: Vec::new(),
            number: 0,
            expected: BTreeMap::new(),
            said: Vec::new(),
            finals: Vec::new(),
        }
    }

    fn next(&mut self) -> usize {
        self.number += 1;
        self.number
    }

    /// What the speaker is shown: its own words and the user's as they are, the other's as a report.
    fn contents(&self) -> Vec<Content> {
        let show = |(who, content): &(&'static str, Content)| {
            if *who == "user" || *who == self.speaker {
                return content.clone();
            }
            let mut report = message("For context:");
            report.parts.push(Part::text(format!("[{who}] did {}", json!(content))));
            report
        };
        self.history.iter().map(show).collect()
    }

    fn tell(&mut self, content: Content) {
        self.history.push((self.speaker, content));
    }

    fn play(&mut self, round: &Round) {
        self.said.push(round.says);
        self.history.push(("user", message(round.says)));
        for step in &round.moves {
            match step {
                Move::Tools(tools) => self.call_tools(tools),
                Move::Helpers(helpers) => self.call_helpers(helpers),
                Move::HandOver => self.hand_over(),
            }
        }
        if round.is_answered {
            let turn = self.play.ask(self.speaker, self.contents());
            let answer = text(&format!("answer {}", self.next()));
            self.finals.push(answer.text());
            self.play.decide(&turn, answer.clone());
            self.tell(answer);
        } else if round.moves.is_empty() {
            // A message that nobody reacted to was never heard of.
            self.play.ask(self.speaker, self.contents());
        }
    }

    /// Asks, decides for these calls, and gives the ids they have on the ledger.
    fn decide(&mut self, agent: &str, contents: Vec<Content>, content: &Content) -> Vec<CallId> {
        let turn = self.play.ask(agent, contents);
        self.play.decide(&turn, content.clone());
        let of_turn = |event: &&Arc<rehearsal_core::Event>| event.turn.as_ref() == Some(&turn);
        let events = self.play.ledger.events().iter().filter(of_turn);
        let id = |event: &Arc<rehearsal_core::Event>| match &event.body {
            EventBody::ToolCall { call, .. } => Some(call.clone()),
            _ => None,
        };
        events.filter_map(id).collect()
    }

    fn result_of(&mut self, id: CallId, call: &FunctionCall) -> FunctionResponse {
        let result = format!("result {}", self.next());
        self.expected.insert(id, json!({"result": result}));
        response(&call.name, call.id.as_ref().map(CallId::as_str), &result)
    }

    fn call_tools(&mut self, tools: &[(&'static str, Given)]) {
        let mut made = Vec::new();
        for (tool, given) in tools {
            let id = match given {
                Given::None => None,
                Given::Unique => Some(format!("id-{}", self.next())),
                Given::Same => Some("again".to_owned()),
            };
            made.push(call(tool, id.as_deref()));
        }
        let content = calls(made.clone());
        let ids = self.decide(self.speaker, self.contents(), &content);
        assert_eq!(ids.len(), made.len());
        let given: Vec<_> = ids.into_iter().zip(&made).map(|(id, call)| self.result_of(id, call)).collect();
        self.tell(content);
        self.tell(results(given));
    }

    fn call_helpers(&mut self, helpers: &[usize]) {
        let mut made = Vec::new();
        for _ in helpers {
            let mut one = call("helper", None);
            one.args.insert("request".into(), format!("task {}", self.next()).into());
            made.push(one);
        }
        let content = calls(made.clone());
        let ids = self.decide(self.speaker, self.contents(), &content);
        let mut inner: Vec<Vec<Content>> =
            made.iter().map(|call| vec![message(call.args["request"].as_str().unwrap())]).collect();
        // They take turns, the last one first.
        for step in 0..=helpers.iter().copied().max().unwrap_or(0) {
            for at in (0..helpers.len()).rev().filter(|at| step <= helpers[*at]) {
                if step == helpers[at] {
                    let turn = self.play.ask("helper", inner[at].clone());
                    self.play.decide(&turn, text("helped"));
                    self.expect_inside(&turn, &ids[at]);
                    continue;
                }
                let one = call("add", None);
                let asks = calls([one.clone()]);
                let made = self.decide("helper", inner[at].clone(), &asks);
                let given = self.result_of(made[0].clone(), &one);
                inner[at].extend([asks, results([given])]);
            }
        }
        let given: Vec<_> = ids.into_iter().zip(&made).map(|(id, call)| self.result_of(id, call)).collect();
        self.tell(content);
        self.tell(results(given));
    }

    fn expect_inside(&self, turn: &TurnId, call: &CallId) {
        let mut events = self.play.ledger.events().iter();
        let asked = events.find(|event| event.turn.as_ref() == Some(turn)).unwrap();
        let path = asked.invocation.as_ref().unwrap();
        assert!(path.enclosure().ends_with(&format!("/@{call}")), "{path} is not inside {call}");
    }

    fn hand_over(&mut self) {
        let other = if self.speaker == "root" { "expert" } else { "root" };
        let mut one = call("transfer_to_agent", None);
        one.args.insert("agent_name".into(), other.into());
        let content = calls([one]);
        let ids = self.decide(self.speaker, self.contents(), &content);
        self.expected.insert(ids[0].clone(), json!({"result": null}));
        self.tell(content);
        let given = FunctionResponse::new(None, "transfer_to_agent", Value::Null);
        self.tell(results([given]));
        self.speaker = other;
    }

    /// Everything that was shown is on the ledger as it was.
    fn check(&mut self) {
        // What a last move led to is shown by the next request only.
        self.play.ask(self.speaker, self.contents());
        for call in self.play.ledger.calls() {
            let given = call.result().map(|result| result.outcome.to_value());
            assert_eq!(given.as_ref(), self.expected.get(call.call), "{} {}", call.tool, call.call);
        }
        let mut said = Vec::new();
        let mut finals = Vec::new();
        for event in self.play.ledger.events() {
            match &event.body {
                EventBody::UserMessage { content } => said.push(content.text()),
                EventBody::AgentEnded { output, .. } => finals.push(output.as_str().unwrap().to_owned()),
                _ => {}
            }
        }
        assert_eq!(said, self.said);
        assert_eq!(finals, self.finals);
    }
}

/// Something somebody sends, in an order that makes no sense.
#[derive(Clone, Debug)]
enum Sent {
    Request { agent: &'static str, turn: u8, contents: Vec<Content> },
    Decision { turn: u8, content: Content },
}

fn any_content() -> impl Strategy<Value = Content> {
    let id = || proptest::option::of(select(vec!["a", "b", "a/@b", "@", ""]));
    let tool = || select(vec!["add", "helper", "root", "transfer_to_agent", ""]);
    let calls_made = proptest::collection::vec((tool(), id()), 0..3).prop_map(|made| {
        calls(made.into_iter().map(|(tool, id)| {
            let mut one = call(tool, id);
            one.args.insert("agent_name".into(), "helper".into());
            one
        }))
    });
    let given = proptest::collection::vec((tool(), id()), 0..3)
        .prop_map(|given| results(given.into_iter().map(|(tool, id)| response(tool, id, "x"))));
    prop_oneof![
        select(vec!["", "yes", "For context:"]).prop_map(message),
        Just(text("ok")),
        calls_made,
        given,
        Just(Content::default()),
    ]
}

fn sent() -> impl Strategy<Value = Sent> {
    let agent = select(vec!["root", "helper", "expert", "", "a/@b"]);
    prop_oneof![
        (agent, 0_u8..30, proptest::collection::vec(any_content(), 0..5))
            .prop_map(|(agent, turn, contents)| Sent::Request { agent, turn, contents }),
        (0_u8..30, any_content()).prop_map(|(turn, content)| Sent::Decision { turn, content }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn what_a_runtime_plays_is_told_as_it_was(rounds in rounds()) {
        let mut runtime = Runtime::new();
        for round in &rounds {
            runtime.play(round);
        }
        runtime.check();
    }

    #[test]
    fn whatever_is_sent_leaves_a_ledger_that_can_be_read(all in proptest::collection::vec(sent(), 0..40)) {
        let mut play = Play::new();
        for one in all {
            // A refusal is fine; what is not refused must fit, which the play sees to.
            let _refused = match one {
                Sent::Request { agent, turn, contents } => {
                    let contents = contents.into_iter().map(Arc::new).collect();
                    let request = ModelRequest { contents, ..ModelRequest::default() };
                    play.submit(agent, &TurnId::new(format!("t{turn}")), &request)
                }
                Sent::Decision { turn, content } => {
                    play.submit_decision(&TurnId::new(format!("t{turn}")), content)
                }
            };
        }
        let again = Ledger::from_jsonl(&play.ledger.to_jsonl()).unwrap();
        prop_assert_eq!(again.events(), play.ledger.events());
    }
}
