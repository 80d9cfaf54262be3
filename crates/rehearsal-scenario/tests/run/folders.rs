//! The folder of a run: what is in it, what runs in it, and that it goes away.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rehearsal_core::{StepStatus, Verdict};
use rehearsal_sim::Cancel;
use rehearsal_world::environment::{
    Command, Environment, EnvironmentError, EnvironmentProvider, Execution, File, Files, LocalOptions,
    Program,
};
use serde_json::{Value, json};

use crate::run::stage::{Play, play, problems};

/// A scenario that writes the place of its folder into `place`, which is outside of it.
fn telling(place: &Path, more: &str) -> String {
    format!(
        "environment: {{type: local, variables: {{PLACE: '{}'}}}}
run:
  - {{lang: sh, code: 'pwd > \"$PLACE\"', evaluations: [{{type: command_exit_code_is, command: 'true', expected_code: 0}}]}}
{more}",
        place.display()
    )
}

fn folder_of(place: &Path) -> PathBuf {
    std::fs::read_to_string(place).unwrap().trim_end().into()
}

#[tokio::test]
async fn files_are_there_from_the_beginning_and_only_inside() {
    let text = "setup: {virtual_fs: {a.txt: hello, deep/b.txt: world}}
run:
  - lang: sh
    code: cat a.txt deep/b.txt
    evaluations: [{type: string_contains, value: helloworld}, {type: file_contains, path: deep/b.txt, value: world}]
";
    let played = play(text).await;
    played.passed();
    let execution = played.step(1).execution.as_ref().unwrap();
    assert_eq!(json!(execution.files), json!({"a.txt": "hello", "deep/b.txt": "world"}));
    for outside in ["/etc/a", "../a", "a/../../b", "''"] {
        let told = problems(&format!(
            "setup: {{virtual_fs: {{{outside}: x}}}}\nrun: [{{code: ls, evaluations: []}}]\n"
        ));
        assert!(told.starts_with("bad-path: "), "{outside}: {told}");
    }
}

#[tokio::test]
async fn the_agents_steps_find_the_same_folder() {
    let text = "agent: {instructions: Help., tools: [{name: save, command: 'cat > \"$REHEARSAL_FOLDER/order.json\"'}]}
models: {agent: {script: [{call: save, args: {id: 7}}, saved]}}
setup: {passthrough: [save]}
run:
  - {input: go, evaluations: [{type: file_contains, path: order.json, value: '7'}]}
  - {lang: sh, code: cat order.json, evaluations: [{type: string_contains, value: '{\"id\":7}'}]}
";
    play(text).await.passed();
}

#[tokio::test]
async fn a_turn_has_its_files() {
    let text = "agent: {instructions: Help., tools: [{name: save, command: 'cat > \"$REHEARSAL_FOLDER/order.json\"'}]}
models: {agent: {script: [{call: save, args: {id: 7}}, saved, {call: save, args: {id: 8}}, saved]}}
setup: {passthrough: [save]}
run:
  - {conversation: {max_turns: 2, user: {script: [go, again]}}, evaluations: [{type: file_contains, path: order.json, value: '8'}]}
";
    let played = play(text).await;
    played.passed();
    let turns = played.conversation(1).turns.iter();
    let files: Vec<Value> = turns.map(|turn| json!(turn.execution_result.files)).collect();
    assert_eq!(files, [json!({"order.json": "{\"id\":7}"}), json!({"order.json": "{\"id\":8}"})]);
}

#[tokio::test]
async fn seeding_commands_run_in_order_before_the_first_step() {
    let text = "setup: {virtual_fs: {a: one}, seed: ['cat a > b', [cp, b, c]]}
run: [{lang: sh, code: cat c, evaluations: [{type: string_contains, value: one}]}]
";
    play(text).await.passed();
    let failing = play(&text.replace("[cp, b, c]", "'echo no rows >&2; exit 5'")).await;
    failing.came_to(Verdict::Error);
    assert_eq!(failing.error(), "System setup: command 2 of `seed` failed: it ended with code 5\n  no rows");
    assert_eq!(failing.step(1).status, StepStatus::Skipped);
    assert_eq!(failing.step(1).note.as_deref(), Some("skipped, because the set-up failed"));
}

