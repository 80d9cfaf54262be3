//! The four tables, with one line for each column.

use super::columns::{Column, ColumnAbout, made, maybe, some, whole};
use super::rows::{CaseFacts, CaseRow, EvaluationRow, EventRow, text, word};

/// What there is to know of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableAbout {
    /// What it is called; its file is this and `.parquet`.
    pub name: &'static str,
    /// What its rows are.
    pub about: &'static str,
    /// Its columns, in order.
    pub columns: Vec<ColumnAbout>,
}

/// The tables, with their columns in order.
pub fn tables() -> Vec<TableAbout> {
    vec![
        table(
            "cases",
            "A row for each run of a case: what it came to. A case that is repeated has a row for each repeat.",
            &cases(),
        ),
        table(
            "evaluations",
            "A row for each question that was asked of a case: evaluations of its steps, turns and conversations, and metrics.",
            &evaluations(),
        ),
        table("events", "A row for each event on the ledgers of the cases.", &events()),
        table("usage", "A row for each answer of a model: tokens, time and cost.", &usage()),
    ]
}

fn table<R>(name: &'static str, about: &'static str, columns: &[Column<R>]) -> TableAbout {
    TableAbout { name, about, columns: columns.iter().map(Column::about).collect() }
}

type Case = Column<CaseRow>;
type Asked = Column<EvaluationRow>;
type Told = Column<EventRow>;

/// Rows that are of a case.
trait OfCase {
    fn of(&self) -> &CaseFacts;
}

impl OfCase for CaseRow {
    fn of(&self) -> &CaseFacts {
        &self.of
    }
}

impl OfCase for EvaluationRow {
    fn of(&self) -> &CaseFacts {
        &self.of
    }
}

impl OfCase for EventRow {
    fn of(&self) -> &CaseFacts {
        &self.of
    }
}

/// The columns with which every table begins: they join a row to its case.
fn of_case<R: OfCase>() -> Vec<Column<R>> {
    vec![
        Column::text("run", "The run, by its id.", |row: &R| some(&row.of().run.id)).always(),
        Column::integer("place", "The place of the case in the suite, from 0.", |row: &R| {
            whole(row.of().place)
        })
        .always(),
        Column::text("case_name", "The case.", |row: &R| some(&row.of().name)).always(),
        Column::integer("repeat", "Which repeat of it, from 0.", |row: &R| whole(row.of().repeat)).always(),
    ]
}

fn with<R>(mut columns: Vec<Column<R>>, more: impl IntoIterator<Item = Column<R>>) -> Vec<Column<R>> {
    columns.extend(more);
    columns
}

/// The columns of `cases`.
pub(super) fn cases() -> Vec<Column<CaseRow>> {
    let columns = with(of_case(), what_was_run());
    with(with(columns, what_it_came_to()), what_it_used())
}

fn what_was_run() -> [Column<CaseRow>; 10] {
    [
        Case::text("session", "The agent's session, by its id.", |row| maybe(row.of.session.as_deref())),
        Case::text("run_name", "What somebody called the run.", |row| maybe(row.of.run.name.as_deref())),
        Case::time("run_started_at", "When the run began.", |row| {
            Some(row.of.run.started_at.saturating_mul(1000))
        })
        .always(),
        Case::text("commit", "The commit it was run from.", |row| maybe(row.of.run.commit.as_deref())),
        Case::text("branch", "The branch it was run from.", |row| maybe(row.of.run.branch.as_deref())),
        Case::text("file", "The file of the case.", |row| maybe(row.result.file.as_deref())),
        Case::text("scenario", "The scenario, where it makes several cases.", |row| {
            maybe(row.result.scenario.as_deref())
        }),
        Case::text("row_name", "The row that the case was made from.", |row| {
            maybe(row.result.row.as_deref())
        }),
        Case::text("variant", "The values of the matrix, as a JSON object.", |row| {
            (!row.result.variant.is_empty()).then(|| text(&row.result.variant).into())
        }),
        Case::text("tags", "Its tags, as a JSON list.", |row| {
            (!row.result.tags.is_empty()).then(|| text(&row.result.tags).into())
        }),
    ]
}

