//! Presets against their publications.
//!
//! Follows HT tables 1.1 and 6.1, KG table 1, SaVi's parameters and the FCC's orders.
//! Differs: tables that are not beside the repository are skipped.
//! Left out: phasing, which only SaVi and ns-2 have; the delays compared with ns-2 depend on it.

use crate::testing;
use std::f64::consts::TAU;

use skyhop_orbit::preset::{Layout, PRESETS, UNDESCRIBED};
use skyhop_orbit::{Constellation, Preset};

fn built(name: &str) -> (&'static Preset, Constellation) {
    let preset = Preset::find(name).expect(name);
    (preset, preset.constellation())
}

#[test]
fn presets_have_as_many_satellites_as_published() {
    for (name, satellites) in [
        ("iridium", 66),
        ("teledesic-288", 288),
        ("teledesic-840", 840),
        ("celestri", 63),
        ("skybridge", 80),
        ("skybridge-64", 64),
        ("globalstar", 48),
        ("ico", 10),
        ("spaceway-ngso", 20),
        ("starlink-550", 1584),
        ("starlink-gen1", 1584 + 1584 + 720 + 348 + 172),
        ("kuiper-630", 1156),
        ("kuiper", 1156 + 1296 + 784),
        ("oneweb", 720),
        ("o3b", 20),
        ("geo-3", 3),
        ("molniya", 3),
    ] {
        let (preset, constellation) = built(name);
        assert_eq!((preset.satellites(), constellation.len()), (satellites, satellites as usize), "{name}");
    }
    assert_eq!(PRESETS.len(), 17, "every preset is in the list above");
    assert!(
        PRESETS.windows(2).all(|pair| pair[0].name < pair[1].name),
        "presets are in order of their names"
    );
}

#[test]
fn periods_are_keplers() {
    for preset in PRESETS {
        let (constellation, earth) = (preset.constellation(), preset.earth);
        let axes_m: Vec<f64> = match preset.layout {
            Layout::Shells(shells) => {
                let each = |shell: &skyhop_orbit::PlacedShell| {
                    let count = shell.shell.planes * shell.shell.satellites_per_plane;
                    vec![earth.radius_m + shell.shell.altitude_m; count as usize]
                };
                shells.iter().flat_map(each).collect()
            }
            Layout::Ring(longitudes) => vec![earth.geostationary_radius_m(); longitudes.len()],
            Layout::Orbits { orbits, .. } => {
                orbits(&earth).iter().map(|orbit| orbit.semi_major_axis_m).collect()
            }
        };
        for (satellite, axis_m) in (0u32..).zip(axes_m) {
            let period_s = constellation.period_s(satellite).expect("it flies");
            let closed_s = TAU * (axis_m.powi(3) / earth.mu_m3_s2).sqrt();
            assert!((period_s / closed_s - 1.0).abs() < 1e-9, "{} {satellite}: {period_s} s", preset.name);
            // It is where it was, but for the ground that has turned.
            let [begin, end] =
                [0.0, period_s].map(|t| constellation.position_ecef(satellite, t).expect("there"));
            let turned = (end.longitude_rad() - begin.longitude_rad() + earth.rotation_rad_s() * period_s)
                .rem_euclid(TAU);
            assert!(turned.min(TAU - turned) < 1e-6, "{} {satellite}: turned {turned}", preset.name);
            assert!((end.latitude_rad() - begin.latitude_rad()).abs() < 1e-6);
        }
    }
}

#[test]
fn published_periods_in_minutes() {
    // As the systems' own descriptions round them.
    for (name, minutes, tolerance) in [
        ("iridium", 100.4, 0.2),
        ("teledesic-288", 113.2, 0.2),
        ("globalstar", 114.0, 0.3),
        ("ico", 360.0, 2.0),
        ("o3b", 288.0, 1.0),
        ("geo-3", 1436.07, 0.01),
        ("molniya", 717.8, 0.5),
        ("starlink-550", 95.6, 0.2),
        ("kuiper-630", 97.3, 0.2),
    ] {
        let period_min = built(name).1.period_s(0).expect("it flies") / 60.0;
        assert!((period_min - minutes).abs() < tolerance, "{name}: {period_min} min");
    }
}

#[test]
fn presets_have_savis_parameters() {
    let Some(text) = testing::shared_text("data/savi-constellations/summary.csv") else { return };
    let mut compared = 0;
    for (script, name) in [
        ("celestri", "celestri"),
        ("globalstar", "globalstar"),
        ("ico", "ico"),
        ("iridium-66", "iridium"),
        ("molnya", "molniya"),
        ("oneweb", "oneweb"),
        ("skybridge-64", "skybridge-64"),
        ("skybridge-80", "skybridge"),
        ("spaceway-ngso", "spaceway-ngso"),
        ("teledesic-288", "teledesic"),
        ("teledesic-840", "teledesic-840"),
    ] {
        let (preset, constellation) = built(name);
        let rows: Vec<Vec<&str>> = text
            .lines()
            .map(|line| line.split(',').collect())
            .filter(|row: &Vec<&str>| row[0] == script)
            .collect();
        let number = |row: &[&str], column: usize| row[column].parse::<f64>().expect("a number");
        let satellites: f64 = rows.iter().map(|row| number(row, 1)).sum();
        assert_eq!(satellites, constellation.len() as f64, "{name}");
        let planes: f64 = rows.iter().map(|row| number(row, 6)).sum();
        assert_eq!(planes, f64::from(constellation.planes().len()), "{name}");
        let mut satellite = 0;
        for row in &rows {
            let axis_m = number(row, 2) * 1e3 + 6_378_140.0;
            let period_s = constellation.period_s(satellite).expect("it flies");
            let savi_s = TAU * (axis_m.powi(3) / 398_600.5e9).sqrt();
            assert!((period_s / savi_s - 1.0).abs() < 1e-4, "{name}: {period_s} s, SaVi {savi_s} s");
            let highest_deg = (0..2000)
                .map(|step| constellation.position_ecef(satellite, f64::from(step) * period_s / 2000.0))
                .map(|place| place.expect("there").latitude_rad().to_degrees())
                .fold(0.0, f64::max);
            let inclination_deg = number(row, 4);
            assert!((highest_deg - inclination_deg.min(180.0 - inclination_deg)).abs() < 0.01, "{name}");
            satellite += number(row, 1) as u32;
            compared += 1;
        }
        if let Ok(mask_deg) = rows[0][9].parse::<f64>() {
            assert_eq!(mask_deg, preset.elevation_mask_deg, "{name}");
        }
    }
    assert_eq!(compared, 31);
}

