//! Aggregates a drawing, read as lines of `#` and `.`, at every position on 16 x 16 cells, and prints CSV: `blocks`.
//!
//! Follows HT figure 6.25: the number of entries for the cells of one next hop.
//! Differs: every position of the drawing is tried, because the position decides how many entries it takes.
//! Left out: several next hops.

use std::io::Read;

use skyhop_routing::aggregation::{Addresses, ForwardingEntry, aggregate_covering, aggregate_greedy};
use skyhop_routing::cells::{Address, gray};

const SIDE: usize = 16;
const BITS: u32 = SIDE.ilog2();

fn main() {
    let mut drawing = String::new();
    if let Err(error) = std::io::stdin().read_to_string(&mut drawing) {
        eprintln!("the drawing: {error}");
        std::process::exit(2);
    }
    let lines = drawing.lines().enumerate();
    let cells: Vec<(usize, usize)> = lines
        .flat_map(|(row, line)| line.match_indices('#').map(move |(column, _)| (row, column)))
        .filter(|&(row, column)| row < SIDE && column < SIDE)
        .collect();
    let height = cells.iter().map(|&(row, _)| row + 1).max().unwrap_or(0);
    println!("south,west,algorithm,entry,row,column");
    for south in 0..=SIDE - height {
        // Columns wrap around.
        for west in 0..SIDE {
            let mut next = vec![None; SIDE * SIDE];
            cells
                .iter()
                .for_each(|&(row, column)| next[address(row + south, column + west).index()] = Some(0));
            let table = Addresses { row_bits: BITS, column_bits: BITS, next: &next };
            tell(south, west, "greedy", &aggregate_greedy(table));
            tell(south, west, "covering", &aggregate_covering(table, 16));
        }
    }
}

fn address(row: usize, column: usize) -> Address {
    Address(gray(row as u16) << BITS | gray((column % SIDE) as u16))
}

/// Prints a line for each cell of each entry, in the rows and columns of the drawing.
fn tell(south: usize, west: usize, algorithm: &str, entries: &[ForwardingEntry]) {
    for (number, entry) in entries.iter().enumerate() {
        for (row, column) in (0..SIDE * SIDE).map(|cell| (cell / SIDE, cell % SIDE)) {
            if entry.block.matches(address(row, column)) {
                let (row, column) = (row - south, (column + SIDE - west) % SIDE);
                println!("{south},{west},{algorithm},{number},{row},{column}");
            }
        }
    }
}
