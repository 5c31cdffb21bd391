//! Element files, valid and broken.
//!
//! Follows CelesTrak's TLE and OMM JSON formats.
//! Differs: each broken file is a valid one with one fault, and the error must name its place.
//! Left out: fuzzing.

use crate::testing;
use skyhop_orbit::{Constellation, ElementsError, Epoch, omm, tle};

const NAME: &str = "IRIDIUM 106             ";
const LINE1: &str = "1 41917U 17003A   25280.46368645  .00000466  00000+0  15920-3 0  9997";
const LINE2: &str = "2 41917  86.4038 194.1078 0002337  70.8062 289.3387 14.34217580456988";

const OMM: &str = r#"[{
  "OBJECT_NAME": "IRIDIUM 106", "OBJECT_ID": "2017-003A", "EPOCH": "2025-10-07T11:07:42.509280",
  "MEAN_MOTION": 14.34217580, "ECCENTRICITY": 0.0002337, "INCLINATION": 86.4038, "RA_OF_ASC_NODE": 194.1078,
  "ARG_OF_PERICENTER": 70.8062, "MEAN_ANOMALY": 289.3387, "EPHEMERIS_TYPE": 0, "CLASSIFICATION_TYPE": "U",
  "NORAD_CAT_ID": 41917, "ELEMENT_SET_NO": 999, "REV_AT_EPOCH": 45698, "BSTAR": 0.0001592,
  "MEAN_MOTION_DOT": 4.66e-6, "MEAN_MOTION_DDOT": 0
}]"#;

#[test]
fn tle_and_omm_of_one_object_give_one_position() {
    let two_lines = format!("{LINE1}\r\n{LINE2}\r\n");
    let three_lines = format!("0 {NAME}\n{LINE1}\n{LINE2}");
    let from_omm = Constellation::from_omm(OMM.as_bytes(), None).expect("sound");
    assert_eq!(from_omm.name(0), "IRIDIUM 106");
    for (file, name) in [(two_lines, "norad-41917"), (three_lines, "IRIDIUM 106")] {
        let from_tle = Constellation::from_tle(file.as_bytes(), None).expect("sound");
        assert_eq!(from_tle.name(0), name);
        for hour in 0..48 {
            let t_s = f64::from(hour) * 3600.0;
            let pair = from_tle.position_ecef(0, t_s).zip(from_omm.position_ecef(0, t_s));
            let apart_m = pair.map(|(a, b)| a.distance_m(b)).expect("both are available");
            assert!(apart_m < 0.1, "{apart_m} m after {hour} h");
        }
    }
}

#[test]
fn epoch_defaults_to_the_newest_and_can_be_chosen() {
    let file = format!("{LINE1}\n{LINE2}\n");
    let newest = Constellation::from_tle(file.as_bytes(), None).expect("sound");
    assert_eq!(newest.epoch().expect("elements have one").to_string(), "2025-10-07T11:07:42.509280Z");
    let hour_later: Epoch = "2025-10-07T12:07:42.509280Z".parse().expect("an epoch");
    let chosen = Constellation::from_tle(file.as_bytes(), Some(hour_later)).expect("sound");
    let pair = newest.position_ecef(0, 3600.0).zip(chosen.position_ecef(0, 0.0));
    let apart_m = pair.map(|(a, b)| a.distance_m(b)).expect("both are available");
    assert!(apart_m < 0.1, "{apart_m} m");
}

#[test]
fn what_is_written_is_what_was_read() {
    let (mut files, mut objects) = (0, 0);
    for path in [
        "tle/starlink",
        "tle/oneweb",
        "tle/iridium_next",
        "tle/gps",
        "tle-historic/iridium_2013",
        "tle-historic/globalstar_2013",
    ] {
        let Some(file) = testing::shared_text(&format!("data/{path}.tle")) else { continue };
        let sets = tle::parse(file.as_bytes()).expect("sound");
        let written: String = sets.iter().map(|set| tle::write(set).expect("it fits")).collect();
        // The sign of a zero's exponent is nobody's, and changes the checksum.
        let plain = |line: &str| line.trim_end().replace(" 00000-0", " 00000+0");
        let body = |line: &str| if line.len() == 69 { line[..68].to_owned() } else { line.to_owned() };
        assert_eq!(file.lines().count(), written.lines().count());
        for (theirs, ours) in file.lines().map(plain).zip(written.lines().map(plain)) {
            assert_eq!(body(&theirs), body(&ours), "{path}");
        }
        assert_eq!(tle::parse(written.as_bytes()).expect("our own").len(), sets.len());
        (files, objects) = (files + 1, objects + sets.len());
    }
    println!("{objects} objects of {files} files written as they were read");
    assert!(files == 0 || objects > 9_000, "{objects}");
}

