//! Courses along great circles, against published numbers.
//!
//! Follows the Aviation Formulary of E. Williams (Los Angeles to New York, with the point after two fifths of the way), and the geodesics
//! of WGS 84 by Vincenty's formula.
//! Differs: a course turns the surface normal evenly, which on the ellipsoid is not exactly the geodesic; the tests bound the difference.
//! Leaves out tracks in files and scenarios, which the `network` and `scenario` crates test.

use skyhop_orbit::{Course, CourseError, EarthModel, Terminal, Waypoint};

fn at(t_s: f64, latitude_deg: f64, longitude_deg: f64) -> Waypoint {
    let (latitude_rad, longitude_rad) = (latitude_deg.to_radians(), longitude_deg.to_radians());
    Waypoint { t_s, latitude_rad, longitude_rad, height_m: 0.0 }
}

fn degrees(terminal: &Terminal) -> (f64, f64) {
    (terminal.latitude_rad.to_degrees(), terminal.longitude_rad.to_degrees())
}

#[track_caller]
fn is(found: (f64, f64), lat: f64, lon: f64, within_deg: f64) {
    let near = (found.0 - lat).abs() < within_deg && (found.1 - lon).abs() < within_deg;
    assert!(near, "{found:?} is not {lat}, {lon}");
}

// The formulary: 33 57 N 118 24 W to 40 38 N 73 47 W is 0.623585 rad; after 40 % of it 38 40.167 N 101 37.570 W.
#[test]
fn los_angeles_to_new_york_is_the_formularys() {
    let (lax, jfk): ((f64, f64), (f64, f64)) =
        ((33.0 + 57.0 / 60.0, -118.4), (40.0 + 38.0 / 60.0, -(73.0 + 47.0 / 60.0)));
    let sphere = EarthModel { radius_m: 1e6, flattening: 0.0, ..EarthModel::SPHERE };
    let to = (jfk.0.to_radians(), jfk.1.to_radians());
    let course = Course::great_circle(&sphere, at(100.0, lax.0, lax.1), to, 500.0).expect("a course");
    assert!((course.length_m(&sphere) / 1e6 - 0.623585).abs() < 1e-6, "{}", course.length_m(&sphere));
    let arrival_s = course.waypoints()[1].t_s;
    assert!((arrival_s - 1347.17).abs() < 2e-3, "{arrival_s}");
    let found = degrees(&course.terminal("x", 100.0 + 0.4 * (arrival_s - 100.0)));
    is(found, 38.0 + 40.167 / 60.0, -(101.0 + 37.570 / 60.0), 1e-5);
}

/// From, to, length in km, and the midpoint.
type Geodesic = ((f64, f64), (f64, f64), f64, (f64, f64));

/// Heathrow to Kennedy, London to New York, Sydney to Santiago, Singapore to Oslo by Vincenty's formulas on WGS 84.
const GEODESICS: [Geodesic; 4] = [
    ((51.4775, -0.461389), (40.639722, -73.778889), 5554.344, (52.239132, -41.297740)),
    ((51.5074, -0.1278), (40.7128, -74.006), 5585.234, (52.389474, -41.277901)),
    ((-33.946111, 151.177222), (-33.393056, -70.785833), 11_362.593, (-61.828600, -139.325288)),
    ((1.35, 103.82), (59.91, 10.75), 10_048.795, (39.202311, 76.546793)),
];

// Stated before: 0.6 % of the length, 0.2 deg.
#[test]
fn courses_are_near_geodesics() {
    let wgs84 = EarthModel::WGS84;
    for (a, b, km, middle) in GEODESICS {
        let to = (b.0.to_radians(), b.1.to_radians());
        let course = Course::great_circle(&wgs84, at(0.0, a.0, a.1), to, 250.0).expect("a course");
        let length_km = course.length_m(&wgs84) / 1e3;
        assert!((length_km / km - 1.0).abs() < 0.006, "{length_km} km and {km} km");
        let half_s = course.waypoints()[1].t_s / 2.0;
        assert!((half_s - length_km * 2.0).abs() < 1e-6);
        is(degrees(&course.terminal("x", half_s)), middle.0, middle.1, 0.2);
    }
    // Haversines on a sphere of 6,371 km, as atlases have it: 5,570 km.
    let to = (40.7128f64.to_radians(), (-74.0060f64).to_radians());
    let course = Course::great_circle(&wgs84, at(0.0, 51.5074, -0.1278), to, 250.0).expect("a course");
    assert!((course.length_m(&wgs84) / 1e3 - 5570.2).abs() < 0.5, "{}", course.length_m(&wgs84));
}

