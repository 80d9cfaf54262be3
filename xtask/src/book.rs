//! `cargo xtask book`.
//!
//! The book has the pages that docs/SUMMARY.md names, laid out as they lie in the project, so that a link between two
//! of them leads to the same place here and there. What they link to besides, such as a picture, an example or a
//! source file, is put beside them. Links are checked in what mdBook made, where a reader follows them.

mod links;

use std::fs;
use std::path::{Component, Path, PathBuf};
use std::process::{Command, ExitCode};

use crate::failure::Failure;
use crate::setup::{self, BOOK};
use crate::workspace::Workspace;

/// The list of the pages, whose links are relative to its own folder.
const SUMMARY: &str = "docs/SUMMARY.md";

/// Builds the book and says where it is.
pub(crate) fn run(workspace: &Workspace) -> Result<ExitCode, Failure> {
    setup::install_book(workspace)?;
    let passed = build(workspace)?;
    if passed {
        println!("the book: {}", html(workspace).join("index.html").display());
    }
    Ok(if passed { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Builds the book; whether every link in it leads somewhere.
pub(crate) fn build(workspace: &Workspace) -> Result<bool, Failure> {
    let (root, book) = (&workspace.root, workspace.target.join("book"));
    setup::remove(&book)?;
    let summary = setup::read(&root.join(SUMMARY))?;
    let (summary, pages) = laid_out(&summary);
    setup::write(&book.join("src/SUMMARY.md"), &summary)?;
    for page in &pages {
        setup::write(&book.join("src").join(page), &setup::read(&root.join(page))?)?;
    }
    setup::write(&book.join("book.toml"), &setup::read(&root.join("docs/book.toml"))?)?;
    setup::expect_success(Command::new(BOOK.program(workspace, "mdbook")).arg("build").arg(&book))?;

    let broken = links::check(&html(workspace), root)?;
    for each in &broken {
        println!("{each}");
    }
    Ok(broken.is_empty())
}

fn html(workspace: &Workspace) -> PathBuf {
    workspace.target.join("book/html")
}

/// The summary with links from the project's root, and the pages that it names.
fn laid_out(summary: &str) -> (String, Vec<PathBuf>) {
    let folder = Path::new(SUMMARY).parent().unwrap_or(Path::new(""));
    let mut pages = Vec::new();
    let mut text = String::new();
    for line in summary.lines() {
        let link = line.split_once("](").and_then(|(title, rest)| Some((title, rest.strip_suffix(')')?)));
        if let Some((title, target)) = link {
            let page = plain(&folder.join(target));
            text.extend([title, "](", &page.to_string_lossy(), ")\n"]);
            pages.push(page);
        } else {
            text = text + line + "\n";
        }
    }
    (text, pages)
}

/// The path without `.` and `..`.
fn plain(path: &Path) -> PathBuf {
    path.components().fold(PathBuf::new(), |mut plain, part| {
        match part {
            Component::ParentDir => drop(plain.pop()),
            Component::CurDir => {}
            other => plain.push(other),
        }
        plain
    })
}

/// Every file below a folder, in order.
fn files(folder: &Path) -> Vec<PathBuf> {
    let below = |path: PathBuf| if path.is_dir() { files(&path) } else { vec![path] };
    setup::entries(folder).into_iter().flat_map(below).collect()
}

/// Copies a file to where there may be no folder yet.
fn copy(from: &Path, to: &Path) -> Result<(), Failure> {
    let made = to.parent().map_or(Ok(()), fs::create_dir_all);
    made.and_then(|()| fs::copy(from, to))
        .map(drop)
        .map_err(|error| Failure::new(format!("cannot copy `{}`: {error}", from.display())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_laid_out_as_they_lie_in_the_project() {
        let (summary, pages) = laid_out("# Do\n\n- [One](guides/one.md)\n  - [Two](../TWO.md)\n");
        assert_eq!(summary, "# Do\n\n- [One](docs/guides/one.md)\n  - [Two](TWO.md)\n");
        assert_eq!(pages, [Path::new("docs/guides/one.md"), Path::new("TWO.md")]);
    }
}
