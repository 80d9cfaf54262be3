//! The server through its doors: HTTP, server-sent events and gRPC over real sockets.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod agents;
mod description;
mod door;
mod followed;
mod forged;
mod gone;
mod observations;
mod page;
mod restart;
mod runs;
mod sessions;
mod shaky;
mod stage;
mod strangers;
mod streams;
mod turns;
mod underway;
mod visits;
mod wire;
