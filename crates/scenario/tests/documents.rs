//! The documents about scenarios: their TOML, their keys, and the files and headings that they link to.
//!
//! Follows README.md, ARCHITECTURE.md, CONTRIBUTING.md and docs/*.md against the parser and the JSON Schema.
//! Differs from reading them: a partial block of TOML is first put into a whole scenario.
//! Also the list of the files of tests, each of which is to run.
//! Leaves out commands, which `crates/cli/tests/documents.rs` runs, and whole files (`# first.toml`) on which it runs them.

use skyhop_scenario::{Host, parse, schema};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use toml::{Table, Value};

/// Scenarios into which the parts of the documents fit: a row of links, links with named nodes, satellites and links.
const WHOLES: [&str; 5] = [
    "duration = \"60 s\"
     [links]
     access = { rate = \"1 Mbit/s\", delay = \"1 ms\" }
     satellite = { rate = \"1 Mbit/s\", delay = \"1 ms\" }
     [[flows]]
     name = \"download\"
     path = [\"server\", \"access\", \"satellite\", \"user\"]
     traffic = { kind = \"bulk\" }",
    "duration = \"60 s\"
     [links]
     right = { rate = \"1 Mbit/s\", delay = \"1 ms\", between = [\"server\", \"user\"] }
     left = { rate = \"1 Mbit/s\", delay = \"1 ms\", between = [\"server\", \"gateway\"] }
     [[flows]]
     from = \"server\"
     to = \"user\"
     traffic = { kind = \"bulk\" }",
    "duration = \"60 s\"
     [links]
     access = { rate = \"1 Mbit/s\", delay = \"1 ms\", between = [\"server\", \"gateway\"] }
     satellite = { rate = \"1 Mbit/s\", delay = \"1 ms\", between = [\"gateway\", \"user\"] }
     [constellation]
     preset = \"iridium\"
     [terminals]
     new-york = { lat = \"40.71 deg\", lon = \"-74.01 deg\" }
     london = { lat = \"51.51 deg\", lon = \"-0.13 deg\" }
     [[flows]]
     from = \"new-york\"
     to = \"london\"
     traffic = { kind = \"ping\" }",
    "duration = \"60 s\"
     [constellations.leo]
     preset = \"iridium\"
     [terminals]
     farm = { lat = \"40.71 deg\", lon = \"-74.01 deg\" }
     teleport = { lat = \"51.51 deg\", lon = \"-0.13 deg\" }
     [links.internet]
     between = [\"server\", \"teleport\"]
     rate = \"1 Gbit/s\"
     delay = \"1 ms\"
     [[flows]]
     path = [\"server\", \"internet\", \"teleport\", \"leo\", \"farm\"]
     traffic = { kind = \"ping\" }",
    "duration = \"60 s\"
     [links]
     internet = { rate = \"1 Mbit/s\", delay = \"1 ms\", between = [\"server\", \"hub\"] }
     satellite = { rate = \"1 Mbit/s\", delay = \"1 ms\", between = [\"hub\", \"terminal\"] }
     lan = { rate = \"1 Mbit/s\", delay = \"1 ms\", between = [\"terminal\", \"user\"] }
     [[flows]]
     from = \"server\"
     to = \"user\"
     traffic = { kind = \"bulk\" }",
];

#[test]
fn blocks_of_toml_fit_into_a_scenario() {
    let mut blocks = 0;
    for (path, text) in documents() {
        for (line, body) in blocks_of(&text, "toml") {
            if body.starts_with("# ") && body.lines().next().is_some_and(|l| l.ends_with(".toml")) {
                continue;
            }
            let place = format!("{}:{line}", path.display());
            let part: Table = body.parse().unwrap_or_else(|e| panic!("{place}: {e}"));
            let errors: Vec<String> = WHOLES.iter().filter_map(|whole| error_of(whole, &part)).collect();
            assert!(errors.len() < WHOLES.len(), "{place}: fits nowhere:\n{}", errors.join("\n"));
            blocks += 1;
        }
    }
    assert!((12..60).contains(&blocks), "{blocks} blocks");
    // A wrong part fits no scenario.
    let wrong: Table = "[links.satellite]\nrate = \"2 mbps\"\ndelay = \"1 ms\"".parse().unwrap();
    assert_eq!(WHOLES.iter().filter_map(|whole| error_of(whole, &wrong)).count(), WHOLES.len());
}

#[test]
fn the_reference_has_every_key_and_no_other() {
    let schema: serde_json::Value = serde_json::from_str(&schema()).unwrap();
    let mut keys = BTreeSet::new();
    properties(&schema, &mut keys);
    assert!(keys.len() > 100, "{} keys", keys.len());
    let text = fs::read_to_string(root().join("docs/scenario.md")).unwrap();
    let words = code_words(&text);
    let unexplained: Vec<_> = keys.iter().filter(|key| !words.contains(key.as_str())).collect();
    assert!(unexplained.is_empty(), "docs/scenario.md does not explain {unexplained:?}");
    let mut header = "";
    for (number, line) in text.lines().enumerate() {
        if !line.starts_with('|') {
            header = "";
        } else if header.is_empty() {
            header = line;
        } else if header.starts_with("| key") {
            let first = line.split('|').nth(1).unwrap_or_default();
            for key in code_words(first) {
                assert!(keys.contains(key), "docs/scenario.md:{}: no key {key} in the schema", number + 1);
            }
        }
    }
}

/// The table of differences between hosts agrees with the code.
#[test]
fn the_table_of_hosts_is_what_they_have() {
    let hosts = [Host::Linux, Host::Windows, Host::Y1999]
        .map(|host| serde_json::to_value(host.tcp(None, None)).unwrap().as_object().unwrap().clone());
    let text = fs::read_to_string(root().join("docs/scenario.md")).unwrap();
    let shown = |value: Option<&serde_json::Value>| match value {
        None => String::new(),
        Some(serde_json::Value::Object(table)) => {
            let keys: Vec<String> = table.iter().map(|(key, value)| format!("{key} = {value}")).collect();
            format!("`{{ {} }}`", keys.join(", "))
        }
        Some(value) => format!("`{value}`"),
    };
    let keys: BTreeSet<&String> =
        hosts.iter().flat_map(|host| host.keys()).filter(|key| *key != "host").collect();
    let mut rows = 0;
    for key in keys {
        let values = hosts.each_ref().map(|host| shown(host.get(key)));
        if values[0] == values[1] && values[1] == values[2] {
            continue;
        }
        let all: Vec<&str> = text.lines().filter(|line| line.starts_with(&format!("| `{key}` |"))).collect();
        let right = all.iter().any(|line| {
            let cells: Vec<&str> = line
                .trim_matches('|')
                .split(" | ")
                .skip(1)
                .map(|c| c.trim().trim_end_matches(" |"))
                .collect();
            cells.len() == 3
                && cells.iter().zip(&values).all(|(cell, value)| value.is_empty() || cell == value)
        });
        assert!(right, "{key}: {values:?} is not in {all:?}");
        rows += 1;
    }
    assert!(rows >= 15, "{rows}");
}

#[test]
fn files_and_headings_that_are_pointed_to_exist() {
    let (mut links, mut paths) = (0, 0);
    for (path, text) in documents() {
        let folder = path.parent().unwrap();
        let prose = without_blocks(&text);
        for target in prose.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            if target.contains("://") {
                continue;
            }
            let (file, heading) = target.split_once('#').unwrap_or((target, ""));
            let there = if file.is_empty() { path.clone() } else { folder.join(file) };
            assert!(there.exists(), "{}: {target} does not exist", path.display());
            let known = heading.is_empty() || headings(&there).contains(heading);
            assert!(known, "{}: {target}: no such heading", path.display());
            links += 1;
        }
        for span in prose.split('`').skip(1).step_by(2) {
            let file = span.split([':', ' ']).next().unwrap();
            let top = file.split('/').next().unwrap();
            let ours = ["crates", "scenarios", "docs", "papers", "bench", "tools", "fuzz", "python"];
            if ours.contains(&top) && file.contains('/') && !file.contains(['*', '<']) {
                assert!(root().join(file).exists(), "{}: {file} does not exist", path.display());
                paths += 1;
            }
        }
    }
    assert!(links > 50 && paths > 50, "{links} links, {paths} paths");
}

/// Where a crate's tests are one program, a file that it does not name would never run, and nobody would see that.
#[test]
fn each_file_of_tests_is_part_of_a_program() {
    let mut files = 0;
    for entry in fs::read_dir(root().join("crates")).unwrap() {
        let of_crate = entry.unwrap().path();
        let Ok(program) = fs::read_to_string(of_crate.join("tests/all.rs")) else { continue };
        let manifest = fs::read_to_string(of_crate.join("Cargo.toml")).unwrap();
        for file in fs::read_dir(of_crate.join("tests")).unwrap() {
            let path = file.unwrap().path();
            let name = path.file_stem().unwrap().to_str().unwrap();
            if path.extension().is_some_and(|extension| extension == "rs") {
                let named = [&program, &manifest].map(|text| {
                    text.lines()
                        .any(|line| line == format!("mod {name};") || line == format!("name = \"{name}\""))
                });
                assert!(named.contains(&true), "{}: neither in all.rs nor in Cargo.toml", path.display());
                files += 1;
            }
        }
    }
    assert!(files > 100, "{files}");
}

/// The error of a scenario in which the keys of a part replace its own.
fn error_of(whole: &str, part: &Table) -> Option<String> {
    let mut whole: Table = whole.parse().unwrap();
    for (key, value) in part {
        match (key.as_str(), value) {
            // Keys of a flow.
            ("transport" | "traffic", _) => {
                let Some(Value::Table(flow)) = whole["flows"].as_array_mut().unwrap().first_mut() else {
                    unreachable!("a flow is a table")
                };
                flow.insert(key.clone(), value.clone());
            }
            ("links" | "terminals", Value::Table(more)) => {
                let has = whole.entry(key).or_insert(Value::Table(Table::new())).as_table_mut().unwrap();
                has.extend(more.clone());
            }
            _ => {
                whole.insert(key.clone(), value.clone());
            }
        }
    }
    parse(toml::to_string(&whole).unwrap().as_bytes(), "part.toml", &[]).err().map(|e| e.to_string())
}

fn properties(schema: &serde_json::Value, keys: &mut BTreeSet<String>) {
    match schema {
        serde_json::Value::Object(object) => {
            for (name, value) in object {
                if let ("properties", Some(properties)) = (name.as_str(), value.as_object()) {
                    keys.extend(properties.keys().cloned());
                }
                properties(value, keys);
            }
        }
        serde_json::Value::Array(all) => all.iter().for_each(|value| properties(value, keys)),
        _ => {}
    }
}

/// Words of a text's code, inline and in blocks.
fn code_words(text: &str) -> BTreeSet<&str> {
    let code = text.split('`').enumerate().filter(|(i, _)| i % 2 == 1).map(|(_, code)| code);
    code.flat_map(|code| code.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == '-')))
        .filter(|word| !word.is_empty())
        .collect()
}

/// Anchors of a document's headings, as GitHub makes them.
fn headings(path: &Path) -> BTreeSet<String> {
    let text = fs::read_to_string(path).unwrap();
    let name = |title: &str| {
        let kept = title.to_lowercase();
        kept.chars()
            .filter(|&c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'))
            .map(|c| if c == ' ' { '-' } else { c })
            .collect()
    };
    let prose = without_blocks(&text);
    prose.lines().filter(|l| l.starts_with('#')).map(|l| name(l.trim_start_matches('#').trim())).collect()
}

fn without_blocks(text: &str) -> String {
    let mut inside = false;
    let mut kept = String::new();
    for line in text.lines() {
        if line.starts_with("```") {
            inside = !inside;
        } else if !inside {
            kept.push_str(line);
            kept.push('\n');
        }
    }
    kept
}

/// Line and text of each code block of a language.
fn blocks_of(text: &str, language: &str) -> Vec<(usize, String)> {
    let mut blocks: Vec<(usize, String)> = Vec::new();
    let (mut inside, mut wanted) = (false, false);
    for (number, line) in text.lines().enumerate() {
        if let Some(name) = line.strip_prefix("```") {
            inside = !inside;
            wanted = inside && name == language;
            if wanted {
                blocks.push((number + 2, String::new()));
            }
        } else if wanted && let Some((_, body)) = blocks.last_mut() {
            body.push_str(line);
            body.push('\n');
        }
    }
    blocks
}

fn documents() -> Vec<(PathBuf, String)> {
    let mut paths: Vec<PathBuf> =
        ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"].map(|name| root().join(name)).into();
    paths.extend(fs::read_dir(root().join("docs")).unwrap().map(|e| e.unwrap().path()));
    paths.retain(|p| p.extension().is_some_and(|e| e == "md"));
    paths.sort();
    assert!(paths.len() >= 12);
    paths.into_iter().map(|p| (p.clone(), fs::read_to_string(p).unwrap())).collect()
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}
