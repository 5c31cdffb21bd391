//! Forwarding entries for blocks of contiguous addresses, by the thesis's algorithms.
//!
//! Follows HT 6.6.1 (lemma 6.1: the possible positions of blocks) and 6.6.3 (greedy, in one and two dimensions; set covering).
//! Differs: packings are greedy where the thesis anneals; the covering problem that it states, with overlaps, is solved as well.
//! Left out: entries for several next hops at once; masks for addresses that are not contiguous.

use std::ops::Range;

use crate::cells::{Masked, gray};

/// A forwarding entry: a set of addresses and their next hop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ForwardingEntry {
    /// The addresses that the entry matches.
    pub block: Masked,
    /// Number of the next hop in the table.
    pub next: u8,
}

/// Starts of the blocks of 2^`level` contiguous cells of 2^`bits` that one value and mask can match.
///
/// The circle of cells can be divided into such blocks in two ways, half a block apart, but only in one at levels 0 and `bits`
/// (lemma 6.1; by theorem 6.1 no other code has more).
pub fn block_starts(bits: u32, level: u32) -> impl Iterator<Item = usize> {
    let step = if level == 0 || level == bits { 1 << level } else { 1 << (level - 1) };
    (0..1 << bits).step_by(step)
}

/// Value and mask of 2^`level` contiguous Gray-coded cells of 2^`bits` from `start`, which is one of [`block_starts`].
pub fn block_of(bits: u32, level: u32, start: usize) -> Masked {
    let last = (start + (1 << level) - 1) % (1 << bits);
    let (first, all) = (gray(start as u16), ((1u32 << bits) - 1) as u16);
    // In a block `level` bits vary: over its first half the lower ones do, and the ends differ in the remaining one.
    let lower = ((1u32 << level) - 1) as u16 >> 1;
    let mask = all & !(lower | (first ^ gray(last as u16)));
    Masked { value: first & mask, mask }
}

/// The fewest blocks of contiguous cells that contain exactly `cells`, 2^k Gray-coded cells on a circle.
///
/// The algorithm is greedy: the largest blocks first, as many as fit (optimal by theorem 6.2).
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

