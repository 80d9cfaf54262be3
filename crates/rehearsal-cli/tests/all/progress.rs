//! What is shown while scenarios run.

#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "a test stops at what it did not expect")]
#![expect(clippy::needless_raw_string_hashes, reason = "expect-test writes them")]

use std::process::Command;

use expect_test::expect;

use crate::support::{Folder, Ran};

const GREETS: &str = "name: Greets\ndescription: It says hello\nenvironment: {type: local}\nagent: {instructions: Greet.}\nmodels: {agent: {script: [{say: hello, usage: {input: 20, output: 5}}]}}\nrun:\n  - input: hi\n    evaluations: [{type: string_contains, value: hello}]\njudgment: {strategy: all_pass}\n";

const WAITS: &str = "name: Waits with a name that is longer than the line of a terminal\ndescription: Its code never ends\nenvironment: {type: local}\nrun:\n  - lang: sh\n    code: sleep 600\n    evaluations: [{type: string_contains, value: done}]\njudgment: {strategy: all_pass}\n";

const COLUMNS: usize = 60;

/// Runs a command on a terminal of its own, and types Ctrl-C once this text has been shown.
const ON_A_TERMINAL: &str = r#"
import fcntl, os, pty, struct, sys, termios
typed_at, command = sys.argv[1].encode(), sys.argv[2:]
process, terminal = pty.fork()
if process == 0:
    fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 60, 0, 0))
    os.execvp(command[0], command)
shown, typed = b"", not typed_at
while True:
    try:
        part = os.read(terminal, 65536)
    except OSError:
        break
    if not part:
        break
    shown += part
    if not typed and typed_at in shown:
        os.write(terminal, b"\x03")
        typed = True
os.write(1, shown)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]))
"#;

fn on_a_terminal(folder: &Folder, args: &str, typed_at: &str, variables: &[(&str, &str)]) -> Ran {
    let command = folder.command(args);
    let mut python = Command::new("python3");
    python.args(["-c", ON_A_TERMINAL, typed_at]).arg(command.get_program()).args(command.get_args());
    python.current_dir(folder.path()).env_remove("CI").env_remove("NO_COLOR").env("TERM", "xterm");
    Ran::of(python.envs(variables.iter().copied()))
}

/// What a terminal shows in the end, without colours.
fn screen(written: &str) -> String {
    let mut lines: Vec<Vec<char>> = vec![Vec::new()];
    let (mut row, mut column) = (0_usize, 0);
    let mut chars = written.chars();
    while let Some(c) = chars.next() {
        match c {
            '\r' => column = 0,
            '\n' => row += 1,
            '\u{1b}' => {
                assert_eq!(chars.next(), Some('['));
                let mut number = String::new();
                let end = loop {
                    match chars.next().unwrap() {
                        c if c.is_ascii_digit() || c == '?' || c == ';' => number.push(c),
                        c => break c,
                    }
                };
                let count = number.parse::<usize>().unwrap_or(1);
                match end {
                    'A' => row = row.saturating_sub(count),
                    'B' => row += count,
                    'K' => lines[row].clear(),
                    'm' | 'h' | 'l' => {}
                    other => panic!("the terminal does not know {number}{other}"),
                }
            }
            c => {
                if column == COLUMNS {
                    (row, column) = (row + 1, 0);
                }
                if row >= lines.len() {
                    lines.resize(row + 1, Vec::new());
                }
                if lines[row].len() <= column {
                    lines[row].resize(column + 1, ' ');
                }
                lines[row][column] = c;
                column += 1;
            }
        }
        if row >= lines.len() {
            lines.resize(row + 1, Vec::new());
        }
    }
    let lines: Vec<String> =
        lines.into_iter().map(|line| line.into_iter().collect::<String>().trim_end().to_owned()).collect();
    format!("{}\n", lines.join("\n").trim_end())
}

