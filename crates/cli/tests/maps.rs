//! Maps as seen by a user: as text, SVG and PNG.
//!
//! Follows the help texts of `skyhop map` and `skyhop route`.
//! Differs from the library's tests of positions: each starts a process and reads its files.
//! Leaves out the look of a picture, which people judge.

mod common;

use common::{code, empty_folder, skyhop, stderr, stdout};
use std::fs;
use std::path::PathBuf;

#[test]
fn a_route_is_drawn_in_letters_and_into_a_picture() {
    let file = folder("route").join("path.svg");
    let args = ["route", "quito", "tokyo", "--constellation", "iridium", "--map", file.to_str().unwrap()];
    let out = skyhop(&args);
    let text = stdout(&out);
    assert_eq!(code(&out), 0, "{}", stderr(&out));
    let title = text.lines().next().unwrap();
    assert!(title.starts_with("quito to tokyo over iridium at 0 s: ") && title.contains(" ms one way over "));
    let frame: Vec<&str> = text.lines().filter(|line| line.starts_with('│')).collect();
    assert_eq!(frame.len(), 24);
    assert!(frame.iter().all(|line| line.chars().count() == 98), "{text}");
    assert!(frame.iter().any(|line| line.contains('A')) && frame.iter().any(|line| line.contains('B')));
    // The key below names each satellite of the words.
    let key = text.lines().find(|line| line.starts_with(" A quito, 1 ")).expect("a key");
    let hops = text.lines().filter(|line| line.contains(" passes to ")).count();
    assert_eq!(key.split(", ").count(), hops + 1 + 2, "{text}");
    let svg = fs::read_to_string(&file).unwrap();
    assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n") && svg.contains(title), "{title}");
    assert!(svg.contains(">quito<") && svg.contains(">tokyo<") && svg.contains("Equirectangular"));
    let plain = stdout(&skyhop(&["route", "quito", "tokyo", "--constellation", "iridium", "--draw", "off"]));
    assert!(!plain.contains('│') && plain.contains("quito goes up to"), "{plain}");
}

#[test]
fn a_snapshot_is_written_as_svg_and_png_and_printed() {
    let dir = folder("map");
    let (svg, png) = (dir.join("iridium.svg"), dir.join("iridium.PNG"));
    let args = ["map", "--constellation", "iridium", "--time", "1 min", "--terminal", "-0.22,-78.51"];
    for (file, more) in [(&svg, ["--footprints", "--names=on"]), (&png, ["--width", "600"])] {
        let out = skyhop(&[&args[..], &more[..], &["--out", file.to_str().unwrap()]].concat());
        assert_eq!((code(&out), stdout(&out).as_str()), (0, ""), "{}", stderr(&out));
    }
    let text = fs::read_to_string(&svg).unwrap();
    for part in
        ["iridium at 60 s", "ascending satellite (33)", "footprint (8.2° mask)", ">-0.22,-78.51<", ">3.4<"]
    {
        assert!(text.contains(part), "no {part}");
    }
    let bytes = fs::read(&png).unwrap();
    assert_eq!(&bytes[..8], b"\x89PNG\r\n\x1a\n");
    assert_eq!(u32::from_be_bytes(bytes[16..20].try_into().unwrap()), 600);
    assert!((20_000..2_000_000).contains(&bytes.len()), "{}", bytes.len());
    let letters = stdout(&skyhop(&args));
    assert!(letters.starts_with("iridium at 60 s\n") && letters.contains("@ -0.22,-78.51\n"), "{letters}");
}

#[test]
fn mistakes_are_2_with_a_hint() {
    let iridium = |more: &[&str]| skyhop(&[&["map", "--constellation", "iridium"][..], more].concat());
    for (more, message) in [
        (&["--out", "map.gif"][..], "expected a name that ends in .svg or .png"),
        (&["--terminal", "lodnon"][..], "--terminal: unknown place \"lodnon\"; did you mean \"london\"?"),
        (&["--time", "1 parsec"][..], "--time: "),
        (&["--width", "10"][..], "from 100 to 20000"),
    ] {
        let out = iridium(more);
        assert_eq!((code(&out), stdout(&out).as_str()), (2, ""), "{more:?}: {}", stderr(&out));
        assert!(stderr(&out).contains(message), "{}\nexpected {message}", stderr(&out));
    }
    let nowhere = folder("mistakes").join("none/map.svg");
    let out = iridium(&["--out", nowhere.to_str().unwrap()]);
    assert!(code(&out) == 1 && stderr(&out).contains("cannot write"), "{}", stderr(&out));
    let help = stdout(&skyhop(&["map", "--help"]));
    assert!(help.contains("Examples:\n  skyhop map"), "{help}");
}

fn folder(name: &str) -> PathBuf {
    empty_folder("maps", name)
}
