//! Great circles, visibility circles and seams on an equirectangular map.
//!
//! Follows spherical geometry: an ISL is a straight line, and its ground track a great circle.
//! Differs from straight lines on the map: lines are curved, and are cut at the date line and over the poles.
//! Leaves out the ellipsoid, which changes no position by more than 0.2 degrees.

use skyhop_orbit::{Ecef, Vec3};
use std::f64::consts::TAU;

/// A point of the map.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MapPoint {
    /// Degrees north, -90 to 90.
    pub lat_deg: f64,
    /// Degrees east, -180 to 180.
    pub lon_deg: f64,
}

impl MapPoint {
    /// The point on the ground below a position.
    pub fn below(place: Ecef) -> Self {
        MapPoint { lat_deg: place.latitude_rad().to_degrees(), lon_deg: place.longitude_rad().to_degrees() }
    }

    fn of(direction: Vec3) -> Self {
        Self::below(Ecef(direction))
    }

    fn direction(self) -> Vec3 {
        let (lat, lon) = (self.lat_deg.to_radians(), self.lon_deg.to_radians());
        Vec3::new(lat.cos() * lon.cos(), lat.cos() * lon.sin(), lat.sin())
    }
}

/// Largest step of a curve on the sphere.
const STEP_RAD: f64 = 1.5 * TAU / 360.0;
/// Largest step of a curve across the map, down to steps of [`LEAST_RAD`].
const ACROSS_DEG: f64 = 5.0;
const LEAST_RAD: f64 = 1e-4;

/// The shorter great-circle arc between two points, in pieces that do not cross the date line.
pub fn arc(from: MapPoint, to: MapPoint) -> Vec<Vec<MapPoint>> {
    let (a, b) = (from.direction(), to.direction());
    let normal = a.cross(b);
    let angle_rad = normal.norm().atan2(a.dot(b));
    // Between antipodes all arcs are equally short; the one over the north pole is taken.
    let ahead = if normal.norm() > 1e-9 {
        normal.cross(a) * (1.0 / normal.norm())
    } else {
        let north = Vec3::new(0.0, 0.0, 1.0) - a * a.z;
        north * (1.0 / north.norm().max(1e-9))
    };
    curve(a, ahead, angle_rad)
}

/// The great circle around an axis.
pub fn great_circle(axis: Vec3) -> Vec<Vec<MapPoint>> {
    let across =
        if axis.z.abs() < 0.9 * axis.norm() { Vec3::new(0.0, 0.0, 1.0) } else { Vec3::new(1.0, 0.0, 0.0) };
    let a = axis.cross(across);
    let a = a * (1.0 / a.norm());
    curve(a, axis.cross(a) * (1.0 / axis.norm()), TAU)
}

/// The arc of length `angle_rad` from a unit vector towards another at right angles to it.
fn curve(from: Vec3, ahead: Vec3, angle_rad: f64) -> Vec<Vec<MapPoint>> {
    let at = |along_rad: f64| MapPoint::of(from * along_rad.cos() + ahead * along_rad.sin());
    sampled(at, angle_rad)
}

/// The circle of radius `radius_rad` around a point, as a closed curve.
pub fn circle(centre: MapPoint, radius_rad: f64) -> Vec<Vec<MapPoint>> {
    let up = centre.direction();
    let east = Vec3::new(0.0, 0.0, 1.0).cross(up);
    let east = if east.norm() > 1e-9 { east * (1.0 / east.norm()) } else { Vec3::new(1.0, 0.0, 0.0) };
    let north = up.cross(east);
    let at = |turn_rad: f64| {
        MapPoint::of(
            up * radius_rad.cos() + (north * turn_rad.cos() + east * turn_rad.sin()) * radius_rad.sin(),
        )
    };
    sampled(at, TAU)
}

/// Angle at the Earth's centre between a satellite and the edge of its footprint above the mask.
pub fn footprint_rad(surface_radius_m: f64, orbit_radius_m: f64, mask_rad: f64) -> f64 {
    ((surface_radius_m / orbit_radius_m * mask_rad.cos()).clamp(-1.0, 1.0).acos() - mask_rad).max(0.0)
}

fn sampled(at: impl Fn(f64) -> MapPoint, length_rad: f64) -> Vec<Vec<MapPoint>> {
    let steps = (length_rad / STEP_RAD).ceil().max(1.0) as u32;
    let mut points = vec![at(0.0)];
    for step in 0..steps {
        let edge = |step: u32| length_rad * f64::from(step) / f64::from(steps);
        refine(&at, edge(step), edge(step + 1), &mut points);
    }
    cut(&points)
}

