//! Scenarios in which people play a part.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use rehearsal_core::{EventBody, Failure, Phase, Player, Verdict};
use rehearsal_scenario::{ModelChoice, check_with};
use rehearsal_sim::Cancel;
use rehearsal_sim::person::{People, PersonCue, PersonPart};
use serde_json::{Value, json};

use crate::run::stage::{Play, TokioClock, file, problems, scenario};

/// People with their answers ready, who take their time for each.
#[derive(Clone, Debug, Default)]
struct Ready {
    answers: Arc<Mutex<Vec<Value>>>,
    takes: Duration,
    asked: Arc<Mutex<Vec<PersonCue>>>,
}

impl Ready {
    fn with(answers: impl IntoIterator<Item = Value>) -> Self {
        let mut answers: Vec<Value> = answers.into_iter().collect();
        answers.reverse();
        Self { answers: Arc::new(Mutex::new(answers)), ..Self::default() }
    }

    fn slow(mut self) -> Self {
        self.takes = Duration::from_hours(20);
        self
    }

    fn asked(&self) -> Vec<PersonCue> {
        self.asked.lock().unwrap().clone()
    }
}

#[async_trait]
impl People for Ready {
    async fn ask(&self, cue: PersonCue) -> Result<Value, Failure> {
        self.asked.lock().unwrap().push(cue);
        tokio::time::sleep(self.takes).await;
        self.answers.lock().unwrap().pop().ok_or_else(|| Failure {
            phase: Phase::System,
            kind: "dismissed".to_owned(),
            message: "nobody answered".to_owned(),
        })
    }
}

const AGENT: &str =
    "agent: {instructions: Help., tools: [{name: find, description: Finds, output: {type: object}}]}
";

/// A person plays the model, a tool and the user.
const ALL: &str = "
agent: {instructions: Help., tools: [{name: find, description: Finds, output: {type: object}}]}
models: {agent: person}
setup:
  mocks:
    - {method: find, when: {input: {id: 1}}, person: true, state: {session: {found: true}}}
    - {method: find, response: {by: mock}}
run:
  - name: asks
    description: You want order 1.
    conversation:
      max_turns: 4
      user: person
      final_evaluations: [{type: tool_called, tool: find, count: 2}, {type: state, matches: {session.found: true}}]
";

fn all_answers() -> [Value; 6] {
    [
        json!({"text": "Where is order 1?"}),
        json!({"calls": [{"tool": "find", "args": {"id": 1}}]}),
        json!({"output": {"by": "person"}}),
        json!({"calls": [{"tool": "find", "args": {"id": 2}}]}),
        json!({"text": "It is on its way"}),
        json!({"end": true}),
    ]
}

#[tokio::test]
async fn a_person_plays_every_part() {
    let people = Ready::with(all_answers());
    let played = Play::new(ALL).people(people.clone()).run().await;
    played.passed();
    assert_eq!(played.outcomes(), [json!({"output": {"by": "person"}}), json!({"output": {"by": "mock"}})]);
    assert_eq!(played.answered(), ["mocks[0]", "mocks[1]"]);
    assert!(played.result.mocks.unused.is_empty());
    assert_eq!(played.ended(1), ("user_ended", 1));
    let by: Vec<Player> =
        played.run.events().iter().filter_map(|event| Some(event.decision.as_ref()?.by)).collect();
    let expected =
        [Player::Person, Player::Person, Player::Person, Player::Person, Player::Mock, Player::Person];
    assert_eq!(by, expected);
    let asked = people.asked();
    let kinds: Vec<PersonPart> = asked.iter().map(|cue| cue.kind).collect();
    let (user, model, tool) = (PersonPart::User, PersonPart::Model, PersonPart::Tool);
    assert_eq!(kinds, [user, model, tool, model, model, user]);
    let shown = json!({
        "transcript": "", "step": 1, "name": "asks", "description": "You want order 1.", "turn": 1, "max_turns": 4,
    });
    assert_eq!(asked[0].prompt, shown);
    assert_eq!(asked[1].prompt["request"]["system"], "Help.");
    let schema = json!({"type": "object"});
    let call = json!({"tool": "find", "args": {"id": 1}, "description": "Finds", "output_schema": schema});
    assert_eq!(asked[2].prompt, call);
    let transcript = asked[5].prompt["transcript"].as_str().unwrap();
    assert!(transcript.contains("user: Where is order 1?") && transcript.contains("It is on its way"));
}

#[tokio::test(start_paused = true)]
async fn people_take_the_time_they_take() {
    let people = Ready::with(all_answers()).slow();
    let played = Play::new(ALL).people(people).clock(TokioClock::start()).run().await;
    played.passed();
    let text = format!(
        "{AGENT}models: {{agent: person}}\nrun: [{{input: hi, timeout_ms: 10, evaluations: [{{type: string_contains, value: hello}}]}}]\n"
    );
    let people = Ready::with([json!({"text": "hello"})]).slow();
    Play::new(&text).people(people).clock(TokioClock::start()).run().await.passed();
}

