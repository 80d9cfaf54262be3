//! `rehearse run` with a person in a part, who answers through `rehearse serve`.

#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "a test stops at what it did not expect")]
#![expect(clippy::needless_raw_string_hashes, reason = "expect-test writes them")]

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};

use expect_test::expect;
use reqwest::{Client, StatusCode};
use serde_json::{Value, json};

use crate::support::{Folder, Ran};

const MODEL: &str = r#"
name: The model
description: A person plays the model
environment: {type: local}
agent: {instructions: Greet.}
models: {agent: person}
run:
  - input: hi
    evaluations: [{type: string_contains, value: hello}]
judgment: {strategy: all_pass}
"#;

const TOOL: &str = r#"
name: A tool
description: A person plays a tool
environment: {type: local}
agent:
  instructions: Find.
  tools: [{name: find, description: Finds, output: {type: object, required: [where]}}]
models: {agent: {script: [{call: find, args: {id: 1}}, It is here]}}
setup: {mocks: [{method: find, person: true}]}
run:
  - input: Where is it?
    evaluations: [{type: tool_called, tool: find}, {type: string_contains, value: here}]
judgment: {strategy: all_pass}
"#;

const USER: &str = r#"
name: The user
description: A person plays the user
environment: {type: local}
agent: {instructions: Talk.}
models: {agent: {script: [hello, fine]}}
run:
  - name: talk
    conversation:
      max_turns: 4
      user: person
      final_evaluations: [{type: conversation_length, min_turns: 1, max_turns: 3}]
judgment: {strategy: all_pass}
"#;

/// A server in the folder, and a client that shows it the token.
struct Server {
    child: Child,
    address: String,
    token: String,
    client: Client,
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

impl Server {
    fn start(folder: &Folder) -> Self {
        let mut command = folder.command("serve --port 0");
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        let (address, token) =
            line.trim().strip_prefix("Rehearsal listens on ").unwrap().split_once("/?token=").unwrap();
        let kept = std::fs::read_to_string(folder.path().join(".rehearsal/token")).unwrap();
        assert_eq!(kept.trim(), token);
        drop(rustls::crypto::ring::default_provider().install_default());
        let client = Client::builder().no_proxy().build().unwrap();
        Self { child, address: address.to_owned(), token: token.to_owned(), client }
    }

    async fn get(&self, path: &str) -> Value {
        let answer = self.client.get(format!("{}{path}", self.address)).bearer_auth(&self.token).send().await;
        answer.unwrap().error_for_status().unwrap().json().await.unwrap()
    }

    async fn post(&self, path: &str, body: Value) -> (StatusCode, Value) {
        let request = self.client.post(format!("{}{path}", self.address)).bearer_auth(&self.token);
        let answer = request.json(&body).send().await.unwrap();
        (answer.status(), answer.json().await.unwrap())
    }

    /// Waits for an open cue, and gives it with what is needed to decide.
    async fn cue(&self) -> Value {
        let request = self.client.get(format!("{}/v1/changes", self.address)).bearer_auth(&self.token);
        let mut changes = request.send().await.unwrap();
        loop {
            let cues = self.get("/v1/cues").await;
            if let Some(id) = cues["cues"][0]["id"].as_str() {
                return self.get(&format!("/v1/cues/{id}")).await;
            }
            // Something is told whenever the store has changed.
            changes.chunk().await.unwrap().unwrap();
        }
    }

