//! Aggregation of contiguous cells: the theorems of the thesis, and tables that forward as before.
//!
//! Follows HT 6.6.1 and 6.6.3: lemma 6.1, theorems 6.1 and 6.2, figures 6.23 and 6.25.
//! Differs: the theorems are tested on all cases of a size, not proved.
//! Left out: tables of satellites, which are in `central.rs`.

use skyhop_routing::aggregation::{
    Addresses, aggregate_covering, aggregate_greedy, aggregate_line, block_of, block_starts,
};
use skyhop_routing::cells::{Address, Masked, from_gray, gray};

/// Cells that a value and mask match, as positions on the circle.
fn positions(block: Masked, bits: u32) -> Vec<usize> {
    let mut positions: Vec<usize> = (0..1u16 << bits)
        .filter(|&address| block.matches(Address(address)))
        .map(|address| usize::from(from_gray(address)))
        .collect();
    positions.sort_unstable();
    positions
}

fn circle(start: usize, size: usize, cells: usize) -> Vec<usize> {
    let mut run: Vec<usize> = (start..start + size).map(|cell| cell % cells).collect();
    run.sort_unstable();
    run
}

#[test]
fn gray_codes_have_two_partitions_at_each_level_and_one_at_the_ends() {
    for bits in 1..=10u32 {
        let cells = 1usize << bits;
        for level in 0..=bits {
            let size = 1usize << level;
            let starts: Vec<usize> = block_starts(bits, level).collect();
            let is_block = |start: usize| {
                let codes = (start..start + size).map(|cell| gray((cell % cells) as u16));
                let (ones, any) = codes.fold((u16::MAX, 0), |(ones, any), code| (ones & code, any | code));
                (ones ^ any).count_ones() == level
            };
            // Every run of this size around the circle is tried: the codes allow those and no others.
            let allowed: Vec<usize> = (0..cells).filter(|&start| is_block(start)).collect();
            let distinct = if level == bits { &allowed[..1] } else { &allowed[..] };
            assert_eq!(starts, distinct, "{bits} bits, level {level}");
            let ways = starts.len() * size / cells;
            assert_eq!(ways, if level == 0 || level == bits { 1 } else { 2 }, "{bits} bits, level {level}");
            for start in starts {
                assert_eq!(positions(block_of(bits, level, start), bits), circle(start, size, cells));
            }
        }
    }
}

/// Lemma 6.1 for all possible codes: with up to 8 cells no numbering has more than two partitions at a level.
#[test]
fn no_numbering_of_eight_cells_has_more_partitions() {
    let mut most = [0usize; 4];
    let mut codes: Vec<u16> = (0..8).collect();
    permutations(&mut codes, 0, &mut |codes| {
        for (level, most) in most.iter_mut().enumerate() {
            let size = 1usize << level;
            let is_block = |start: usize| {
                let run = (start..start + size).map(|cell| codes[cell % 8]);
                let (ones, any) = run.fold((u16::MAX, 0), |(ones, any), code| (ones & code, any | code));
                (ones ^ any).count_ones() as usize == level
            };
            let whole = |offset: usize| (offset..8 + offset).step_by(size).all(is_block);
            *most = (*most).max((0..size).filter(|&offset| whole(offset)).count());
        }
    });
    // At level 3 the one block begins anywhere on the circle; it is the same block.
    assert_eq!(most, [1, 2, 2, 8]);
}

fn permutations(codes: &mut Vec<u16>, from: usize, visit: &mut impl FnMut(&[u16])) {
    if from == codes.len() {
        return visit(codes);
    }
    for other in from..codes.len() {
        codes.swap(from, other);
        permutations(codes, from + 1, visit);
        codes.swap(from, other);
    }
}

/// Theorem 6.2: all sets of 16 cells, against the fewest blocks by brute force, where blocks may overlap.
#[test]
fn greedy_in_one_dimension_is_optimal_for_all_sets_of_sixteen_cells() {
    let mut blocks: Vec<u16> = Vec::new();
    for level in 0..=4 {
        for start in block_starts(4, level) {
            blocks.push(circle(start, 1 << level, 16).iter().fold(0, |set, cell| set | 1 << cell));
        }
    }
    assert_eq!(blocks.len(), 16 + 16 + 8 + 4 + 1);
    let mut entries = 0;
    for set in 0..=u16::MAX {
        let cells: Vec<bool> = (0..16).map(|cell| set >> cell & 1 == 1).collect();
        let greedy = aggregate_line(&cells);
        let mut covered = 0u16;
        for &block in &greedy {
            let of_block = positions(block, 4).iter().fold(0, |set, cell| set | 1 << cell);
            assert_eq!(covered & of_block, 0, "blocks of {set:016b} overlap");
            covered |= of_block;
        }
        assert_eq!(covered, set);
        let legal: Vec<u16> = blocks.iter().copied().filter(|block| block & !set == 0).collect();
        assert!(!fewer(set, &legal, greedy.len()), "{set:016b} needs fewer than {}", greedy.len());
        entries += greedy.len();
    }
    println!("65,536 sets of 16 cells: {:.3} blocks on average", entries as f64 / 65_536.0);
}

