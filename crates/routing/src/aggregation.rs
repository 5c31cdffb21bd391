//! Forwarding entries for blocks of contiguous addresses, as the thesis makes them.
//!
//! Follows HT 6.6.1 (lemma 6.1: where blocks may lie) and 6.6.3 (greedy, in one and two dimensions).
//! Differs: where the thesis anneals, packings of many overlapping rectangles are greedy here.
//! Left out: entries for several next hops at once; masks for addresses that are not contiguous.

use std::ops::Range;

use crate::cells::{Masked, gray};

/// A forwarding entry: to these addresses by this next hop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Entry {
    /// Which addresses.
    pub block: Masked,
    /// Which next hop, as the table numbers them.
    pub next: u8,
}

/// Where blocks of 2^`level` contiguous cells of 2^`bits` begin so that one value and mask tell them from all others.
///
/// There are two ways to divide the circle of cells into such blocks, half a block apart, but only one at levels 0
/// and `bits` (lemma 6.1; theorem 6.1 is that no other code has more).
pub fn block_starts(bits: u32, level: u32) -> impl Iterator<Item = usize> {
    let step = if level == 0 || level == bits { 1 << level } else { 1 << (level - 1) };
    (0..1 << bits).step_by(step)
}

/// Value and mask of 2^`level` contiguous Gray-coded cells of 2^`bits`, beginning at a start of [`block_starts`].
pub fn block_of(bits: u32, level: u32, start: usize) -> Masked {
    let last = (start + (1 << level) - 1) % (1 << bits);
    let (first, all) = (gray(start as u16), ((1u32 << bits) - 1) as u16);
    // Level bits vary in a block. Over its first half the lower ones do; the ends differ in the one that remains.
    let lower = ((1u32 << level) - 1) as u16 >> 1;
    let mask = all & !(lower | (first ^ gray(last as u16)));
    Masked { value: first & mask, mask }
}

/// The fewest blocks of contiguous cells that hold exactly `cells`, 2^k Gray-coded cells around a circle.
///
/// Greedy: the largest blocks first, as many of them as fit (optimal: theorem 6.2).
///
/// # Panics
///
/// If the number of cells is no power of two or above 2^15.
pub fn aggregate_line(cells: &[bool]) -> Vec<Masked> {
    assert!(cells.len().is_power_of_two() && cells.len() <= 1 << 15, "{} cells", cells.len());
    let bits = cells.len().ilog2();
    let mut left = cells.to_vec();
    let mut blocks = Vec::new();
    for level in (0..=bits).rev() {
        for start in most_blocks(&left, bits, level) {
            (start..start + (1 << level)).for_each(|cell| left[cell % cells.len()] = false);
            blocks.push(block_of(bits, level, start));
        }
    }
    blocks
}

/// Starts of as many blocks of one size as fit into the cells.
fn most_blocks(cells: &[bool], bits: u32, level: u32) -> Vec<usize> {
    let size = 1usize << level;
    let Some(gap) = cells.iter().position(|&cell| !cell) else {
        // No gap at all: the one block that is everything, or none since it was taken before.
        return if level == bits { vec![0] } else { Vec::new() };
    };
    let mut chosen = Vec::new();
    for run in runs_from(cells, gap) {
        let fitting = |offset: usize| {
            let first = offset + (run.start + size - 1 - offset % size) / size * size;
            (first..).step_by(size).take_while(|&start| start + size <= run.end).collect::<Vec<_>>()
        };
        let (aligned, shifted) = (fitting(0), fitting(size / 2));
        chosen.extend(if shifted.len() > aligned.len() && level > 0 { shifted } else { aligned });
    }
    chosen.iter_mut().for_each(|start| *start %= cells.len());
    chosen
}

/// Runs of cells around the circle, from a gap on; one that passes the end goes on beyond the length.
fn runs_from(cells: &[bool], gap: usize) -> Vec<Range<usize>> {
    let mut runs: Vec<Range<usize>> = Vec::new();
    for cell in (gap..gap + cells.len()).filter(|cell| cells[cell % cells.len()]) {
        match runs.last_mut() {
            Some(run) if run.end == cell => run.end += 1,
            _ => runs.push(cell..cell + 1),
        }
    }
    runs
}

