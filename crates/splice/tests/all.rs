//! Every test of this crate, as one program, which is linked once. `--test all NAME::` runs those of one file.

mod common;

mod cache;
mod conversation;
mod datagrams;
mod gateway_end;
mod join;
mod lying_peer;
mod preamble;
mod properties;