    async fn answer(&self, cue: &Value, answer: Value) -> (StatusCode, Value) {
        self.post(&format!("/v1/cues/{}/answer", cue["id"].as_str().unwrap()), answer).await
    }
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

fn start(folder: &Folder) -> Child {
    let mut command = folder.command("run a.scenario.yaml");
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

#[test]
fn a_person_plays_the_model() {
    let folder = Folder::new(&[("a.scenario.yaml", MODEL)]);
    let server = Server::start(&folder);
    let run = start(&folder);
    block_on(async {
        let cue = server.cue().await;
        assert_eq!(
            (&cue["kind"], &cue["agent"], &cue["head"]),
            (&json!("model"), &json!("agent"), &json!(true))
        );
        assert_eq!(cue["prompt"]["request"]["system"], "Greet.");
        let session = server.get(&format!("/v1/sessions/{}", cue["session"].as_str().unwrap())).await;
        assert_eq!((&session["source"], &session["status"]), (&json!("run"), &json!("active")));
        let (status, refused) = server.answer(&cue, json!({"calls": [{"tool": "none", "args": {}}]})).await;
        assert_eq!((status, &refused["type"]), (StatusCode::UNPROCESSABLE_ENTITY, &json!("invalid_answer")));
        assert_eq!(server.answer(&cue, json!({"text": "hello there"})).await.0, StatusCode::OK);
    });
    Ran::from(run.wait_with_output().unwrap()).check(&expect![[r#"
        exit 0
        --- stdout
        passed   The model  TIME
        1 scenario: 1 passed in TIME
        --- stderr
        start    The model
        a person is asked: start `rehearse serve` in this folder and answer there (GET /v1/cues, POST /v1/cues/ID/answer)
        waits    The model  for a person who plays the model of `agent`
        passed   The model  TIME  1 turn
        kept: rehearse runs RUN
    "#]]);
    block_on(async {
        let runs = server.get("/v1/runs").await;
        assert_eq!(runs["runs"][0]["status"], "passed");
        let sessions = server.get("/v1/sessions").await;
        assert_eq!(sessions["sessions"][0]["status"], "completed");
        let id = sessions["sessions"][0]["id"].as_str().unwrap();
        let events = server.get(&format!("/v1/sessions/{id}/events")).await;
        let by: Vec<&Value> =
            events["events"].as_array().unwrap().iter().map(|event| &event["decision"]["by"]).collect();
        assert!(by.contains(&&json!("person")), "{by:?}");
    });
}

#[test]
fn a_person_plays_a_tool() {
    let folder = Folder::new(&[("a.scenario.yaml", TOOL)]);
    let server = Server::start(&folder);
    let run = start(&folder);
    block_on(async {
        let cue = server.cue().await;
        assert_eq!((&cue["kind"], &cue["prompt"]["tool"]), (&json!("tool"), &json!("find")));
        assert_eq!(cue["prompt"]["args"], json!({"id": 1}));
        assert_eq!(server.answer(&cue, json!({"output": {}})).await.0, StatusCode::UNPROCESSABLE_ENTITY);
        assert_eq!(server.answer(&cue, json!({"output": {"where": "here"}})).await.0, StatusCode::OK);
    });
    Ran::from(run.wait_with_output().unwrap()).check(&expect![[r#"
        exit 0
        --- stdout
        passed   A tool  TIME
        1 scenario: 1 passed in TIME
        --- stderr
        start    A tool
        a person is asked: start `rehearse serve` in this folder and answer there (GET /v1/cues, POST /v1/cues/ID/answer)
        waits    A tool  for a person who plays tool `find`
        passed   A tool  TIME  1 turn
        kept: rehearse runs RUN
    "#]]);
}

#[test]
fn a_person_plays_the_user() {
    let folder = Folder::new(&[("a.scenario.yaml", USER)]);
    let server = Server::start(&folder);
    let run = start(&folder);
    block_on(async {
        for (said, answer) in [("", json!({"text": "hi"})), ("hello", json!({"end": true}))] {
            let cue = server.cue().await;
            assert_eq!(cue["kind"], "user");
            assert!(cue["prompt"]["transcript"].as_str().unwrap().contains(said), "{cue}");
            assert_eq!(server.answer(&cue, answer).await.0, StatusCode::OK);
        }
    });
    Ran::from(run.wait_with_output().unwrap()).check(&expect![[r#"
        exit 0
        --- stdout
        passed   The user  TIME
                 conversation of 1 turn, ended by user_ended: the person who plays the user ended it
        1 scenario: 1 passed in TIME
        --- stderr
        start    The user
        a person is asked: start `rehearse serve` in this folder and answer there (GET /v1/cues, POST /v1/cues/ID/answer)
        waits    The user  for a person who plays the user
        waits    The user  for a person who plays the user
        passed   The user  TIME  1 turn
        kept: rehearse runs RUN
    "#]]);
}

#[test]
fn a_cue_that_is_dismissed_ends_the_case_with_an_error() {
    let folder = Folder::new(&[("a.scenario.yaml", MODEL)]);
    let server = Server::start(&folder);
    let run = start(&folder);
    block_on(async {
        let cue = server.cue().await;
        let path = format!("/v1/cues/{}/dismiss", cue["id"].as_str().unwrap());
        assert_eq!(server.post(&path, json!({})).await.0, StatusCode::OK);
    });
    Ran::from(run.wait_with_output().unwrap()).check(&expect![[r#"
        exit 1
        --- stdout
        ERROR    The model  TIME  not counted: infrastructure
                 a.scenario.yaml
                 step 1: did not come to its end
                 error (system): agent `agent`: person has no answer: somebody dismissed what a person was asked, so there will be no answer
                 transcript:
                     4  user: hi
                 >   8  error: agent `agent`: person has no answer: somebody dismissed what a person was asked, so there will be no answer
                 again: rehearse run a.scenario.yaml --case-seed SEED

        1 scenario: 0 passed, 1 with an error in TIME
        1 not counted: 1 infrastructure; nothing is left to judge the agent by
        --- stderr
        start    The model
        a person is asked: start `rehearse serve` in this folder and answer there (GET /v1/cues, POST /v1/cues/ID/answer)
        waits    The model  for a person who plays the model of `agent`
        ERROR    The model  TIME  1 turn
        kept: rehearse runs RUN
    "#]]);
    assert_eq!(block_on(server.get("/v1/runs"))["runs"][0]["status"], "error");
}

#[test]
fn ctrl_c_dismisses_what_a_person_was_asked() {
    let folder = Folder::new(&[("a.scenario.yaml", TOOL)]);
    let server = Server::start(&folder);
    let run = start(&folder);
    let cue = block_on(server.cue());
    assert!(Command::new("kill").args(["-INT", &run.id().to_string()]).status().unwrap().success());
    let ran = Ran::from(run.wait_with_output().unwrap());
    assert_eq!(ran.code, 130, "{}", ran.stderr);
    block_on(async {
        let cue = server.get(&format!("/v1/cues/{}", cue["id"].as_str().unwrap())).await;
        assert_eq!(cue["status"], "dismissed");
        let session = server.get(&format!("/v1/sessions/{}", cue["session"].as_str().unwrap())).await;
        assert_eq!(session["status"], "cancelled");
        assert_eq!(server.get("/v1/runs").await["runs"][0]["status"], "interrupted");
        let (status, refused) = server.answer(&cue, json!({"output": {"where": "here"}})).await;
        assert!(status.is_client_error());
        assert_eq!(refused["type"], "dismissed");
    });
}

#[test]
fn a_session_is_exported_from_a_server() {
    let folder = Folder::new(&[("a.scenario.yaml", MODEL)]);
    let server = Server::start(&folder);
    let run = start(&folder);
    let cue = block_on(server.cue());
    let session = cue["session"].as_str().unwrap();
    let export = |session: &str, address: &str| {
        folder.run(&format!("export {session} --evalset g.evalset.json --format json --server {address}"))
    };
    let early = export(session, &server.address);
    assert_eq!(early.code, 2);
    assert!(early.stderr.contains("the session is still active; complete it first"), "{}", early.stderr);
    assert_eq!(block_on(server.answer(&cue, json!({"text": "hello"}))).0, StatusCode::OK);
    assert_eq!(Ran::from(run.wait_with_output().unwrap()).code, 0);
    let again = format!("{} --again", server.address);
    let short = &session[..8];
    for (cases, repeated, id, address) in
        [(1, false, session, &server.address), (1, true, short, &server.address), (2, false, short, &again)]
    {
        let ran = export(id, address);
        let told: Value =
            rehearsal_core::json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{}", ran.stderr));
        assert_eq!((&told["cases"], &told["path"]), (&json!(cases), &json!("g.evalset.json")));
        assert_eq!(told["repeated"], repeated);
    }
    let elsewhere = Folder::new(&[]);
    let far = |address: &str| elsewhere.run(&format!("export {session} --evalset g.json --server {address}"));
    let without = far(&server.address);
    assert_eq!(without.code, 2);
    assert!(without.stderr.contains("there is no token") && without.stderr.contains("REHEARSAL_TOKEN"));
    let wrong = far(&format!("{}/?token=0123456789abcdef0123", server.address));
    assert!(
        wrong.stderr.contains("401") && wrong.stderr.contains("the token is another"),
        "{}",
        wrong.stderr
    );
    let right = far(&format!("{}/?token={}", server.address, server.token));
    assert_eq!(right.code, 0, "{}", right.stderr);
    assert!(elsewhere.path().join("g.json").exists());
    assert_eq!(far("nowhere").code, 2);
}

#[test]
fn an_address_that_cannot_be_used_is_told_without_its_token() {
    let folder = Folder::new(&[]);
    let secret = "0123456789abcdef0123";
    for address in [
        format!("127.0.0.1:4310/?token={secret}"),
        format!("localhost:4310/?token={secret}"),
        format!("127.0.0.1:4310#{secret}"),
        format!("me:{secret}@127.0.0.1:4310"),
        format!("http://me:{secret}@127.0.0.1:1"),
        format!("http://me:{secret}@127.0.0.1:1/?token={secret}"),
    ] {
        let ran = folder.run(&format!("export abcd1234 --evalset g.json --server {address}"));
        assert_eq!(ran.code, 2, "{address}");
        assert!(ran.stderr.contains("127.0.0.1") || ran.stderr.contains("localhost"), "{}", ran.stderr);
        assert!(!ran.stderr.contains(secret), "{address}: {}", ran.stderr);
    }
}

/// A server in the folder has a token that is nobody else's business.
#[test]
fn the_token_of_the_folder_is_not_sent_to_other_machines() {
    let folder = Folder::new(&[(".rehearsal/token", "0123456789abcdef0123\n")]);
    let export = "export abcd1234 --evalset g.json --server http://rehearsal.invalid:4200";
    folder.run(export).check(&expect![[r#"
        exit 2
        --- stdout
        --- stderr
        error: there is no token for http://rehearsal.invalid:4200/

        hint: set REHEARSAL_TOKEN, or write the address with `?token=…` as `rehearse serve` printed it; `.rehearsal/token` is sent to servers on this machine only
    "#]]);
    // One that is given is for that server.
    let given = Ran::of(folder.command(export).env("REHEARSAL_TOKEN", "fedcba98765432100123"));
    assert!(given.stderr.contains("cannot be asked"), "{}", given.stderr);
}

#[test]
fn a_session_of_a_program_is_completed_and_exported_in_one_go() {
    for far in [false, true] {
        let folder = Folder::new(&[]);
        let server = Server::start(&folder);
        let session = block_on(async {
            let (_, made) = server.post("/v1/sessions", json!({"agent": "clerk"})).await;
            let id = made["id"].as_str().unwrap().to_owned();
            let (first, second) =
                ("6f1d9c6e-7f1c-4d55-9a55-2f9f6a1c2b3d", "6f1d9c6e-7f1c-4d55-9a55-2f9f6a1c2b3e");
            let said = json!({"events": [
                {"event_id": first, "agent": "clerk", "type": "user_message", "content": {"parts": [{"text": "go"}]}},
                {"event_id": second, "agent": "clerk", "type": "agent_ended", "output": "gone"},
            ]});
            server.post(&format!("/v1/sessions/{id}/events"), said).await;
            id
        });
        let server_flag = if far { format!(" --server {}", server.address) } else { String::new() };
        let export =
            |more: &str| folder.run(&format!("export {session} --evalset g.json{server_flag}{more}"));
        let open = export("");
        assert!(open.code == 2 && open.stderr.contains("--complete"), "{}", open.stderr);
        let done = export(" --complete");
        assert_eq!(done.code, 0, "{}", done.stderr);
        assert!(folder.path().join("g.json").exists());
    }
}

#[test]
fn runs_that_are_repeated_exactly_are_kept_apart() {
    // Both have the same ids on their ledgers.
    let other = MODEL.replace("The model", "Another");
    let folder = Folder::new(&[("a.scenario.yaml", MODEL), ("b.scenario.yaml", &other)]);
    let server = Server::start(&folder);
    let mut command = folder.command("run . --case-seed 7 --jobs 1 --quiet");
    let run = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let sessions: Vec<String> = (0..2)
        .map(|_| {
            block_on(async {
                let cue = server.cue().await;
                assert_eq!(server.answer(&cue, json!({"text": "hello"})).await.0, StatusCode::OK);
                cue["session"].as_str().unwrap().to_owned()
            })
        })
        .collect();
    assert_ne!(sessions[0], sessions[1]);
    let ran = Ran::from(run.wait_with_output().unwrap());
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
}

/// Starts a server and gives its first line.
fn first_line(command: &mut Command) -> (Child, String) {
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    (child, line)
}

fn end(mut child: Child) {
    drop(child.kill());
    drop(child.wait());
}

#[test]
fn the_token_is_for_its_owner_alone_and_in_no_history() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = Folder::new(&[]);
    let (child, line) = first_line(&mut folder.command("serve --port 0 --store elsewhere.db"));
    end(child);
    assert!(line.contains("/?token="), "{line}");
    let home = folder.path().join(".rehearsal");
    assert_eq!(std::fs::read_to_string(home.join(".gitignore")).unwrap(), "*\n");
    let mode = |path: &std::path::Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&home), mode(&home.join("token"))), (0o700, 0o600));
    let mut names: Vec<_> = home.read_dir().unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, [".gitignore", "token"]);
}

/// A token is shown once, by the start that made it. A start that came to nothing must not use that up.
#[test]
fn a_start_that_fails_makes_no_token() {
    let folder = Folder::new(&[("folder.db/in/it", "")]);
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    for args in [format!("serve --port {port}"), "serve --port 0 --store folder.db".to_owned()] {
        assert_eq!(folder.run(&args).code, 2, "{args}");
        assert!(!folder.path().join(".rehearsal/token").exists(), "{args}");
    }
    let (child, line) = first_line(&mut folder.command("serve --port 0"));
    end(child);
    assert!(line.contains("/?token="), "{line}");
}

#[test]
fn a_port_that_is_taken_is_told_with_the_option_that_chose_it() {
    let folder = Folder::new(&[]);
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    for (args, option) in [("", "--port"), (" --port 0", "--grpc-port")] {
        let ran = folder.run(&format!("serve{args} {option} {port}"));
        assert_eq!(ran.code, 2);
        assert!(ran.stderr.contains(&format!("choose another one with {option}\n")), "{}", ran.stderr);
    }
}

#[test]
fn an_unusable_token_file_is_to_be_removed() {
    let folder = Folder::new(&[(".rehearsal/token", "short\n")]);
    let ran = folder.run("serve --port 0");
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.contains("token holds no usable token"), "{}", ran.stderr);
    assert!(ran.stderr.contains("remove the file and start again"), "{}", ran.stderr);
}

/// However many servers are started in a folder at once, they all take the same token.
#[test]
fn servers_that_start_together_share_the_token() {
    let folder = Folder::new(&[]);
    let starts: Vec<_> = (0..4)
        .map(|number| {
            let mut command = folder.command(&format!("serve --port 0 --store s{number}.db"));
            std::thread::spawn(move || first_line(&mut command))
        })
        .collect();
    for start in starts {
        let (child, line) = start.join().unwrap();
        end(child);
        assert!(line.starts_with("Rehearsal listens on "), "{line:?}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_server_takes_as_many_connections_as_the_system_allows() {
    let folder = Folder::new(&[]);
    let serve = folder.command("serve --port 0");
    let mut shell = Command::new("sh");
    shell.args(["-c", "ulimit -Sn 200; exec \"$0\" \"$@\""]).arg(serve.get_program()).args(serve.get_args());
    let (child, _) = first_line(shell.current_dir(folder.path()));
    let limits = std::fs::read_to_string(format!("/proc/{}/limits", child.id())).unwrap();
    end(child);
    let files = limits.lines().find(|line| line.starts_with("Max open files")).unwrap();
    let mut bounds = files.split_whitespace().skip(3);
    assert_eq!(bounds.next(), bounds.next(), "{files}");
}
