//! What a case runs in: its folder and processes ([`environment`]), agents that run elsewhere ([`remote`]), and worlds
//! that play their tools ([`world`]).

pub mod environment;
mod program;
pub mod remote;
pub mod world;
