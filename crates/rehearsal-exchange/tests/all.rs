//! One program for all tests, since linking each takes seconds.

mod import;
