//! Every test of this crate, as one program, which is linked once. `--test all NAME::` runs those of one file.

mod aal5;
mod ipv6;
mod stp_document;
mod stp_frames;
mod stp_packets;