/// Starts of the largest number of blocks of one size that fit the cells.
fn most_blocks(cells: &[bool], bits: u32, level: u32) -> Vec<usize> {
    let size = 1usize << level;
    let Some(gap) = cells.iter().position(|&cell| !cell) else {
        // There is no gap: either one block is the whole circle, or it was taken before.
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

/// Runs of cells on the circle, starting at a gap; a run across the end continues past the length.
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

/// A table indexed by Gray-coded address (`row_bits`, then `column_bits`): the next hop of each, or `None` for no entry.
#[derive(Debug, Clone, Copy)]
pub struct Addresses<'a> {
    /// Bits of the row; rows do not wrap around.
    pub row_bits: u32,
    /// Bits of the column; columns wrap around the Earth.
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

/// Entries for rectangles of contiguous cells: for each next hop the largest first, as many of one size as fit.
///
/// The greedy algorithm of the thesis. The rectangles of one size are chosen by exhaustive search where few overlap (up to 64,
/// within a budget); otherwise those that overlap the fewest others come first. No two entries match the same address.
///
/// # Panics
///
/// If the table does not have 2^(row bits + column bits) addresses, at most 2^15.
pub fn aggregate_greedy(table: Addresses<'_>) -> Vec<ForwardingEntry> {
    let mut entries = Vec::new();
    for (hop, mut field) in fields(table) {
        for level in (0..=table.row_bits + table.column_bits).rev() {
            let fitting = field.fitting(level);
            for index in crate::packing::pack(&fitting.iter().map(|&it| field.cells(it)).collect::<Vec<_>>())
            {
                let block = field.masked(fitting[index]);
                field.cells(fitting[index]).iter().for_each(|&cell| field.points[cell as usize] = false);
                entries.push(ForwardingEntry { block, next: hop });
            }
        }
    }
    entries
}

/// Entries for rectangles of contiguous cells that may overlap if their next hop is the same: the covering problem that the
/// thesis states before its packings. `effort` as for [`crate::minimise::minimise`].
///
/// # Panics
///
/// As for [`aggregate_greedy`].
pub fn aggregate_covering(table: Addresses<'_>, effort: usize) -> Vec<ForwardingEntry> {
    let mut entries = Vec::new();
    for (hop, field) in fields(table) {
        let widest = field.widest();
        let mut numbers = vec![0; field.points.len()];
        let mut points = 0;
        for (number, _) in numbers.iter_mut().zip(&field.points).filter(|(_, is_full)| **is_full) {
            *number = points;
            points += 1;
        }
        let numbered = |&it: &Rectangle| {
            let mut set: Vec<u32> = field.cells(it).iter().map(|&cell| numbers[cell as usize]).collect();
            set.sort_unstable();
            set
        };
        let sets: Vec<Vec<u32>> = widest.iter().map(numbered).collect();
        let chosen = crate::cover::cover(&sets, points as usize, effort);
        entries.extend(
            chosen.into_iter().map(|set| ForwardingEntry { block: field.masked(widest[set]), next: hop }),
        );
    }
    entries
}

/// The cells of each next hop, as a field.
fn fields(table: Addresses<'_>) -> Vec<(u8, CellField)> {
    let Addresses { row_bits, column_bits, next } = table;
    assert!(row_bits + column_bits <= 15 && next.len() == 1 << (row_bits + column_bits));
    let mut hops: Vec<u8> = next.iter().flatten().copied().collect();
    hops.sort_unstable();
    hops.dedup();
    let address =
        |row: usize, column: usize| usize::from(gray(row as u16) << column_bits | gray(column as u16));
    let field = |hop| {
        let points = (0..next.len()).map(|point| (point >> column_bits, point & ((1 << column_bits) - 1)));
        let points = points.map(|(row, column)| next[address(row, column)] == Some(hop)).collect();
        (hop, CellField { row_bits, column_bits, points })
    };
    hops.into_iter().map(field).collect()
}

/// Cells of one next hop without an entry, row by row.
struct CellField {
    row_bits: u32,
    column_bits: u32,
    points: Vec<bool>,
}

impl CellField {
    /// All full rectangles of 2^`level` cells.
    fn fitting(&self, level: u32) -> Vec<Rectangle> {
        let sums = Sums::new(self);
        let row_levels = level.saturating_sub(self.column_bits)..=level.min(self.row_bits);
        let all = row_levels.flat_map(|row_level| self.legal(row_level, level - row_level));
        all.filter(|&it| sums.is_full(it)).collect()
    }

    /// All full rectangles that lie in no other full rectangle.
    fn widest(&self) -> Vec<Rectangle> {
        let sums = Sums::new(self);
        let levels =
            (0..=self.row_bits).flat_map(|row| (0..=self.column_bits).map(move |column| (row, column)));
        let all = levels.flat_map(|(row_level, column_level)| self.legal(row_level, column_level));
        let full = all.filter(|&it| sums.is_full(it));
        full.filter(|&it| !self.wider(it).any(|wider| sums.is_full(wider))).collect()
    }

    /// All rectangles of 2^`row_level` rows and 2^`column_level` columns that one value and mask can match.
    fn legal(&self, row_level: u32, column_level: u32) -> impl Iterator<Item = Rectangle> {
        let (column_bits, rows) = (self.column_bits, 1 << self.row_bits);
        block_starts(self.row_bits, row_level).take_while(move |row| row + (1 << row_level) <= rows).flat_map(
            move |row| {
                block_starts(column_bits, column_level).map(move |column| Rectangle {
                    row,
                    column,
                    row_level,
                    column_level,
                })
            },
        )
    }

    /// The rectangles around one with twice the rows or columns. A rectangle inside any other lies inside one of these.
    fn wider(&self, it: Rectangle) -> impl Iterator<Item = Rectangle> {
        let rows = 1usize << self.row_bits;
        let around_row = around(it.row, it.row_level, self.row_bits)
            .filter(move |&row| row + (2 << it.row_level) <= rows)
            .map(move |row| Rectangle { row, row_level: it.row_level + 1, ..it });
        let around_column = around(it.column, it.column_level, self.column_bits)
            .map(move |column| Rectangle { column, column_level: it.column_level + 1, ..it });
        around_row.chain(around_column)
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

/// Starts of the blocks of twice the size that contain the block of 2^`level` cells at `start`.
fn around(start: usize, level: u32, bits: u32) -> impl Iterator<Item = usize> {
    let (size, cells) = (1usize << level, 1usize << bits);
    let starts = match start % size {
        _ if level == bits => [None, None],
        // The block that is the whole circle begins at the first cell.
        _ if level + 1 == bits => [Some(0), None],
        0 => [Some(start), Some((start + cells - size) % cells)],
        half => [Some(start - half), None],
    };
    starts.into_iter().flatten()
}

/// Number of a field's points west and south of each corner, with the columns repeated once.
struct Sums {
    columns: usize,
    sums: Vec<u32>,
}

impl Sums {
    fn new(field: &CellField) -> Self {
        let (rows, columns) = (1usize << field.row_bits, 1usize << field.column_bits);
        let mut it = Self { columns, sums: vec![0; (rows + 1) * (2 * columns + 1)] };
        for row in 0..rows {
            let mut along = 0;
            for column in 0..2 * columns {
                along += u32::from(field.points[row * columns + column % columns]);
                let (here, south) = (it.at(row + 1, column + 1), it.at(row, column + 1));
                it.sums[here] = it.sums[south] + along;
            }
        }
        it
    }

    fn at(&self, row: usize, column: usize) -> usize {
        row * (2 * self.columns + 1) + column
    }

    fn is_full(&self, it: Rectangle) -> bool {
        let (north, east) = (it.row + (1 << it.row_level), it.column + (1 << it.column_level));
        let sum = |row, column| self.sums[self.at(row, column)];
        sum(north, east) + sum(it.row, it.column) - sum(it.row, east) - sum(north, it.column)
            == 1 << (it.row_level + it.column_level)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Blocks begin at multiples of half their size and wrap around; compared with trying every start.
    #[test]
    fn the_blocks_around_a_block_are_those_of_twice_its_size_that_hold_it() {
        let bits = 5;
        let cells = 1usize << bits;
        let holds = |outer: usize, size: usize, cell: usize| (cell + cells - outer) % cells < size;
        for level in 0..bits {
            let size = 1usize << level;
            for start in (0..cells).step_by((size / 2).max(1)) {
                let twice = (0..cells).step_by(size).filter(|&outer| level + 1 < bits || outer == 0);
                let all = twice
                    .filter(|&outer| (start..start + size).all(|cell| holds(outer, 2 * size, cell % cells)));
                let mut found: Vec<usize> = around(start, level, bits).collect();
                found.sort_unstable();
                assert_eq!(found, all.collect::<Vec<_>>(), "level {level}, start {start}");
            }
        }
        assert_eq!(around(0, bits, bits).count(), 0);
    }
}
