//! One program for all tests, since linking each takes seconds.

mod import;
#[cfg(feature = "parquet")]
mod parquet;
mod parquet_page;
