//! What cases came to by their variants.

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

use super::Verdict;

/// What the cases of a matrix came to: a row for each case, a cell for each variant.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CaseTable {
    /// The variants, in the order of the cells.
    pub variants: Vec<TableVariant>,
    /// The cases, each without its variant.
    pub rows: Vec<TableRow>,
}

/// A variant of cases.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TableVariant {
    /// What it is called, as in the names of cases.
    pub name: String,
    /// The values of the matrix, in words, by the names of its axes.
    #[cfg_attr(feature = "schema", schemars(with = "std::collections::BTreeMap<String, String>"))]
    pub values: IndexMap<String, String>,
    /// What all cases came to with it.
    pub all: TableCell,
}

/// A case with all its variants.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TableRow {
    /// The scenario, and its row where it has rows.
    pub name: String,
    /// What it came to with each variant; nothing where there is no such case, or it was not run.
    pub cells: Vec<Option<TableCell>>,
}

/// How many runs there were, and how many passed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TableCell {
    /// All runs.
    pub runs: u32,
    /// Those that passed.
    pub passed: u32,
}

impl TableCell {
    /// Counts one more run.
    pub fn count(&mut self, verdict: Verdict) {
        self.add(Self { runs: 1, passed: u32::from(verdict == Verdict::Passed) });
    }

    /// Counts those of another cell too.
    pub fn add(&mut self, other: Self) {
        self.runs += other.runs;
        self.passed += other.passed;
    }
}
