//! For agents of any shape: suspending and resuming is running, wherever the cut falls.

#![expect(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use crate::support::*;
use proptest::prelude::*;
use rehearsal_agent::*;
use rehearsal_core::*;
use serde_json::json;

/// The shape of an agent, from which the agent can be built any number of times.
#[derive(Clone, Debug)]
enum Shape {
    /// A model that makes these calls turn by turn and then answers.
    Llm(Vec<Vec<Call>>),
    /// A function that writes state and speaks, or only gives a value.
    Step {
        speaks: bool,
    },
    Sequence(Vec<Shape>),
    Parallel(Vec<Shape>),
}

#[derive(Clone, Debug)]
enum Call {
    Note,
    Wrong,
    Unknown,
    Ask,
    Agent(Box<Shape>),
}

fn shape() -> impl Strategy<Value = Shape> {
    let simple = prop_oneof![Just(Call::Note), Just(Call::Wrong), Just(Call::Unknown), Just(Call::Ask)];
    let turns = |call: BoxedStrategy<Call>| prop::collection::vec(prop::collection::vec(call, 1..4), 0..3);
    let leaf = prop_oneof![
        3 => turns(simple.clone().boxed()).prop_map(Shape::Llm),
        1 => any::<bool>().prop_map(|speaks| Shape::Step { speaks }),
    ];
    leaf.prop_recursive(3, 10, 3, move |inner| {
        let agent = inner.clone().prop_map(|shape| Call::Agent(Box::new(shape)));
        prop_oneof![
            2 => turns(prop_oneof![3 => simple.clone(), 1 => agent].boxed()).prop_map(Shape::Llm),
            1 => prop::collection::vec(inner.clone(), 1..3).prop_map(Shape::Sequence),
            1 => prop::collection::vec(inner, 1..3).prop_map(Shape::Parallel),
        ]
    })
}

fn build(shape: &Shape, name: &str) -> AgentRef {
    let children = |shapes: &[Shape]| -> Vec<AgentRef> {
        shapes.iter().enumerate().map(|(n, shape)| build(shape, &format!("{name}_{n}"))).collect()
    };
    match shape {
        Shape::Llm(turns) => build_llm(turns, name),
        Shape::Step { speaks } => {
            let speaks = *speaks;
            Step::new(name, move |cx| {
                cx.state.set("steps", cx.state.get::<u64>("steps").unwrap_or(0) + 1);
                Ok(if speaks {
                    cx.respond(format!("heard {}", cx.input))
                } else {
                    cx.output(json!({"n": cx.index}))
                })
            })
            .into()
        }
        Shape::Sequence(shapes) => Sequence::new(name, children(shapes)).into(),
        Shape::Parallel(shapes) => Parallel::new(name, children(shapes)).into(),
    }
}

fn build_llm(turns: &[Vec<Call>], name: &str) -> AgentRef {
    let mut tools = vec![note(), ask()];
    let mut replies = Vec::new();
    for (t, calls) in turns.iter().enumerate() {
        let mut reply = Reply::text(format!("turn {t}"));
        for (c, call) in calls.iter().enumerate() {
            reply = match call {
                Call::Note => reply.and_call("note", json!({"text": format!("{name} {t} {c}")})),
                Call::Wrong => reply.and_call("note", json!({"text": c})),
                Call::Unknown => reply.and_call("nonsense", json!({})),
                Call::Ask => reply.and_call("ask", json!({"question": format!("{t}.{c}?")})),
                Call::Agent(shape) => {
                    let child = format!("{name}_{t}_{c}");
                    tools.push(AgentTool::new(build(shape, &child), "Helps").into());
                    reply.and_call(&child, json!({"request": "help"}))
                }
            };
        }
        replies.push(reply);
    }
    // An agent inside a loop or used twice goes through its script again.
    let count = replies.len() as u64 + 1;
    let model = ScriptedModel::function("script", move |call: &ModelCall| {
        let index = usize::try_from(call.index % count).unwrap();
        replies.get(index).cloned().unwrap_or_else(|| Reply::text(format!("answer {}", call.index)))
    });
    LlmAgent::new(name, std::sync::Arc::new(model)).tools(tools).into()
}

/// Gives the session whatever it waits for; what is given depends only on what is asked.
fn supply(session: &mut Session) {
    let open: Vec<CallId> = match session.ledger().open_yield() {
        Some(Yield::Tools { calls }) => calls.iter().map(|pending| pending.call.clone()).collect(),
        _ => {
            let said = |event: &&std::sync::Arc<Event>| {
                matches!(event.body, EventBody::UserMessage { .. }) && event.author.as_ref() == "user"
            };
            let count = session.ledger().events().iter().filter(said).count();
            session.say(Content::user(format!("message {count}")), None).unwrap();
            return;
        }
    };
    for call in open {
        if session.ledger().call(&call).unwrap().answer.is_none() {
            let changes = vec![StatePatch::one("user", "answered", json!(call.as_str()))];
            session.answer(&call, ToolOutcome::Output(json!(call.as_str())), changes, None).unwrap();
        }
    }
}

/// Plays to the end, handing the session to `between` whenever it waits.
async fn play(agent: &AgentRef, mut session: Session, mut between: impl FnMut(Session) -> Session) -> Ledger {
    if session.ledger().events().len() == 1 {
        supply(&mut session);
    }
    while let Flow::Waiting(_) = run(agent, &mut session, &DirectPort).await.unwrap() {
        session = between(session);
        supply(&mut session);
    }
    session.into_ledger()
}

fn reload(session: Session) -> Session {
    Session::resume(Ledger::from_jsonl(&session.into_ledger().to_jsonl()).unwrap(), around())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn suspending_and_resuming_is_running(shape in shape(), rounds in 1u64..4, cuts in prop::collection::vec(any::<prop::sample::Index>(), 6)) {
        let agent: AgentRef = Loop::new("talk", build(&shape, "a")).max_rounds(rounds).into();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let whole = play(&agent, session(&agent), |session| session).await;
            let expected = whole.to_jsonl();
            let suspended = play(&agent, session(&agent), reload).await.to_jsonl();
            prop_assert!(suspended == expected, "reloading at every yield changed the ledger");
            for cut in cuts {
                let cut = cut.index(whole.events().len()) + 1;
                let fork = Session::resume(whole.prefix(cut), around());
                let went_on = play(&agent, fork, |session| session).await.to_jsonl();
                prop_assert!(went_on == expected, "cut after event {}", cut);
            }
            Ok(())
        })?;
    }
}
