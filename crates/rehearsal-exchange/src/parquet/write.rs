//! Writing the tables of a run.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use super::columns::Column;
use super::folder::{Folder, Part};
use super::rows::{CaseRow, EvaluationRow, EventRow, Rows};
use super::sheet::Sheet;
use super::{ExportError, ExportedCase, ExportedRun, Replace, WrittenTable, tables};

/// The tables of a run, as they are being written.
///
/// They are seen in their folder when [`finish`](Self::finish) puts them there. Dropped before, they leave nothing.
pub struct Tables {
    run: Arc<ExportedRun>,
    cases: Table<CaseRow>,
    evaluations: Table<EvaluationRow>,
    events: Table<EventRow>,
    usage: Table<EventRow>,
    // The last: it goes after the files in it.
    folder: Folder,
}

impl fmt::Debug for Tables {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tables").field("run", &self.run).field("folder", &self.folder).finish_non_exhaustive()
    }
}

impl Tables {
    /// Begins to write into a folder, which is made where it is missing.
    ///
    /// # Errors
    /// A file of theirs is there and may not be replaced, or the folder cannot be written.
    pub fn create(folder: &Path, run: ExportedRun, replace: Replace) -> Result<Self, ExportError> {
        let names: Vec<&str> = tables::tables().iter().map(|table| table.name).collect();
        let folder = Folder::open(folder, replace, &names)?;
        Ok(Self {
            cases: Table::create(&folder, "cases", tables::cases(), &run)?,
            evaluations: Table::create(&folder, "evaluations", tables::evaluations(), &run)?,
            events: Table::create(&folder, "events", tables::events(), &run)?,
            usage: Table::create(&folder, "usage", tables::usage(), &run)?,
            run: Arc::new(run),
            folder,
        })
    }

    /// Adds a case with all that belongs to it.
    ///
    /// # Errors
    /// It cannot be read, or the files cannot be written.
    pub fn add(&mut self, case: ExportedCase) -> Result<(), ExportError> {
        let Rows { case, evaluations, events } = Rows::of(&self.run, case)?;
        self.cases.push(&case)?;
        evaluations.iter().try_for_each(|row| self.evaluations.push(row))?;
        for row in &events {
            self.events.push(row)?;
            if row.response().is_some() {
                self.usage.push(row)?;
            }
        }
        Ok(())
    }

    /// Puts the files in place.
    ///
    /// # Errors
    /// They cannot be written, or others are there by now.
    pub fn finish(self) -> Result<Vec<WrittenTable>, ExportError> {
        let Self { run: _, cases, evaluations, events, usage, mut folder } = self;
        // All are whole before the first is seen.
        let whole = [cases.finish()?, evaluations.finish()?, events.finish()?, usage.finish()?];
        let mut written = Vec::new();
        for (name, part, rows) in whole {
            let path = part.path.clone();
            let bytes = folder.put(part)?;
            written.push(WrittenTable { name, path, rows, bytes });
        }
        Ok(written)
    }
}

/// A table with the file that it is written to.
struct Table<R> {
    name: &'static str,
    sheet: Sheet<R>,
    part: Part,
}

impl<R> Table<R> {
    fn create(
        folder: &Folder,
        name: &'static str,
        columns: Vec<Column<R>>,
        run: &ExportedRun,
    ) -> Result<Self, ExportError> {
        let part = folder.begin(name)?;
        let sheet = Sheet::new(part.file()?, name, columns, &run.id).map_err(|error| failed(name, error))?;
        Ok(Self { name, sheet, part })
    }

    fn push(&mut self, row: &R) -> Result<(), ExportError> {
        self.sheet.push(row).map_err(|error| failed(self.name, error))
    }

    fn finish(self) -> Result<(&'static str, Part, u64), ExportError> {
        let rows = self.sheet.finish().map_err(|error| failed(self.name, error))?;
        Ok((self.name, self.part, rows))
    }
}

fn failed(table: &'static str, error: parquet::errors::ParquetError) -> ExportError {
    ExportError::Table { table, source: Box::new(error) }
}
