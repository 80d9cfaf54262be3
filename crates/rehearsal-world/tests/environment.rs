//! Commands in a folder of their own: what they see, what is kept of them, and that they end.

#![expect(clippy::unwrap_used, reason = "a test that cannot be set up has failed")]
#![expect(clippy::needless_raw_string_hashes, reason = "expect-test writes them")]

use std::collections::BTreeMap;
use std::fs;
use std::future::Future;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::Path;
use std::time::Duration;

use expect_test::{Expect, expect};
use proptest::prelude::*;
use rehearsal_world::environment::{
    Command, Environment, EnvironmentError, Execution, File, Files, Language, Limits, LocalEnvironment,
    LocalOptions, PathProblem, Program, check_path, check_paths,
};
use tokio::io::AsyncWriteExt as _;

fn options() -> LocalOptions {
    LocalOptions { search_path: std::env::var_os("PATH"), ..LocalOptions::default() }
}

fn local() -> LocalEnvironment {
    LocalEnvironment::new(options()).unwrap()
}

fn with_limits(limits: Limits) -> LocalEnvironment {
    LocalEnvironment::new(LocalOptions { limits, ..options() }).unwrap()
}

/// Runs a test, which fails rather than hangs.
fn within_reason<T>(test: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let done = runtime.block_on(async { tokio::time::timeout(Duration::from_mins(1), test).await });
    runtime.shutdown_background();
    done.expect("it ends")
}

fn shell(line: &str) -> Command {
    Command::new(Program::Shell(line.to_owned()))
}

fn code(lang: Language, code: &str) -> Command {
    Command::new(Program::Code { lang, code: code.to_owned() })
}

fn argv(words: &[&str]) -> Program {
    Program::Argv(words.iter().map(|word| (*word).to_owned()).collect())
}

fn pair(path: &str, content: &str) -> (String, String) {
    (path.to_owned(), content.to_owned())
}

async fn sh(environment: &LocalEnvironment, line: &str) -> Execution {
    environment.run(&shell(line)).await.unwrap()
}

