//! Agents of every shape, each with what its user answers.

#![allow(dead_code, reason = "each test binary uses a part of it")]
#![allow(clippy::allow_attributes, reason = "which part is dead differs from binary to binary")]

use std::sync::Arc;

use rehearsal_agent::*;
use rehearsal_core::*;
pub(crate) use rehearsal_models::{Reply, ScriptedModel};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

pub(crate) fn around() -> Arc<Surroundings> {
    Arc::new(Surroundings::seeded(11).clock(Arc::new(FixedClock::default())))
}

pub(crate) fn session(agent: &AgentRef) -> Session {
    Session::new(agent.name(), State::default(), around()).unwrap()
}

pub(crate) fn script(replies: impl IntoIterator<Item = Reply>) -> Arc<dyn Model> {
    Arc::new(ScriptedModel::list("script", replies))
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct Note {
    pub(crate) text: String,
}

/// A tool that writes to state.
pub(crate) fn note() -> ToolRef {
    FunctionTool::new("note", "Takes a note", |args: Note, cx| {
        let count: u64 = cx.state.get("notes").unwrap_or(0);
        cx.state.set("notes", count + 1);
        cx.state.scope("user").set("last", &args.text);
        json!({"noted": args.text, "nth": cx.nth})
    })
    .into()
}

#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
pub(crate) struct Question {
    question: String,
}

/// A tool that yields.
pub(crate) fn ask() -> ToolRef {
    YieldingTool::new::<Question, String>("ask", "Asks the user").into()
}

/// One thing from outside, given when the agent waits.
#[derive(Clone)]
pub(crate) enum Input {
    Say(&'static str),
    Answer(Value),
}

/// An agent and what is given to it, in order.
pub(crate) struct Play {
    pub(crate) name: &'static str,
    pub(crate) agent: AgentRef,
    pub(crate) inputs: Vec<Input>,
}

#[expect(clippy::too_many_lines, reason = "it is a list")]
pub(crate) fn plays() -> Vec<Play> {
    let say = Input::Say;
    let answer = |text: &str| Input::Answer(json!(text));
    vec![
        Play {
            name: "one tool, then an answer",
            agent: LlmAgent::new(
                "a",
                script([Reply::call("note", json!({"text": "x"})), Reply::text("done")]),
            )
            .tool(note())
            .into(),
            inputs: vec![say("go")],
        },
        Play {
            name: "parallel calls, one of them yields, one is wrong",
            agent: LlmAgent::new(
                "a",
                script([
                    Reply::call("ask", json!({"question": "age?"}))
                        .and_call("note", json!({"text": "asked"}))
                        .and_call("note", json!({"text": 5}))
                        .and_call("nonsense", json!({})),
                    Reply::text("thanks"),
                ]),
            )
            .tools([ask(), note()])
            .into(),
            inputs: vec![say("go"), answer("55")],
        },
        Play {
            name: "a conversation with two yields in one turn",
            agent: Loop::new(
                "talk",
                LlmAgent::new(
                    "a",
                    script([
                        Reply::text("hello"),
                        Reply::call("ask", json!({"question": "1?"}))
                            .and_call("ask", json!({"question": "2?"})),
                        Reply::text("both known"),
                        Reply::call("note", json!({"text": "bye"})),
                        Reply::text("bye"),
                    ]),
                )
                .tools([ask(), note()]),
            )
            .max_rounds(3)
            .into(),
            inputs: vec![say("hi"), say("well"), answer("one"), answer("two"), say("ok")],
        },
        Play {
            name: "a sequence of a step, side-by-side agents and a last word",
            agent: Sequence::new(
                "all",
                [
                    Step::new("prepare", |cx| {
                        cx.state.set("ready", true);
                        Ok(cx.respond(format!("prepared for: {}", cx.input)))
                    })
                    .into(),
                    Parallel::new(
                        "both",
                        [
                            LlmAgent::new(
                                "left",
                                script([Reply::call("note", json!({"text": "l"})), Reply::text("left")]),
                            )
                            .tool(note())
                            .into(),
                            LlmAgent::new(
                                "right",
                                script([Reply::call("ask", json!({"question": "r?"})), Reply::text("right")]),
                            )
                            .tool(ask())
                            .into(),
                        ],
                    )
                    .into(),
                    LlmAgent::new("last", script([Reply::text("the end")])).output_key("word").into(),
                ],
            )
            .into(),
            inputs: vec![say("go"), answer("r!")],
        },
        Play {
            name: "agents as tools, one of which asks",
            agent: LlmAgent::new(
                "boss",
                script([
                    Reply::call("worker", json!({"request": "first"}))
                        .and_call("clerk", json!({"request": "second"})),
                    Reply::text("all done"),
                ]),
            )
            .tool(AgentTool::new(
                LlmAgent::new(
                    "worker",
                    script([Reply::call("note", json!({"text": "w"})), Reply::text("worked")]),
                )
                .tool(note()),
                "Works",
            ))
            .tool(AgentTool::new(
                LlmAgent::new(
                    "clerk",
                    script([Reply::call("ask", json!({"question": "stamp?"})), Reply::text("stamped")]),
                )
                .tool(ask()),
                "Stamps",
            ))
            .into(),
            inputs: vec![say("go"), answer("yes")],
        },
        Play {
            name: "a conversation handed to another agent and kept there",
            agent: Loop::new(
                "desk",
                LlmAgent::new(
                    "front",
                    script([Reply::call("transfer_to_agent", json!({"agent_name": "billing"}))]),
                )
                .sub_agent(
                    LlmAgent::new(
                        "billing",
                        script([Reply::text("billing here"), Reply::text("still billing")]),
                    )
                    .description("Knows about bills"),
                ),
            )
            .max_rounds(2)
            .into(),
            inputs: vec![say("my bill"), say("and?")],
        },
        Play {
            name: "structured output that has to be asked for twice",
            agent: LlmAgent::new("a", script([Reply::text("yes"), Reply::json(json!({"ok": true}))]))
                .output_schema(
                    json!({"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]}),
                )
                .output_key("verdict")
                .into(),
            inputs: vec![say("ok?")],
        },
    ]
}

/// Gives the next inputs to a session that waits or has not begun, until it can run on.
pub(crate) fn give(session: &mut Session, inputs: &mut impl Iterator<Item = Input>) {
    let calls: Vec<CallId> = match session.ledger().open_yield() {
        Some(Yield::Tools { calls }) => calls.iter().map(|pending| pending.call.clone()).collect(),
        _ => Vec::new(),
    };
    if calls.is_empty() {
        match inputs.next() {
            Some(Input::Say(text)) => session.say(Content::user(text), None).unwrap(),
            _ => panic!("the play should say something here"),
        }
    }
    for call in calls {
        match inputs.next() {
            Some(Input::Answer(value)) => {
                session.answer(&call, ToolOutcome::Output(value), vec![], None).unwrap();
            }
            _ => panic!("the play should answer here"),
        }
    }
}

/// Runs a play straight through.
pub(crate) async fn straight(play: &Play) -> Ledger {
    let mut session = session(&play.agent);
    let mut inputs = play.inputs.clone().into_iter();
    give(&mut session, &mut inputs);
    while let Flow::Waiting(_) = run(&play.agent, &mut session, &DirectPort).await.unwrap() {
        give(&mut session, &mut inputs);
    }
    assert!(inputs.next().is_none(), "{}: the play has inputs left over", play.name);
    session.into_ledger()
}
