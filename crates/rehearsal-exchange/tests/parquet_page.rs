//! The page of reference about the tables of a run comes from what writes them.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use expect_test::expect_file;
use rehearsal_exchange::parquet::{TABLES_VERSION, tables};

const HEAD: &str = "\
# Runs as Parquet

`rehearse export RUN --parquet DIR` writes four files into a folder, each with the rows of one table: `cases.parquet`, \
`evaluations.parquet`, `events.parquet` and `usage.parquet`. DuckDB, Polars, pandas, Spark and their like read them; \
[Analysing runs](../guides/analyse-runs.md) has queries. RUN is the id of a run, its beginning, or `last`.

The columns are flat and keep their order; new ones are added before the last, which is `json` in every table and holds \
the whole of what the row is about. A column that says nothing of a row is null there; those in **bold** never are. \
`run`, `place` and `repeat` join the tables. Rows stand in the order of the suite. Times are in UTC, without a zone. A whole number beyond 64 bits is the largest there is, and as it \
was in `json`.

Only cases that came to an end are exported, so a run that goes on, or was interrupted, has fewer rows. Sessions that \
somebody removed have no events. Costs are known where the scenario or the project's file has \
[`prices`](scenario-keys.md#prices).

Files that are there already are not replaced, unless `--force` is said; a file that is not from an earlier export is \
never replaced. All four are seen when all are whole. With `--format json` the command prints `{\"run\", \"folder\", \
\"tables\": [{\"name\", \"path\", \"rows\", \"bytes\"}]}`. The memory it takes does not grow with the run: rows are \
written in groups of about 16 MB, compressed with zstd.

What is released can write Parquet. A build from source can with the feature `parquet`: `cargo build --release -p \
rehearsal-cli --features parquet`.
";

#[test]
fn the_page_is_the_one_that_the_tables_make() {
    let mut page = HEAD.to_owned();
    writeln!(
        page,
        "\nThe files say `rehearsal.tables` = {TABLES_VERSION} and `rehearsal.run` = the run's id."
    )
    .unwrap();
    for table in tables() {
        writeln!(page, "\n## {}\n\n{}\n\n| column | holds | |\n|---|---|---|", table.name, table.about)
            .unwrap();
        for column in table.columns {
            let name =
                if column.always { format!("**`{}`**", column.name) } else { format!("`{}`", column.name) };
            writeln!(page, "| {name} | {} | {} |", column.kind, column.about).unwrap();
        }
    }
    expect_file!["../../../docs/reference/parquet.md"].assert_eq(&page);
}

#[test]
fn names_are_plain_and_stand_once() {
    for table in tables() {
        let names: BTreeSet<&str> = table.columns.iter().map(|column| column.name).collect();
        assert_eq!(names.len(), table.columns.len(), "{}", table.name);
        assert!(
            names.iter().all(|name| name.chars().all(|c| c.is_ascii_lowercase() || c == '_')),
            "{names:?}"
        );
        assert_eq!(table.columns.last().map(|column| column.name), Some("json"));
    }
}
