//! Prints the cells band by band, from the south, as CSV: `cells`. papers/henderson1999/fig_6_15.py draws them.
//!
//! Follows HT 6.6.1: bands of 256 - 4k cells on a sphere.
//! Differs only in the radius of the sphere, which is ns-2's 6378 km.
//! Left out: addresses.

use skyhop_orbit::EarthModel;
use skyhop_routing::cells::{BANDS, CellGrid};

fn main() {
    let grid = CellGrid::new();
    let radius_m = EarthModel::NS2.radius_m;
    println!("band,south_deg,north_deg,cells,base_km,height_km");
    for band in 0..BANDS {
        let latitude_deg = |edge: u16| 180.0 * f64::from(edge) / f64::from(BANDS) - 90.0;
        println!(
            "{band},{},{},{},{:.6},{:.6}",
            latitude_deg(band),
            latitude_deg(band + 1),
            grid.cells_in_band(band),
            grid.base_m(band, radius_m) / 1e3,
            grid.height_m(radius_m) / 1e3
        );
    }
}
