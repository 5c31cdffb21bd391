//! Every test of this crate, as one program, which is linked once. `--test all NAME::` runs those of one file.

#[path = "../../../tools/testing.rs"]
mod testing;

mod corners;
mod courses;
mod handover;
mod links;
mod shells;
mod stations;
mod transitions;
