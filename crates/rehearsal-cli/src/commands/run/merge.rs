//! `rehearse merge`.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Parser as _};
use rehearsal_core::{RunPart, RunResult, SystemClock, Verdict};
use rehearsal_run::{Joined, Merge, MergeError, OutFolder, PartRun, Source};
use rehearsal_store::{Recipe, RunQuery, Store, StoreRef};
use tokio::runtime::Runtime;

use super::about;
use super::drive::exit_code;
use super::outlet::{Again, Left, Wanted, Writer};
use super::progress::Progress;
use super::show::{self, Show, quoted};
use crate::commands::runs;
use crate::error::{CommandError, cannot_start};
use crate::load::Colour;
use crate::output;
use crate::place::Place;
use crate::shelf::{self, short};
use crate::{Cli, Command, words};

/// Join the parts of a run that machines have shared into one run with one result.
///
/// Each part was run with `--shard`. All of them have to be here, whole and of the same cases, files and seeds; of a part
/// that was run twice, the later one that came to its end counts. What comes of it, and the exit code, is what one run of
/// all cases would have given. The parts stay as they are.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  rehearse merge parts/*/part.db
  rehearse merge parts/*/part.db --store nightly.db --junit results.xml
  rehearse merge 'nightly 4711' --store postgres://ci@db/rehearsal
  rehearse merge 3f2a9c1e 81d0aa52 part-3.db#77ab01c9

Exit codes: 0 all passed; 1 something failed, errored, was stopped or was judged by nothing; 2 the parts are no whole \
run, or the store cannot be used.")]
pub(crate) struct MergeArgs {
    /// The parts: store files, folders with store files, `FILE#RUN` for one run of a file; and of the store where the
    /// merged run goes, ids of runs or a name that they were given
    #[arg(value_name = "PART", required = true)]
    parts: Vec<String>,
    /// What to call the merged run in lists [default: what its parts are called]
    #[arg(long, value_name = "NAME", value_parser = about::name)]
    name: Option<String>,
    /// Write the results as JUnit XML to a file
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    /// Also write results and ledgers as files into a folder
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    #[command(flatten)]
    place: Place,
    #[command(flatten)]
    show: Show,
    /// When to use colours
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    color: Colour,
}

pub(crate) fn run(args: &MergeArgs) -> Result<ExitCode, CommandError> {
    for path in args.show.json_file().into_iter().chain(args.junit.as_deref()) {
        show::writable(path)?;
    }
    let runtime = Runtime::new().map_err(|error| cannot_start(&error))?;
    let store = runtime.block_on(args.place.open())?;
    let parts = runtime.block_on(args.gather(&store))?;
    let mut merge = Merge::of(parts).map_err(|error| told(&error))?;
    merge.set_words(whole(&merge.recipe().arguments));
    let out = args.out.as_deref().map(OutFolder::new).transpose();
    let out = out.map_err(|error| CommandError::setup(error).hint("`--out DIR` names another"))?;
    let (printer, write) = args.show.printer(args.color);
    let wanted = Wanted::new(printer, &args.show, out.is_some(), args.junit.is_some());
    let looks_at_all = args.show.looks_at_all();
    let writer = Writer::new(wanted, again_of(merge.recipe()), Progress::Quiet, None);
    let joined = Joined {
        store: &store,
        name: args.name.as_deref(),
        out: out.as_ref(),
        clock: &SystemClock,
        outlet: &writer,
        wants_ledgers: &move |case| looks_at_all || case.status != Verdict::Passed,
    };
    let (id, result) = runtime.block_on(merge.join(joined)).map_err(|error| told(&error))?;
    let left = Left { out: out.as_ref(), json: args.show.json_file(), junit: args.junit.as_deref() };
    let written = writer.write(&result, left);
    writer.finish(write);
    write(&printer.summary(noun(&result, &writer), &result.suite, result.duration_ms));
    if args.show.json_to_stdout() {
        let mut json = Vec::new();
        writer.json(&result, &mut json).map_err(CommandError::internal)?;
        output::json(String::from_utf8_lossy(&json).trim_end());
    }
    written?;
    if !args.show.quiet {
        if let Some(out) = &out {
            output::message(&format!("results and ledgers: {}", out.folder().display()));
        }
        result.parts.iter().filter_map(again).for_each(|line| output::message(&line));
        let place = args.place.option();
        output::message(&format!("merged {} parts: rehearse runs {}{place}", merge.shards(), short(&id)));
    }
    Ok(exit_code(&result))
}

/// The words that begin the whole run, in place of those that began a part of it.
fn whole(part: &[String]) -> Vec<String> {
    const OF_A_PART: &[&str] = &["shard", "plan"];
    let Some(command) = part.first() else { return Vec::new() };
    let is_kept =
        |word: &words::Word| word.option.as_deref().is_none_or(|option| !OF_A_PART.contains(&option));
    words::join(command, words::of(part).into_iter().filter(is_kept))
}

/// The command that repeats just one case, as the parts said it.
fn again_of(recipe: &Recipe) -> Again {
    let words = std::iter::once("rehearse".to_owned()).chain(recipe.arguments.iter().cloned());
    match Cli::try_parse_from(words).map(|cli| cli.command) {
        Ok(Command::Run(args)) => {
            let again = super::again(&args);
            Box::new(move |case| Some(again(case)))
        }
        _ => Box::new(|case| runs::told(case).again),
    }
}

/// What a case is called, as the parts called it.
fn noun(result: &RunResult, writer: &Writer) -> &'static str {
    if result.eval_set.is_some() || writer.saw_made() { "case" } else { "scenario" }
}

/// Which try of a part counts, where there were several.
fn again(part: &RunPart) -> Option<String> {
    let attempts = part.attempts?;
    let node = part.node.as_ref().map(|node| format!(", on {}", output::one_line(node))).unwrap_or_default();
    Some(format!("part {} was begun {attempts} times; run {} counts{node}", part.shard, short(&part.run)))
}

impl MergeArgs {
    /// All runs that were named.
    async fn gather(&self, own: &StoreRef) -> Result<Vec<PartRun>, CommandError> {
        let mut found = Vec::new();
        for part in &self.parts {
            let path = Path::new(part);
            if path.is_dir() {
                for file in stores_in(path)? {
                    found.extend(in_file(&file, None).await?);
                }
            } else if path.is_file() {
                found.extend(in_file(path, None).await?);
            } else if let Some((file, run)) =
                part.rsplit_once('#').filter(|(file, _)| Path::new(file).is_file())
            {
                found.extend(in_file(Path::new(file), Some(run)).await?);
            } else {
                found.extend(self.in_own(own, part).await?);
            }
        }
        Ok(found)
    }

    /// The runs of the own store with this name, or the one with this id.
    async fn in_own(&self, own: &StoreRef, part: &str) -> Result<Vec<PartRun>, CommandError> {
        let place = self.place.text();
        let shown = rehearsal_store::file_of(&place).map_or_else(|| own.place(), str::to_owned);
        let named = |run: &PartRun| run.run.about.name.as_deref() == Some(part);
        let source = Source::Open(own.clone());
        let mut all = of_store(&**own, &source, &shown).await?;
        all.retain(named);
        if !all.is_empty() {
            return Ok(all);
        }
        if part.contains(['/', '.']) {
            return Err(CommandError::user(format_args!("there is no file or folder `{part}`"))
                .hint("a part is a store file that `rehearse run --shard I/N --store FILE` wrote, or a run of this store"));
        }
        let id = shelf::find_run_id(&**own, part).await?;
        one_of_store(&**own, &source, &shown, &id).await.map(|run| vec![run])
    }
}

/// The store files of a folder, and of the one below it in which runs are kept unless told otherwise.
fn stores_in(folder: &Path) -> Result<Vec<PathBuf>, CommandError> {
    let mut found = BTreeSet::new();
    for folder in [folder.to_owned(), folder.join(crate::place::FOLDER)] {
        let Ok(entries) = std::fs::read_dir(&folder) else { continue };
        let paths = entries.flatten().map(|entry| entry.path());
        found.extend(paths.filter(|path| path.extension().is_some_and(|end| end == "db") && path.is_file()));
    }
    if !found.is_empty() {
        return Ok(found.into_iter().collect());
    }
    let shown = quoted(&folder.display().to_string());
    let error = CommandError::user(format_args!(
        "the folder {shown} holds no store: there is no file that ends in .db"
    ));
    Err(if folder.join("result.json").is_file() {
        error.hint("what `--out` leaves has no seeds of what was not run; keep the store too: `rehearse run --shard I/N --store part.db`")
    } else {
        error.hint("`rehearse run --shard I/N --store part.db` keeps a part in one file")
    })
}

/// The parts that a store file holds, or one run of it.
async fn in_file(path: &Path, run: Option<&str>) -> Result<Vec<PartRun>, CommandError> {
    let shown = path.display().to_string();
    let about = |error: CommandError| error.about(format_args!("`{shown}`"));
    let store = rehearsal_store::open(&shown).await.map_err(CommandError::setup)?;
    let source = Source::Place(shown.clone());
    if let Some(run) = run {
        let id = shelf::find_run_id(&*store, run).await.map_err(about)?;
        return one_of_store(&*store, &source, &shown, &id).await.map(|run| vec![run]);
    }
    let found = of_store(&*store, &source, &shown).await?;
    if found.is_empty() {
        return Err(CommandError::user(format_args!("`{shown}` holds no part of a run"))
            .hint("`rehearse run --shard I/N --store FILE` keeps a part in a file"));
    }
    Ok(found)
}

/// All parts of runs that a store holds.
async fn of_store(store: &dyn Store, source: &Source, shown: &str) -> Result<Vec<PartRun>, CommandError> {
    let mut found = Vec::new();
    let mut query = RunQuery { limit: 1000, ..RunQuery::default() };
    loop {
        let page = store.runs(&query).await.map_err(CommandError::setup)?;
        for run in page.items {
            let is_part = run.about.recipe.as_ref().is_some_and(|recipe| recipe.shard.is_some());
            if is_part {
                found.push(one_of_store(store, source, shown, &run.id).await?);
            }
        }
        query.page_token = page.next;
        if query.page_token.is_none() {
            return Ok(found);
        }
    }
}

async fn one_of_store(
    store: &dyn Store,
    source: &Source,
    shown: &str,
    id: &str,
) -> Result<PartRun, CommandError> {
    let run = store.run_frame(id).await.map_err(CommandError::setup)?;
    let run = run.ok_or_else(|| CommandError::user(format_args!("run `{id}` was removed just now")))?;
    Ok(PartRun { source: source.clone(), run, from: format!("`{shown}`") })
}

/// Why parts were not merged, with what would help.
fn told(error: &MergeError) -> CommandError {
    let hint = match error {
        MergeError::NotAPart(_) => Some("`rehearse run PATH --shard I/N` runs one part of N".to_owned()),
        MergeError::Different { .. } => Some(
            "a part is run from the same files and with the same options as the others; where a store holds parts of \
             several runs, `FILE#RUN` names one of them"
                .to_owned(),
        ),
        MergeError::OtherSplit { .. } => {
            Some("run all parts with the same number of parts, and all with the same `--plan` or none".to_owned())
        }
        MergeError::Missing { missing, .. } => {
            let first = missing.first().map(ToString::to_string).unwrap_or_default();
            Some(format!("name where they are kept, or run them: `rehearse run … --shard {first}`"))
        }
        MergeError::Unfinished { shard, id, .. } => Some(format!(
            "`rehearse run --resume {} --store …` goes on with it where it is kept, `--shard {shard}` runs it again",
            short(id)
        )),
        MergeError::Twice { .. } | MergeError::NotWhole { .. } | MergeError::Gap { .. } => {
            Some("run the parts again, all with the same options".to_owned())
        }
        _ => None,
    };
    let told = match error {
        MergeError::Store(_) | MergeError::File(_) | MergeError::Unreadable { .. } => {
            CommandError::setup(error)
        }
        _ => CommandError::user(error),
    };
    told.hints(hint)
}
