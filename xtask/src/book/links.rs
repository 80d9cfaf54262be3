//! The links of a built book.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::{copy, files, plain};
use crate::failure::Failure;
use crate::setup;

/// Follows every link of every page in `html`, and gives those that lead nowhere. A file of the project that a page
/// links to is put into the book; of a folder, its files are.
pub(super) fn check(html: &Path, project: &Path) -> Result<Vec<String>, Failure> {
    let pages = files(html).into_iter().filter(|file| is_page(file));
    let mut texts = BTreeMap::new();
    for page in pages {
        texts.insert(page.clone(), setup::read(&page)?);
    }
    let mut broken = Vec::new();
    for (page, text) in &texts {
        for link in links(text) {
            let (path, place) = link.split_once('#').unwrap_or((&link, ""));
            let target = match path {
                "" => page.clone(),
                path => plain(&page.parent().unwrap_or(html).join(path)),
            };
            let shown = |why: &str| {
                format!("{}: the link `{link}` {why}", page.strip_prefix(html).unwrap_or(page).display())
            };
            let Ok(inside) = target.strip_prefix(html) else {
                broken.push(shown("leads out of the book"));
                continue;
            };
            if !target.is_file() && !bring(&project.join(inside), &target)? {
                broken.push(shown("leads nowhere; is its page in docs/SUMMARY.md?"));
            } else if !place.is_empty() && texts.get(&target).is_some_and(|text| !has_place(text, place)) {
                broken.push(shown("names a place that the page does not have"));
            }
        }
    }
    Ok(broken)
}

/// Puts what the project has into the book; whether it has it. A page is in the book or is not: its source is no help.
fn bring(from: &Path, to: &Path) -> Result<bool, Failure> {
    if from.is_dir() {
        let inside: Vec<PathBuf> = setup::entries(from).into_iter().filter(|each| each.is_file()).collect();
        let mut items = String::new();
        for file in &inside {
            let name = file.file_name().unwrap_or_default();
            copy(file, &to.join(name))?;
            let name = name.to_string_lossy();
            items.extend(["<li><a href=\"", &name, "\">", &name, "</a></li>\n"]);
        }
        setup::write(&to.join("index.html"), &format!("<!doctype html>\n<ul>\n{items}</ul>\n"))?;
        return Ok(true);
    }
    if !from.is_file() || from.extension().is_some_and(|it| it == "md") {
        return Ok(false);
    }
    copy(from, to).map(|()| true)
}

/// Where the page leads inside of the book, each place once.
fn links(text: &str) -> BTreeSet<String> {
    let after = |attribute: &str| {
        let parts = text.split(attribute).skip(1).filter_map(|rest| rest.split_once('"'));
        parts.map(|(link, _)| link.replace("&amp;", "&")).collect::<Vec<_>>()
    };
    let found = after(" href=\"").into_iter().chain(after(" src=\""));
    found.filter(|link| !is_outside(link) && !link.is_empty()).collect()
}

fn is_outside(link: &str) -> bool {
    let scheme = link.split(['/', '#']).next().unwrap_or_default();
    scheme.contains(':') || link.starts_with("//")
}

fn has_place(text: &str, place: &str) -> bool {
    text.contains(&format!("id=\"{place}\""))
}

fn is_page(file: &Path) -> bool {
    file.extension().is_some_and(|it| it == "html")
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn what_leads_nowhere_is_found_and_what_the_project_has_is_brought() {
        let folder = std::env::temp_dir().join(format!("rehearsal-book-{}", std::process::id()));
        let (html, project) = (folder.join("html"), folder.join("project"));
        setup::write(&project.join("code/a.rs"), "fn a() {}").unwrap();
        setup::write(&project.join("notes.md"), "# Notes").unwrap();
        let page = r##"
            <h2 id="here">Here</h2> <a href="#here">1</a> <a href="#gone">2</a> <a href="two.html#there">3</a>
            <a href="two.html#nowhere">4</a> <a href="../../x.html">5</a> <a href="code/a.rs">6</a>
            <a href="code">7</a> <a href="notes.html">8</a> <a href="notes.md">9</a> <a href="https://x.org/y">10</a>
        "##;
        setup::write(&html.join("one.html"), page).unwrap();
        setup::write(&html.join("two.html"), r#"<p id="there">"#).unwrap();

        let broken = check(&html, &project).unwrap();
        let listed = fs::read_to_string(html.join("code/index.html"));
        setup::remove(&folder).unwrap();
        let links: Vec<&str> = broken.iter().filter_map(|each| each.split('`').nth(1)).collect();
        assert_eq!(links, ["#gone", "../../x.html", "notes.html", "notes.md", "two.html#nowhere"]);
        assert!(listed.unwrap().contains(r#"<a href="a.rs">a.rs</a>"#));
    }
}
