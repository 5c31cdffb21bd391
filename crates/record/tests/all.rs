//! Every test of this crate, as one program, which is linked once. `--test all NAME::` runs those of one file.

mod common;
mod tshark;

mod capture;
mod documents;
mod folder;
mod pcapng;
mod report;
mod reproducible;
mod rewrite;
mod session;
mod stp_dissector;
mod stp_frames_dissector;
mod summary_and_tables;
mod tracks;