#[test]
fn messages_are_written_as_two_lines_where_they_fit() {
    let sets = omm::parse(OMM.as_bytes()).expect("sound");
    assert_eq!(tle::write(&sets[0]).expect("it fits"), format!("{}\n{LINE1}\n{LINE2}\n", NAME.trim_end()));
    let of = |id: &str| tle::write(&omm::parse(OMM.replace("41917", id).as_bytes()).expect("sound")[0]);
    assert!(of("270917").is_some_and(|text| text.contains("\n1 T0917U 17003A ")));
    assert_eq!(of("340000"), None);
}

#[test]
fn long_catalogue_numbers_are_read() {
    for id in ["123456", "987654321", "\"270000001\""] {
        let file = OMM.replace("41917", id);
        let sets = omm::parse(file.as_bytes()).expect("sound");
        assert_eq!(sets[0].norad_id.to_string(), id.trim_matches('"'));
    }
    let alpha5 =
        [with_checksum(&LINE1.replace("41917", "T0917")), with_checksum(&LINE2.replace("41917", "T0917"))];
    assert_eq!(tle::parse(alpha5.join("\n").as_bytes()).expect("sound")[0].norad_id, 270_917);
}

#[test]
fn omm_may_leave_out_what_sgp4_does_not_use() {
    let short = r#"{"NORAD_CAT_ID": "7", "EPOCH": "2025-10-07T11:07:42Z", "MEAN_MOTION": "14.3", "ECCENTRICITY": 0,
        "INCLINATION": 86.4, "RA_OF_ASC_NODE": 0, "ARG_OF_PERICENTER": 0, "MEAN_ANOMALY": 0, "BSTAR": 0}"#;
    assert_eq!(omm::parse(short.as_bytes()).expect("sound")[0].name, "norad-7");
}

#[test]
fn omm_csv_is_omm_json_in_a_table() {
    let csv = "OBJECT_NAME,OBJECT_ID,EPOCH,MEAN_MOTION,ECCENTRICITY,INCLINATION,RA_OF_ASC_NODE,ARG_OF_PERICENTER,\
        MEAN_ANOMALY,EPHEMERIS_TYPE,CLASSIFICATION_TYPE,NORAD_CAT_ID,ELEMENT_SET_NO,REV_AT_EPOCH,BSTAR,\
        MEAN_MOTION_DOT,MEAN_MOTION_DDOT\r\n\
        \"IRIDIUM \"\"1\"\", old\",2017-003A,2025-10-07T11:07:42.509280,14.34217580,.0002337,86.4038,194.1078,\
        70.8062,289.3387,0,U,270041917,999,45698,.0001592,.466E-5,0\r\n";
    let from_csv = Constellation::from_omm(csv.as_bytes(), None).expect("sound");
    assert_eq!(from_csv.name(0), "IRIDIUM \"1\", old");
    assert_eq!(from_csv.elements(0).map(|set| set.norad_id), Some(270_041_917));
    let from_json = Constellation::from_omm(OMM.as_bytes(), None).expect("sound");
    let pair = from_csv.position_ecef(0, 7200.0).zip(from_json.position_ecef(0, 7200.0));
    assert!(pair.map(|(a, b)| a.distance_m(b)).expect("both are available") < 1e-3);
    // As a spreadsheet saves it.
    let saved = format!("\u{feff}{}", csv.replace(',', ";").replace("\"1\"\"; old", "\"1\"\", old"));
    let from_saved = Constellation::from_omm(saved.as_bytes(), None).expect("sound");
    assert_eq!(from_saved.elements(0), from_csv.elements(0));
    let comma = saved.replace("86.4038", "86,4038");
    let error = Constellation::from_omm(comma.as_bytes(), None).expect_err("a comma").to_string();
    assert_eq!(error, "line 2: INCLINATION: \"86,4038\" has a decimal comma; write 86.4038");
    let wide: Vec<u8> =
        [0xff, 0xfe].into_iter().chain(csv.encode_utf16().flat_map(u16::to_le_bytes)).collect();
    let error = Constellation::from_omm(&wide, None).expect_err("not UTF-8").to_string();
    assert_eq!(error, "is UTF-16; save it as UTF-8");
    let (heading, row) = csv.split_once('\n').expect("two lines");
    let twice = format!("{heading}\n{row}{row}");
    let short = format!("{heading}\n1,2\n");
    let nameless = format!("{heading}\n{}", row.replace("86.4038", ""));
    for (file, message) in [
        (heading.to_owned(), "no elements in the file"),
        (twice, "line 3: catalogue number 270041917 again; first at line 2"),
        (short, "line 2: 2 cells; expected 17 as in the heading"),
        (nameless, "line 2: \"IRIDIUM \"1\", old\": missing field `INCLINATION`"),
    ] {
        let error = Constellation::from_omm(file.as_bytes(), None).expect_err(message).to_string();
        assert!(error.starts_with(message), "{error}\nexpected {message}");
    }
}

