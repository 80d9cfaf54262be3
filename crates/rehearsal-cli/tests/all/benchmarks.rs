//! `rehearse import --tau2` and `--bfcl`, as a user runs them, on small benchmarks that are written here.

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
        ("venv/lib/inspect_evals/tau2/data/user_simulator/simulation_guidelines.txt", "You are the customer."),
    ])
}

#[test]
fn tasks_are_written_and_what_was_lost_is_said() {
    let folder = folder();
    let mut ran = folder.run("import --tau2 venv/lib --to tau2 --domain airline");
    let home = folder.path().canonicalize().unwrap();
    ran.stdout = ran.stdout.replace(&home.display().to_string(), "HOME");
    ran.check(&expect![[r#""#]]);
    assert!(folder.path().join("tau2/tau2_world.py").is_file());
    let report = fs::read_to_string(folder.path().join("tau2/loss-report.json")).unwrap();
    assert!(report.contains("`annotations`"), "{report}");
    folder.run("check tau2 --model agent=openai:gpt-4o --model user=openai:gpt-4o").check(&expect![[r#""#]]);
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
    folder.run(import).check(&expect![[r#""#]]);
    assert!(!folder.path().join("tau2/tau2_world.py").is_file());
    assert_eq!(fs::read_to_string(&path).unwrap(), "mine");
    folder.run(&format!("{import} --force"));
    assert_eq!(fs::read_to_string(&path).unwrap(), written);
    // What is as it would be written is in nobody's way.
    folder.run(&format!("{import} --basis-only --task 8")).check(&expect![[r#""#]]);
}

#[test]
fn another_folder_and_another_name_are_told() {
    let folder = folder();
    folder.run("import --tau2 . --to x").check(&expect![[r#""#]]);
    folder.run("import --bfcl . --to x").check(&expect![[r#""#]]);
    folder.run("import --tau2 venv/lib --to x --domain bank").check(&expect![[r#""#]]);
    folder.run("import --tau2 venv/lib --to x --domain airline --task 9").check(&expect![[r#""#]]);
    folder.run("import --tau2 venv/lib").check(&expect![[r#""#]]);
    folder.run("import file.json --to x").check(&expect![[r#""#]]);
    assert!(!folder.path().join("x").exists());
}
