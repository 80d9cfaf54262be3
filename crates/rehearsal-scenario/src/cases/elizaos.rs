//! Matrix files of the `ElizaOS` runner: a base scenario, and values for places of it.

use std::path::PathBuf;
use std::sync::Arc;

use super::fill::as_text;
use super::matrix::{Axis, AxisValue, Matrix, Set};
use super::reuse::Loader;
use super::{Cases, Opened, Origin, Template, name_of};
use crate::file::keys::{ELIZAOS_AXIS, ELIZAOS_MATRIX};
use crate::file::placeholders;
use crate::read::{Dialect, Reader};
use crate::sources::{Sources, moved};
use crate::yaml::{self, Node, NodeValue};
use crate::{CheckOptions, Problem};

/// What a matrix file says.
struct MatrixFile {
    name: String,
    base: PathBuf,
    axes: Vec<Axis>,
    repeat: u32,
}

impl Cases {
    /// Whether a text is a matrix file of the `ElizaOS` runner.
    pub fn is_elizaos_matrix(text: &str) -> bool {
        let Ok(Node { value: NodeValue::Map(entries), .. }) = yaml::parse(text) else { return false };
        entries.iter().any(|entry| entry.key == "base_scenario")
    }

    /// Reads a matrix file of the `ElizaOS` runner, whose cases are the combinations of its values in its base scenario.
    pub fn open_elizaos_matrix(text: &str, origin: &Origin<'_>, options: &CheckOptions<'_>) -> Opened {
        let mut reader = Reader { text, dialect: Dialect::ElizaOs, ..Reader::default() };
        let own = Sources::new(origin.path, text);
        let file = match yaml::parse(text) {
            Ok(root) => read(&mut reader, &root, origin),
            Err(problem) => {
                reader.report(problem);
                None
            }
        };
        let mut problems = reader.problems;
        let Some((file, place)) = file else { return Opened { cases: None, problems, sources: own } };
        let base = match (origin.read)(&file.base) {
            Ok(base) => base,
            Err(why) => {
                let message = format!("`{}` cannot be read: {why}", file.base.display());
                let problem = Problem::error("no-file", place, message);
                problems.push(problem.help("`base_scenario` begins at the folder of this file"));
                return Opened { cases: None, problems, sources: own };
            }
        };
        // The base scenario is the file of the cases; what is set in it comes from the other.
        let mut sources = Sources::new(&file.base, &base);
        let start = sources.add(origin.path, text);
        for problem in &mut problems {
            problem.span = problem.span.start + start..problem.span.end + start;
        }
        let root = match yaml::parse(&base) {
            Ok(root) => root,
            Err(problem) => {
                problems.push(problem);
                return Opened { cases: None, problems, sources };
            }
        };
        let mut axes = file.axes;
        for set in axes.iter_mut().flat_map(|axis| &mut axis.values).flat_map(|value| &mut value.set) {
            set.place = set.place.start + start..set.place.end + start;
            set.value =
                moved(std::mem::replace(&mut set.value, Node { span: 0..0, value: NodeValue::Null }), start);
        }
        let matrix = Matrix::of(axes);
        let mut reader = Reader {
            text: sources.text(),
            dialect: Dialect::ElizaOs,
            sources: Some(&sources),
            ..Reader::default()
        };
        placeholders::report(&mut reader, &root, placeholders::Filled::default());
        matrix.report_paths(&mut reader, &root);
        problems.extend(reader.problems);
        let name = match name_of(&root) {
            base if base.is_empty() => file.name,
            base => base,
        };
        let template = Template {
            sources: sources.clone(),
            root,
            name,
            dialect: options.dialect,
            rows: None,
            takes_expect: false,
            matrix: Some(matrix),
            repeat: Some(file.repeat),
        };
        Opened { cases: Some(Cases(Arc::new(template))), problems, sources }
    }
}

fn read(
    reader: &mut Reader<'_>,
    root: &Node,
    origin: &Origin<'_>,
) -> Option<(MatrixFile, std::ops::Range<usize>)> {
    let mut fields = reader.fields(root, "the matrix file", &ELIZAOS_MATRIX)?;
    let name = fields.text(reader, "name").unwrap_or_default();
    if let Some(node) = fields.get("name").filter(|_| name.is_empty()) {
        reader.report(Problem::error("empty", node.span.clone(), "`name` of the matrix file is empty"));
    }
    fields.text(reader, "description");
    let base = fields.text(reader, "base_scenario");
    let place = fields.get("base_scenario").map(|node| node.span.clone());
    let repeat = fields.integer(reader, "runs_per_combination").and_then(|runs| u32::try_from(runs).ok());
    let nodes = fields.list(reader, "matrix");
    if let Some(node) = fields.get("matrix").filter(|_| nodes.is_empty()) {
        reader.report(Problem::error("empty", node.span.clone(), "`matrix` has no axis"));
    }
    let axes: Vec<Axis> = nodes.iter().filter_map(|node| read_axis(reader, node)).collect();
    fields.finish(reader);
    let is_fine = reader.problems.iter().all(|problem| problem.severity != crate::Severity::Error);
    let base = Loader::new(origin, "").path(&base.filter(|_| is_fine)?, 0);
    Some((MatrixFile { name, base, axes, repeat: repeat.unwrap_or(1) }, place?))
}

fn read_axis(reader: &mut Reader<'_>, node: &Node) -> Option<Axis> {
    let mut fields = reader.fields(node, "an axis of `matrix`", &ELIZAOS_AXIS)?;
    let path = fields.text(reader, "parameter");
    let place = fields.get("parameter").map(|node| node.span.clone());
    let items = fields.list(reader, "values");
    if let Some(node) = fields.get("values").filter(|_| items.is_empty()) {
        reader.report(Problem::error("empty", node.span.clone(), "`values` of an axis is empty"));
    }
    fields.finish(reader);
    let (path, place) = (path?, place?);
    let values = items.iter().map(|item| {
        let value = item.to_json();
        let set = Set { path: path.clone(), value: item.clone(), place: place.clone() };
        AxisValue { label: as_text(&value), value, set: vec![set] }
    });
    Some(Axis { name: path.clone(), values: values.collect() })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::RowCommands;

    #[test]
    fn the_last_axis_changes_first() {
        let base = "name: B\ndescription: d\nenvironment: {type: local}\nrun: [{input: a, evaluations: []}]\njudgment: {strategy: all_pass}\n";
        let read = |path: &Path| {
            assert_eq!(path, Path::new("m/base.yaml"));
            Ok(base.to_owned())
        };
        let origin = Origin {
            path: Path::new("m/x.matrix.yaml"),
            read: &read,
            commands: RowCommands::NotRun,
            project: None,
        };
        let text = "name: M\nbase_scenario: base.yaml\nruns_per_combination: 2\nmatrix:\n- {parameter: 'run[0].input', values: [x, y]}\n- {parameter: description, values: [1, two]}\n";
        let options = CheckOptions { dialect: Dialect::ElizaOs, ..CheckOptions::default() };
        let opened = Cases::open_elizaos_matrix(text, &origin, &options);
        assert_eq!(opened.problems, []);
        let cases = opened.cases.unwrap();
        assert_eq!((cases.len(), cases.repeat()), (4, Some(2)));
        assert_eq!(cases.suffix(1), " (run[0].input=x, description=two)");
        let wrong = text.replace("description, values", "descriptoin, values");
        let opened = Cases::open_elizaos_matrix(&wrong, &origin, &options);
        assert_eq!(opened.problems[0].help.as_deref(), Some("did you mean `description`?"));
    }
}
