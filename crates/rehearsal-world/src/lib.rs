//! What a case runs in: its folder and processes ([`environment`]), agents that run elsewhere ([`remote`]), and worlds
//! that play their tools ([`world`]), MCP servers among them ([`mcp`]).

pub mod environment;
pub mod mcp;
mod program;
pub mod remote;
pub mod world;
