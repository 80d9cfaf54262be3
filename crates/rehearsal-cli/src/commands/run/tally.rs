//! A table of what the cases of a matrix come to: a line for each case, a column for each variant.

use std::sync::{Mutex, PoisonError};

use indexmap::{IndexMap, IndexSet};
use rehearsal_core::{CaseTable, TableCell, TableRow, TableVariant, Verdict};

use crate::load::Loaded;

/// Counts what cases come to, by case and variant.
pub(super) struct Tally {
    lines: Vec<String>,
    variants: Vec<IndexMap<String, String>>,
    /// The line and the column of each case, by its place; nothing for one without a variant.
    places: Vec<Option<(usize, usize)>>,
    counts: Mutex<Vec<Vec<Option<TableCell>>>>,
}

impl Tally {
    pub(super) fn new(loaded: &[Loaded]) -> Self {
        let (mut lines, mut variants) = (IndexSet::new(), Vec::<IndexMap<String, String>>::new());
        let mut columns: IndexMap<String, usize> = IndexMap::new();
        let mut places = Vec::with_capacity(loaded.len());
        for one in loaded {
            let parts = one.parts().filter(|(_, variant)| !variant.is_empty());
            places.push(parts.map(|(name, variant)| {
                let line = lines.insert_full((one.path.clone(), name)).0;
                let words = words(&variant);
                let column = *columns.entry(words).or_insert_with(|| {
                    variants.push(variant);
                    variants.len() - 1
                });
                (line, column)
            }));
        }
        let counts = vec![vec![None; variants.len()]; lines.len()];
        let lines = lines.into_iter().map(|(_, name)| name).collect();
        Self { lines, variants, places, counts: Mutex::new(counts) }
    }

    /// Counts one more run of the case at a place.
    pub(super) fn count(&self, place: usize, verdict: Verdict) {
        let Some(Some((line, column))) = self.places.get(place).copied() else { return };
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        counts[line][column].get_or_insert_default().count(verdict);
    }

    /// The table; nothing where there are no variants.
    pub(super) fn table(&self) -> Option<CaseTable> {
        if self.variants.is_empty() {
            return None;
        }
        let counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        let column = |at: usize| {
            let mut all = TableCell::default();
            counts.iter().filter_map(|line| line[at]).for_each(|cell| all.add(cell));
            all
        };
        let variants = self.variants.iter().enumerate();
        let variants = variants.map(|(at, values)| TableVariant {
            name: words(values),
            values: values.clone(),
            all: column(at),
        });
        let rows = self.lines.iter().zip(&*counts);
        let rows = rows.map(|(name, cells)| TableRow { name: name.clone(), cells: cells.clone() });
        Some(CaseTable { variants: variants.collect(), rows: rows.collect() })
    }
}

fn words(variant: &IndexMap<String, String>) -> String {
    let words: Vec<String> = variant.iter().map(|(axis, value)| format!("{axis}={value}")).collect();
    words.join(", ")
}
