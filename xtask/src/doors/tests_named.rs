//! Tests that nobody runs: files beside the one program of a crate's tests that it does not name.

use std::fs;
use std::path::{Path, PathBuf};

/// The files of tests that the program of a crate's tests leaves out; none where each file is a program of its own.
pub(super) fn left_out(tests: &Path) -> std::io::Result<Vec<PathBuf>> {
    let programs = [(tests.join("all.rs"), tests.to_owned()), (tests.join("all/main.rs"), tests.join("all"))];
    let mut left_out = Vec::new();
    for (program, folder) in programs.into_iter().filter(|(program, _)| program.is_file()) {
        let text = fs::read_to_string(&program)?;
        for entry in fs::read_dir(folder)? {
            let file = entry?.path();
            let Some(name) = file.file_stem().and_then(|name| name.to_str()) else { continue };
            let is_source = file.extension().is_some_and(|extension| extension == "rs");
            let is_named = text.lines().any(|line| line.trim() == format!("mod {name};"));
            if is_source && file != program && !is_named {
                left_out.push(file);
            }
        }
    }
    left_out.sort();
    Ok(left_out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_the_program_does_not_name_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let file = folder.path().join(name);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        };
        write("alone.rs", "");
        assert!(left_out(folder.path()).unwrap().is_empty(), "each is a program of its own");
        write("all.rs", "mod named;\n");
        write("named.rs", "");
        assert_eq!(left_out(folder.path()).unwrap(), [folder.path().join("alone.rs")]);
        write("all.rs", "mod alone;\nmod named;\n");
        write("all/main.rs", "//! mod other;\n");
        write("all/other.rs", "");
        assert_eq!(left_out(folder.path()).unwrap(), [folder.path().join("all/other.rs")]);
    }
}
