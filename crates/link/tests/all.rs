//! Every test of this crate, as one program, which is linked once. `--test all NAME::` runs those of one file.

mod ack_filter;
mod change;
mod delays;
mod demand;
mod faults;
mod link;
mod queues;
mod timeline;
mod ubr;