/// Adds points up to `to`, more densely near the poles.
fn refine(at: &impl Fn(f64) -> MapPoint, from: f64, to: f64, points: &mut Vec<MapPoint>) {
    let (a, b) = (at(from), at(to));
    let across = (b.lon_deg - a.lon_deg).abs();
    if across.min(360.0 - across) > ACROSS_DEG && to - from > LEAST_RAD {
        let middle = (from + to) / 2.0;
        refine(at, from, middle, points);
        refine(at, middle, to, points);
    } else {
        points.push(b);
    }
}

/// Splits a line into pieces at the date line.
fn cut(points: &[MapPoint]) -> Vec<Vec<MapPoint>> {
    let mut pieces = vec![vec![points[0]]];
    for step in points.windows(2) {
        let (a, b) = (step[0], step[1]);
        let across = b.lon_deg - a.lon_deg;
        let shorter = across - 360.0 * (across / 360.0).round();
        let piece = pieces.last_mut().expect("there is a first piece");
        if shorter.abs() > 2.0 * ACROSS_DEG {
            // The line passes exactly over a pole.
            let pole = |p: MapPoint| MapPoint { lat_deg: 90f64.copysign(p.lat_deg), ..p };
            piece.push(pole(a));
            pieces.push(vec![pole(b), b]);
        } else if across.abs() > 180.0 {
            let side = 180f64.copysign(a.lon_deg);
            let share = (side - a.lon_deg) / shorter;
            let lat_deg = a.lat_deg + share * (b.lat_deg - a.lat_deg);
            piece.push(MapPoint { lat_deg, lon_deg: side });
            pieces.push(vec![MapPoint { lat_deg, lon_deg: -side }, b]);
        } else {
            piece.push(b);
        }
    }
    // A point exactly at a pole has any longitude, and gives pieces of zero length.
    pieces.retain(|piece| piece.len() > 1 && piece.iter().any(|p| p.lat_deg.abs() < 90.0 - 1e-6));
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(lat_deg: f64, lon_deg: f64) -> MapPoint {
        MapPoint { lat_deg, lon_deg }
    }

    #[test]
    fn a_great_circle_from_london_to_los_angeles_has_its_vertex() {
        let pieces = arc(point(51.5, 0.0), point(34.0, -118.2));
        assert_eq!(pieces.len(), 1);
        let north = pieces[0].iter().map(|p| p.lat_deg).fold(0.0, f64::max);
        // The vertex by Clairaut: cos(north) = cos(51.5 deg) sin(48.1 deg), the bearing being 311.9 deg.
        assert!((62.3..62.45).contains(&north), "{north}");
        let last = pieces[0].last().unwrap();
        assert!((last.lat_deg - 34.0).abs() < 1e-9 && (last.lon_deg + 118.2).abs() < 1e-9);
    }

    #[test]
    fn the_date_line_cuts_an_arc_and_nothing_else_does() {
        let pieces = arc(point(35.7, 139.7), point(37.8, -122.4));
        assert_eq!(pieces.len(), 2);
        let (west, east) = (pieces[0].last().unwrap(), pieces[1].first().unwrap());
        assert_eq!((west.lon_deg, east.lon_deg), (180.0, -180.0));
        assert!((west.lat_deg - east.lat_deg).abs() < 1e-9 && west.lat_deg > 45.0);
        for step in pieces.iter().flat_map(|piece| piece.windows(2)) {
            assert!((step[1].lon_deg - step[0].lon_deg).abs() < 11.0, "{step:?}");
        }
    }

    #[test]
    fn an_arc_over_the_pole_goes_to_the_pole() {
        let pieces = arc(point(80.0, 20.0), point(80.0, -160.0));
        assert_eq!(pieces.len(), 2);
        assert_eq!(pieces[0].last().unwrap().lat_deg, 90.0);
        // Beside the pole there is no jump, however near.
        for piece in arc(point(80.0, 20.0), point(80.0, -161.0)) {
            assert!(piece.windows(2).all(|step| (step[1].lon_deg - step[0].lon_deg).abs() < 11.0));
        }
    }

    #[test]
    fn circles_have_their_radius() {
        // Iridium: 780 km and 8.2 deg see 20.0 deg of arc around the point below.
        let radius = footprint_rad(6_378_137.0, 6_378_137.0 + 780e3, 8.2f64.to_radians());
        assert!((19.8..20.2).contains(&radius.to_degrees()), "{}", radius.to_degrees());
        let rim = circle(point(0.0, 170.0), radius);
        assert_eq!(rim.len(), 3, "it leaves the map at the date line, and returns");
        for p in rim.iter().flatten().filter(|p| p.lon_deg.abs() < 179.0) {
            let off = p.direction().dot(point(0.0, 170.0).direction()).acos() - radius;
            assert!(off.abs() < 1e-6, "{p:?}");
        }
        assert_eq!(
            great_circle(Vec3::new(0.0, 0.0, 2.0)).iter().flatten().filter(|p| p.lat_deg != 0.0).count(),
            0
        );
    }
}