#[test]
fn a_million_objects_are_refused() {
    let row = "2025-10-07T11:07:42,14.3,0,86.4,0,0,0,0,";
    let mut file = String::from(
        "EPOCH,MEAN_MOTION,ECCENTRICITY,INCLINATION,RA_OF_ASC_NODE,ARG_OF_PERICENTER,MEAN_ANOMALY,BSTAR,NORAD_CAT_ID\n",
    );
    (1..1_000_000).for_each(|id| file += &format!("{row}{id}\n"));
    let error = Constellation::from_omm(file.as_bytes(), None).expect_err("too many").to_string();
    assert_eq!(error, "more than 200000 objects; expected 200000 at most");
    let large = vec![b' '; (160 << 20) + 1];
    let error = Constellation::from_tle(&large, None).expect_err("too large").to_string();
    assert_eq!(error, "file of 167772161 bytes; expected 167772160 at most");
}

#[test]
fn broken_tle_files_say_which_line() {
    let bad_digit = LINE2.replace("86.4038", "86.4039");
    let cut = &LINE2[..60];
    let mismatch = with_checksum(&LINE2.replace("41917", "41918"));
    let under_ground = with_checksum(&LINE2.replace("14.34217580", "17.90000000"));
    let word = with_checksum(&LINE2.replace("86.4038", "eighty!"));
    let object = format!("{NAME}\n{LINE1}\n{LINE2}\n");
    for (file, message) in [
        (String::new(), "no elements in the file; expected at least one object"),
        ("\n\n  \n".into(), "no elements in the file"),
        (format!("{object}{NAME}\n{LINE1}\n{bad_digit}\n"), "line 6: checksum '8'; expected 9"),
        (format!("{NAME}\n{LINE1}\n{cut}\n"), "line 3: element line of 60 characters; expected 69"),
        (format!("{object}{NAME}\n{LINE1}\n"), "line 6: found \"end of file\"; expected element line 2"),
        (NAME.into(), "line 2: found \"end of file\"; expected element line 1"),
        (format!("{LINE1}\n{LINE1}\n"), "line 2: found \"1 41917U"),
        ("hello\nworld\n".into(), "line 2: found \"world\"; expected element line 1"),
        (format!("{object}{object}"), "line 5: catalogue number 41917 again; first at line 2"),
        (format!("{LINE1}\n{mismatch}\n"), "line 1: tle parse error: norad mismatch"),
        (format!("{LINE1}\n{word}\n"), "line 1: tle parse error"),
        (format!("{LINE1}\n{}\n", LINE2.replace('8', "\u{e9}")), "line 2: found"),
        (format!("{NAME}\n{LINE1}\n{under_ground}\n"), "line 2: \"IRIDIUM 106\" has decayed"),
    ] {
        let error = Constellation::from_tle(file.as_bytes(), None).expect_err(message).to_string();
        assert!(error.starts_with(message), "{error}\nexpected {message}");
    }
}

