//! Geographic cells and their addresses.
//!
//! Follows HT 6.4.2 and 6.6.1 (after Restrepo and Maral): bands of n - 4k cells, n by n/2 points, Gray codes.
//! Differs: the two bands next to the caps have 12 cells where the rule gives 16; only so is the total the thesis's 21,352.
//! Left out: values of n other than 256, and the part of an address that distinguishes terminals in one cell.

use std::f64::consts::{FRAC_PI_2, PI, TAU};

/// Grid points per band, and cells in each of the two bands at the equator: n.
pub const COLUMNS: u16 = 256;
/// Number of bands from pole to pole, including the caps.
pub const BANDS: u16 = 128;
/// Bits of an address for the band; the lower bits are the column.
pub const BAND_BITS: u32 = BANDS.ilog2();
/// Bits of an address for the column.
pub const COLUMN_BITS: u32 = COLUMNS.ilog2();
/// Number of grid points, and therefore of addresses.
pub const POINTS: usize = BANDS as usize * COLUMNS as usize;

const BANDS_TO_POLE: u16 = BANDS / 2;
/// By the rule a band next to a cap has 16 cells, and there are 21,360 cells between the caps; the thesis counts 21,352. Counting
/// whole caps cannot explain the difference: multiples of four plus two caps are never a multiple of four. With 12 cells the
/// count is the thesis's, and at mid-height these cells are as wide (123 km) as those of the next bands, not narrower (92 km).
const CELLS_BESIDE_CAP: u16 = 12;

/// Number of a cell, counted eastwards from longitude zero within a band, and band by band from the south.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct CellId(pub u32);

impl CellId {
    /// Index into arrays over all cells.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// The address of a grid point: Gray code of its band (7 bits), then Gray code of its column (8 bits).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Address(pub u16);

impl Address {
    /// The address of the point in band `band` from the south and column `column` eastwards from longitude zero.
    pub fn of_point(band: u16, column: u16) -> Self {
        debug_assert!(band < BANDS && column < COLUMNS);
        Self(gray(band) << COLUMN_BITS | gray(column))
    }

    /// Band and column of the point.
    pub fn point(self) -> (u16, u16) {
        (from_gray(self.0 >> COLUMN_BITS), from_gray(self.0 & (COLUMNS - 1)))
    }

    /// Index into arrays over all addresses.
    pub fn index(self) -> usize {
        usize::from(self.0)
    }
}

/// The addresses that equal `value` in the bits of `mask`, which need not be contiguous.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Masked {
    /// Value of the bits; zero where they are masked out.
    pub value: u16,
    /// The bits that are compared.
    pub mask: u16,
}

impl Masked {
    /// Returns true if the address is one of them.
    pub fn matches(self, address: Address) -> bool {
        address.0 & self.mask == self.value
    }
}

/// The binary-reflected Gray code of `number`: successive numbers differ in one bit, and so do the last and the first.
pub fn gray(number: u16) -> u16 {
    number ^ number >> 1
}

/// The number whose Gray code is `code`.
pub fn from_gray(code: u16) -> u16 {
    [1, 2, 4, 8].into_iter().fold(code, |number, shift| number ^ number >> shift)
}

/// The cells of a spherical Earth.
///
/// ```
/// use skyhop_routing::cells::CellGrid;
///
/// let grid = CellGrid::new();
/// let berlin = grid.cell_at(52.52f64.to_radians(), 13.40f64.to_radians());
/// let (latitude_rad, longitude_rad) = grid.centre(berlin);
/// let centre = format!("{:.2} N {:.2} E", latitude_rad.to_degrees(), longitude_rad.to_degrees());
/// assert_eq!(centre, "52.73 N 12.38 E");
/// assert_eq!(format!("{:015b}", grid.address(berlin).0), "101011100001100");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CellGrid {
    /// Number of cells of each band.
    counts: Vec<u16>,
    /// Number of each band's first cell, and last the number of all cells.
    firsts: Vec<u32>,
}

impl Default for CellGrid {
    fn default() -> Self {
        Self::new()
    }
}

impl CellGrid {
    /// The grid of the thesis.
    pub fn new() -> Self {
        let counts: Vec<u16> = (0..BANDS).map(cells_in_band).collect();
        let mut firsts = vec![0];
        firsts.extend(counts.iter().scan(0, |first, &count| {
            *first += u32::from(count);
            Some(*first)
        }));
        Self { counts, firsts }
    }

    /// Number of cells, including the two caps.
    pub fn len(&self) -> usize {
        self.firsts[usize::from(BANDS)] as usize
    }

