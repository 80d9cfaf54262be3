//! Makes Rust of the wire contract in `proto/`, without a compiler that would have to be installed.

use std::error::Error;

const ROOT: &str = "../../proto";
const FILES: [&str; 2] =
    ["adksim/v1/simulator_service.proto", "google/ai/generativelanguage/v1beta/content.proto"];

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed={ROOT}");
    let descriptors = protox::compile(FILES, [ROOT])?;
    tonic_prost_build::configure()
        .build_transport(false)
        .bytes(".")
        .btree_map(".")
        .codec_path("crate::adksim::codec::WireCodec")
        .compile_fds(descriptors)?;
    Ok(())
}
