//! Every test of this crate, as one program, which is linked once. `--test all NAME::` runs those of one file.

#[path = "../../../tools/testing.rs"]
mod testing;

mod course;
mod element_files;
mod geometry;
mod hypatia;
mod iridium_next;
mod look;
mod orbits;
mod places;
mod presets;
mod vallado;
mod views;