fn what_it_came_to() -> [Column<CaseRow>; 9] {
    [
        Case::text("verdict", "`passed`, `failed`, `error`, `terminated` or `unjudged`.", |row| {
            made(row.result.status)
        })
        .always(),
        Case::text("fault", "Whose doing it is that it did not pass.", |row| row.result.fault.and_then(made)),
        Case::text("error_kind", "A word for what went wrong.", |row| {
            row.result.error.as_ref().and_then(|error| some(&error.kind))
        }),
        Case::text("error", "What went wrong.", |row| {
            row.result.error.as_ref().and_then(|error| some(&error.message))
        }),
        Case::text("ended_by", "Why it ended before the agent or its steps did.", |row| {
            row.result.termination_reason.as_ref().and_then(word)
        }),
        Case::boolean(
            "valid",
            "Whether it says something about the agent, and so is part of the rate.",
            |row| Some(row.result.is_valid()),
        )
        .always(),
        Case::text("seed", "The seed that repeats it, as digits.", |row| made(row.result.seed)).always(),
        Case::integer("duration_ms", "How long it took, in milliseconds.", |row| {
            whole(row.result.duration_ms)
        })
        .always(),
        Case::integer("turns", "How often the agent yielded and was resumed.", |row| whole(row.result.turns))
            .always(),
    ]
}

fn what_it_used() -> [Column<CaseRow>; 4] {
    [
        Case::integer("input_tokens", "Tokens read by all its models, where providers said so.", |row| {
            row.usage.and_then(|usage| whole(usage.input))
        }),
        Case::integer("output_tokens", "Tokens written by all its models.", |row| {
            row.usage.and_then(|usage| whole(usage.output))
        }),
        Case::number("cost", "What its models cost in US dollars, where each of them has a price.", |row| {
            row.cost
        }),
        Case::text("json", "The whole result, as in the JSON of `rehearse run`.", |row| some(&row.json))
            .always(),
    ]
}

/// The columns of `evaluations`.
pub(super) fn evaluations() -> Vec<Column<EvaluationRow>> {
    with(
        with(
            of_case(),
            [
                Asked::text("session", "The agent's session, by its id.", |row| {
                    maybe(row.of.session.as_deref())
                }),
                Asked::integer("number", "Its number in the case, from 0.", |row| whole(row.number)).always(),
            ],
        ),
        what_was_asked().into_iter().chain(what_was_found()),
    )
}

fn what_was_asked() -> [Column<EvaluationRow>; 8] {
    [
        Asked::text("name", "Its name in the case.", |row| some(&row.name)).always(),
        Asked::text("kind", "Its type, such as `string_contains`; none for a metric.", |row| {
            row.step.as_ref().and_then(|step| some(&step.kind))
        }),
        Asked::text("label", "What it asks.", |row| row.step.as_ref().and_then(|step| some(&step.label))),
        Asked::text("description", "Why it is asked, in the words of the file.", |row| {
            row.step.as_ref().and_then(|step| maybe(step.description.as_deref()))
        }),
        Asked::text("scope", "What it looked at: `session`, `step`, `turn` or `final`.", |row| {
            some(row.scope_word())
        })
        .always(),
        Asked::integer("step", "The step, from 1.", |row| row.place().0.and_then(whole)),
        Asked::integer("turn", "The turn in the step, from 1.", |row| row.place().1.and_then(whole)),
        Asked::integer("line", "The line it stands at in the file.", |row| {
            row.step.as_ref().and_then(|step| whole(step.line))
        }),
    ]
}

fn what_was_found() -> [Column<EvaluationRow>; 5] {
    [
        Asked::text("status", "`passed`, `failed`, `error` or `unscored`.", |row| word(&row.metric.status))
            .always(),
        Asked::boolean("passed", "Whether it passed.", |row| Some(row.metric.passed())).always(),
        Asked::number("score", "How good, from 0 to 1, where it has degrees.", |row| row.metric.score),
        Asked::text("message", "What was looked for and what was found.", |row| maybe(row.message())),
        Asked::text("json", "All that was found, as in the JSON of `rehearse run`.", |row| some(&row.json))
            .always(),
    ]
}

/// Where an event stands.
fn of_event() -> Vec<Column<EventRow>> {
    with(
        of_case(),
        [
            Told::text("session", "The session, by its id.", |row: &EventRow| some(&row.session)).always(),
            Told::text("part", "The part of the session: `main`, `user` or `judge`.", |row| {
                some(row.part_word())
            })
            .always(),
            Told::integer("seq", "Its number in the session, from 1.", |row| whole(row.event.seq)).always(),
            Told::time("happened_at", "When it happened.", |row| Some(row.event.at.as_microsecond()))
                .always(),
        ],
    )
}

