//! Users who do things, open or hang up, and agents who speak first.

use rehearsal_core::{EventBody, HangUp, Player, Verdict};
use serde_json::json;

use crate::run::stage::{Played, play, problems};

/// A scenario with one conversation, of these keys.
fn scenario(models: &str, conversation: &str) -> String {
    format!(
        "agent: {{instructions: Help.}}
models: {{{models}}}
run:
  - conversation: {{{conversation}}}
"
    )
}

fn hang_up(played: &Played) -> (HangUp, String, Option<String>) {
    let found = played.run.events().iter().find_map(|event| match &event.body {
        EventBody::UserHungUp(end) => Some((end.how, end.said.clone(), end.why.clone())),
        _ => None,
    });
    found.expect("the user hangs up")
}

/// What the agent's model was asked, as texts.
fn asked(played: &Played) -> Vec<Vec<String>> {
    let texts = |request: &rehearsal_core::ModelRequest| {
        request.contents.iter().map(|content| content.text()).collect::<Vec<_>>()
    };
    played.agent_requests().iter().map(texts).collect()
}

#[tokio::test]
async fn a_stop_word_ends_the_conversation_and_the_agent_does_not_speak_after_it() {
    let user = "user_simulator: {persona: p, objective: o, stop: '###STOP###'}";
    let models = "agent: {script: [Hello.]}, user: {script: [Hi., 'Thanks, that is all. ###STOP###']}";
    let played = play(&scenario(models, &format!("max_turns: 9, {user}"))).await;
    played.came_to(Verdict::Unjudged);
    assert_eq!(played.ended(1), ("user_ended", 1));
    let said = "Thanks, that is all. ###STOP###".to_owned();
    assert_eq!(hang_up(&played), (HangUp::StopWord, said, Some("###STOP###".to_owned())));
    assert!(played.conversation(1).terminated_early);
    let detail = played.conversation(1).termination_detail.clone();
    assert_eq!(detail.as_deref(), Some("the user said the stop word `###STOP###`"));
    assert_eq!(asked(&played).len(), 1);
    let system = played.user_requests()[0].setup.system.clone().unwrap();
    assert!(system.contains("answer with ###STOP### and nothing else"), "{system}");
    assert!(played.run.main.to_transcript().contains("user hangs up: Thanks, that is all."));
}

#[tokio::test]
async fn the_user_of_the_next_conversation_speaks_for_themselves() {
    let text = "agent: {instructions: Help.}
models: {agent: {script: [Hello., Again.]}, user: {script: [Hi., STOP, Anew., STOP]}}
run:
  - conversation: {max_turns: 5, user_simulator: {persona: p, objective: o, stop: STOP}}
  - conversation: {max_turns: 5, user_simulator: {persona: p, objective: o, stop: STOP}}
";
    let played = play(text).await;
    assert_eq!((played.ended(1), played.ended(2)), (("user_ended", 1), ("user_ended", 1)));
    assert_eq!(played.conversation(2).turns[0].user_input, "Anew.");
}

#[tokio::test]
async fn of_several_stop_words_the_one_that_was_said_is_told() {
    let user = "user_simulator: {persona: p, objective: o, stop: [DONE, TRANSFER]}";
    let models = "agent: {script: []}, user: {script: [TRANSFER]}";
    let played = play(&scenario(models, &format!("max_turns: 2, {user}"))).await;
    assert_eq!(hang_up(&played).2.as_deref(), Some("TRANSFER"));
    assert!(asked(&played).is_empty(), "a user may hang up before anything was said");
}

#[tokio::test]
async fn a_simulated_user_can_decide_to_hang_up() {
    let user = "user_simulator: {persona: p, objective: o, may_hang_up: true}";
    let models = "agent: {script: [Hello.]}, \
                  user: {script: [Hi., {say: Bye then., call: hang_up, args: {reason: got it}}, over]}";
    let played = play(&scenario(models, &format!("max_turns: 9, {user}"))).await;
    played.came_to(Verdict::Unjudged);
    let expected = (HangUp::Decision, "Bye then.".to_owned(), Some("got it".to_owned()));
    assert_eq!(hang_up(&played), expected);
    assert_eq!(played.ended(1), ("user_ended", 1));
}

#[tokio::test]
async fn a_scripted_user_can_hang_up_also_when_the_turns_are_over() {
    let user = "user: {script: [one, two, {hang_up: bye}]}";
    for max_turns in [2, 9] {
        let text = scenario("agent: {script: [a, b]}", &format!("max_turns: {max_turns}, {user}"));
        let played = play(&text).await;
        assert_eq!(played.ended(1), ("user_ended", 2));
        assert_eq!(hang_up(&played), (HangUp::Script, "bye".to_owned(), None));
    }
}