    /// Always false; here because [`Self::len`] is.
    pub fn is_empty(&self) -> bool {
        false
    }

    /// Number of cells in a band; one in a cap.
    pub fn cells_in_band(&self, band: u16) -> u16 {
        self.counts[usize::from(band)]
    }

    /// Returns true if the cell is a polar cap.
    pub fn is_cap(&self, cell: CellId) -> bool {
        self.cells_in_band(self.place(cell).0) == 1
    }

    /// Length in metres of a cell's longer parallel, the one closer to the equator.
    pub fn base_m(&self, band: u16, earth_radius_m: f64) -> f64 {
        TAU * earth_radius_m * base_latitude_rad(band).cos() / f64::from(self.cells_in_band(band))
    }

    /// Distance in metres between the parallels of a band.
    pub fn height_m(&self, earth_radius_m: f64) -> f64 {
        PI * earth_radius_m / f64::from(BANDS)
    }

    /// Band of the cell from the south, and its position in the band, eastwards.
    pub fn place(&self, cell: CellId) -> (u16, u16) {
        let band = self.firsts.partition_point(|&first| first <= cell.0) - 1;
        (band as u16, (cell.0 - self.firsts[band]) as u16)
    }

    /// The cell at geocentric latitude -pi/2 to pi/2 and any longitude.
    pub fn cell_at(&self, latitude_rad: f64, longitude_rad: f64) -> CellId {
        let band = ((latitude_rad + FRAC_PI_2) / PI * f64::from(BANDS)) as u16;
        let band = band.min(BANDS - 1);
        let count = self.cells_in_band(band);
        let place = (longitude_rad.rem_euclid(TAU) / TAU * f64::from(count)) as u16;
        CellId(self.firsts[usize::from(band)] + u32::from(place.min(count - 1)))
    }

    /// Latitude and longitude of the cell's centre in radians, longitude 0 to 2 pi; the pole for a cap.
    pub fn centre(&self, cell: CellId) -> (f64, f64) {
        let (band, place) = self.place(cell);
        if self.cells_in_band(band) == 1 {
            return (if band == 0 { -FRAC_PI_2 } else { FRAC_PI_2 }, 0.0);
        }
        let latitude_rad = (f64::from(band) + 0.5) / f64::from(BANDS) * PI - FRAC_PI_2;
        (latitude_rad, (f64::from(place) + 0.5) / f64::from(self.cells_in_band(band)) * TAU)
    }

    /// The cell of a grid point: the one that contains the middle of the point's share of the band. The points of each cell are
    /// so spread evenly around the band, and each cell has at least one.
    pub fn cell_of_point(&self, band: u16, column: u16) -> CellId {
        let count = u32::from(self.cells_in_band(band));
        let place = (2 * u32::from(column) + 1) * count / (2 * u32::from(COLUMNS));
        CellId(self.firsts[usize::from(band)] + place)
    }

    /// The cell of an address.
    pub fn cell_of(&self, address: Address) -> CellId {
        let (band, column) = address.point();
        self.cell_of_point(band, column)
    }

    /// All addresses of a cell, eastwards.
    pub fn addresses(&self, cell: CellId) -> impl Iterator<Item = Address> + use<> {
        let (band, place) = self.place(cell);
        let count = u32::from(self.cells_in_band(band));
        // The first column whose middle is not west of the cell.
        let first_column = move |place: u32| {
            (2 * u32::from(COLUMNS) * place).saturating_sub(count).div_ceil(2 * count) as u16
        };
        let columns = first_column(u32::from(place))..first_column(u32::from(place) + 1);
        columns.map(move |column| Address::of_point(band, column))
    }

    /// The address used by the terminals of a cell, the westernmost if it has several.
    pub fn address(&self, cell: CellId) -> Address {
        self.addresses(cell).next().expect("every cell has a grid point")
    }
}

/// n - 4k, with the largest k for which the base is no longer than at the equator.
fn cells_in_band(band: u16) -> u16 {
    match bands_from_equator(band) + 1 {
        BANDS_TO_POLE => 1,
        from if from + 1 == BANDS_TO_POLE => CELLS_BESIDE_CAP,
        _ => {
            let least = f64::from(COLUMNS) * base_latitude_rad(band).cos();
            COLUMNS - 4 * ((f64::from(COLUMNS) - least) / 4.0) as u16
        }
    }
}

fn bands_from_equator(band: u16) -> u16 {
    if band < BANDS_TO_POLE { BANDS_TO_POLE - 1 - band } else { band - BANDS_TO_POLE }
}

fn base_latitude_rad(band: u16) -> f64 {
    f64::from(bands_from_equator(band)) / f64::from(BANDS) * PI
}
