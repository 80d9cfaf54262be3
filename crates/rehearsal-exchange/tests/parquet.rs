//! What is written as Parquet is read back with the reader of the format's own crate.

#![expect(clippy::unwrap_used, reason = "a test that cannot be set up has failed")]

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::Path;

use parquet::file::reader::{FileReader as _, SerializedFileReader};
use parquet::record::Field;
use proptest::prelude::*;
use rehearsal_core::{
    CaseResult, EvaluationResult, EvaluationScope, Failure, MetricResult, Phase, SessionId, SessionPart,
    StepKind, StepResult, StepStatus, TokenUsage, Usage, Verdict,
};
use rehearsal_exchange::parquet::{
    ColumnKind, ExportError, ExportedCase, ExportedRun, ExportedSession, Replace, Tables, tables,
};
use serde_json::{Value, json};
use tempfile::TempDir;

/// A row by the names of its columns; what is null is not there.
type Row = BTreeMap<String, Field>;

fn run() -> ExportedRun {
    ExportedRun { id: "run-1".to_owned(), started_at: 1_700_000_000_123, ..ExportedRun::default() }
}

fn text(value: &impl serde::Serialize) -> String {
    rehearsal_core::json::to_string(value).unwrap()
}

fn case(result: &CaseResult, events: &[Value]) -> ExportedCase {
    let lines: String = events.iter().map(|event| rehearsal_core::json::text(event) + "\n").collect();
    let session =
        ExportedSession { id: SessionId::new("s1"), part: SessionPart::Main, lines: lines.into_bytes() };
    ExportedCase { place: 7, result: text(result), sessions: vec![session] }
}

fn export(folder: &Path, cases: impl IntoIterator<Item = ExportedCase>) {
    let mut tables = Tables::create(folder, run(), Replace::Nothing).unwrap();
    cases.into_iter().for_each(|case| tables.add(case).unwrap());
    tables.finish().unwrap();
}

fn reader(folder: &Path, table: &str) -> SerializedFileReader<File> {
    SerializedFileReader::new(File::open(folder.join(format!("{table}.parquet"))).unwrap()).unwrap()
}

fn rows(folder: &Path, table: &str) -> Vec<Row> {
    let rows = reader(folder, table).into_iter().map(|row| row.unwrap().into_columns());
    rows.map(|row| row.into_iter().filter(|(_, field)| *field != Field::Null).collect()).collect()
}

fn said(row: &Row, column: &str) -> Option<String> {
    match row.get(column)? {
        Field::Str(text) => Some(text.clone()),
        other => panic!("{column} is {other:?}"),
    }
}

fn number(row: &Row, column: &str) -> Option<i64> {
    match row.get(column)? {
        Field::Long(number) => Some(*number),
        other => panic!("{column} is {other:?}"),
    }
}

fn event(seq: u64, body: &Value) -> Value {
    json!({"seq": seq, "session": "own", "at": "2026-02-03T04:05:06.000007Z", "author": "desk", "body": body})
}

/// A model's answer with what it used.
fn answer(seq: u64, model: &str, usage: Usage) -> Value {
    let mut answer = event(
        seq,
        &json!({"type": "model_response", "content": {"role": "model", "parts": [{"text": "hi"}]},
            "finish": {"other": "bored"}, "usage": usage}),
    );
    answer["decision"] = json!({"by": "provider", "name": model, "micros": 12});
    answer
}

#[test]
fn an_empty_run_has_tables_without_rows() {
    let home = TempDir::new().unwrap();
    export(home.path(), []);
    for table in tables() {
        let reader = reader(home.path(), table.name);
        let schema = reader.metadata().file_metadata().schema();
        let names: Vec<&str> = schema.get_fields().iter().map(|field| field.name()).collect();
        assert_eq!(names, table.columns.iter().map(|column| column.name).collect::<Vec<_>>());
        assert_eq!((reader.into_iter().count(), table.columns.len() > 4), (0, true));
    }
}

#[test]
fn what_always_is_there_is_in_the_smallest_case() {
    let home = TempDir::new().unwrap();
    let mut result = CaseResult::new("", Verdict::Unjudged, 0);
    result.metrics.insert(String::new(), MetricResult::unscored(""));
    export(home.path(), [case(&result, &[answer(1, "m", Usage::default())])]);
    for table in tables() {
        let [row] = &rows(home.path(), table.name)[..] else { panic!("{} has one row", table.name) };
        for column in table.columns {
            let is_right = |field: &Field| match column.kind {
                ColumnKind::Text => matches!(field, Field::Str(_)),
                ColumnKind::Integer => matches!(field, Field::Long(_)),
                ColumnKind::Number => matches!(field, Field::Double(_)),
                ColumnKind::Boolean => matches!(field, Field::Bool(_)),
                ColumnKind::Time => matches!(field, Field::TimestampMicros(_)),
            };
            let field = row.get(column.name);
            assert!(field.is_some() || !column.always, "{}.{}", table.name, column.name);
            assert!(field.is_none_or(is_right), "{}.{} is {field:?}", table.name, column.name);
        }
    }
}

