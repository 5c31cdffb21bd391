//! Every test of this crate, as one program, which is linked once. `--test all NAME::` runs those of one file.

mod common;
mod script;
mod stp_pair;
mod stp_trunk;
#[path = "../../../tools/testing.rs"]
mod testing;

mod carry;
mod conversation;
mod increase;
mod limits;
mod linux_host;
mod lying_peer;
mod marks;
mod middle;
mod opening;
mod options;
mod path_mtu;
mod properties;
mod recovery;
mod rfc9438_tables;
mod rfc_examples;
mod satellite_stp;
mod short_transfers;
mod silly_window;
mod stp_adversary;
mod stp_allowance;
mod stp_crowds;
mod stp_demand;
mod stp_hazards;
mod stp_leaving;
mod stp_marks;
mod stp_pairs;
mod stp_provisioned;
mod stp_streams;
mod stp_trunks;
mod undo;