#[tokio::test]
async fn the_agent_opens_where_the_file_says_so() {
    let text = scenario(
        "agent: {script: ['Hello, how can I help?', Done.]}",
        "max_turns: 5, opening: agent, user: {script: [My order.]}, \
         turn_evaluations: [{type: string_contains, value: o}]",
    );
    let played = play(&text).await;
    played.passed();
    let turns = &played.conversation(1).turns;
    let said: Vec<(&str, &str)> =
        turns.iter().map(|turn| (turn.user_input.as_str(), turn.agent_response.as_str())).collect();
    assert_eq!(said, [("", "Hello, how can I help?"), ("My order.", "Done.")]);
    let first = "(The user has not said anything yet. You speak first.)";
    let asked = asked(&played);
    assert_eq!(asked[0], [first]);
    assert_eq!(asked[1], [first, "Hello, how can I help?", "My order."]);
    let messages =
        played.run.events().iter().filter(|event| matches!(event.body, EventBody::UserMessage { .. }));
    assert_eq!(messages.count(), 1, "what stands in the user's place is no message of theirs");
}

#[test]
fn the_agent_can_open_its_session_only() {
    let late = "agent: {instructions: Help.}
models: {agent: {script: [a, b]}}
run:
  - {input: hello, evaluations: []}
  - conversation: {max_turns: 3, opening: agent, user: {script: [x]}}
";
    let expected = "no-effect: the agent can only open its session, and something was said to it before this step \
                    [make it the first step that talks, or remove `opening: agent`]";
    assert_eq!(problems(late), expected);
    let both = "agent: {instructions: Help.}
models: {agent: {script: [a, b]}}
run:
  - input: hello
    conversation: {max_turns: 3, opening: agent, user: {script: [x]}}
";
    assert!(
        problems(both).contains("the `input` of the step is never the first message"),
        "{}",
        problems(both)
    );
}

#[tokio::test]
async fn simulated_users_have_tools_that_change_the_state() {
    let user = "user_simulator: {persona: p, objective: o, tools: [{name: restart, parameters: {type: object, \
                properties: {hard: {type: boolean}}, additionalProperties: false}, response: {bars: 4}, \
                state: {phone: {restarted: true}}}]}";
    let models = "agent: {script: [Restart it., Good.]}, \
                  user: {script: [No signal., {call: restart, args: {hard: true}}, It works now.]}";
    let ends = "evaluations: [{type: state, matches: {phone.restarted: true}}]";
    let text =
        scenario(models, &format!("max_turns: 2, {user}")).trim_end().to_owned() + "\n    " + ends + "\n";
    let played = play(&text).await;
    played.passed();
    let users = played.run.users.as_ref().unwrap();
    let call = users.calls().next().unwrap();
    assert_eq!((&**call.tool, call.result().unwrap().outcome.to_value()), ("restart", json!({"bars": 4})));
    assert_eq!(played.run.main.calls().count(), 0, "they are not the agent's");
}

#[tokio::test]
async fn scripted_users_call_their_tools_between_messages() {
    let user = "user: {tools: [{name: restart, response: {bars: 4}, state: {phone: {restarted: true}}}, {name: look, response: {seen: screen}}], \
                script: [No signal., {call: restart}, {call: look, args: {at: screen}}, It works., {call: look}]}";
    let text = scenario("agent: {script: [Restart it., Good.]}", &format!("max_turns: 2, {user}"));
    let text =
        text.trim_end().to_owned() + "\n    evaluations: [{type: state, matches: {phone.restarted: true}}]\n";
    let played = play(&text).await;
    played.passed();
    assert_eq!(played.ended(1), ("script_ended", 2));
    let users = played.run.users.as_ref().unwrap();
    let results: Vec<_> = users.calls().map(|call| call.result().unwrap().outcome.to_value()).collect();
    assert_eq!(results, [json!({"bars": 4}), json!({"seen": "screen"}), json!({"seen": "screen"})]);
    let by: Vec<Player> = played
        .run
        .events()
        .iter()
        .filter(|event| matches!(event.body, EventBody::UserMessage { .. }))
        .map(|event| event.decision.as_ref().unwrap().by)
        .collect();
    assert_eq!(by, [Player::Script, Player::Script]);
}

#[test]
fn calls_of_a_script_fit_the_users_tools() {
    let user = |call: &str| {
        scenario(
            "agent: {script: [a]}",
            &format!(
                "max_turns: 2, user: {{script: [{call}, hi], tools: [{{name: look, response: 1, parameters: {{type: object, required: [at]}}}}]}}"
            ),
        )
    };
    assert_eq!(
        problems(&user("{call: lok, args: {at: 1}}")),
        "never-used: this user has no tool `lok` [did you mean `look`?]"
    );
    assert!(
        problems(&user("{call: look}")).starts_with("bad-call: this call breaks the `parameters` of `look`")
    );
    assert_eq!(problems(&user("{call: look, args: {at: 1}}")), "");
    let late = "max_turns: 3, user: {script: [a, {hang_up: bye}, b]}";
    assert!(problems(&scenario("agent: {script: [a]}", late)).contains("the user has hung up before this"));
}