#[test]
fn a_case_is_a_row_of_each_table() {
    let home = TempDir::new().unwrap();
    let mut result = CaseResult::new("Refund", Verdict::Failed, u64::MAX);
    result.repeat = 3;
    result.error = Some(Failure {
        phase: Phase::System,
        kind: "unmocked_tool".to_owned(),
        message: "no mock".to_owned(),
    });
    result.token_usage = TokenUsage {
        agent: Some(Usage { input: 2, ..Usage::default() }),
        user: None,
        judge: Some(Usage { input: u64::MAX, ..Usage::default() }),
    };
    result.prices.insert(
        "m".to_owned(),
        rehearsal_core::json::from_value(json!({"input": 2.0, "output": 4.0})).unwrap(),
    );
    result.steps = vec![StepResult {
        step: 1,
        name: None,
        kind: StepKind::Conversation,
        status: StepStatus::Failed,
        note: None,
        execution: None,
        evaluations: vec![EvaluationResult {
            name: "1: equals".to_owned(),
            label: "equals".to_owned(),
            scope: EvaluationScope::Turn { step: 1, turn: 2 },
            kind: "equals".to_owned(),
            line: 9,
            description: None,
            success: false,
            message: "it is not".to_owned(),
            metric: MetricResult::from_pass(false).score(0.25),
        }],
        conversation: None,
    }];
    let events = [
        event(1, &json!({"type": "tool_call", "call": "c1", "tool": "pay", "args": {"text": "a\u{0}b"}})),
        event(
            2,
            &json!({"type": "tool_result", "call": "c1", "tool": "pay", "outcome": {"error": {"type": "LATE", "message": "no\nanswer"}}}),
        ),
        answer(3, "m", Usage { input: 1_000_000, output: 500_000, cached: 0, thoughts: 0 }),
    ];
    export(home.path(), [case(&result, &events)]);

    let cases = rows(home.path(), "cases");
    assert_eq!(said(&cases[0], "json").unwrap(), text(&result));
    assert_eq!(said(&cases[0], "seed").unwrap(), u64::MAX.to_string());
    assert_eq!(number(&cases[0], "input_tokens"), Some(i64::MAX));
    assert_eq!((number(&cases[0], "place"), number(&cases[0], "repeat")), (Some(7), Some(3)));
    assert_eq!(cases[0].get("run_started_at"), Some(&Field::TimestampMicros(1_700_000_000_123_000)));
    assert_eq!(cases[0].get("cost"), Some(&Field::Double(4.0)));
    assert_eq!((said(&cases[0], "fault"), said(&cases[0], "session").as_deref()), (None, Some("s1")));

    let asked = rows(home.path(), "evaluations");
    assert_eq!((number(&asked[0], "step"), number(&asked[0], "turn")), (Some(1), Some(2)));
    assert_eq!(
        (asked[0].get("passed"), asked[0].get("score")),
        (Some(&Field::Bool(false)), Some(&Field::Double(0.25)))
    );

    let told = rows(home.path(), "events");
    assert_eq!(told.len(), 3);
    assert_eq!(said(&told[0], "json").unwrap(), rehearsal_core::json::text(&events[0]));
    assert_eq!((told[0].get("failed"), told[1].get("failed")), (None, Some(&Field::Bool(true))));
    assert_eq!(said(&told[1], "error").unwrap(), "no\nanswer");
    let moment: rehearsal_core::Timestamp = "2026-02-03T04:05:06.000007Z".parse().unwrap();
    assert_eq!(told[2].get("happened_at"), Some(&Field::TimestampMicros(moment.as_microsecond())));

    let used = rows(home.path(), "usage");
    assert_eq!(
        (said(&used[0], "finish").as_deref(), said(&used[0], "model").as_deref()),
        (Some("bored"), Some("m"))
    );
    assert_eq!(used[0].get("cost"), Some(&Field::Double(4.0)));
}

