//! `rehearse import --tau2` and `--bfcl`, as a user runs them, on small benchmarks that are written here.

#![expect(clippy::needless_raw_string_hashes, reason = "expect-test writes them")]

use std::fs;

use expect_test::expect;

use crate::support::Folder;

const TASKS: &str = r#"[
  {"id": "7", "description": {"purpose": "Refuse the refund."}, "user_scenario": {"instructions": "Ask once."},
   "initial_state": null, "annotations": "x", "evaluation_criteria": {
     "actions": [{"name": "send_certificate", "arguments": {"user_id": "ann", "amount": 50}}],
     "communicate_info": ["1628"], "nl_assertions": ["Agent is kind."]}},
  {"id": "8", "initial_state": {"message_history": [{"role": "user"}]}, "evaluation_criteria": {"actions": []}}
]"#;

fn folder() -> Folder {
    Folder::new(&[
        ("venv/pyvenv.cfg", ""),
        ("venv/lib/inspect_evals/tau2/data/domains/airline/tasks.json", TASKS),
        ("venv/lib/inspect_evals/tau2/data/domains/airline/policy.txt", "Be kind."),
        (
            "venv/lib/inspect_evals/tau2/data/user_simulator/simulation_guidelines.txt",
            "You are the customer.",
        ),
    ])
}

#[test]
fn tasks_are_written_and_what_was_lost_is_said() {
    let folder = folder();
    let mut ran = folder.run("import --tau2 venv/lib --to tau2 --domain airline");
    let home = folder.path().canonicalize().unwrap();
    ran.stdout = ran.stdout.replace(&home.display().to_string(), "HOME");
    ran.check(&expect![[r#"
        exit 0
        --- stdout
        tau2-bench, as the package inspect-evals has it: 1 scenario in tau2
        not written: 8: lost the task: its `initial_state` has `message_history`, which no world sets up
        not as it was, in all of them:
          changed the words around the policy: the policy is the original's, word for word; the sentence before it is ours
          changed the opening: the user speaks first, told by the original's guidelines and scenario; the message that asks it to begin is not sent
          changed the limit of steps: 100 messages of the user and 200 rounds of the agent for each, where tau2 counts 200 steps in all
          changed the comparison of the database: the records that differ from the data as shipped are compared, and which they are is said; tau2 compares a hash of all records and says yes or no
          changed ids that tools make up: they come from the case's seed, so that the reference makes up the same ones
          lost names of the tools' types: arguments are checked against the schema that the original's signatures give, and wrong ones are told to the model before the tool sees them
        in some of them:
          lost `annotations`: notes of the authors, which nothing reads (in 1 scenario)
          stricter natural-language assertions: they are asked of a judge here, and do not count in tau2's own reward for this task; `--basis-only` leaves them out (in 1 scenario)
        task by task: tau2/loss-report.json

        next:
          PATH=HOME/venv/bin:"$PATH" rehearse run tau2 --model agent=openai:gpt-4o --model user=openai:gpt-4o --model judge=openai:gpt-4o
        --- stderr
    "#]]);
    assert!(folder.path().join("tau2/tau2_world.py").is_file());
    let report = fs::read_to_string(folder.path().join("tau2/loss-report.json")).unwrap();
    assert!(report.contains("`annotations`"), "{report}");
    folder.run("check tau2 --model agent=openai:gpt-4o --model user=openai:gpt-4o").check(&expect![[r#"
        exit 2
        --- stdout
        1 file: 0 can be used, 1 cannot
        --- stderr
        error[no-model]: the judge needs a model, and no model is called `judge`
          --> tau2/airline-7.scenario.yaml:37:9
           |
        37 |         - {"type": "llm_judge", "prompt": "Does this hold of the conversation: Agent is kind.", "expected": "yes"}
           |         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
           |
        help: add it:
                models:
                  judge: openai:gpt-4o   # or {script: [{say: Hello}]}
              or name it on the command line: --model judge=openai:gpt-4o

    "#]]);
}

#[test]
fn files_that_differ_are_only_replaced_by_force() {
    let folder = folder();
    let import = "import --tau2 venv/lib --to tau2 --domain airline";
    folder.run(&format!("{import} --json"));
    let path = folder.path().join("tau2/airline-7.scenario.yaml");
    let written = fs::read_to_string(&path).unwrap();
    fs::write(&path, "mine").unwrap();
    fs::remove_file(folder.path().join("tau2/tau2_world.py")).unwrap();
    folder.run(import).check(&expect![[r#"
        exit 2
        --- stdout
        --- stderr
        error: `tau2/airline-7.scenario.yaml` is there already and differs, so nothing was written

        hint: `--force` replaces what differs, and `--to` names another folder
    "#]]);
    assert!(!folder.path().join("tau2/tau2_world.py").is_file());
    assert_eq!(fs::read_to_string(&path).unwrap(), "mine");
    folder.run(&format!("{import} --force"));
    assert_eq!(fs::read_to_string(&path).unwrap(), written);
    // The report is of other tasks then, and stands in the way too.
    folder.run(&format!("{import} --basis-only --task 8")).check(&expect![[r#"
        exit 2
        --- stdout
        --- stderr
        error: `tau2/loss-report.json` is there already and differs, so nothing was written

        hint: `--force` replaces what differs, and `--to` names another folder
    "#]]);
}

#[test]
fn another_folder_and_another_name_are_told() {
    let folder = folder();
    folder.run("import --tau2 . --to x").check(&expect![[r#"
        exit 2
        --- stdout
        --- stderr
        error: `.` is not the data of tau2-bench: it has no `domains/airline/tasks.json`

        hint: `pip install --no-deps 'inspect-evals==0.26.*'` brings it as `inspect_evals/tau2/data`; `pip show inspect-evals` says where
    "#]]);
    folder.run("import --bfcl . --to x").check(&expect![[r#"
        exit 2
        --- stdout
        --- stderr
        error: `.` is not the data of BFCL: it has no `multi_turn_func_doc/gorilla_file_system.json`

        hint: `pip install --no-deps bfcl-eval` brings it as `bfcl_eval/data`; `pip show bfcl-eval` says where
    "#]]);
    folder.run("import --tau2 venv/lib --to x --domain bank").check(&expect![[r#"
        exit 2
        --- stdout
        --- stderr
        error: there is no domain `bank`

        hint: there are `airline`, `telecom`, `retail`; the tools of other domains need more than a world can bring
    "#]]);
    folder.run("import --tau2 venv/lib --to x --domain airline --task 9").check(&expect![[r#"
        exit 2
        --- stdout
        --- stderr
        error: there is no task `9`

        hint: the ids are those of the file `tasks.json` of the domain; name the domain too, such as `--domain retail`
    "#]]);
    folder.run("import --tau2 venv/lib").check(&expect![[r#"
        exit 2
        --- stdout
        --- stderr
        error: the following required arguments were not provided:
          --to <FOLDER>

        Usage: rehearse import --to <FOLDER> <--tau2 <DIR>|--bfcl <DIR>> [FILE]

        For more information, try '--help'.
    "#]]);
    folder.run("import file.json --to x").check(&expect![[r#"
        exit 2
        --- stdout
        --- stderr
        error: the following required arguments were not provided:
          <--tau2 <DIR>|--bfcl <DIR>>

        Usage: rehearse import --to <FOLDER> <--tau2 <DIR>|--bfcl <DIR>> <FILE>

        For more information, try '--help'.
    "#]]);
    assert!(!folder.path().join("x").exists());
}