#[tokio::test]
async fn instructions_replace_what_a_simulated_user_is_told() {
    let user = "user_simulator: {instructions: 'You play ${persona} who wants ${objective}.\n${constraints}', persona: Ann, objective: a refund, constraints: [no emoji, be brief]}";
    let models = "agent: {script: [Hello.]}, user: {script: [Hi., Bye.]}";
    let user = user.replace('\n', "\\n").replace('\'', "\"");
    let played = play(&scenario(models, &format!("max_turns: 2, {user}"))).await;
    let system = played.user_requests()[0].setup.system.clone().unwrap();
    assert_eq!(system, "You play Ann who wants a refund.\n- no emoji\n- be brief");
    let alone = "user_simulator: {instructions: Say nothing but hi.}";
    let played = play(&scenario(models, &format!("max_turns: 2, {alone}"))).await;
    assert_eq!(played.user_requests()[0].setup.system.as_deref(), Some("Say nothing but hi."));
}

#[test]
fn instructions_use_what_is_given_and_are_given_what_they_use() {
    let told = |user: &str| {
        problems(&scenario(
            "agent: {script: [a]}, user: {script: [a]}",
            &format!("max_turns: 2, user_simulator: {{{user}}}"),
        ))
    };
    assert_eq!(
        told("instructions: 'You want ${objectve}.', objective: x"),
        "no-effect: its model is told its `instructions` and nothing else, so `objective` has no effect [write ${objective} into `instructions`, or remove it]\n\
         not-filled-in: `${objectve}` is not filled in here [did you mean `${objective}`?]"
            .lines().rev().collect::<Vec<_>>().join("\n")
    );
    assert_eq!(
        told("instructions: 'You are ${persona}.'"),
        "not-filled-in: there is no `persona` to fill in here [give `user_simulator` a `persona`, or remove it]"
    );
    assert_eq!(
        told("objective: x"),
        "missing-key: `user_simulator` needs `persona` [add: persona: who the user is]"
    );
    assert_eq!(
        told("instructions: hi, stop: ''"),
        "empty: a stop word that is empty stands in every message [write a word that nobody says by chance: stop: \"###STOP###\"]"
    );
}

#[tokio::test]
async fn named_personas_come_with_the_program_and_give_way_to_the_file() {
    let user = "user_simulator: {persona: {named: impatient, about: 'Ann Lee, order 7'}, objective: a refund, style: rhyming, constraints: [no emoji]}";
    let models = "agent: {script: [Hello.]}, user: {script: [Hi., Bye.]}";
    let played = play(&scenario(models, &format!("max_turns: 2, {user}"))).await;
    let system = played.user_requests()[0].setup.system.clone().unwrap();
    for part in [
        "Who you are: Ann Lee, order 7; you are somebody who has no time",
        "How you speak: rhyming",
        "How you feel: impatient",
        "- Complain when you are asked for something you have said already.\n- no emoji",
    ] {
        assert!(system.contains(part), "{part} in {system}");
    }
    let slip = problems(&scenario(
        models,
        "max_turns: 2, user_simulator: {persona: {named: impatent}, objective: o}",
    ));
    assert_eq!(slip, "unknown-value: `named` of `persona` cannot be `impatent` [did you mean `impatient`?]");
}

#[tokio::test]
async fn conversations_are_as_long_as_they_are_said_to_be() {
    let lines: Vec<String> = (1..=300).map(|line| format!("line {line}")).collect();
    let rule = "turn_evaluations: [{type: tool_order, never: [refund], before: verify, stop: true}]";
    let text = format!(
        "agent: {{instructions: Help., tools: [{{name: refund}}, {{name: verify}}]}}
models: {{agent: {{rules: [{{when: {{user_contains: line 250}}, call: refund}}, {{say: ok}}]}}}}
setup: {{mocks: [{{method: refund, response: 1}}]}}
run:
  - conversation: {{max_turns: 1000000, total_timeout_ms: 600000, {rule}, user: {{script: {lines:?}}}}}
"
    );
    let played = play(&text).await;
    played.came_to(Verdict::Failed);
    let broken: Vec<&String> =
        played.run.result.metrics.iter().filter(|(_, found)| !found.passed()).map(|(name, _)| name).collect();
    assert_eq!(broken.len(), 1, "{broken:?}");
    assert!(broken[0].starts_with("1.250: tool_order"), "{broken:?}");
}