#[tokio::test]
async fn a_code_step_leaves_its_exit_code_its_output_and_its_files() {
    let text = "run:
  - lang: sh
    code: 'echo out; echo err >&2; echo new > made.txt; exit 3'
    evaluations: [{type: string_contains, value: out}]
  - {lang: python, code: 'print(open(\"made.txt\").read() * 2)', evaluations: [{type: string_contains, value: new}]}
  - {lang: node, code: 'console.log(6 * 7)', evaluations: [{type: string_contains, value: '42'}]}
  - {code: 'echo ${BASH_VERSION:+bash}', evaluations: [{type: string_contains, value: bash}]}
";
    let played = play(text).await;
    played.passed();
    let execution = played.step(1).execution.as_ref().unwrap();
    assert_eq!(
        (execution.exit_code, execution.stdout.as_str(), execution.stderr.as_str()),
        (Some(3), "out\n", "err\n")
    );
    assert_eq!(json!(execution.files), json!({"made.txt": "new\n"}));
    assert!(execution.trajectory.is_empty());
}

#[tokio::test]
async fn code_may_take_only_so_long() {
    let text = "run:
  - {lang: sh, code: 'echo so far; sleep 60', timeout_ms: 1000, evaluations: []}
  - {lang: sh, code: ls, evaluations: []}
";
    let played = play(text).await;
    played.came_to(Verdict::Error);
    let error = played.error();
    assert!(error.starts_with("System timeout: step 1: its code did not end within 1s"), "{error}");
    assert!(error.contains("so far") && error.contains("hint: `timeout_ms`"), "{error}");
    assert_eq!((played.step(1).status, played.step(2).status), (StepStatus::Errored, StepStatus::Skipped));
}

#[tokio::test]
async fn commands_see_the_variables_that_the_file_names_and_no_others() {
    let text = "environment: {type: local, variables: [SHOP, TOKEN]}
run: [{lang: sh, code: 'env', evaluations: [{type: string_contains, value: SHOP=open}]}]
";
    let play = Play::new(text).variable("SHOP", "open").variable("TOKEN", "t").variable("SECRET", "hidden");
    let played = play.run().await;
    played.passed();
    let stdout = &played.step(1).execution.as_ref().unwrap().stdout;
    assert!(
        stdout.contains("TOKEN=t\n") && !stdout.contains("SECRET") && !stdout.contains("CARGO"),
        "{stdout}"
    );
}

#[tokio::test]
async fn the_folder_goes_away_whatever_happens() {
    let outside = tempfile::tempdir().unwrap();
    let place = outside.path().join("place");
    let code = |code: &str| format!("  - {{lang: sh, code: '{code}', evaluations: []}}\n");
    for (more, verdict) in [
        (String::new(), Verdict::Passed),
        (
            "  - {lang: sh, code: ls, evaluations: [{type: file_exists, path: nowhere}]}\n".to_owned(),
            Verdict::Failed,
        ),
        (code("sleep 60', timeout_ms: 200, name: 'too long"), Verdict::Error),
        (code("chmod 500 ."), Verdict::Passed),
    ] {
        let played = play(&telling(&place, &more)).await;
        played.came_to(verdict);
        assert!(!folder_of(&place).exists(), "{more}");
        std::fs::remove_file(&place).unwrap();
    }
}

#[tokio::test]
async fn the_folder_goes_away_when_the_run_is_cancelled() {
    let outside = tempfile::tempdir().unwrap();
    let place = outside.path().join("place");
    let cancel = Cancel::default();
    let text = telling(&place, "  - {lang: sh, code: 'touch \"$PLACE.now\"; sleep 60', evaluations: []}\n");
    let play = Play::new(&text).cancel(&cancel);
    let waiting = async {
        while !outside.path().join("place.now").exists() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        cancel.cancel();
    };
    let (played, ()) = tokio::join!(play.run(), waiting);
    played.came_to(Verdict::Terminated);
    assert_eq!(played.result.terminated_by().as_deref(), Some("cancelled"));
    assert!(played.step(1).evaluations[0].success, "what was found before stays");
    assert!(!folder_of(&place).exists());
}

#[tokio::test]
async fn the_folder_stays_when_it_is_to_be_kept() {
    let outside = tempfile::tempdir().unwrap();
    let place = outside.path().join("place");
    let played = Play::new(&telling(&place, "  - {lang: sh, code: echo hi > a, evaluations: []}\n"))
        .keep()
        .run()
        .await;
    played.passed();
    let folder = folder_of(&place);
    assert_eq!(std::fs::read_to_string(folder.join("a")).unwrap(), "hi\n");
    assert_eq!(
        played.result.folder.as_deref().map(Path::new),
        Some(folder.as_path()),
        "the result says where it is"
    );
    std::fs::remove_dir_all(folder.parent().unwrap()).unwrap();
    assert_eq!(play(&telling(&place, "")).await.result.folder, None);
}

