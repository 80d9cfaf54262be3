//! The project's file: the nearest `rehearsal.yaml`, from a folder upwards.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rehearsal::scenario_models::check_model;
use rehearsal_scenario::{CheckOptions, Dialect, PROJECT_FILE, Project, Severity, Style};
use rehearsal_sim::Limits;

use crate::digest::Digest;
use crate::error::CommandError;
use crate::times::duration;
use crate::{files, output};

/// A project's file that was found.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) project: Project,
    pub(crate) settings: Arc<Settings>,
    /// What stands for all that it gives to scenarios and says of how they run.
    pub(crate) digest: String,
}

/// What a project says of the runs of its scenarios.
#[derive(Debug, Default)]
pub(crate) struct Settings {
    /// How long a case may take.
    pub(crate) timeout: Option<Duration>,
}

/// Finds projects, and reads each once.
pub(crate) struct Projects {
    style: Style,
    known: BTreeMap<PathBuf, Option<Arc<Found>>>,
}

impl Projects {
    pub(crate) fn new(style: Style) -> Self {
        Self { style, known: BTreeMap::new() }
    }

    /// The project around a file.
    pub(crate) fn around(&mut self, file: &Path) -> Result<Option<Arc<Found>>, CommandError> {
        let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        self.above(folder)
    }

    /// The project of a folder, or of the nearest above it.
    pub(crate) fn above(&mut self, folder: &Path) -> Result<Option<Arc<Found>>, CommandError> {
        let Some(path) = find(folder) else { return Ok(None) };
        if let Some(known) = self.known.get(&path) {
            return Ok(known.clone());
        }
        let found = self.read(&path)?;
        self.known.insert(path, Some(found.clone()));
        Ok(Some(found))
    }

    fn read(&self, path: &Path) -> Result<Arc<Found>, CommandError> {
        let shown = shown(path);
        let text = files::read(&shown)?;
        let options = CheckOptions { dialect: Dialect::Rehearsal, specification: &check_model };
        let (project, problems) = Project::read(&shown, &text, &options);
        for problem in &problems {
            output::message(&format!(
                "{}\n",
                problem.render(&shown.display().to_string(), &text, self.style)
            ));
        }
        let wrong = problems.iter().any(|problem| problem.severity == Severity::Error);
        let project = project.filter(|_| !wrong).ok_or_else(CommandError::shown)?;
        let timeout = project.timeout.as_ref().map(|setting| {
            duration(&setting.value).map_err(|why| {
                let place = format!("{}:{}", shown.display(), setting.line);
                CommandError::user(why).about(place).hint("write it as `--timeout` takes it, such as `90s`")
            })
        });
        let settings = Arc::new(Settings { timeout: timeout.transpose()? });
        let digest = digest(&project, &settings);
        Ok(Arc::new(Found { project, settings, digest }))
    }

    /// The scenario files that the project of the current folder names.
    pub(crate) fn scenarios(&mut self) -> Result<Vec<PathBuf>, CommandError> {
        let nothing = || {
            CommandError::user("no scenario is named").hint(
                "name files, folders or patterns, or write them into `rehearsal.yaml`: scenarios: [tests]",
            )
        };
        let found = self.above(Path::new("."))?.ok_or_else(nothing)?;
        let scenarios = found.project.scenarios.as_ref().ok_or_else(nothing)?;
        let home = found.project.path().parent().map(Path::to_owned).unwrap_or_default();
        let paths: Vec<PathBuf> = scenarios.value.iter().map(|path| home.join(path)).collect();
        let place = format!("{}:{}", found.project.path().display(), scenarios.line);
        files::find(&paths).map_err(|error| CommandError::from(error).about(place))
    }
}

/// Nothing stands for one that gives and says nothing of this: it is as if it were not there.
fn digest(project: &Project, settings: &Settings) -> String {
    let (mut digest, gifts) = (Digest::default(), project.gifts());
    if gifts.is_empty() && settings.timeout.is_none() {
        return String::new();
    }
    for gift in gifts {
        digest.text(&gift.key).text(&gift.value);
    }
    digest.text(&format!("{:?}", settings.timeout)).hex()
}

/// The path of the project's file of a folder, or of the nearest above it.
pub(crate) fn find(folder: &Path) -> Option<PathBuf> {
    let folder = std::fs::canonicalize(folder).ok()?;
    folder.ancestors().map(|folder| folder.join(PROJECT_FILE)).find(|path| path.is_file())
}

/// A path as people know it: from the current folder, where it is below that or just above.
fn shown(path: &Path) -> PathBuf {
    let Ok(here) = std::env::current_dir().and_then(std::fs::canonicalize) else { return path.to_owned() };
    if let Ok(below) = path.strip_prefix(&here) {
        return below.to_owned();
    }
    let mut up = PathBuf::new();
    for above in here.ancestors().skip(1).take(8) {
        up.push("..");
        if let Ok(below) = path.strip_prefix(above) {
            return up.join(below);
        }
    }
    path.to_owned()
}

/// What the project of the current folder says of all that is run here.
pub(crate) fn here() -> Option<Arc<Found>> {
    Projects::new(Style::Plain).above(Path::new(".")).ok().flatten()
}

/// The store that the project of the current folder names.
pub(crate) fn store() -> Option<String> {
    let found = here()?;
    let store = &found.project.store.as_ref()?.value;
    let home = found.project.path().parent().unwrap_or(Path::new(""));
    Some(match rehearsal_store::file_of(store) {
        // A file is named from the folder of the project.
        Some(path) if Path::new(path).is_relative() && home != Path::new("") => {
            home.join(path).display().to_string()
        }
        Some(path) => path.to_owned(),
        None => store.clone(),
    })
}

/// How many calls each model is asked at once, where the project of the current folder says so.
pub(crate) fn max_calls() -> Option<usize> {
    Some(here()?.project.max_calls.as_ref()?.value)
}

/// What a run may use.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RunLimits {
    pub(crate) limits: Limits,
    pub(crate) max_time: Option<Duration>,
}

/// What a run may use, where the project of the current folder says so.
pub(crate) fn budget() -> Result<RunLimits, CommandError> {
    let Some((found, budget)) = here().and_then(|found| Some((found.clone(), found.project.budget.clone()?)))
    else {
        return Ok(RunLimits::default());
    };
    let max_time = budget.max_time.map(|setting| {
        duration(&setting.value).map_err(|why| {
            let place = format!("{}:{}", found.project.path().display(), setting.line);
            CommandError::user(why).about(place).hint("write it as `--max-time` takes it, such as `10m`")
        })
    });
    Ok(RunLimits { limits: budget.limits, max_time: max_time.transpose()? })
}

/// How many cases run side by side, where the project of the current folder says so.
pub(crate) fn jobs() -> Option<u32> {
    Some(here()?.project.jobs.as_ref()?.value)
}
