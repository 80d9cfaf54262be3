//! What a run knows of what it was made from: enough to go on with it, and to know a part of the same run elsewhere.

#![expect(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use rehearsal_store::{Recipe, RunQuery};

use crate::support::Folder;

const SCENARIO: &str = r"
name: Greets
description: Says hello
environment: {type: local}
use: [shared.yaml#/models]
cases: {csv: rows.csv}
agent: {name: greeter, instructions: 'Greet ${row.who}.'}
run:
  - input: Hello
    evaluations: [{type: string_contains, value: '${row.who}'}]
judgment: {strategy: all_pass}
";
const SHARED: &str = "models: {agent: {script: [Hello Ada and Bob]}}\n";
const ROWS: &str = "who\nAda\nBob\n";
const FILES: [(&str, &str); 3] =
    [("greets.scenario.yaml", SCENARIO), ("shared.yaml", SHARED), ("rows.csv", ROWS)];

fn recipe(folder: &Folder) -> Recipe {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let place = folder.path().join(".rehearsal/rehearsal.db");
        let store = rehearsal_store::open(place.to_str().unwrap()).await.unwrap();
        let newest = store.runs(&RunQuery { limit: 1, ..RunQuery::default() }).await.unwrap();
        *newest.items.into_iter().next().unwrap().about.recipe.unwrap()
    })
}

/// What a run of these files with these words is made from.
fn made(files: &[(&str, &str)], words: &str) -> Recipe {
    let folder = Folder::new(files);
    let ran = folder.run(words);
    assert!(ran.code < 2, "{}{}", ran.stdout, ran.stderr);
    recipe(&folder)
}

fn changed(name: &str, from: &str, to: &str) -> Recipe {
    let texts: Vec<(&str, String)> = FILES
        .iter()
        .map(|(file, text)| (*file, if *file == name { text.replace(from, to) } else { (*text).to_owned() }))
        .collect();
    assert!(texts.iter().zip(FILES).any(|((_, new), (_, old))| *new != old), "{name} has no {from}");
    let texts: Vec<(&str, &str)> = texts.iter().map(|(file, text)| (*file, text.as_str())).collect();
    made(&texts, "run .")
}

#[test]
fn the_same_files_are_the_same_wherever_they_are_and_however_they_run() {
    let one = made(&FILES, "run .");
    assert_eq!((one.cases, one.repeat, one.seed, one.digest.len()), (2, 1, 0, 64));
    assert_eq!(one.arguments, ["run", "."]);
    let elsewhere =
        made(&FILES, "run greets.scenario.yaml --jobs 1 --json result.json --quiet --name nightly");
    assert_ne!(one.folder, elsewhere.folder);
    assert_eq!(one.digest, elsewhere.digest);
}

#[test]
fn a_changed_word_is_another_run() {
    let one = made(&FILES, "run .").digest;
    for (file, from, to) in [
        ("greets.scenario.yaml", "Greet $", "Welcome $"),
        ("shared.yaml", " and", " or"),
        ("rows.csv", "Bob", "Bo"),
    ] {
        assert_ne!(one, changed(file, from, to).digest, "{file}");
    }
    for words in ["--repeat 2", "--seed 7", "--timeout 9s", "--live", "--filter name:2", "--case-seed 3"] {
        assert_ne!(one, made(&FILES, &format!("run . {words}")).digest, "{words}");
    }
    let agent = |text| {
        let files = [FILES.as_slice(), &[("agent.yaml", text)]].concat();
        made(&files, "run . --agent agent.yaml").digest
    };
    let (calm, loud) =
        ("agent: {name: greeter, instructions: Greet.}\n", "agent: {name: greeter, instructions: Greet!}\n");
    assert_eq!(agent(calm), agent(calm));
    assert_ne!(agent(calm), agent(loud));
    let project = |text| made(&[FILES.as_slice(), &[("rehearsal.yaml", text)]].concat(), "run .").digest;
    assert_eq!(one, project("jobs: 3\n"));
    assert_ne!(one, project("timeout: 9s\n"));
}

#[test]
fn where_a_run_is_kept_is_no_part_of_what_it_was_made_from() {
    let folder = Folder::new(&FILES);
    let ran = folder.run("run . --store sqlite://.rehearsal/rehearsal.db --json=-");
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!(recipe(&folder).arguments, ["run", ".", "--json=-"]);
}
