//! Cells: their number and size against the thesis, and addresses that map back to their cell.
//!
//! Follows HT 6.6.1; published numbers stand in the assertions.
//! Differs: every cell and every address is tested, not a sample.
//! Left out: an ellipsoidal Earth.

use skyhop_orbit::EarthModel;
use skyhop_routing::cells::{Address, BANDS, COLUMNS, CellGrid, CellId, Masked, POINTS, from_gray, gray};

#[test]
fn cells_and_points_are_as_many_as_published() {
    let grid = CellGrid::new();
    let caps = (0..grid.len() as u32).filter(|&cell| grid.is_cap(CellId(cell))).count();
    assert_eq!((grid.len() - caps, caps, POINTS), (21_352, 2, 32_768));
    let by_band: Vec<u16> = (0..BANDS).map(|band| grid.cells_in_band(band)).collect();
    assert!(by_band[1..127].iter().all(|count| count % 4 == 0));
    assert_eq!((by_band[63], by_band[64], by_band[0], by_band[127]), (256, 256, 1, 1));
    assert!((0..64).all(|band| by_band[band] == by_band[127 - band]), "the hemispheres are alike");
}

#[test]
fn bases_are_as_long_as_published() {
    let grid = CellGrid::new();
    let radius_m = EarthModel::NS2.radius_m;
    // "Except very near the poles": beyond 84 degrees four cells more or less are too much either way.
    let bases: Vec<f64> = (0..60).map(|band| grid.base_m(64 + band, radius_m) / 1e3).collect();
    let [least, most] =
        [bases.iter().copied().fold(f64::MAX, f64::min), bases.iter().copied().fold(0.0, f64::max)];
    assert_eq!(format!("{least:.1} {most:.1}"), "146.3 156.5");
    assert_eq!(format!("{:.1}", grid.height_m(radius_m) / 1e3), "156.5");
    for band in 60..63 {
        assert!((120.0..165.0).contains(&(grid.base_m(64 + band, radius_m) / 1e3)));
    }
    // Four cells fewer would be longer than at the equator, all the way to the bands beside the caps.
    for band in 1..62 {
        let count = f64::from(grid.cells_in_band(64 + band));
        let longer_m = grid.base_m(64 + band, radius_m) * count / (count - 4.0);
        assert!(longer_m > grid.base_m(64, radius_m), "band {band}");
    }
}

#[test]
fn a_cell_is_found_from_its_centre_corners_and_addresses() {
    let grid = CellGrid::new();
    let mut points = 0;
    for cell in (0..grid.len() as u32).map(CellId) {
        let (latitude_rad, longitude_rad) = grid.centre(cell);
        for turn in [-1.0, 0.0, 1.0] {
            let longitude_rad = longitude_rad + turn * std::f64::consts::TAU;
            assert_eq!(grid.cell_at(latitude_rad, longitude_rad), cell);
        }
        let (band, place) = grid.place(cell);
        let (north, east) = (f64::from(band) / 128.0, f64::from(place) / f64::from(grid.cells_in_band(band)));
        let corner = |margin: f64| ((north - 0.5 + margin) * 180.0, (east + margin) * 360.0);
        let (south_deg, west_deg) = corner(1e-9);
        assert_eq!(grid.cell_at(south_deg.to_radians(), west_deg.to_radians()), cell);
        let addresses: Vec<Address> = grid.addresses(cell).collect();
        assert!(addresses.iter().all(|&address| grid.cell_of(address) == cell));
        assert_eq!(addresses[0], grid.address(cell));
        points += addresses.len();
    }
    assert_eq!(points, POINTS, "each address belongs to one cell");
    for (latitude_deg, longitude_deg, cell) in [(90.0, 77.0, grid.len() as u32 - 1), (-90.0, -77.0, 0)] {
        assert_eq!(grid.cell_at(f64::to_radians(latitude_deg), f64::to_radians(longitude_deg)), CellId(cell));
    }
}

#[test]
fn points_beyond_the_cells_are_spread_evenly() {
    let grid = CellGrid::new();
    for band in 1..127 {
        let count = grid.cells_in_band(band);
        let shared: Vec<u16> = (1..COLUMNS)
            .filter(|&column| grid.cell_of_point(band, column) == grid.cell_of_point(band, column - 1))
            .collect();
        assert_eq!(shared.len(), usize::from(COLUMNS - count));
        let [fewest, most] = [256 / u32::from(count), 256u32.div_ceil(u32::from(count))];
        for place in 0..u32::from(count) {
            let first = grid.cell_of_point(band, 0).0;
            let points = grid.addresses(CellId(first + place)).count() as u32;
            assert!((fewest..=most).contains(&points), "{points} points in a cell of band {band}");
        }
    }
    // HT: of 252 cells every 63rd has two points.
    let band = (64..128).find(|&band| grid.cells_in_band(band) == 252).expect("there is one");
    let shared: Vec<u16> = (1..COLUMNS)
        .filter(|&column| grid.cell_of_point(band, column) == grid.cell_of_point(band, column - 1))
        .collect();
    assert!(shared.len() == 4 && shared.windows(2).all(|pair| pair[1] - pair[0] == 64), "{shared:?}");
}

#[test]
fn neighbouring_addresses_differ_in_one_bit() {
    for number in 0..COLUMNS {
        assert_eq!(from_gray(gray(number)), number);
        assert_eq!((gray(number) ^ gray((number + 1) % COLUMNS)).count_ones(), 1, "also around the Earth");
    }
    for (band, column) in [(0, 0), (63, 255), (64, 128), (126, 77)] {
        let address = Address::of_point(band, column);
        assert_eq!(address.point(), (band, column));
        let north = Address::of_point(band + 1, column);
        let east = Address::of_point(band, (column + 1) % COLUMNS);
        assert_eq!([(address.0 ^ north.0).count_ones(), (address.0 ^ east.0).count_ones()], [1, 1]);
    }
}

#[test]
fn a_mask_with_holes_matches_what_it_should() {
    let block = Masked { value: 0b001_0000_0010, mask: 0b111_0000_0110 };
    let matched = (0..1 << 15).filter(|&address| block.matches(Address(address))).count();
    assert_eq!(matched, 1 << 10);
    assert!(block.matches(Address(0b001_1111_1011)) && !block.matches(Address(0b001_1111_1111)));
}