/// Returns true if fewer than `limit` of the blocks cover the cells.
fn fewer(left: u16, blocks: &[u16], limit: usize) -> bool {
    if left == 0 {
        return limit > 0;
    }
    let largest = blocks.iter().map(|block| (block & left).count_ones()).max().unwrap_or(1);
    if limit == 0 || left.count_ones() > largest * (limit as u32 - 1) {
        return false;
    }
    let lowest = left & left.wrapping_neg();
    blocks.iter().any(|block| block & lowest != 0 && fewer(left & !block, blocks, limit - 1))
}

#[test]
fn greedy_in_two_dimensions_forwards_as_before_and_never_twice() {
    // Discs of several sizes, one of them around the end of the columns.
    let near = |row: usize, column: usize, centre: (i32, i32), radius: i32| {
        let (down, along) = (row as i32 - centre.0, (column as i32 - centre.1).rem_euclid(64));
        down.pow(2) + along.min(64 - along).pow(2) <= radius.pow(2)
    };
    let next = |row: usize, column: usize| {
        let discs = [((4, 1), 6), ((20, 30), 9), ((28, 60), 3)];
        let disc = discs.iter().position(|&(centre, radius)| near(row, column, centre, radius));
        disc.map(|disc| disc as u8).or((row < 24).then_some(7))
    };
    let table: Vec<Option<u8>> = (0..1u16 << 11)
        .map(|address| next(from_gray(address >> 6).into(), from_gray(address & 63).into()))
        .collect();
    let entries = aggregate_greedy(Addresses { row_bits: 5, column_bits: 6, next: &table });
    for (address, &next) in (0..).map(Address).zip(&table) {
        let matching: Vec<u8> =
            entries.iter().filter(|entry| entry.block.matches(address)).map(|entry| entry.next).collect();
        assert_eq!(matching, Vec::from_iter(next), "{address:?}");
    }
    let full = table.iter().flatten().count();
    println!("{full} cells, {} entries", entries.len());
    assert!((30..full / 8).contains(&entries.len()), "{} entries for {full} cells", entries.len());
}

/// Blocks that may overlap: every set of 16 cells in four rows and columns, against the fewest blocks by brute force.
#[test]
fn coverings_of_sixteen_cells_have_the_fewest_blocks_there_can_be() {
    let block = |row_level: u32, row: usize, column_level: u32, column: usize| {
        let cells = circle(column, 1 << column_level, 4).into_iter();
        let cells = cells.flat_map(|column| (row..row + (1 << row_level)).map(move |row| 4 * row + column));
        cells.fold(0u16, |set, cell| set | 1 << cell)
    };
    let mut blocks = Vec::new();
    for (row_level, column_level) in (0..9).map(|levels| (levels / 3, levels % 3)) {
        for row in block_starts(2, row_level).filter(|row| row + (1 << row_level) <= 4) {
            let columns = block_starts(2, column_level);
            blocks.extend(columns.map(|column| block(row_level, row, column_level, column)));
        }
    }
    assert_eq!(blocks.len(), (4 + 3 + 1) * (4 + 4 + 1));
    let (mut covering, mut greedy) = (0, 0);
    for set in 0..=u16::MAX {
        let cell = |address: u16| 4 * from_gray(address >> 2) + from_gray(address & 3);
        let table: Vec<Option<u8>> =
            (0..16).map(|address| (set >> cell(address) & 1 == 1).then_some(0)).collect();
        let addresses = Addresses { row_bits: 2, column_bits: 2, next: &table };
        let entries = aggregate_covering(addresses, 4);
        let matched = |address: u16| entries.iter().any(|entry| entry.block.matches(Address(address)));
        assert!((0..16).all(|address| matched(address) == table[usize::from(address)].is_some()));
        let legal: Vec<u16> = blocks.iter().copied().filter(|block| block & !set == 0).collect();
        assert!(!fewer(set, &legal, entries.len()), "{set:016b} needs fewer than {}", entries.len());
        covering += entries.len();
        greedy += aggregate_greedy(addresses).len();
    }
    println!("65,536 sets: {covering} entries, {greedy} without overlaps");
    assert!(
        (covering + covering / 200..covering + covering / 50).contains(&greedy),
        "{greedy} of {covering}"
    );
}

#[test]
fn rectangles_of_a_power_of_two_are_one_entry() {
    let table = |rows: std::ops::Range<u16>, columns: std::ops::Range<u16>| -> Vec<Option<u8>> {
        let inside = |address: u16| {
            let column = from_gray(address & 15);
            rows.contains(&from_gray(address >> 4))
                && (columns.contains(&column) || columns.contains(&(column + 16)))
        };
        (0..256).map(|address| inside(address).then_some(3)).collect()
    };
    let count = |rows, columns| {
        let next = table(rows, columns);
        aggregate_greedy(Addresses { row_bits: 4, column_bits: 4, next: &next }).len()
    };
    assert_eq!(count(0..16, 0..16), 1);
    assert_eq!(count(2..6, 12..20), 1, "across the end of the columns");
    assert_eq!(count(3..4, 5..6), 1);
    assert_eq!(count(1..5, 0..4), 2, "rows 1-2 and 3-4: blocks of four rows begin at even ones");
    assert_eq!(count(0..0, 0..0), 0);
}
