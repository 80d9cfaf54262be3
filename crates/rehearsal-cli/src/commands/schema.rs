//! `rehearse schema`.

use clap::{Args, ValueEnum};
use rehearsal_core::RunResult;
use rehearsal_scenario::{agent_schema, config_schema, scenario_schema};

use crate::output;

/// Print the JSON Schema of a kind of file.
///
/// With the schema of scenario files an editor completes their keys, explains them, and marks what is wrong while you
/// type. `rehearse check` sees more than a schema can, and says how to fix it.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  rehearse schema > scenario.schema.json

  Then, as the first line of a scenario file, for any editor with the YAML language server:
    # yaml-language-server: $schema=./scenario.schema.json

  Or for all scenario files, in the settings of VS Code with its YAML extension:
    \"yaml.schemas\": {\"./scenario.schema.json\": [\"*.scenario.yaml\", \"*.scenario.yml\"]}")]
pub(crate) struct SchemaArgs {
    /// The kind of file
    #[arg(value_name = "OF", default_value = "file")]
    of: Of,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Of {
    /// Scenario files
    File,
    /// What `rehearse run --json`, `rehearse eval --json` and `rehearse score --json` write
    Result,
    /// Files for `--agent`
    Agent,
    /// The project's file, `rehearsal.yaml`
    Config,
}

pub(crate) fn run(args: &SchemaArgs) {
    let schema = match args.of {
        Of::File => scenario_schema(),
        Of::Agent => agent_schema(),
        Of::Config => config_schema(),
        Of::Result => RunResult::schema(),
    };
    output::value(&schema);
}
