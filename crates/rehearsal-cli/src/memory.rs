//! Memory that a server gives back.

use std::ffi::OsString;

/// What both allocators do with memory that is free: of ours, and of the C library, which SQLite uses. By themselves they
/// keep it until a thread comes by again, and a server that has taken a few large bodies would be large for ever.
const THRIFT: [(&str, &str); 3] = [
    ("MIMALLOC_PURGE_DELAY", "0"),
    ("MALLOC_TRIM_THRESHOLD_", "1048576"),
    ("MALLOC_MMAP_THRESHOLD_", "1048576"),
];

/// Starts this program again, in the same process, with allocators that give memory back. They are told by the
/// environment alone, before the program begins. What somebody has set there already stays.
pub(crate) fn give_back() {
    #[cfg(target_os = "linux")]
    {
        use std::os::unix::process::CommandExt as _;
        let missing: Vec<_> =
            THRIFT.into_iter().filter(|(name, _)| std::env::var_os(name).is_none()).collect();
        let Ok(program) = std::env::current_exe() else { return };
        if missing.is_empty() {
            return;
        }
        let mut args = std::env::args_os();
        let name = args.next().unwrap_or(OsString::from("rehearse"));
        // It only returns when it could not be done; then the server is as large as it was.
        let _as_before = std::process::Command::new(program).arg0(name).args(args).envs(missing).exec();
    }
}
