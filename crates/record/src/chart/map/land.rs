//! The coastlines of the world.
//!
//! They are read from the package's `land.txt`, Natural Earth's land at 1:110,000,000 in tenths of a degree; its heading has the details.
//! Differs from a shapefile: rings are already cut at the date line, so each is a plain polygon on the map.
//! Leaves out lakes, borders and ice shelves.

use super::geometry::MapPoint;

const LAND: &str = include_str!("../../../../../python/skyhop/land.txt");

/// Rings of land, to be filled by the even-odd rule.
pub fn rings() -> Vec<Vec<MapPoint>> {
    LAND.lines().filter(|line| !line.starts_with('#')).map(ring).collect()
}

fn ring(line: &str) -> Vec<MapPoint> {
    let numbers: Vec<i32> = line.split_ascii_whitespace().filter_map(|text| text.parse().ok()).collect();
    let (mut lon, mut lat) = (0, 0);
    let step = |pair: &[i32]| {
        (lon, lat) = (lon + pair[0], lat + pair[1]);
        MapPoint { lat_deg: f64::from(lat) / 10.0, lon_deg: f64::from(lon) / 10.0 }
    };
    numbers.chunks_exact(2).map(step).collect()
}

/// The sides of the rings that are coast, without those along the date line and at the pole, which only close a ring.
pub fn coast() -> Vec<[MapPoint; 2]> {
    let edge = |a: MapPoint, b: MapPoint| {
        (a.lon_deg.abs() == 180.0 && a.lon_deg == b.lon_deg)
            || (a.lat_deg.abs() == 90.0 && a.lat_deg == b.lat_deg)
    };
    let sides = |ring: Vec<MapPoint>| {
        let next = ring.clone().into_iter().cycle().skip(1);
        ring.into_iter().zip(next).map(|(a, b)| [a, b]).collect::<Vec<_>>()
    };
    rings().into_iter().flat_map(sides).filter(|[a, b]| !edge(*a, *b)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns true if a place is on land, by the even-odd rule.
    fn dry(lat_deg: f64, lon_deg: f64) -> bool {
        let crosses = |a: MapPoint, b: MapPoint| {
            (a.lat_deg > lat_deg) != (b.lat_deg > lat_deg)
                && lon_deg
                    < a.lon_deg + (b.lon_deg - a.lon_deg) * (lat_deg - a.lat_deg) / (b.lat_deg - a.lat_deg)
        };
        let times = |ring: &Vec<MapPoint>| {
            (0..ring.len()).filter(|&i| crosses(ring[i], ring[(i + 1) % ring.len()])).count()
        };
        rings().iter().map(times).sum::<usize>() % 2 == 1
    }

    #[test]
    fn places_on_land_are_dry_and_places_at_sea_are_not() {
        for (lat, lon) in [
            (-1.0, -77.0),
            (48.0, 11.5),
            (40.0, -100.0),
            (-25.0, 135.0),
            (67.0, -175.0),
            (66.0, 178.0),
            (-85.0, 179.0),
            (-85.0, -10.0),
            (72.0, -40.0),
            (15.5, 32.5),
        ] {
            assert!(dry(lat, lon), "{lat},{lon}");
        }
        // Mid-ocean, the Mediterranean, the Black and the Caspian Sea, Hudson Bay, the pole.
        for (lat, lon) in [
            (0.0, -30.0),
            (0.0, -150.0),
            (35.0, 18.0),
            (43.0, 34.0),
            (41.0, 51.0),
            (60.0, -86.0),
            (89.0, 0.0),
            (10.0, 179.0),
        ] {
            assert!(!dry(lat, lon), "{lat},{lon}");
        }
    }

    #[test]
    fn land_is_29_percent_of_the_earth() {
        // Published: 148.9 of 510.1 million square kilometres, ice shelves not counted.
        let sphere = |ring: &Vec<MapPoint>| -> f64 {
            let next = ring.iter().cycle().skip(1);
            let strips = ring.iter().zip(next).map(|(a, b)| {
                let mean = (a.lat_deg.to_radians().sin() + b.lat_deg.to_radians().sin()) / 2.0;
                (b.lon_deg - a.lon_deg).to_radians() * mean
            });
            strips.sum()
        };
        let signed: Vec<f64> = rings().iter().map(sphere).collect();
        let holes = signed.iter().filter(|area| **area < 0.0).count();
        let share = signed.iter().sum::<f64>() / (4.0 * std::f64::consts::PI);
        assert!((0.275..0.300).contains(&share), "{share}");
        assert!(holes <= 3, "{holes} rings are holes");
        assert!((4500..5500).contains(&coast().len()), "{}", coast().len());
    }
}