#[test]
fn phasing_is_savis_where_savi_has_it() {
    let Some(text) = testing::shared_text("data/savi-constellations/elements.csv") else { return };
    for (script, name) in [
        ("celestri", "celestri"),
        ("globalstar", "globalstar"),
        ("skybridge-80", "skybridge"),
        ("ico", "ico"),
    ] {
        let constellation = built(name).1;
        let mut worst_rad = 0.0f64;
        let rows =
            text.lines().map(|line| line.split(',').collect::<Vec<_>>()).filter(|row| row[0] == script);
        for row in rows {
            let number = |column: usize| row[column].parse::<f64>().expect("a number");
            let mean_motion = (398_600.5f64 / number(1).powi(3)).sqrt();
            let (argument, raan) = (-mean_motion * number(6), number(4).to_radians());
            let (sin_i, cos_i) = number(3).to_radians().sin_cos();
            let place = skyhop_orbit::Vec3::new(
                raan.cos() * argument.cos() - raan.sin() * argument.sin() * cos_i,
                raan.sin() * argument.cos() + raan.cos() * argument.sin() * cos_i,
                argument.sin() * sin_i,
            );
            let nearest = (0..constellation.len() as u32)
                .map(|satellite| constellation.position_ecef(satellite, 0.0).expect("there").0)
                .map(|other| (other * (1.0 / other.norm()) - place).norm())
                .fold(f64::INFINITY, f64::min);
            worst_rad = worst_rad.max(nearest);
        }
        // Celestri's nodes are cut to whole degrees in SaVi.
        let allowed_deg = if name == "celestri" { 0.87 } else { 0.01 };
        assert!(worst_rad.to_degrees() < allowed_deg, "{name}: {} degrees", worst_rad.to_degrees());
    }
}

#[test]
fn presets_have_the_papers_parameters() {
    let Some(text) = testing::shared_text("papers/published.csv") else { return };
    let value = |series: &str, metric: &str| {
        let row = format!("henderson1999,table-6.1,{series},{metric},");
        let line = text.lines().find_map(|line| line.strip_prefix(row.as_str())).expect("HT has it");
        line.split(',').next().and_then(|cell| cell.parse::<f64>().ok()).expect("a number")
    };
    for series in ["iridium", "teledesic"] {
        let (preset, _) = built(series);
        let Layout::Shells([placed]) = preset.layout else { panic!("{series} is one shell") };
        let shell = placed.shell;
        assert_eq!(shell.altitude_m, value(series, "altitude") * 1e3);
        assert_eq!(f64::from(shell.planes), value(series, "planes"));
        assert_eq!(f64::from(shell.satellites_per_plane), value(series, "sats_per_plane"));
        assert!((shell.inclination_rad.to_degrees() - value(series, "inclination")).abs() < 1e-5);
        assert!((shell.raan_spacing_rad.to_degrees() - value(series, "interplane_separation")).abs() < 1e-5);
        let seam_deg = 180.0 - (shell.raan_spacing_rad * f64::from(shell.planes - 1)).to_degrees();
        assert!((seam_deg - value(series, "seam_separation")).abs() < 1e-4, "{seam_deg}");
        assert_eq!(preset.elevation_mask_deg, value(series, "elevation_mask"));
        assert_eq!(
            f64::from(2 * (preset.isls.intra_plane + preset.isls.inter_plane)),
            value(series, "max_isls")
        );
    }
}

#[test]
fn names_are_forgiving_and_errors_helpful() {
    assert_eq!(Preset::find("Teledesic").expect("an alias").name, "teledesic-288");
    assert_eq!(Preset::find("spaceway NGSO").expect("spaces").name, "spaceway-ngso");
    let error = |name: &str| Preset::find(name).expect_err(name).to_string();
    assert_eq!(error("iridum"), "unknown constellation \"iridum\"; did you mean \"iridium\"?");
    assert_eq!(error("Telesdesic"), "unknown constellation \"Telesdesic\"; did you mean \"teledesic\"?");
    assert!(
        error("q").starts_with("unknown constellation \"q\"; expected celestri, geo-3, "),
        "{}",
        error("q")
    );
    assert_eq!(
        error("Astrolink"),
        "constellation \"astrolink\" has no preset: KG table 1 has 9 geostationary satellites and no longitudes"
    );
    assert_eq!(UNDESCRIBED.len(), 4);
}