#[test]
fn a_course_stays_at_its_ends_and_climbs_evenly() {
    let waypoints = vec![
        at(60.0, 10.0, 20.0),
        Waypoint { height_m: 11_000.0, ..at(660.0, 11.0, 20.0) },
        Waypoint { height_m: 11_000.0, ..at(1260.0, 11.0, 21.0) },
    ];
    let course = Course::new(waypoints).expect("a course");
    for (t_s, lat, lon, height_m) in [
        (-5.0, 10.0, 20.0, 0.0),
        (60.0, 10.0, 20.0, 0.0),
        (360.0, 10.5, 20.0, 5_500.0),
        (660.0, 11.0, 20.0, 11_000.0),
        (1260.0, 11.0, 21.0, 11_000.0),
        (1e6, 11.0, 21.0, 11_000.0),
    ] {
        let terminal = course.terminal("x", t_s);
        is(degrees(&terminal), lat, lon, 1e-9);
        assert!((terminal.height_m - height_m).abs() < 1e-9, "{t_s}");
        for earth in [EarthModel::WGS84, EarthModel::NS2] {
            let apart_m = course.position_ecef(&earth, t_s).distance_m(terminal.position_ecef(&earth));
            assert!(apart_m < 1e-6, "{t_s}: {apart_m}");
        }
    }
    let north_m_s = course.velocity_m_s(&EarthModel::WGS84, 360.0);
    // A degree at 10.5 north is 110.6 km on WGS 84; the climb adds 18 m/s.
    assert!((north_m_s.norm() - (110_611.0f64 / 600.0).hypot(11_000.0 / 600.0)).abs() < 0.3, "{north_m_s:?}");
}

#[test]
fn ships_cross_the_dateline_and_aircraft_the_pole() {
    let ship = Course::new(vec![at(0.0, 0.0, 179.5), at(8000.0, 0.0, -179.5)]).expect("a course");
    is(degrees(&ship.terminal("ship", 2000.0)), 0.0, 179.75, 1e-9);
    is(degrees(&ship.terminal("ship", 6000.0)), 0.0, -179.75, 1e-9);
    assert!((ship.length_m(&EarthModel::WGS84) - 111_195.08).abs() < 0.1);
    // Longitudes may be counted to 360.
    let same = Course::new(vec![at(0.0, 0.0, 179.5), at(8000.0, 0.0, 180.5)]).expect("a course");
    is(degrees(&same.terminal("ship", 6000.0)), 0.0, -179.75, 1e-9);
    let over = Course::new(vec![at(0.0, 80.0, 30.0), at(8000.0, 80.0, -150.0)]).expect("a course");
    is(degrees(&over.terminal("x", 2000.0)), 85.0, 30.0, 1e-9);
    assert!((degrees(&over.terminal("x", 4000.0)).0 - 90.0).abs() < 1e-9);
    is(degrees(&over.terminal("x", 6000.0)), 85.0, -150.0, 1e-9);
}

#[test]
fn what_is_no_course_is_told() {
    assert_eq!(Course::new(Vec::new()), Err(CourseError::Empty));
    assert_eq!(Course::new(vec![at(0.0, 91.0, 0.0)]), Err(CourseError::Place { index: 0 }));
    let falls = Course::new(vec![at(5.0, 0.0, 0.0), at(4.0, 0.0, 0.1)]);
    assert_eq!(falls, Err(CourseError::Time { index: 1, t_s: 4.0, before_s: 5.0 }));
    // A degree in 22.3 s is just below 5 km/s, in 22.2 s just above; straight up counts too.
    assert!(Course::new(vec![at(0.0, 0.0, 0.0), at(22.3, 0.0, 1.0)]).is_ok());
    assert!(matches!(
        Course::new(vec![at(0.0, 0.0, 0.0), at(22.2, 0.0, 1.0)]),
        Err(CourseError::Jump { index: 1, speed_m_s }) if speed_m_s > 5e3
    ));
    let up = Course::new(vec![at(0.0, 0.0, 0.0), Waypoint { height_m: 50e3, ..at(5.0, 0.0, 0.0) }]);
    assert!(matches!(up, Err(CourseError::Jump { index: 1, .. })));
    let opposite = Course::new(vec![at(0.0, 30.0, 10.0), at(1e5, -30.0, -170.0)]);
    assert_eq!(opposite, Err(CourseError::Opposite { index: 1 }));
    for speed_m_s in [0.0, -1.0, f64::NAN, 5001.0] {
        let course = Course::great_circle(&EarthModel::WGS84, at(0.0, 0.0, 0.0), (0.1, 0.0), speed_m_s);
        assert!(matches!(course, Err(CourseError::Speed { .. })), "{speed_m_s}");
    }
    let nowhere = Course::great_circle(
        &EarthModel::WGS84,
        at(7.0, 1.0, 2.0),
        (1f64.to_radians(), 2f64.to_radians()),
        1.0,
    );
    assert!(nowhere.expect("a single place").stands());
}
