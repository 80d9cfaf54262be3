//! What stands in for the writer where it is not built in.

use std::path::Path;

use super::{ExportError, ExportedCase, ExportedRun, Replace, WrittenTable};

/// The tables of a run. This build cannot make any.
#[derive(Debug)]
pub enum Tables {}

impl Tables {
    /// Says that nothing can be written.
    ///
    /// # Errors
    /// Always [`ExportError::NotBuiltIn`].
    pub fn create(_: &Path, _: ExportedRun, _: Replace) -> Result<Self, ExportError> {
        Err(ExportError::NotBuiltIn)
    }

    /// Adds a case.
    ///
    /// # Errors
    /// There is nothing to add it to.
    pub fn add(&mut self, _: ExportedCase) -> Result<(), ExportError> {
        match *self {}
    }

    /// Puts the files in place.
    ///
    /// # Errors
    /// There are none.
    pub fn finish(self) -> Result<Vec<WrittenTable>, ExportError> {
        match self {}
    }
}
