//! Many runs of one scenario: the varied parameters, the table of results, and a folder that survives a kill.
//!
//! A map: [`Plan`] numbers the runs, [`Plan::run`] does a part of them, [`Store`] keeps parts, [`sweep`] uses every core.
//! Differs from a loop around `skyhop run`: no files per run, and a part is done when its file exists.
//! Leaves out statistics, which are for the reader of the table, but for [`factorial`]: what a sweep's grid is made for.

mod columns;
mod digest;
mod factorial;
mod name;
mod plan;
mod pool;
mod store;

pub use factorial::{
    ColumnValues, Component, Effect, ErrorTerm, Factor, Factorial, FactorialError, columns_of, factorial,
};
pub use plan::{Plan, Point};
pub use pool::{Halt, sweep};
pub use store::{
    Shard, Status, Store, StoreError, merge_folder, part_bytes, read_table, status, table_bytes, table_of,
};