/// The columns of `events`.
pub(super) fn events() -> Vec<Column<EventRow>> {
    with(with(of_event(), who_did_it()), what_happened())
}

fn who_did_it() -> [Column<EventRow>; 7] {
    [
        Told::text("kind", "What happened, such as `tool_call`.", |row| some(row.event.body.kind())).always(),
        Told::text("author", "Who caused it: `user`, an agent, or `rehearsal`.", |row| {
            some(&row.event.author)
        })
        .always(),
        Told::text("invocation", "The execution of an agent that it belongs to.", |row| {
            row.event.invocation.as_ref().and_then(made)
        }),
        Told::text("turn", "The model turn that it belongs to.", |row| {
            row.event.turn.as_ref().and_then(made)
        }),
        Told::text("player", "Who answered: `provider`, `mock`, `person`, …", |row| {
            row.event.decision.as_ref().and_then(|decision| made(decision.by))
        }),
        Told::text("player_name", "Which of them: a model, a mock, a person.", |row| {
            maybe(row.player_name())
        }),
        Told::integer("duration_us", "How long the answer took, in microseconds.", |row| {
            row.event.decision.as_ref().and_then(|decision| whole(decision.micros))
        }),
    ]
}

fn what_happened() -> [Column<EventRow>; 9] {
    [
        Told::text("tool", "The tool, of calls and their results.", |row| maybe(row.tool())),
        Told::text("call", "The call, by its id.", |row| row.call().map(Into::into)),
        Told::boolean("failed", "Whether a call failed; yes for other events of failure.", |row| {
            row.failed()
        }),
        Told::text("error_kind", "A word for what went wrong.", |row| maybe(row.error_kind())),
        Told::text("error", "What went wrong.", |row| maybe(row.error())),
        Told::text("said", "What a user, a model or the agent said.", |row| row.said().map(Into::into)),
        Told::integer("input_tokens", "Tokens that a model read.", |row| {
            row.usage().and_then(|usage| whole(usage.input))
        }),
        Told::integer("output_tokens", "Tokens that it wrote.", |row| {
            row.usage().and_then(|usage| whole(usage.output))
        }),
        Told::text("json", "The event as it stands on the ledger.", |row| some(&row.json)).always(),
    ]
}

/// The columns of `usage`.
pub(super) fn usage() -> Vec<Column<EventRow>> {
    with(with(of_event(), who_answered()), what_was_used())
}

fn who_answered() -> [Column<EventRow>; 7] {
    [
        Told::text("agent", "Whose model it is.", |row| some(&row.event.author)).always(),
        Told::text("model", "The model, as the file names it.", |row| maybe(row.model())),
        Told::text("model_version", "The exact model, where its provider says.", |row| {
            row.response().and_then(|response| maybe(response.model_version.as_deref()))
        }),
        Told::text("player", "Who answered: `provider`, `script`, `person`, …", |row| {
            row.event.decision.as_ref().and_then(|decision| made(decision.by))
        }),
        Told::text("turn", "The model turn.", |row| row.event.turn.as_ref().and_then(made)),
        Told::integer("duration_us", "How long the answer took, in microseconds.", |row| {
            row.event.decision.as_ref().and_then(|decision| whole(decision.micros))
        }),
        Told::text("finish", "Why the model stopped.", |row| {
            row.response().and_then(|response| response.finish.as_ref()).and_then(word)
        }),
    ]
}

fn what_was_used() -> [Column<EventRow>; 6] {
    [
        Told::integer("input_tokens", "Tokens read, cached ones included.", |row| {
            row.usage().and_then(|usage| whole(usage.input))
        }),
        Told::integer("output_tokens", "Tokens written, thoughts included.", |row| {
            row.usage().and_then(|usage| whole(usage.output))
        }),
        Told::integer("cached_tokens", "Of the tokens read, those that came from a cache.", |row| {
            row.usage().and_then(|usage| whole(usage.cached))
        }),
        Told::integer("thought_tokens", "Of the tokens written, those that were thoughts.", |row| {
            row.usage().and_then(|usage| whole(usage.thoughts))
        }),
        Told::number(
            "cost",
            "What the answer cost in US dollars, where the model has a price.",
            EventRow::cost,
        ),
        Told::text("json", "What the provider's answer says of its use, as JSON.", |row| {
            row.usage().map(|usage| text(&usage).into())
        }),
    ]
}
