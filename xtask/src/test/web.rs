//! The steps that check the page.

use std::fs;
use std::path::Path;

use super::counts::Counts;
use super::stage::Stage;
use crate::child;
use crate::failure::Failure;
use crate::setup::{ADK, chromium, tool_of};

/// Types, lints, format and unit tests; and that the API's types are those of its description.
pub(super) fn check(stage: &Stage<'_>) -> Result<Counts, Failure> {
    let web = stage.folder("web", "package.json")?;
    let mut counts = Counts::default();
    counts.add(Counts::of_check(types_are_current(&web)?));
    for tool in [&["tsc", "--noEmit"][..], &["biome", "ci", "."]] {
        counts.add(Counts::of_check(child::run(tool_of(&web, tool[0]).args(&tool[1..]))?.success()));
    }
    let mut found = Counts::default();
    let status = child::tee(tool_of(&web, "vitest").args(["run", "--no-color"]), |line| {
        if let Some(more) = Counts::parse_vitest(line) {
            found.add(more);
        }
    })?;
    counts.add(found.of_program(status.success()));
    Ok(counts)
}

/// The browser tests: the built page, the real server and real agents.
pub(super) fn browser(stage: &Stage<'_>) -> Result<Counts, Failure> {
    let web = stage.folder("web", "playwright.config.ts")?;
    let mut playwright = tool_of(&web, "playwright");
    playwright.arg("test").env("CHROMIUM", chromium()?).env("FORCE_COLOR", "0");
    playwright.env("REHEARSAL_PYTHON", ADK.program(stage.workspace, "python"));
    stage.equip(&mut playwright);
    let mut found = Counts::default();
    let status = child::tee(&mut playwright, |line| {
        if let Some(more) = Counts::parse_playwright(line) {
            found.add(more);
        }
    })?;
    Ok(found.of_program(status.success()))
}

fn types_are_current(web: &Path) -> Result<bool, Failure> {
    let kept = web.join("src/api/schema.d.ts");
    let fresh = web.join("node_modules/.schema.d.ts");
    let mut generator = tool_of(web, "openapi-typescript");
    generator.arg("../docs/reference/openapi.json").arg("-o").arg(&fresh);
    if !child::run(&mut generator)?.success() {
        return Ok(false);
    }
    let read = |path: &Path| fs::read_to_string(path).unwrap_or_default();
    let current = read(&kept) == read(&fresh);
    if !current {
        println!(
            "web/src/api/schema.d.ts is not what docs/reference/openapi.json gives: (cd web && npm run types)"
        );
    }
    Ok(current)
}
