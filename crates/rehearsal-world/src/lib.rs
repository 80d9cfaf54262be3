//! What a case runs in: its folder and processes ([`environment`]), and agents that run elsewhere ([`remote`]).

pub mod environment;
pub mod remote;