#[test]
fn files_of_others_stay_and_nothing_half_written_does() {
    let home = TempDir::new().unwrap();
    let folder = home.path().join("a/b");
    let dropped = Tables::create(&folder, run(), Replace::Nothing).unwrap();
    drop(dropped);
    assert!(!folder.exists() && home.path().join("a").exists());

    export(&folder, []);
    let again = Tables::create(&folder, run(), Replace::Nothing).unwrap_err();
    assert!(matches!(&again, ExportError::Taken(path) if path.ends_with("cases.parquet")), "{again}");
    let mut tables = Tables::create(&folder, run(), Replace::Exports).unwrap();
    tables.add(case(&CaseResult::new("new", Verdict::Passed, 1), &[])).unwrap();
    assert_eq!(rows(&folder, "cases").len(), 0, "the old files are there until the new ones are whole");
    let broken = ExportedCase { place: 4, result: "{".to_owned(), sessions: Vec::new() };
    let unread = tables.add(broken).unwrap_err();
    assert_eq!(unread.to_string(), "the result of the case at place 4 cannot be read");
    tables.finish().unwrap();
    assert_eq!(rows(&folder, "cases").len(), 1);
    let mut names: Vec<_> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["cases.parquet", "evaluations.parquet", "events.parquet", "usage.parquet"]);

    fs::write(folder.join("usage.parquet"), "mine").unwrap();
    let foreign = Tables::create(&folder, run(), Replace::Exports).unwrap_err();
    assert!(matches!(&foreign, ExportError::Foreign(path) if path.ends_with("usage.parquet")), "{foreign}");
    assert_eq!(fs::read_to_string(folder.join("usage.parquet")).unwrap(), "mine");

    // One that somebody puts there meanwhile stays too.
    let other = home.path().join("c");
    let tables = Tables::create(&other, run(), Replace::Nothing).unwrap();
    fs::write(other.join("cases.parquet"), "mine").unwrap();
    assert!(matches!(tables.finish().unwrap_err(), ExportError::Taken(_)));
    assert_eq!(fs::read_dir(&other).unwrap().count(), 1);
}

#[test]
fn a_large_run_is_written_in_groups() {
    let home = TempDir::new().unwrap();
    let said = "x".repeat(1 << 20);
    let large = |number: u64| {
        let message =
            json!({"type": "user_message", "content": {"parts": [{"text": format!("{number}{said}")}]}});
        case(&CaseResult::new("large", Verdict::Passed, number), &[event(1, &message)])
    };
    export(home.path(), (0..20).map(large));
    let reader = reader(home.path(), "events");
    // Each text is there as a column and in the JSON, and 16 MB make a group.
    assert_eq!(reader.metadata().num_row_groups(), 3);
    let texts: Vec<usize> =
        rows(home.path(), "events").iter().map(|row| self::said(row, "said").unwrap().len()).collect();
    assert_eq!(texts, (0..20u64).map(|n| n.to_string().len() + (1 << 20)).collect::<Vec<_>>());
}

/// Texts as people and programs write them: any character, NUL among them.
fn any_text() -> impl Strategy<Value = String> {
    prop_oneof![
        ".{0,12}",
        Just("\u{0}".to_owned()),
        Just("é\u{202e}\u{10ffff}\"\\\n\r\t".to_owned()),
        Just(String::new())
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn every_value_is_read_back(
        names in prop::collection::vec((any_text(), any_text(), prop::option::of(any::<f64>().prop_filter("JSON has no others", |score| score.is_finite())), any::<(u64, u64)>()), 0..20),
    ) {
        let home = TempDir::new().unwrap();
        let cases = names.iter().map(|(name, tag, score, (duration, input))| {
            let mut result = CaseResult::new(name.as_str(), Verdict::Passed, *duration);
            result.duration_ms = *duration;
            result.tags = vec![tag.clone()];
            let mut metric = MetricResult::from_pass(true);
            metric.score = *score;
            result.metrics.insert(tag.clone(), metric);
            let usage = Usage { input: *input, output: 1, ..Usage::default() };
            let mut said = answer(1, name, usage);
            said["body"]["content"]["parts"][0]["text"] = tag.as_str().into();
            case(&result, &[said])
        });
        export(home.path(), cases);
        let (cases, asked) = (rows(home.path(), "cases"), rows(home.path(), "evaluations"));
        let (told, used) = (rows(home.path(), "events"), rows(home.path(), "usage"));
        prop_assert_eq!(cases.len(), names.len());
        for (index, (name, tag, score, (duration, input))) in names.iter().enumerate() {
            let whole = |number: u64| Some(i64::try_from(number).unwrap_or(i64::MAX));
            prop_assert_eq!(said(&cases[index], "case_name"), Some(name.clone()));
            prop_assert_eq!(number(&cases[index], "duration_ms"), whole(*duration));
            let tags: Vec<String> = rehearsal_core::json::from_str(&said(&cases[index], "tags").unwrap()).unwrap();
            prop_assert_eq!(&tags[0], tag);
            prop_assert_eq!(said(&asked[index], "name"), Some(tag.clone()));
            let kept = match asked[index].get("score") { Some(Field::Double(score)) => Some(*score), _ => None };
            prop_assert_eq!(kept, *score);
            prop_assert_eq!(said(&told[index], "said"), Some(tag.clone()));
            prop_assert_eq!(said(&used[index], "model"), Some(name.clone()));
            prop_assert_eq!(number(&used[index], "input_tokens"), whole(*input));
        }
    }
}
