//! The workspace as `cargo metadata` describes it.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::child;
use crate::failure::Failure;

#[derive(Debug)]
pub(crate) struct Workspace {
    pub(crate) root: PathBuf,
    /// Where cargo builds: `target` below the root unless configured otherwise.
    pub(crate) target: PathBuf,
    pub(crate) packages: Vec<Package>,
}

/// One crate of the workspace.
#[derive(Debug)]
pub(crate) struct Package {
    pub(crate) name: String,
    pub(crate) version: String,
    /// Its Cargo.toml, relative to the root.
    pub(crate) manifest: PathBuf,
    /// Its direct dependencies, in and outside the workspace.
    pub(crate) dependencies: Vec<Dependency>,
}

#[derive(Debug)]
pub(crate) struct Dependency {
    pub(crate) name: String,
    pub(crate) kind: DependencyKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DependencyKind {
    Normal,
    Build,
    Dev,
}

impl Workspace {
    /// Asks cargo about the workspace around the current directory.
    pub(crate) fn load() -> Result<Self, Failure> {
        let text = child::read(child::cargo().args([
            "metadata",
            "--format-version",
            "1",
            "--no-deps",
            "--locked",
            "--color",
            "never",
        ]))?;
        #[expect(clippy::disallowed_methods, reason = "cargo writes no large numbers")]
        let metadata =
            serde_json::from_str(&text).map_err(|error| Failure::new(format!("cargo metadata: {error}")))?;
        Self::parse(&metadata)
            .ok_or_else(|| Failure::new("cargo metadata has a form this chore does not know"))
    }

    /// `None` where a field is missing or of another type.
    fn parse(metadata: &Value) -> Option<Self> {
        let root = PathBuf::from(metadata["workspace_root"].as_str()?);
        let target = PathBuf::from(metadata["target_directory"].as_str()?);
        let packages = metadata["packages"].as_array()?;
        let packages =
            packages.iter().map(|package| Package::parse(package, &root)).collect::<Option<_>>()?;
        Some(Self { root, target, packages })
    }
}

impl Package {
    fn parse(package: &Value, root: &Path) -> Option<Self> {
        let manifest = Path::new(package["manifest_path"].as_str()?);
        let dependencies = package["dependencies"].as_array()?;
        Some(Self {
            name: package["name"].as_str()?.to_owned(),
            version: package["version"].as_str()?.to_owned(),
            manifest: manifest.strip_prefix(root).unwrap_or(manifest).to_owned(),
            dependencies: dependencies.iter().map(Dependency::parse).collect::<Option<_>>()?,
        })
    }
}

impl Dependency {
    fn parse(dependency: &Value) -> Option<Self> {
        let kind = match &dependency["kind"] {
            Value::Null => DependencyKind::Normal,
            Value::String(kind) if kind == "build" => DependencyKind::Build,
            Value::String(kind) if kind == "dev" => DependencyKind::Dev,
            _ => return None,
        };
        Some(Self { name: dependency["name"].as_str()?.to_owned(), kind })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn metadata_gives_crates_and_the_kinds_of_their_dependencies() {
        let workspace = Workspace::parse(&json!({
            "workspace_root": "/w",
            "target_directory": "/elsewhere",
            "packages": [{
                "name": "rehearsal-sim",
                "version": "0.1.0",
                "manifest_path": "/w/crates/rehearsal-sim/Cargo.toml",
                "dependencies": [
                    { "name": "rehearsal-agent", "kind": null },
                    { "name": "cc", "kind": "build" },
                    { "name": "proptest", "kind": "dev" },
                ],
            }],
        }))
        .unwrap();

        assert_eq!(workspace.target, Path::new("/elsewhere"));
        let [package] = workspace.packages.as_slice() else { panic!("one package: {workspace:?}") };
        assert_eq!(package.manifest, Path::new("crates/rehearsal-sim/Cargo.toml"));
        let kinds: Vec<_> = package.dependencies.iter().map(|each| (each.name.as_str(), each.kind)).collect();
        assert_eq!(
            kinds,
            [
                ("rehearsal-agent", DependencyKind::Normal),
                ("cc", DependencyKind::Build),
                ("proptest", DependencyKind::Dev)
            ]
        );
    }

    #[test]
    fn an_unknown_form_is_refused() {
        assert!(Workspace::parse(&json!({ "workspace_root": "/w", "packages": [] })).is_none());
        assert!(Dependency::parse(&json!({ "name": "cc", "kind": "odd" })).is_none());
    }
}