#[tokio::test]
async fn a_scenario_that_needs_no_folder_has_none() {
    let text =
        "agent: {instructions: Help.}\nmodels: {agent: {script: [a]}}\nrun: [{input: hi, evaluations: []}]\n";
    let played = Play::new(text).keep().run().await;
    assert_eq!(played.result.folder, None);
}

#[tokio::test]
async fn a_folder_that_its_own_code_removes_is_an_error_that_says_so() {
    let played = play("run: [{lang: sh, code: 'rm -r \"$PWD\"', evaluations: []}]\n").await;
    played.came_to(Verdict::Error);
    assert!(played.error().contains("is gone"), "{}", played.error());
}

#[tokio::test]
async fn what_an_evaluations_command_leaves_is_not_the_steps_doing() {
    let text = "run:
  - lang: sh
    code: echo hello
    evaluations:
      - {type: command_exit_code_is, command: 'echo Total > report.md', expected_code: 0}
      - {type: file_exists, path: report.md}
";
    let played = play(text).await;
    played.came_to(Verdict::Failed);
    let evaluations = &played.step(1).evaluations;
    assert_eq!((evaluations[0].success, evaluations[1].success), (true, false));
}

#[tokio::test]
async fn a_link_is_no_file_that_exists() {
    let text = "run:
  - lang: sh
    code: ln -s nowhere report.md; mkfifo pipe
    evaluations: [{type: file_exists, path: report.md}, {type: file_exists, path: pipe}]
";
    let played = play(text).await;
    played.came_to(Verdict::Error);
    assert!(played.step(1).evaluations.iter().all(|evaluation| !evaluation.success));
}

#[tokio::test]
async fn output_that_was_not_kept_whole_is_not_evaluated() {
    let text = "run:
  - lang: sh
    code: yes fine | head -c 3000000; echo ERROR
    evaluations: [{type: regex_match, pattern: '^(?![^]*ERROR)'}]
";
    let played = play(text).await;
    played.came_to(Verdict::Error);
    assert!(played.error().contains("more than are kept"), "{}", played.error());
}

/// An environment that is no folder of this machine: files in memory, and commands that say what they were.
#[derive(Debug, Default)]
struct InMemory {
    files: std::sync::Mutex<Vec<(String, String)>>,
}

#[async_trait::async_trait]
impl Environment for InMemory {
    async fn write(&self, files: &[(String, String)]) -> Result<(), EnvironmentError> {
        self.files.lock().unwrap().extend_from_slice(files);
        Ok(())
    }

    async fn run(&self, command: &Command) -> Result<Execution, EnvironmentError> {
        let Program::Code { code, .. } = &command.program else { unreachable!("only code steps run here") };
        let (stdout, stderr) = (format!("ran {code}"), String::new());
        self.files.lock().unwrap().push(("ran.txt".to_owned(), code.clone()));
        Ok(Execution {
            exit_code: Some(0),
            signal: None,
            stdout,
            stderr,
            stdout_omitted: 0,
            stderr_omitted: 0,
            timed_out: false,
            duration: std::time::Duration::ZERO,
        })
    }

    async fn files(&self) -> Result<Files, EnvironmentError> {
        let files = self.files.lock().unwrap().clone();
        let files = files.into_iter().map(|(path, content)| (path, File::Text(content))).collect();
        Ok(Files { files, truncated: 0 })
    }

    async fn close(&self) -> Result<(), EnvironmentError> {
        Ok(())
    }

    fn folder(&self) -> &std::path::Path {
        std::path::Path::new("/nowhere")
    }
}

#[derive(Debug)]
struct Provider;

impl EnvironmentProvider for Provider {
    fn provide(&self, _: LocalOptions) -> Result<std::sync::Arc<dyn Environment>, EnvironmentError> {
        Ok(std::sync::Arc::new(InMemory::default()))
    }
}

#[tokio::test]
async fn a_scenario_runs_in_whatever_environment_it_is_given() {
    let text = "setup: {virtual_fs: {notes.txt: hello}}
run:
  - code: make cheese
    evaluations:
      - {type: string_contains, value: ran make cheese}
      - {type: file_contains, path: notes.txt, value: hello}
      - {type: file_contains, path: ran.txt, value: cheese}
";
    Play::new(text).environments(Provider).run().await.passed();
    let program = "agent: {command: python3 agent.py}\nrun: [{input: hi, evaluations: []}]\n";
    let played = Play::new(program).environments(Provider).run().await;
    assert!(played.error().contains("this environment starts no process to talk with"), "{}", played.error());
}
