//! Every test of this crate, as one program, which is linked once. `--test all NAME::` runs those of one file.
//! Leaves out `files`, which measures the peak memory of its process.

mod documents;
mod errors;
mod many;
mod rates;
mod traps;
