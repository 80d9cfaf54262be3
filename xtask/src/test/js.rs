//! The step that checks the npm package.

use super::counts::Counts;
use super::stage::Stage;
use crate::child;
use crate::failure::Failure;
use crate::setup::{LIBRARY, compile_library, tool_of};

/// Types, lints, format; and its tests, of which some install it as npm does and run Vitest and Jest.
pub(super) fn check(stage: &Stage<'_>) -> Result<Counts, Failure> {
    let js = stage.folder(LIBRARY, "package.json")?;
    let mut counts = Counts::default();
    for tool in [&["tsc", "--noEmit"][..], &["biome", "ci", "."]] {
        counts.add(Counts::of_check(child::run(tool_of(&js, tool[0]).args(&tool[1..]))?.success()));
    }
    stage.binary()?;
    compile_library(stage.workspace)?;
    let mut vitest = tool_of(&js, "vitest");
    vitest.args(["run", "--no-color"]);
    stage.equip(&mut vitest);
    let mut found = Counts::default();
    let status = child::tee(&mut vitest, |line| {
        if let Some(more) = Counts::parse_vitest(line) {
            found.add(more);
        }
    })?;
    counts.add(found.of_program(status.success()));
    Ok(counts)
}