/// A table by Gray-coded address of `row_bits`, then `column_bits`: the next hop of each, or `None` for no entry.
#[derive(Debug, Clone, Copy)]
pub struct Addresses<'a> {
    /// Bits of the row, which do not go around.
    pub row_bits: u32,
    /// Bits of the column, which go around the Earth.
    pub column_bits: u32,
    /// Next hop by address.
    pub next: &'a [Option<u8>],
}

/// A block of contiguous rows and columns.
#[derive(Debug, Clone, Copy)]
struct Rectangle {
    row: usize,
    column: usize,
    row_level: u32,
    column_level: u32,
}

/// Entries for rectangles of contiguous cells: per next hop the largest first, as many of one size as fit.
///
/// The greedy algorithm of the thesis. Which rectangles of a size to take is searched exhaustively where few overlap
/// (up to 64, within a budget); otherwise those that overlap fewest others go first. No two entries match one address.
///
/// # Panics
///
/// If the table is not of 2^(row bits + column bits) addresses, at most 2^15.
pub fn aggregate_greedy(table: Addresses<'_>) -> Vec<Entry> {
    let Addresses { row_bits, column_bits, next } = table;
    assert!(row_bits + column_bits <= 15 && next.len() == 1 << (row_bits + column_bits));
    let mut hops: Vec<u8> = next.iter().flatten().copied().collect();
    hops.sort_unstable();
    hops.dedup();
    let address =
        |row: usize, column: usize| usize::from(gray(row as u16) << column_bits | gray(column as u16));
    let mut entries = Vec::new();
    for hop in hops {
        let points = (0..next.len()).map(|point| (point >> column_bits, point & ((1 << column_bits) - 1)));
        let points = points.map(|(row, column)| next[address(row, column)] == Some(hop)).collect();
        let mut field = Field { row_bits, column_bits, points };
        for level in (0..=row_bits + column_bits).rev() {
            let fitting = field.fitting(level);
            for index in crate::packing::pack(&fitting.iter().map(|&it| field.cells(it)).collect::<Vec<_>>())
            {
                let block = field.masked(fitting[index]);
                field.cells(fitting[index]).iter().for_each(|&cell| field.points[cell as usize] = false);
                entries.push(Entry { block, next: hop });
            }
        }
    }
    entries
}

/// Cells of one next hop that have no entry yet, row by row.
struct Field {
    row_bits: u32,
    column_bits: u32,
    points: Vec<bool>,
}

impl Field {
    /// All rectangles of 2^`level` cells that are full.
    fn fitting(&self, level: u32) -> Vec<Rectangle> {
        let (rows, columns) = (1usize << self.row_bits, 1usize << self.column_bits);
        // Cells west and south of a corner; columns go around once more.
        let mut sums = vec![0u32; (rows + 1) * (2 * columns + 1)];
        let at = |row: usize, column: usize| row * (2 * columns + 1) + column;
        for row in 0..rows {
            let mut along = 0;
            for column in 0..2 * columns {
                along += u32::from(self.points[row * columns + column % columns]);
                sums[at(row + 1, column + 1)] = sums[at(row, column + 1)] + along;
            }
        }
        let mut found = Vec::new();
        for row_level in level.saturating_sub(self.column_bits)..=level.min(self.row_bits) {
            let column_level = level - row_level;
            let (height, width) = (1 << row_level, 1 << column_level);
            for row in block_starts(self.row_bits, row_level).take_while(|row| row + height <= rows) {
                for column in block_starts(self.column_bits, column_level) {
                    let (north, east) = (row + height, column + width);
                    let inside = sums[at(north, east)] + sums[at(row, column)]
                        - sums[at(row, east)]
                        - sums[at(north, column)];
                    if inside == 1 << level {
                        found.push(Rectangle { row, column, row_level, column_level });
                    }
                }
            }
        }
        found
    }

    fn cells(&self, it: Rectangle) -> Vec<u32> {
        let columns = 1usize << self.column_bits;
        let rows = it.row..it.row + (1 << it.row_level);
        rows.flat_map(|row| {
            let along = it.column..it.column + (1 << it.column_level);
            along.map(move |column| (row * columns + column % columns) as u32)
        })
        .collect()
    }

    fn masked(&self, it: Rectangle) -> Masked {
        let rows = block_of(self.row_bits, it.row_level, it.row);
        let columns = block_of(self.column_bits, it.column_level, it.column);
        Masked {
            value: rows.value << self.column_bits | columns.value,
            mask: rows.mask << self.column_bits | columns.mask,
        }
    }
}