#[test]
fn binary_files_are_refused() {
    let mut junk = format!("{NAME}\n{LINE1}\n").into_bytes();
    junk.extend([0xff, 0xfe, 0x00, 0x80, b'\n']);
    assert_eq!(tle::parse(&junk), Err(ElementsError::NotText { line: 3 }));
    // Every prefix of a sound file, and every file with one byte changed, is read or refused without a panic.
    let sound = format!("{NAME}\n{LINE1}\n{LINE2}\n").into_bytes();
    for index in 0..sound.len() {
        let _ = Constellation::from_tle(&sound[..index], None);
        for byte in [0, b' ', b'-', b'9', b'\n', b'n', 0xc3, 0xff] {
            let mut changed = sound.clone();
            changed[index] = byte;
            let _ = Constellation::from_tle(&changed, None);
            let _ = Constellation::from_omm(&changed, None);
        }
    }
    for index in 0..OMM.len() {
        for byte in [0, b'"', b'-', b'9', b'}', b'e', 0xff] {
            let mut changed = OMM.as_bytes().to_vec();
            changed[index] = byte;
            let _ = Constellation::from_omm(&changed, None);
        }
    }
}

#[test]
fn broken_omm_files_say_which_object() {
    let second = |from: &str, to: &str| {
        let changed = OMM.replace("41917", "41918").replace(from, to);
        format!("{},{}", OMM.trim_end_matches(']'), changed.trim_start_matches('['))
    };
    for (file, message) in [
        (" \n".to_owned(), "no elements in the file"),
        ("[]".into(), "no elements in the file"),
        ("[1]".into(), "object 1: not a json object"),
        ("[{]".into(), "line 1: not omm json"),
        (second("41918", "41917"), "object 2: catalogue number 41917 again; first at object 1"),
        (
            second("\"MEAN_MOTION\"", "\"MEAN_MOTIONS\""),
            "object 2: \"IRIDIUM 106\": missing field `MEAN_MOTION`",
        ),
        (second("\"EPOCH\"", "\"EPOCHS\""), "object 2: \"IRIDIUM 106\": EPOCH is missing"),
        (second("2025-10-07T", "someday "), "object 2: \"IRIDIUM 106\": epoch \"someday 11:07"),
        (second("2025-10-07T", "9999-10-07T"), "object 2: \"IRIDIUM 106\": epoch \"9999-10-07T11:07"),
        (second("0.0002337", "1.5"), "object 2: eccentricity of 1.5; expected 0 to 0.999"),
        (second("14.34217580", "\"NaN\""), "object 2: mean motion (rev/day) of NaN; expected 0.01 to 18"),
        (
            second("\"OBJECT_ID\"", "\"MEAN_ELEMENT_THEORY\""),
            "object 2: \"IRIDIUM 106\": mean element theory",
        ),
    ] {
        let error = Constellation::from_omm(file.as_bytes(), None).expect_err(message).to_string();
        assert!(error.starts_with(message), "{error}\nexpected {message}");
    }
}

#[test]
fn a_satellite_that_decays_later_is_unavailable_and_counted() {
    // A large drag term brings it down within days.
    let draggy = with_checksum(&LINE1.replace("15920-3", "99999+0"));
    let low = with_checksum(&LINE2.replace("14.34217580", "16.30000000"));
    let file = format!(
        "{draggy}\n{low}\n{}\n{}\n",
        with_checksum(&LINE1.replace("41917", "41918")),
        with_checksum(&LINE2.replace("41917", "41918"))
    );
    let constellation = Constellation::from_tle(file.as_bytes(), None).expect("both fly at their epoch");
    let unavailable = |day: f64| constellation.positions_ecef(day * 86_400.0, &mut Vec::new());
    assert_eq!(unavailable(0.0), 0);
    assert_eq!(unavailable(30.0), 1);
    assert_eq!(constellation.position_ecef(0, 30.0 * 86_400.0), None);
    assert!(constellation.position_ecef(1, 30.0 * 86_400.0).is_some());
    assert_eq!(constellation.position_ecef(2, 0.0), None);
}

/// The line with a correct checksum.
fn with_checksum(line: &str) -> String {
    let body = &line[..68];
    let digit = |c: char| if c == '-' { 1 } else { c.to_digit(10).unwrap_or(0) };
    format!("{body}{}", body.chars().map(digit).sum::<u32>() % 10)
}