#[tokio::test(start_paused = true)]
async fn the_limit_of_a_run_holds_for_people_too() {
    let played = Play::new(ALL).people(Ready::with([]).slow()).timeout(Duration::from_secs(5)).run().await;
    played.came_to(Verdict::Terminated);
}

#[tokio::test]
async fn cancelling_does_not_wait_for_people() {
    /// Cancels the run that asks.
    #[derive(Debug)]
    struct Leaves(Cancel);

    #[async_trait]
    impl People for Leaves {
        async fn ask(&self, _: PersonCue) -> Result<Value, Failure> {
            self.0.cancel();
            std::future::pending().await
        }
    }
    let cancel = Cancel::default();
    let played = Play::new(ALL).people(Leaves(cancel.clone())).cancel(&cancel).run().await;
    played.came_to(Verdict::Terminated);
}

#[tokio::test]
async fn a_person_who_does_not_answer_is_an_error() {
    let played = Play::new(ALL).people(Ready::with(all_answers().into_iter().take(2))).run().await;
    played.came_to(Verdict::Error);
    assert_eq!(played.error(), "System dismissed: nobody answered");
    let wrong = [json!({"text": "hi"}), json!({"calls": [{"tool": "fnd"}]})];
    let played = Play::new(ALL).people(Ready::with(wrong)).run().await;
    played.came_to(Verdict::Error);
    assert!(played.error().contains("there is no tool `fnd`; the tools are: `find`"), "{}", played.error());
}

#[tokio::test]
async fn a_person_who_ends_before_the_first_word_leaves_an_empty_conversation() {
    let text = ALL.replace("      final_evaluations", "      # final_evaluations")
        + "  - {input: and now, evaluations: []}\n";
    let people = Ready::with([json!({"end": true}), json!({"text": "bye"})]);
    let played = Play::new(&text).people(people).run().await;
    played.came_to(Verdict::Unjudged);
    assert_eq!(played.ended(1), ("user_ended", 0));
    let said = |event: &Arc<rehearsal_core::Event>| matches!(event.body, EventBody::UserMessage { .. });
    assert_eq!(played.run.events().iter().filter(|event| said(event)).count(), 1);
}

#[test]
fn a_scenario_with_people_is_refused_where_there_are_none() {
    let refused = |text: &str| Play::new(text).compile().unwrap_err().to_string();
    assert_eq!(
        refused(ALL),
        "this scenario is played by a person: the model of the agent, tool `find` (line 6), the user of step 1 (line 9); \
         and nobody here brings them what they are asked"
    );
    let hint = Play::new(ALL).compile().unwrap_err().hint();
    assert!(hint.is_some_and(|hint| hint.starts_with("cast somebody else: ")));
    let model = format!("{AGENT}models: {{agent: person}}\nrun: [{{input: hi, evaluations: []}}]\n");
    assert!(refused(&model).starts_with("this scenario is played by a person: the model of the agent; "));
    let tool = format!(
        "{AGENT}models: {{agent: {{script: [hi]}}}}\nsetup: {{mocks: [{{method: find, person: true}}]}}\nrun: [{{input: hi, evaluations: []}}]\n"
    );
    assert!(refused(&tool).starts_with("this scenario is played by a person: tool `find` (line 3); "));
    // Under `--live` no mock answers, whoever plays it.
    assert!(Play::new(&tool).live().compile().is_ok());
}

#[test]
fn a_person_stands_in_place_of_a_model() {
    for written in ["person", "{model: person}"] {
        let text = format!("{AGENT}models: {{agent: {written}}}\nrun: [{{input: hi, evaluations: []}}]\n");
        assert_eq!(scenario(&text).models[0].model, ModelChoice::Person);
    }
    assert_eq!(ModelChoice::named("person"), ModelChoice::Person);
    assert_eq!(ModelChoice::named("openai:gpt-4o"), ModelChoice::Provider("openai:gpt-4o".to_owned()));
}

#[test]
fn people_cannot_judge_and_are_not_simulated() {
    let judge = format!(
        "{AGENT}models: {{agent: {{script: [hi]}}, judge: person}}\nrun: [{{input: hi, evaluations: [{{type: llm_judge, prompt: Was it kind?, expected: 'yes'}}]}}]\n"
    );
    assert_eq!(
        problems(&judge),
        "no-person: the judge cannot be played by a person [name a model: judge: openai:gpt-4o, or a script: judge: \
         {rules: [{json: {…}}]}]"
    );
    let user = format!(
        "{AGENT}models: {{agent: {{script: [hi]}}, user: person}}\nrun: [{{conversation: {{max_turns: 2, user_simulator: {{persona: a, objective: b}}}}}}]\n"
    );
    assert_eq!(
        problems(&user),
        "no-person: the simulated user cannot be played by a person [let a person speak for themselves: user: person, in \
         place of `user_simulator`]"
    );
    // Whoever does not look at what is missing is refused all the same.
    let unchecked = check_with(&file(&judge), &rehearsal_scenario::CheckOptions::default()).scenario.unwrap();
    let why = Play::of(unchecked).people(Ready::with([])).compile().unwrap_err();
    assert!(why.to_string().starts_with("the judge cannot be played by a person"), "{why}");
}
