//! The Git checkout around a folder, as its files say: which commit and branch a run was started from.
//!
//! Only `HEAD` and the references are read, which takes no time and needs no `git`. Whatever cannot be read is not
//! known; a run does not depend on it.

use std::fs;
use std::path::{Path, PathBuf};

/// What is checked out.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Checkout {
    pub(crate) commit: Option<String>,
    pub(crate) branch: Option<String>,
}

/// No file that is read here is longer, but for one with very many references.
const LONGEST: u64 = 4 << 20;

impl Checkout {
    /// The checkout in which this folder is; nothing is known where there is none.
    pub(crate) fn around(folder: &Path) -> Self {
        Self::read(folder).unwrap_or_default()
    }

    fn read(folder: &Path) -> Option<Self> {
        let folder = fs::canonicalize(folder).ok()?;
        let git = folder.ancestors().find_map(|folder| git_folder(&folder.join(".git")))?;
        let head = text(&git.join("HEAD"))?;
        let Some(reference) = head.trim().strip_prefix("ref:").map(str::trim) else {
            return Some(Self { commit: commit(&head), branch: None });
        };
        let branch = reference.strip_prefix("refs/heads/").map(str::to_owned);
        // A worktree has a HEAD of its own, and shares the references.
        let shared = text(&git.join("commondir")).map_or(git.clone(), |place| git.join(place.trim()));
        let loose = |folder: &Path| text(&folder.join(reference)).and_then(|text| commit(&text));
        let safe = !reference.split('/').any(|part| part.is_empty() || part.starts_with('.'));
        let found =
            safe.then(|| loose(&git).or_else(|| loose(&shared)).or_else(|| packed(&shared, reference)));
        Some(Self { commit: found.flatten(), branch })
    }
}

/// The folder of Git: `.git` itself, or where a file of that name says.
fn git_folder(place: &Path) -> Option<PathBuf> {
    if place.is_dir() {
        return Some(place.to_owned());
    }
    let said = text(place)?;
    Some(place.parent()?.join(said.trim().strip_prefix("gitdir:")?.trim()))
}

fn packed(folder: &Path, reference: &str) -> Option<String> {
    let references = text(&folder.join("packed-refs"))?;
    references.lines().find_map(|line| {
        let (id, name) = line.split_once(' ')?;
        (name == reference).then(|| commit(id)).flatten()
    })
}

/// The id of a commit, where the text is one.
fn commit(text: &str) -> Option<String> {
    let id = text.trim();
    (matches!(id.len(), 40 | 64) && id.bytes().all(|byte| byte.is_ascii_hexdigit())).then(|| id.to_owned())
}

fn text(path: &Path) -> Option<String> {
    let is_fit = fs::metadata(path).is_ok_and(|found| found.is_file() && found.len() <= LONGEST);
    if is_fit { fs::read_to_string(path).ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: &str = "0123456789abcdef0123456789abcdef01234567";
    const TWO: &str = "fedcba9876543210fedcba9876543210fedcba98";

    fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        folder
    }

    fn check(files: &[(&str, &str)], within: &str, commit: Option<&str>, branch: Option<&str>) {
        let folder = folder(files);
        fs::create_dir_all(folder.path().join(within)).unwrap();
        let found = Checkout::around(&folder.path().join(within));
        assert_eq!((found.commit.as_deref(), found.branch.as_deref()), (commit, branch), "{files:?}");
    }

    #[test]
    fn a_branch_and_its_commit_are_found_from_a_folder_inside() {
        let head = (".git/HEAD", "ref: refs/heads/feature/refunds\n");
        let loose = (".git/refs/heads/feature/refunds", "0123456789abcdef0123456789abcdef01234567\n");
        check(&[head, loose], "a/b", Some(ONE), Some("feature/refunds"));
        let packed = (
            ".git/packed-refs",
            "# pack\nfedcba9876543210fedcba9876543210fedcba98 refs/heads/feature/refunds\n",
        );
        check(&[head, packed], "", Some(TWO), Some("feature/refunds"));
        check(&[head, packed, loose], "", Some(ONE), Some("feature/refunds"));
        check(&[head], "", None, Some("feature/refunds"));
    }

    #[test]
    fn a_commit_may_be_checked_out_without_a_branch() {
        check(&[(".git/HEAD", ONE)], "", Some(ONE), None);
    }

    #[test]
    fn a_worktree_shares_the_references_of_its_repository() {
        let files = [
            ("main/.git/HEAD", "ref: refs/heads/main\n"),
            ("main/.git/refs/heads/other", TWO),
            ("main/.git/worktrees/other/HEAD", "ref: refs/heads/other\n"),
            ("main/.git/worktrees/other/commondir", "../..\n"),
            ("other/.git", "gitdir: ../main/.git/worktrees/other\n"),
        ];
        check(&files, "other/deep", Some(TWO), Some("other"));
    }

    #[test]
    fn what_is_no_checkout_says_nothing_and_leads_nowhere() {
        check(&[(".git/HEAD", "garbage")], "", None, None);
        check(&[(".git", "no such place")], "", None, None);
        let files = [(".git/HEAD", "ref: refs/heads/../../../secret"), ("secret", ONE)];
        check(&files, "", None, Some("../../../secret"));
    }
}