/// Waits until the process whose number `file` holds has ended.
async fn gone(file: &Path) {
    let pid = fs::read_to_string(file).unwrap().trim().to_owned();
    while is_alive(&pid) {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Whether a process can still do something, which a zombie cannot.
fn is_alive(pid: &str) -> bool {
    let state = if Path::new("/proc/self/stat").exists() {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        stat.rsplit(')').next().unwrap_or_default().to_owned()
    } else {
        let ps = std::process::Command::new("ps").args(["-o", "stat=", "-p", pid]).output().unwrap();
        String::from_utf8(ps.stdout).unwrap()
    };
    !matches!(state.trim_start().chars().next(), None | Some('Z' | 'X'))
}

/// Waits until a file has content.
async fn filled(file: &Path) {
    while fs::read(file).unwrap_or_default().is_empty() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

mod paths {
    use super::*;

    fn check_problem(result: Result<Vec<std::path::PathBuf>, PathProblem>, expected: &Expect) {
        expected.assert_eq(&result.unwrap_err().to_string());
    }

    #[test]
    fn paths_lose_what_they_can_do_without() {
        for (path, expected) in
            [("a", "a"), ("./a//b/./c", "a/b/c"), ("...", "..."), ("a b", "a b"), ("~", "~")]
        {
            assert_eq!(check_path(path), Ok(expected.into()), "{path}");
        }
    }

    #[test]
    fn each_unusable_path_is_named_with_what_would_be_right() {
        check_problem(
            check_paths([""]),
            &expect![[r#"
                a file has an empty path

                hint: give a path such as `notes/a.txt`"#]],
        );
        check_problem(
            check_paths(["/etc/passwd"]),
            &expect![[r#"
                `/etc/passwd` is not inside the scenario's folder: it begins with `/`

                hint: write `etc/passwd`; paths begin at the scenario's folder"#]],
        );
        check_problem(
            check_paths(["a/../../b"]),
            &expect![[r#"
                `a/../../b` may leave the scenario's folder: it has `..` in it

                hint: write the path from the scenario's folder, without `..`"#]],
        );
        check_problem(
            check_paths(["a\0b"]),
            &expect![[r#"
                the path "a\0b" has a NUL character in it

                hint: remove the character"#]],
        );
        check_problem(
            check_paths(["a/"]),
            &expect![[r#"
                `a/` is a folder, not a file

                hint: name a file in it, such as `a.txt`; folders are made as needed"#]],
        );
        check_problem(
            check_paths(["a", "./a"]),
            &expect![[r#"
                `./a` and `a` are the same file

                hint: keep one of them"#]],
        );
        check_problem(
            check_paths(["a/b/c", "a"]),
            &expect![[r#"
                `a/b/c` cannot be made, because `a` is a file

                hint: rename one of them"#]],
        );
        for path in [".", "./", "a/."] {
            assert_eq!(check_path(path), Err(PathProblem::Folder { path: path.into() }));
        }
    }

    proptest! {
        #[test]
        fn an_accepted_path_stays_inside(path in "([./a~ \\\\\0é]|\\.\\.|[^x]){0,12}") {
            if let Ok(inside) = check_path(&path) {
                let mut names = 0;
                for part in Path::new("/folder").join(&inside).strip_prefix("/folder").unwrap().components() {
                    prop_assert!(matches!(part, std::path::Component::Normal(_)), "{part:?}");
                    names += 1;
                }
                prop_assert!(names > 0);
                prop_assert_eq!(check_path(inside.to_str().unwrap()), Ok(inside));
            }
        }
    }
}

mod writing {
    use super::*;

    #[test]
    fn folders_are_made_and_files_replaced() {
        within_reason(async {
            let environment = local();
            environment.write(&[pair("a/b/c.txt", "one"), pair("./d", "")]).await.unwrap();
            environment.write(&[pair("a/b/c.txt", "two\n")]).await.unwrap();
            assert_eq!(fs::read_to_string(environment.folder().join("a/b/c.txt")).unwrap(), "two\n");
            assert_eq!(fs::read_to_string(environment.folder().join("d")).unwrap(), "");
            let mode = fs::metadata(environment.folder().join("d")).unwrap().permissions().mode();
            assert_eq!(mode & 0o700, 0o600);
        });
    }

    #[test]
    fn nothing_is_written_when_one_path_is_unusable() {
        within_reason(async {
            let environment = local();
            let error = environment.write(&[pair("a", ""), pair("../b", "")]).await.unwrap_err();
            assert!(matches!(error, EnvironmentError::Path(PathProblem::Parent { .. })), "{error}");
            assert_eq!(environment.files().await.unwrap(), Files::default());
        });
    }

    #[test]
    fn links_made_by_a_command_do_not_lead_out() {
        within_reason(async {
            let environment = local();
            let outside = tempfile::tempdir().unwrap();
            fs::write(outside.path().join("kept"), "kept").unwrap();
            symlink(outside.path(), environment.folder().join("way")).unwrap();
            symlink(outside.path().join("kept"), environment.folder().join("file")).unwrap();
            symlink(outside.path().join("new"), environment.folder().join("dangling")).unwrap();
            fs::hard_link(outside.path().join("kept"), environment.folder().join("hard")).unwrap();
            for (path, link) in
                [("way/kept", "way"), ("way/new/a", "way"), ("file", "file"), ("dangling", "dangling")]
            {
                let error = environment.write(&[pair(path, "lost")]).await.unwrap_err();
                let EnvironmentError::Path(problem) = error else { panic!("{error}") };
                assert_eq!(problem, PathProblem::Link { path: path.into(), link: link.into() });
            }
            environment.write(&[pair("hard", "new")]).await.unwrap();
            assert_eq!(fs::read_to_string(outside.path().join("kept")).unwrap(), "kept");
            assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 1);
        });
    }

    #[test]
    fn what_is_in_the_way_is_named() {
        within_reason(async {
            let environment = local();
            sh(&environment, "echo > file; mkdir folder; mkfifo pipe").await;
            for (path, expected) in [
                ("file/a", PathProblem::UnderFile { path: "file/a".into(), file: "file".into() }),
                ("pipe/a", PathProblem::UnderFile { path: "pipe/a".into(), file: "pipe".into() }),
                ("folder", PathProblem::Folder { path: "folder".into() }),
            ] {
                let error = environment.write(&[pair(path, "")]).await.unwrap_err();
                let EnvironmentError::Path(problem) = error else { panic!("{error}") };
                assert_eq!(problem, expected);
            }
            environment.write(&[pair("pipe", "now a file")]).await.unwrap();
            assert_eq!(
                environment.files().await.unwrap().get("pipe"),
                Some(&File::Text("now a file".into()))
            );
        });
    }
}

mod snapshots {
    use super::*;

    #[test]
    fn every_kind_of_file_is_told_apart() {
        within_reason(async {
            let environment = local();
            let made = sh(
                &environment,
                "mkdir -p a/b empty; printf text > a/b/c; printf '\\377\\001' > binary; : > nothing; \
                 ln -s /etc way; ln -s a/b/c inside; mkfifo pipe; head -c 65537 /dev/zero > large; \
                 head -c 65536 /dev/zero | tr '\\0' x > fits; truncate -s 1T sparse; \
                 python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind(\"socket\")'",
            )
            .await;
            assert_eq!((made.exit_code, made.stderr.as_str()), (Some(0), ""));
            let mut files = environment.files().await.unwrap();
            assert_eq!(files.get("./a//b/c"), Some(&File::Text("text".into())));
            assert_eq!(files.files.remove("fits"), Some(File::Text("x".repeat(65536))));
            let json = rehearsal_core::json::to_string_pretty(&files).unwrap();
            expect![[r#"
                {
                  "files": {
                    "a/b/c": "text",
                    "binary": {
                      "binary": {
                        "bytes": 2
                      }
                    },
                    "inside": {
                      "link": "a/b/c"
                    },
                    "large": {
                      "too_large": {
                        "bytes": 65537
                      }
                    },
                    "nothing": "",
                    "pipe": {
                      "special": "pipe"
                    },
                    "socket": {
                      "special": "socket"
                    },
                    "sparse": {
                      "too_large": {
                        "bytes": 1099511627776
                      }
                    },
                    "way": {
                      "link": "/etc"
                    }
                  }
                }"#]]
            .assert_eq(&json);
            assert_eq!(rehearsal_core::json::from_str::<Files>(&json).unwrap(), files);
        });
    }

    #[test]
    fn a_snapshot_has_a_most_of_files_and_of_bytes() {
        within_reason(async {
            let limits = Limits { snapshot_files: 3, snapshot_bytes: 10, file_bytes: 8, ..Limits::default() };
            let environment = with_limits(limits);
            let files = [pair("d/far", ""), pair("a", "1234567"), pair("b", "1234"), pair("c", "123")];
            environment.write(&files).await.unwrap();
            environment.write(&[pair("e", "")]).await.unwrap();
            let files = environment.files().await.unwrap();
            let expected = [
                ("a".to_owned(), File::Text("1234567".into())),
                ("b".to_owned(), File::TooLarge { bytes: 4 }),
                ("c".to_owned(), File::Text("123".into())),
            ];
            assert_eq!(files, Files { files: BTreeMap::from(expected), truncated: 2 });
            let json = rehearsal_core::json::to_string(&files).unwrap();
            assert!(json.ends_with(r#""truncated":2}"#), "{json}");
            assert_eq!(rehearsal_core::json::from_str::<Files>(&json).unwrap(), files);
        });
    }

    #[test]
    fn what_cannot_be_read_is_recorded() {
        within_reason(async {
            let environment = local();
            // Whoever may read everything still cannot name a path of more than 4,096 bytes at once.
            let name = "d".repeat(200);
            sh(&environment, &format!("echo > a; for i in $(seq 30); do mkdir {name}; cd -P {name}; done"))
                .await;
            let files = environment.files().await.unwrap();
            assert_eq!(files.get("a"), Some(&File::Text("\n".into())));
            let unreadable: Vec<_> =
                files.files.values().filter(|file| **file != File::Text("\n".into())).collect();
            assert!(matches!(unreadable.as_slice(), [File::Unreadable(_)]), "{unreadable:?}");
            environment.close().await.unwrap();
        });
    }

    proptest! {
        #[test]
        fn files_survive_json(text in "link|binary|special|too_large|unreadable|\\PC*", number in any::<u64>()) {
            for file in [
                File::Text(text.clone()),
                File::Link(text.clone()),
                File::Unreadable(text.clone()),
                File::Special(text.clone()),
                File::Binary { bytes: number },
                File::TooLarge { bytes: number },
            ] {
                let json = rehearsal_core::json::to_string(&file).unwrap();
                prop_assert_eq!(rehearsal_core::json::from_str::<File>(&json).unwrap(), file);
            }
        }
    }
}

mod commands {
    use super::*;

    #[test]
    fn output_is_kept_as_it_was_written() {
        within_reason(async {
            let environment = local();
            let execution = sh(&environment, "printf ' out\\n\\n'; printf 'a\\377b ' >&2; exit 7").await;
            assert_eq!((execution.exit_code, execution.signal, execution.timed_out), (Some(7), None, false));
            assert_eq!((execution.stdout.as_str(), execution.stderr.as_str()), (" out\n\n", "a\u{FFFD}b "));
            assert_eq!((execution.stdout_omitted, execution.stderr_omitted), (0, 0));
            let killed = sh(&environment, "kill -9 $$").await;
            assert_eq!((killed.exit_code, killed.signal), (None, Some(9)));
        });
    }

    #[test]
    fn a_command_runs_in_the_folder_and_reads_what_it_is_given() {
        within_reason(async {
            let environment = local();
            let here = sh(&environment, "pwd -P; cat").await.stdout;
            assert_eq!(here, format!("{}\n", environment.folder().display()));
            let big = vec![b'x'; 300_000];
            let command = Command { stdin: Some(big), ..shell("wc -c | tr -d ' '") };
            assert_eq!(environment.run(&command).await.unwrap().stdout, "300000\n");
            let unread = Command { stdin: Some(vec![b'x'; 300_000]), ..shell("true") };
            assert_eq!(environment.run(&unread).await.unwrap().exit_code, Some(0));
        });
    }

    #[test]
    fn each_language_has_its_program() {
        within_reason(async {
            let environment = local();
            for (word, line, expected) in [
                ("sh", "echo ${BASH_VERSION:-none} $#", "none 0\n"),
                ("bash", "[[ -n $BASH_VERSION ]] && echo bash $#", "bash 0\n"),
                ("node", "-1; console.log(typeof require, process.argv.length)", "function 1\n"),
                ("javascript", "", ""),
                ("python", "import sys; print(sys.argv, __name__)", "['-c'] __main__\n"),
                ("python3", "print('é')", "é\n"),
            ] {
                assert!(Language::WORDS.contains(&word));
                let execution = environment.run(&code(Language::parse(word).unwrap(), line)).await.unwrap();
                assert_eq!((execution.stdout.as_str(), execution.stderr.as_str()), (expected, ""), "{word}");
                assert_eq!(execution.exit_code, Some(0), "{word}");
            }
            assert_eq!(Language::WORDS.len(), 6);
            assert_eq!(Language::parse("ruby"), None);
            assert_eq!(Language::default(), Language::Bash);
            let dash = sh(&environment, "-no-such-program").await;
            assert_eq!(dash.exit_code, Some(127));
        });
    }

    #[test]
    fn long_code_runs_like_short_code_and_leaves_no_file() {
        within_reason(async {
            let environment = local();
            environment
                .write(&[pair("mod.py", "x = 1"), pair("mod.js", "module.exports = 1")])
                .await
                .unwrap();
            let long = "x".repeat(3_000_000);
            for (lang, line, expected) in [
                (Language::Sh, format!(": {long}\necho $#; cat; exit 3"), "0\ninput"),
                (Language::Bash, format!(": {long}\necho $#; cat; exit 3"), "0\ninput"),
                (
                    Language::Python,
                    format!("import sys, mod\nif True: '{long}'\nprint(sys.argv, sys.stdin.read())\nexit(3)"),
                    "['-c'] input\n",
                ),
                (
                    Language::Node,
                    format!(
                        "const long = '{long}';\nconsole.log(process.argv.length, require('./mod'), \
                         require('fs').readFileSync(0, 'utf8'));\nprocess.exit(3)"
                    ),
                    "1 1 input\n",
                ),
            ] {
                let command = Command { stdin: Some(b"input".to_vec()), ..code(lang, &line) };
                let execution = environment.run(&command).await.unwrap();
                let errors: String = execution.stderr.chars().take(500).collect();
                assert_eq!((execution.stdout.as_str(), errors.as_str()), (expected, ""), "{lang:?}");
                assert_eq!(execution.exit_code, Some(3), "{lang:?}");
            }
            let beside: Vec<_> = fs::read_dir(environment.folder().parent().unwrap())
                .unwrap()
                .map(|entry| entry.unwrap().file_name())
                .collect();
            assert_eq!(beside.len(), 2, "{beside:?}");
        });
    }

    #[test]
    fn nothing_of_our_own_variables_is_handed_on() {
        within_reason(async {
            assert!(std::env::var_os("CARGO_MANIFEST_DIR").is_some(), "there is something to hide");
            let named = BTreeMap::from([pair("NAMED", "by the file"), pair("LANG", "de_DE.UTF-8")]);
            let environment = LocalEnvironment::new(LocalOptions { variables: named, ..options() }).unwrap();
            let mut command = Command::new(argv(&["env"]));
            command.variables = BTreeMap::from([pair("EXTRA", "by the step")]);
            let seen = environment.run(&command).await.unwrap().stdout;
            let mut seen: Vec<&str> = seen.lines().collect();
            seen.sort_unstable();
            let folder = environment.folder().to_str().unwrap();
            let temporary = environment.folder().with_file_name("tmp");
            let expected = [
                "EXTRA=by the step".to_owned(),
                format!("HOME={folder}"),
                "LANG=de_DE.UTF-8".to_owned(),
                "LC_ALL=C.UTF-8".to_owned(),
                "NAMED=by the file".to_owned(),
                format!("PATH={}", std::env::var("PATH").unwrap()),
                format!("TMPDIR={}", temporary.display()),
            ];
            assert_eq!(seen, expected);
            sh(&environment, "echo > $TMPDIR/scratch").await;
            assert!(temporary.join("scratch").exists());
            assert_eq!(environment.files().await.unwrap(), Files::default());
        });
    }

    #[test]
    fn much_output_is_bounded() {
        within_reason(async {
            let environment = local();
            let execution =
                sh(&environment, "head -c 50000000 /dev/zero | tr '\\0' x; head -c 2000000 /dev/zero >&2")
                    .await;
            let kept = 1024 * 1024;
            assert_eq!((execution.stdout.len(), execution.stdout_omitted), (kept, 50_000_000 - kept as u64));
            assert_eq!((execution.stderr.len(), execution.stderr_omitted), (kept, 2_000_000 - kept as u64));
            assert_eq!(execution.exit_code, Some(0));
        });
    }

    async fn problem(environment: &LocalEnvironment, program: Program) -> String {
        environment.run(&Command::new(program)).await.unwrap_err().to_string()
    }

    #[test]
    fn what_cannot_be_started_says_why_and_what_to_do() {
        within_reason(async {
            let nowhere = LocalOptions { search_path: Some("/nowhere".into()), ..LocalOptions::default() };
            let environment = LocalEnvironment::new(nowhere).unwrap();
            expect![[r#"
                cannot start `node`: it was not found

                hint: install Node.js, or write the step in another language"#]]
            .assert_eq(&problem(&environment, code(Language::Node, "1").program).await);
            expect![[r#"
                cannot start `frobnicate`: it was not found

                hint: install `frobnicate`, or give its full path"#]]
            .assert_eq(&problem(&environment, argv(&["frobnicate"])).await);
            environment.write(&[pair("tool", "#!/no/such/interpreter\n")]).await.unwrap();
            expect![[r#"
                cannot start `./tool`: it may not be run

                hint: run `chmod +x` on `./tool`, or name its interpreter first"#]]
            .assert_eq(&problem(&environment, argv(&["./tool"])).await);
            let executable = fs::Permissions::from_mode(0o755);
            fs::set_permissions(environment.folder().join("tool"), executable).unwrap();
            expect![[r#"
                cannot start `./tool`: the interpreter in its first line was not found

                hint: correct the line that begins with `#!`"#]]
            .assert_eq(&problem(&environment, argv(&["./tool"])).await);
            expect![[r#"
                cannot start `/bin/echo`: its arguments and variables are too long

                hint: hand long text over as input"#]]
            .assert_eq(&problem(&environment, argv(&["/bin/echo", &"x".repeat(200_000)])).await);
            expect![[r#"
                a command has no words

                hint: name a program"#]]
            .assert_eq(&problem(&environment, argv(&[])).await);
            expect![[r#"
                what is to be run by "sh" has a NUL character in it

                hint: remove the character"#]]
            .assert_eq(&problem(&environment, shell("a\0b").program).await);
        });
    }

    #[test]
    fn variables_that_the_system_would_misread_are_refused() {
        within_reason(async {
            for (name, value) in [("", "x"), ("a=b", "x"), ("a\0", "x"), ("a", "x\0")] {
                let variables = BTreeMap::from([pair(name, value)]);
                let made = LocalEnvironment::new(LocalOptions { variables: variables.clone(), ..options() });
                assert!(matches!(made, Err(EnvironmentError::Unusable { .. })), "{name:?}");
                let ran = local().run(&Command { variables, ..shell("true") }).await;
                assert!(matches!(ran, Err(EnvironmentError::Unusable { .. })), "{name:?}");
            }
        });
    }
}

mod endings {
    use super::*;

    /// Starts a grandchild that ignores being asked to end, and writes its number to `pid`.
    const STUBBORN: &str = "sh -c 'trap \"\" TERM; echo $$ > pid; while :; do sleep 1; done' &";

    fn impatient() -> LocalEnvironment {
        let grace = Duration::from_millis(100);
        with_limits(Limits { grace, drain: grace, ..Limits::default() })
    }

    #[test]
    fn a_time_out_ends_the_whole_group() {
        within_reason(async {
            let environment = impatient();
            let line = format!("echo begun; {STUBBORN} while [ ! -s pid ]; do :; done; wait; sleep 1000");
            let command = Command { timeout: Duration::from_secs(3), ..shell(&line) };
            let execution = environment.run(&command).await.unwrap();
            assert!(execution.timed_out);
            assert_eq!((execution.stdout.as_str(), execution.exit_code), ("begun\n", None));
            assert_eq!(execution.signal, Some(15));
            gone(&environment.folder().join("pid")).await;
        });
    }

    #[test]
    fn what_a_command_leaves_running_ends_with_it() {
        within_reason(async {
            let environment = local();
            let holding = format!("{STUBBORN} while [ ! -s pid ]; do :; done; echo done");
            let silent = format!(
                "exec 3>&1 >/dev/null 2>&1; {STUBBORN} while [ ! -s pid ]; do :; done; echo done >&3"
            );
            for line in [holding, silent] {
                fs::remove_file(environment.folder().join("pid")).unwrap_or_default();
                let execution = sh(&environment, &line).await;
                assert_eq!((execution.exit_code, execution.timed_out), (Some(0), false));
                assert_eq!(execution.stdout, "done\n");
                gone(&environment.folder().join("pid")).await;
            }
        });
    }

    #[test]
    fn output_that_comes_a_little_late_is_kept() {
        within_reason(async {
            let environment = with_limits(Limits { drain: Duration::from_secs(30), ..Limits::default() });
            let line = "exec > >(while read -r line; do sleep 0.1; echo \"late: $line\"; done); echo hello";
            let execution = environment.run(&code(Language::Bash, line)).await.unwrap();
            assert_eq!(execution.stdout, "late: hello\n");
        });
    }

    #[test]
    fn a_process_that_left_the_group_holds_nobody_up() {
        within_reason(async {
            let environment = impatient();
            let line = "import os, time\nif os.fork() == 0:\n  os.setsid()\n  open('pid', 'w').write(str(os.getpid()))\n  \
                        time.sleep(1000)\nelse:\n  import os.path\n  while not os.path.exists('pid'): pass\n  print('done')";
            let execution = environment.run(&code(Language::Python, line)).await.unwrap();
            assert_eq!((execution.stdout.as_str(), execution.exit_code), ("done\n", Some(0)));
            let pid = environment.folder().join("pid");
            filled(&pid).await;
            sh(&environment, "kill -9 $(cat pid)").await;
            gone(&pid).await;
        });
    }

    #[test]
    fn a_run_that_is_given_up_ends_the_group() {
        within_reason(async {
            let environment = local();
            let pid = environment.folder().join("pid");
            let line = format!("{STUBBORN} wait");
            let command = shell(&line);
            tokio::select! {
                _ = environment.run(&command) => panic!("it does not end by itself"),
                () = filled(&pid) => {}
            }
            gone(&pid).await;
        });
    }
}

mod folders {
    use super::*;

    #[test]
    fn the_folder_is_ours_alone_and_has_no_links_on_its_way() {
        let environment = local();
        assert_eq!(environment.folder().canonicalize().unwrap(), environment.folder());
        let root = environment.folder().parent().unwrap();
        assert_eq!(fs::metadata(root).unwrap().mode() & 0o777, 0o700);
        assert_ne!(local().folder(), environment.folder());
    }

    #[test]
    fn the_folder_is_removed_on_close_on_drop_and_after_a_failure() {
        within_reason(async {
            let parent = tempfile::tempdir().unwrap();
            let left = || fs::read_dir(parent.path()).unwrap().count();
            let new = || {
                let parent = Some(parent.path().to_path_buf());
                LocalEnvironment::new(LocalOptions { parent, ..options() }).unwrap()
            };
            let environment = new();
            sh(&environment, "mkdir -p a/b; echo > a/b/c; chmod 500 a/b; chmod 0 a").await;
            assert_eq!(left(), 1);
            environment.close().await.unwrap();
            assert_eq!(left(), 0);
            environment.close().await.unwrap();

            let environment = new();
            sh(&environment, "echo > a; exit 1").await;
            environment.run(&Command::new(argv(&["no-such-program"]))).await.unwrap_err();
            drop(environment);
            assert_eq!(left(), 0);

            let environment = new();
            let pid = environment.folder().join("pid");
            let run = async move { environment.run(&shell("echo $$ > pid; sleep 1000")).await };
            tokio::select! {
                _ = run => panic!("it does not end by itself"),
                () = filled(&pid) => {}
            }
            assert_eq!(left(), 0);
        });
    }

    #[test]
    fn the_folder_stays_when_it_is_to_be_kept() {
        within_reason(async {
            let parent = tempfile::tempdir().unwrap();
            let kept = LocalOptions { keep: true, parent: Some(parent.path().into()), ..options() };
            let environment = LocalEnvironment::new(kept).unwrap();
            environment.write(&[pair("a", "still here")]).await.unwrap();
            let folder = environment.folder().to_path_buf();
            environment.close().await.unwrap();
            drop(environment);
            assert_eq!(fs::read_to_string(folder.join("a")).unwrap(), "still here");
        });
    }

    #[test]
    fn a_folder_that_is_gone_is_an_error_of_its_own() {
        within_reason(async {
            let environment = local();
            sh(&environment, "rm -r \"$PWD\"").await;
            let long = code(Language::Sh, &" ".repeat(200_000));
            let results = [
                environment.run(&shell("true")).await.map(drop),
                environment.run(&long).await.map(drop),
                environment.write(&[pair("a/b", "")]).await,
                environment.files().await.map(drop),
            ];
            for result in results {
                assert!(matches!(result, Err(EnvironmentError::Gone { .. })), "{result:?}");
            }
            environment.close().await.unwrap();
            let ran = environment.run(&long).await;
            assert!(matches!(ran, Err(EnvironmentError::Gone { .. })), "{ran:?}");
        });
    }

    #[test]
    fn a_folder_that_became_a_link_is_not_followed() {
        within_reason(async {
            let environment = local();
            let outside = tempfile::tempdir().unwrap();
            fs::write(outside.path().join("kept"), "kept").unwrap();
            fs::remove_dir(environment.folder()).unwrap();
            symlink(outside.path(), environment.folder()).unwrap();
            environment.write(&[pair("a", "")]).await.unwrap_err();
            environment.files().await.unwrap_err();
            environment.run(&shell("rm kept")).await.unwrap_err();
            environment.close().await.unwrap();
            assert!(outside.path().join("kept").exists());
        });
    }

    #[test]
    fn a_parent_that_does_not_exist_is_named() {
        let options = LocalOptions { parent: Some("/no/such/place".into()), ..options() };
        expect![[r#"
            cannot make a folder for the scenario in `/no/such/place`

            hint: name a folder that exists and can be written to"#]]
        .assert_eq(&LocalEnvironment::new(options).unwrap_err().to_string());
    }
}

mod talking {
    use super::*;

    async fn start(environment: &LocalEnvironment, line: &str) -> rehearsal_world::environment::Process {
        environment.start(&Program::Shell(line.to_owned()), &BTreeMap::new(), None).await.unwrap()
    }

    #[test]
    fn lines_go_both_ways_until_one_side_stops() {
        within_reason(async {
            let environment = local();
            let echo = "while read -r line; do echo \"got $line\"; echo \"log $line\" >&2; done; printf 'last\\r\\nend'; exit 4";
            let mut process = start(&environment, echo).await;
            for word in ["one", "two"] {
                process.stdin.write_all(format!("{word}\n").as_bytes()).await.unwrap();
                assert_eq!(process.stdout.next().await.unwrap(), Some(format!("got {word}")));
            }
            process.stdin.shutdown().await.unwrap();
            let exit = process.finish(Duration::from_secs(30)).await.unwrap();
            assert_eq!((exit.exit_code, exit.signal, exit.stopped), (Some(4), None, false));
            assert_eq!(exit.stderr, "log one\nlog two\n");
        });
    }

    #[test]
    fn the_last_line_needs_no_end() {
        within_reason(async {
            let environment = local();
            let mut process = start(&environment, "printf 'a\\r\\n\\nb\\377'").await;
            for expected in [Some("a"), Some(""), Some("b\u{FFFD}"), None, None] {
                assert_eq!(process.stdout.next().await.unwrap().as_deref(), expected);
            }
        });
    }

    #[test]
    fn waiting_for_a_line_can_be_given_up_without_loss() {
        within_reason(async {
            let environment = local();
            let mut process =
                start(&environment, "printf half; echo ready >&2; read -r x; echo ' whole'").await;
            while process.stderr().is_empty() {
                let waited = tokio::time::timeout(Duration::from_millis(5), process.stdout.next()).await;
                assert!(waited.is_err(), "{waited:?}");
            }
            process.stdin.write_all(b"go\n").await.unwrap();
            assert_eq!(process.stdout.next().await.unwrap().as_deref(), Some("half whole"));
        });
    }

    #[test]
    fn a_line_has_a_most_of_bytes() {
        within_reason(async {
            let environment = with_limits(Limits { line_bytes: 10, ..Limits::default() });
            let mut process = start(&environment, "echo 0123456789; echo 01234567890; cat").await;
            assert_eq!(process.stdout.next().await.unwrap().as_deref(), Some("0123456789"));
            expect![[r#"
                `sh` wrote a line of more than 10 bytes

                hint: end every message with a newline, and write logs to stderr"#]]
            .assert_eq(&process.stdout.next().await.unwrap_err().to_string());
        });
    }

    #[test]
    fn the_end_of_the_errors_is_kept() {
        within_reason(async {
            let environment = with_limits(Limits { errors_bytes: 100, ..Limits::default() });
            let process =
                start(&environment, "head -c 1000000 /dev/zero | tr '\\0' x >&2; echo why >&2").await;
            let exit = process.finish(Duration::from_secs(30)).await.unwrap();
            assert_eq!(exit.stderr, format!("{}why\n", "x".repeat(96)));
        });
    }

    #[test]
    fn output_that_nobody_reads_does_not_keep_a_process_from_ending() {
        within_reason(async {
            let environment = local();
            let process = start(&environment, "head -c 1000000 /dev/zero; exit 6").await;
            let exit = process.finish(Duration::from_secs(30)).await.unwrap();
            assert_eq!((exit.exit_code, exit.stopped), (Some(6), false));
        });
    }

    #[test]
    fn a_process_that_is_asked_to_end_has_time_to_tidy_up() {
        within_reason(async {
            let environment = with_limits(Limits { grace: Duration::from_secs(30), ..Limits::default() });
            let line = "trap 'echo tidy >&2; exit 5' TERM; echo ready; while :; do :; done";
            let mut process = start(&environment, line).await;
            assert_eq!(process.stdout.next().await.unwrap().as_deref(), Some("ready"));
            let exit = process.finish(Duration::ZERO).await.unwrap();
            assert_eq!((exit.exit_code, exit.stopped, exit.stderr.as_str()), (Some(5), true, "tidy\n"));
        });
    }

    #[test]
    fn a_process_that_stays_is_ended_with_all_it_started() {
        within_reason(async {
            let grace = Duration::from_millis(100);
            let environment = with_limits(Limits { grace, drain: grace, ..Limits::default() });
            let line =
                "trap '' TERM; sh -c 'echo $$ > pid; while :; do sleep 1; done' & while :; do sleep 1; done";
            let pid = environment.folder().join("pid");
            let process = start(&environment, line).await;
            filled(&pid).await;
            let exit = process.finish(Duration::from_millis(100)).await.unwrap();
            assert_eq!((exit.exit_code, exit.signal, exit.stopped), (None, Some(9), true));
            gone(&pid).await;

            fs::remove_file(&pid).unwrap();
            let process = start(&environment, line).await;
            filled(&pid).await;
            drop(process);
            gone(&pid).await;
        });
    }
}

mod ends {
    use super::*;

    #[tokio::test]
    async fn a_command_that_was_ended_has_no_exit_code_of_its_own() {
        let environment = LocalEnvironment::new(LocalOptions::default()).unwrap();
        let command = Command {
            timeout: std::time::Duration::from_millis(300),
            ..Command::new(Program::Shell("trap 'exit 0' TERM; sleep 300 & wait".to_owned()))
        };
        let run = environment.run(&command).await.unwrap();
        assert!(run.timed_out);
        assert_eq!(run.exit_code, None);
    }
}

/// Paths that lead elsewhere, or look as if they did.
const ESCAPES: &[&str] = &[
    "..",
    "../",
    "../a",
    "../../a",
    "a/..",
    "a/../b",
    "a/../../b",
    "a/b/../../../c",
    "./../a",
    "././../a",
    "a//../../b",
    "a/./../../b",
    "../../../../../../../../etc/passwd",
    "/",
    "//",
    "/a",
    "//a",
    "///a",
    "/etc/passwd",
    "/etc/../etc/passwd",
    "/proc/self/environ",
    "/dev/null",
    "/tmp/a",
    "/./a",
    "",
    ".",
    "./",
    "./.",
    "a/",
    "a/.",
    "a/b/",
    "a\0",
    "\0a",
    "a\0/../b",
    "../a\0",
    "..//a",
    "..///..///a",
    "a/..//..//b",
];

/// Paths that are strange and stay inside: what other systems and other readers would read in them is not read.
const INSIDE: &[&str] = &[
    "..\\a",
    "C:\\a",
    "C:/a",
    "\\\\host\\share",
    "\\etc\\passwd",
    "%2e%2e/a",
    "%2e%2e%2fa",
    "..%2fa",
    "%00",
    "~/a",
    "~root/a",
    "$HOME/a",
    "${HOME}/a",
    "`pwd`/a",
    "$(pwd)/a",
    ".../a",
    ". ./a",
    ".. /a",
    " ../a",
    "\u{ff0e}\u{ff0e}/a",
    "\u{2024}\u{2024}/a",
    "a\u{2215}..\u{2215}b",
    "-rf",
    "--help",
    "a\nb",
    "a\u{202e}b",
    "con",
    "nul.txt",
    "a:stream",
    "*",
    "file:///etc/passwd",
];

#[test]
fn no_path_leaves_the_folder() {
    assert!(ESCAPES.len() >= 35);
    for path in ESCAPES {
        assert!(check_path(path).is_err(), "{path:?}");
    }
    within_reason(async {
        let outside = tempfile::tempdir().unwrap();
        let environment =
            LocalEnvironment::new(LocalOptions { parent: Some(outside.path().into()), ..options() }).unwrap();
        let others = || -> Vec<_> {
            let root = environment.folder().parent().unwrap();
            let beside = fs::read_dir(root).unwrap().chain(fs::read_dir(outside.path()).unwrap());
            beside.map(|entry| entry.unwrap().path()).collect()
        };
        let before = others();
        for path in ESCAPES {
            assert!(environment.write(&[pair(path, "x")]).await.is_err(), "{path:?}");
            assert!(environment.files().await.unwrap().get(path).is_none(), "{path:?}");
        }
        for path in INSIDE {
            environment.write(&[pair(path, path)]).await.unwrap_or_else(|error| panic!("{path:?}: {error}"));
            let there = fs::read_to_string(environment.folder().join(path)).unwrap();
            assert_eq!(there, *path);
        }
        // Links lead elsewhere too, whoever made them.
        let links = [
            ("out", "/etc"),
            ("up", ".."),
            ("far", "../../.."),
            ("self", "self"),
            ("gone", "/nowhere"),
            ("mark", outside.path().to_str().unwrap()),
        ];
        for (name, target) in links {
            symlink(target, environment.folder().join(name)).unwrap();
            for path in [format!("{name}/a"), format!("{name}/a/b"), format!("./{name}//a")] {
                assert!(environment.write(&[pair(&path, "x")]).await.is_err(), "{path}");
            }
            let files = environment.files().await.unwrap();
            assert_eq!(files.get(name), Some(&File::Link(target.to_owned())), "it is not followed");
            assert!(files.get(&format!("{name}/passwd")).is_none());
        }
        assert_eq!(others(), before);
    });
}
