//! Look angles, distances and range rates against another program.
//!
//! Follows skyfield 1.55 (SGP4, WGS 84, its own sidereal time), with the same elements, places and instants.
//! Differs: skyfield knows UT1, a tenth of a second from UTC at the time, in which the Earth turns 46 m at the equator.
//! Leaves out refraction, as skyfield does. The numbers were printed by its `frame_latlon_and_rates`.

use skyhop_orbit::visibility::doppler_hz;
use skyhop_orbit::{Constellation, Course, Epoch, Terminal, Waypoint, sightings, sightings_on_course};

const IRIDIUM_106: &str = "1 41917U 17003A   25280.46368645  .00000466  00000+0  15920-3 0  9997\n\
                           2 41917  86.4038 194.1078 0002337  70.8062 289.3387 14.34217580456988\n";
const GPS_13: &str = "1 24876U 97035A   25280.42152943  .00000067  00000+0  00000+0 0  9999\n\
                      2 24876  55.8603 108.4626 0095839  56.6399 304.3425  2.00563057206888\n";

/// Seconds of 2025-10-08, azimuth and elevation in degrees, distance in km, range rate in m/s.
type TableRow = (f64, f64, f64, f64, f64);

const OVER_OSLO: [TableRow; 8] = [
    (39_000.0, 123.13933, 46.91236, 1028.44695, -2657.0576),
    (39_060.0, 83.80344, 53.25832, 952.96749, 252.7104),
    (45_000.0, 248.37966, 27.38751, 1452.81935, -3758.7085),
    (45_060.0, 267.14854, 33.65602, 1275.71424, -2031.1150),
    (76_200.0, 71.48437, 27.63965, 1448.04394, 545.1762),
    (76_260.0, 90.08476, 25.03113, 1536.88265, 2361.4686),
    (82_200.0, 328.30716, 56.72193, 920.74351, -3166.0213),
    (82_260.0, 266.37530, 72.16440, 822.00980, 58.8131),
];
const OVER_CAPE_TOWN: [TableRow; 5] = [
    (54_600.0, 12.71894, 22.68083, 23465.83294, -615.2411),
    (57_000.0, 20.36458, 40.42748, 22094.31992, -508.4159),
    (60_000.0, 41.10239, 62.43328, 20951.34333, -232.1339),
    (62_400.0, 89.62622, 70.31655, 20723.38906, 43.5844),
    (64_200.0, 122.67073, 63.26365, 20979.83466, 236.5039),
];

// Stated before the comparison: 46 m of 820 km are 0.0032 degrees, of azimuth 0.01 high up; at 7.5 km/s and 820 km they
// are 0.42 m/s of range rate.
#[test]
fn looks_are_skyfields() {
    let midnight: Epoch = "2025-10-08T00:00:00Z".parse().expect("an instant");
    for (elements, (lat, lon), rows) in
        [(IRIDIUM_106, (59.91, 10.75), &OVER_OSLO[..]), (GPS_13, (-33.92, 18.42), &OVER_CAPE_TOWN[..])]
    {
        let constellation = Constellation::from_tle(elements.as_bytes(), Some(midnight)).expect("elements");
        let terminal = Terminal::from_degrees("here", lat, lon).expect("a place");
        for &(t_s, azimuth_deg, elevation_deg, km, range_rate_m_s) in rows {
            let seen = sightings(&constellation, &terminal, [0], 0.0, t_s);
            let [one] = seen[..] else { panic!("{} satellites at {t_s} s", seen.len()) };
            let (azimuth, elevation) =
                (one.look.azimuth_rad.to_degrees(), one.look.elevation_rad.to_degrees());
            let off_m = one.look.slant_range_m - km * 1e3;
            println!(
                "{t_s} s: {:+.5} deg, {:+.5} deg, {off_m:+.1} m, {:+.4} m/s",
                azimuth - azimuth_deg,
                elevation - elevation_deg,
                one.range_rate_m_s - range_rate_m_s
            );
            assert!((azimuth - azimuth_deg).abs() < 0.011, "azimuth {azimuth} at {t_s} s");
            assert!((elevation - elevation_deg).abs() < 0.0033, "elevation {elevation} at {t_s} s");
            assert!(off_m.abs() < 46.0, "{off_m} m at {t_s} s");
            assert!((one.range_rate_m_s - range_rate_m_s).abs() < 0.43, "{} at {t_s} s", one.range_rate_m_s);
            // A satellite that comes nearer is heard higher: 1.6 GHz at 2.66 km/s, 14.2 kHz.
            let shift_hz = doppler_hz(one.range_rate_m_s, 1.6e9, 299_792_458.0);
            let expected_hz = -1.6e9 * range_rate_m_s / 299_792_458.0;
            assert!((shift_hz - expected_hz).abs() < 2.4, "{shift_hz} Hz at {t_s} s");
        }
        // Below the mask there is no row.
        let (t_s, _, elevation_deg, ..) = rows[0];
        assert!(
            sightings(&constellation, &terminal, [0], (elevation_deg + 0.1).to_radians(), t_s).is_empty()
        );
        assert_eq!(
            sightings(&constellation, &terminal, [0], (elevation_deg - 0.1).to_radians(), t_s).len(),
            1
        );
    }
}

/// An aircraft due north along 10.75 E at 11 km, from 50 N at 36,000 s by 8 degrees an hour; skyfield was given its position at
/// each instant, and the range rate is the difference of its distances over 0.2 s.
const OVER_AN_AIRCRAFT: [TableRow; 4] = [
    (38_940.0, 123.79854, 45.04062, 1040.15608, -2708.1628),
    (39_000.0, 88.04313, 51.88872, 953.70518, -57.7670),
    (39_060.0, 51.60545, 45.61432, 1033.78070, 2618.2825),
    (39_120.0, 31.93483, 34.17267, 1248.50456, 4371.9698),
];

#[test]
fn looks_from_an_aircraft_are_skyfields() {
    let midnight: Epoch = "2025-10-08T00:00:00Z".parse().expect("an instant");
    let iridium = Constellation::from_tle(IRIDIUM_106.as_bytes(), Some(midnight)).expect("elements");
    let at = |t_s, latitude_deg: f64| Waypoint {
        t_s,
        latitude_rad: latitude_deg.to_radians(),
        longitude_rad: 10.75f64.to_radians(),
        height_m: 11e3,
    };
    let course = Course::new(vec![at(36_000.0, 50.0), at(43_200.0, 66.0)]).expect("a course");
    for (t_s, azimuth_deg, elevation_deg, km, range_rate_m_s) in OVER_AN_AIRCRAFT {
        let seen = sightings_on_course(&iridium, &course, [0], 0.0, t_s);
        let [one] = seen[..] else { panic!("{} satellites at {t_s} s", seen.len()) };
        let (azimuth, elevation) = (one.look.azimuth_rad.to_degrees(), one.look.elevation_rad.to_degrees());
        assert!((azimuth - azimuth_deg).abs() < 0.011, "azimuth {azimuth} at {t_s} s");
        assert!((elevation - elevation_deg).abs() < 0.0033, "elevation {elevation} at {t_s} s");
        assert!((one.look.slant_range_m - km * 1e3).abs() < 46.0, "{} m at {t_s} s", one.look.slant_range_m);
        // Without its own 247 m/s it would be up to 200 m/s off.
        assert!((one.range_rate_m_s - range_rate_m_s).abs() < 0.43, "{} at {t_s} s", one.range_rate_m_s);
    }
}