#[test]
fn elsewhere_each_state_is_a_line_that_can_be_searched_for() {
    let folder = Folder::new(&[("a.scenario.yaml", GREETS)]);
    let lines = |ran: Ran| -> Vec<String> {
        ran.stderr.lines().map(|line| line.split_whitespace().take(2).collect::<Vec<_>>().join(" ")).collect()
    };
    let expected = ["start Greets", "passed Greets", "results and", "kept: rehearse"];
    assert_eq!(lines(folder.run("run . --out out")), expected);
    let ran = on_a_terminal(&folder, "run . --out out", "", &[("CI", "1")]);
    Ran { stdout: screen(&ran.stdout), ..ran }.check(&expect![[r#"
        exit 0
        --- stdout
        start    Greets
        passed   Greets  TIME  1 turn  25 tokens
        passed   Greets  TIME
        1 scenario: 1 passed in TIME
        results and ledgers: out
        kept: rehearse runs RUN
        --- stderr
    "#]]);
    let ran = on_a_terminal(&folder, "run . --out out --quiet", "", &[]);
    Ran { stdout: screen(&ran.stdout), ..ran }.check(&expect![[r#"
        exit 0
        --- stdout
        1 scenario: 1 passed in TIME
        --- stderr
    "#]]);
}

#[test]
fn on_a_terminal_lines_change_and_leave_nothing() {
    let folder = Folder::new(&[("a.scenario.yaml", GREETS), ("b.scenario.yaml", WAITS)]);
    let ran = on_a_terminal(&folder, "run . --out out --timeout 700ms", "", &[]);
    for part in ["Waits with a name that is longer", "1 of 2 done"] {
        assert!(ran.stdout.contains(part), "{part}: {:?}", ran.stdout);
    }
    Ran { stdout: screen(&ran.stdout), ..ran }.check(&expect![[r#"
        exit 1
        --- stdout
        passed   Greets  TIME
        STOPPED  Waits with a name that is longer than the line of a
         terminal  TIME
                 b.scenario.yaml
                 step 1: did not come to its end
                 stopped: `--timeout` of 700ms was reached
                 again: rehearse run b.scenario.yaml --case-seed SEED
        1514249911767318 --timeout 700ms

        2 scenarios: 1 passed, 1 stopped in TIME
        results and ledgers: out
        kept: rehearse runs RUN
        --- stderr
    "#]]);
}

#[test]
fn ctrl_c_on_a_terminal_leaves_no_torn_line() {
    let folder = Folder::new(&[("a.scenario.yaml", GREETS), ("b.scenario.yaml", WAITS)]);
    let ran = on_a_terminal(&folder, "run . --out out --jobs 1", "1 of 2 done", &[]);
    assert!(ran.stdout.contains("interrupted: ending what runs"), "{:?}", ran.stdout);
    Ran { stdout: screen(&ran.stdout), ..ran }.check(&expect![[r#"
        exit 130
        --- stdout
        passed   Greets  TIME
        STOPPED  Waits with a name that is longer than the line of a
         terminal  TIME  not counted: infrastructure
                 b.scenario.yaml
                 step 1: did not come to its end
                 stopped: it was interrupted
                 again: rehearse run b.scenario.yaml --case-seed SEED
        1514249911767318

        2 scenarios: 1 passed, 1 stopped in TIME
        1 not counted: 1 infrastructure; 1 of the other 1 passed (10
        0 %)
        results and ledgers: out
        kept: rehearse runs RUN
        to go on: rehearse run --resume RUN
        --- stderr
    "#]]);
}

#[test]
fn colours_are_for_terminals_unless_told() {
    let folder = Folder::new(&[("a.scenario.yaml", GREETS), ("bad.scenario.yaml", "name: x\n")]);
    let coloured = |text: &str| text.contains("\u{1b}[32m") || text.contains("\u{1b}[1m");
    let piped = |args: &str, variables: &[(&str, &str)]| {
        let ran = Ran::of(folder.command(args).envs(variables.iter().copied()));
        (coloured(&ran.stdout), coloured(&ran.stderr))
    };
    assert_eq!(piped("run a.scenario.yaml", &[]), (false, false));
    assert_eq!(piped("run a.scenario.yaml --color always", &[]), (true, false));
    assert_eq!(piped("run a.scenario.yaml --color always", &[("NO_COLOR", "1")]), (true, false));
    assert_eq!(piped("run a.scenario.yaml --color always --json -", &[]), (false, true));
    assert_eq!(piped("check bad.scenario.yaml", &[]), (false, false));
    assert_eq!(piped("check bad.scenario.yaml --color always", &[]), (false, true));
    let shown = |args: &str, variables: &[(&str, &str)]| {
        coloured(&on_a_terminal(&folder, args, "", variables).stdout)
    };
    assert!(shown("run a.scenario.yaml", &[]));
    assert!(!shown("run a.scenario.yaml", &[("NO_COLOR", "1")]));
    assert!(shown("run a.scenario.yaml", &[("NO_COLOR", "")]));
    assert!(!shown("run a.scenario.yaml", &[("TERM", "dumb")]));
    assert!(!shown("run a.scenario.yaml --color never", &[]));
    assert!(shown("check bad.scenario.yaml", &[]));
}
