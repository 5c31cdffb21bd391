//! Every test of this crate, as one program, which is linked once. `--test all NAME::` runs those of one file.

#[path = "../../../tools/testing.rs"]
mod testing;

mod aggregation;
mod cells;
mod central;
mod flooding;
mod gateways;
mod geographic;
mod hypatia;
mod iridium_next;
mod minimise;
mod ns2_reference;
mod paths;
mod router;
mod schemes;
mod thesis_facts;
