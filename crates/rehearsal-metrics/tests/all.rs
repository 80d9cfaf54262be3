//! All tests of the crate, in one program: each program is linked for seconds.

mod evaluators_page;
mod one_file_one_line;
mod prop_trajectory;
mod rouge_adk;
mod rouge_oracle;
