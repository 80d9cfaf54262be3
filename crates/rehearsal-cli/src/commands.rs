//! The commands, a file each.

pub(crate) mod check;
pub(crate) mod completions;
pub(crate) mod init;
pub(crate) mod man;
pub(crate) mod run;
pub(crate) mod schema;
pub(crate) mod score;
