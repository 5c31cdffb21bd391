//! The commands in the documents and in the help: each is run, and must print what the document shows.
//!
//! Follows README.md and docs/*.md, block by block, in a folder with the repository's scenarios and those that a document contains.
//! Differs: clock times are not compared, and the document may omit lines.
//! Leaves out commands that take more than a second (only their options are checked), and those that need hosts, for which there
//! are `stp.rs`, `gateway.rs` and `emulate.rs`.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Beginnings of commands that are not run. A sweep's scenario and values are still checked.
const SLOW: [&str; 10] = [
    "compare ",
    "emulate ",
    "tables ",
    "stp ",
    "gateway ",
    "wireshark ",
    "demo",
    "sweep scenarios/",
    "sweep effects grid ",
    "constellation export kuiper-630 --tle",
];

#[test]
fn commands_in_the_documents_say_what_is_shown() {
    let (mut run, mut looked_up) = (0, 0);
    for document in documents() {
        let text = fs::read_to_string(&document).unwrap();
        let folder = scratch(&document, &text);
        for shown in commands(&text) {
            let place = format!("{}:{}: {}", document.display(), shown.line, shown.arguments.join(" "));
            if shown.arguments.iter().any(|a| a == "...") {
                continue;
            }
            options_exist(&shown.arguments, &place);
            if missing_file(&shown.arguments, &folder) {
                looked_up += 1;
                continue;
            }
            if let Some(arguments) = quick(&shown.arguments) {
                say_what_is_shown(&skyhop(&arguments, &folder), &shown, arguments == shown.arguments, &place);
                run += 1;
            } else {
                looked_up += 1;
            }
        }
    }
    assert!(run >= 25, "{run} commands run; are the blocks still found?");
    assert!((5..48).contains(&looked_up), "{looked_up} commands not run");
}

#[test]
fn examples_of_the_help_work() {
    let folder = scratch(Path::new("help"), "");
    let grid = "duration = \"1 s\"\n[links.satellite]\nrate = \"1 Mbit/s\"\ndelay = \"1 ms\"\n[[flows]]\n\
                path = [\"a\", \"satellite\", \"b\"]\ntraffic = { kind = \"ping\" }\n\
                [sweep]\nseeds = 20\n[sweep.grid]\n\"links.satellite.rate\" = [\"1 Mbit/s\", \"2 Mbit/s\"]\n";
    fs::write(folder.join("grid.toml"), grid).unwrap();
    let mut run = 0;
    for command in subcommands(&[]) {
        let help = stdout(&skyhop(&[&command[..], &["--help".into()]].concat(), &folder));
        let group = help.contains("\nCommands:\n");
        assert!(group || help.contains("Examples:\n") || command.len() > 1, "{command:?} has no examples");
        let narrow = stdout(&narrow(&command, &folder));
        for line in help.replace("\\\n    ", "").lines().filter_map(|l| l.strip_prefix("  skyhop ")) {
            // Text after two blanks is about the command, which can be copied as it is.
            let typed = line.split("  ").next().unwrap();
            assert!(
                narrow.replace("\\\n    ", "").contains(typed),
                "{command:?}: wrapped at 80 columns: {typed}"
            );
            let arguments = split(typed);
            let place = format!("help of {command:?}: {}", arguments.join(" "));
            options_exist(&arguments, &place);
            let Some(arguments) = quick(&arguments) else { continue };
            if missing_file(&arguments, &folder) {
                continue;
            }
            let out = skyhop(&arguments, &folder);
            assert_eq!(out.status.code(), Some(0), "{place}: {}", stderr(&out));
            run += 1;
        }
    }
    assert!(run >= 20, "{run} examples run");
}

/// A command, and the lines below it.
struct Shown {
    line: usize,
    arguments: Vec<String>,
    lines: Vec<String>,
}

/// The commands of all code blocks without another language.
fn commands(text: &str) -> Vec<Shown> {
    let (mut found, mut language, mut continued) = (Vec::<Shown>::new(), None, String::new());
    for (number, line) in text.lines().enumerate() {
        if let Some(name) = line.trim_start().strip_prefix("```") {
            language = if language.is_some() { None } else { Some(name.to_owned()) };
            continued.clear();
            // The next block is not this command's output.
            found.push(Shown { line: 0, arguments: vec![], lines: vec![] });
            continue;
        }
        if !matches!(language.as_deref(), Some("" | "console" | "sh")) {
            continue;
        }
        let whole = format!("{continued}{line}");
        if let Some(begun) = whole.strip_suffix('\\') {
            continued = begun.to_owned();
            continue;
        }
        continued.clear();
        let (prompt, typed) = match whole.split_once("$ ") {
            Some((host, typed)) if host.chars().all(char::is_alphanumeric) => (true, typed.trim_start()),
            _ => (false, whole.as_str()),
        };
        let typed = typed.strip_prefix("target/release/").unwrap_or(typed);
        if let Some(arguments) = typed.strip_prefix("skyhop ") {
            found.push(Shown { line: number + 1, arguments: split(arguments), lines: vec![] });
        } else if prompt {
            found.push(Shown { line: 0, arguments: vec![], lines: vec![] });
        } else if let Some(last) = found.last_mut() {
            last.lines.push(whole);
        }
    }
    found.retain(|shown| shown.line > 0);
    found
}

/// Splits a line into words as a shell does, up to a comment, a pipe or a redirection.
fn split(line: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    for c in line.chars() {
        match (quote, c) {
            (Some(q), _) if c == q => quote = None,
            (Some(_), _) => word.get_or_insert_default().push(c),
            (None, '"' | '\'') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None, '#' | '|' | '>' | '&' | ';') if word.is_none() => break,
            (None, c) if c.is_whitespace() => words.extend(word.take()),
            (None, c) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

/// The command to run for this one: itself, a check for a long sweep, or none.
fn quick(arguments: &[String]) -> Option<Vec<String>> {
    let line = arguments.join(" ");
    if !SLOW.iter().any(|slow| line.starts_with(slow)) {
        return Some(arguments.to_vec());
    }
    if arguments[0] != "sweep" || arguments[1] == "effects" {
        return None;
    }
    let mut check = vec!["check".to_owned(), arguments[1].clone()];
    for pair in arguments.windows(2).filter(|pair| pair[0] == "--set") {
        check.extend_from_slice(pair);
    }
    Some(check)
}

/// Returns true if the command reads a file of elements or measurements that no document contains.
fn missing_file(arguments: &[String], folder: &Path) -> bool {
    let trace = arguments[0] == "trace";
    let read = arguments.iter().enumerate().filter(|(i, _)| *i == 0 || arguments[i - 1] != "--out");
    read.map(|(_, a)| a).any(|a| {
        let named = a.ends_with(".tle") || a.ends_with(".toml") && !a.contains('=');
        let measured = trace && [".csv", ".txt", ".json"].iter().any(|ending| a.ends_with(ending));
        (named || measured) && !folder.join(a).exists()
    })
}

fn options_exist(arguments: &[String], place: &str) {
    let names: Vec<String> =
        arguments.iter().take(2).take_while(|a| a.chars().all(|c| c.is_ascii_lowercase())).cloned().collect();
    let command =
        if names.len() == 2 && !subcommands(&[]).contains(&names) { &names[..1] } else { &names[..] };
    if arguments[0].starts_with('-') {
        return;
    }
    let out = skyhop(&[command, &["--help".to_owned()]].concat(), Path::new("."));
    assert_eq!(out.status.code(), Some(0), "{place}: {}", stderr(&out));
    let help = stdout(&out);
    for option in arguments.iter().filter(|a| a.starts_with("--")) {
        let name = option.split('=').next().unwrap();
        let known = help.split(|c: char| !(c.is_alphanumeric() || c == '-')).any(|word| word == name);
        assert!(known, "{place}: no option {name}");
    }
}

/// Commands and their subcommands, as listed by the help.
fn subcommands(of: &[String]) -> Vec<Vec<String>> {
    let help = stdout(&skyhop(&[of, &["--help".to_owned()]].concat(), Path::new(".")));
    let mut all = Vec::new();
    let listed = help.split_once("Commands:\n").map_or("", |(_, rest)| rest);
    for line in listed.lines().take_while(|l| l.starts_with("  ")) {
        // Further lines of a description are further in.
        let Some(name) = line.strip_prefix("  ").filter(|l| !l.starts_with(' ')) else { continue };
        let name = name.split_whitespace().next().unwrap();
        if name != "help" {
            let path = [of, &[name.to_owned()]].concat();
            if of.is_empty() {
                all.extend(subcommands(&path));
            }
            all.push(path);
        }
    }
    all
}

fn say_what_is_shown(out: &Output, shown: &Shown, whole: bool, place: &str) {
    let said = format!("{}{}", stdout(out), stderr(out));
    if out.status.code() != Some(0) {
        let first = stderr(out).lines().next().unwrap_or_default().to_owned();
        assert!(shown.lines.contains(&first), "{place}: exit code {:?}: {first}", out.status.code());
        assert_eq!(out.status.code(), Some(2), "{place}");
    }
    if !whole {
        return;
    }
    let mut lines = said.lines().map(without_clock);
    for line in shown.lines.iter().filter(|l| !l.trim().is_empty() && l.trim() != "...") {
        let line = without_clock(line);
        assert!(
            lines.any(|said| said == line),
            "{place}: the document shows\n{line}\nwhich it does not say:\n{said}"
        );
    }
}

/// A line without the duration of a run, which varies.
fn without_clock(line: &str) -> String {
    let line = line.trim_end();
    match (line.rsplit_once(", "), line.ends_with(" on the clock")) {
        (Some((before, _)), true) => before.to_owned(),
        _ => line.to_owned(),
    }
}

/// A new folder with the scenarios, and the files that blocks of the document name in their first line: `# first.toml`, `# first.csv`.
fn scratch(document: &Path, text: &str) -> PathBuf {
    let name = document.file_stem().unwrap().to_str().unwrap();
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("documents").join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(folder.join("scenarios")).unwrap();
    for entry in fs::read_dir(root().join("scenarios")).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), folder.join("scenarios").join(entry.file_name())).unwrap();
    }
    fs::copy(root().join("scenarios/geo.toml"), folder.join("geo.toml")).unwrap();
    let mut files = BTreeMap::new();
    let blocks = ["toml", "csv"]
        .map(|kind| text.split(&format!("```{kind}\n")).skip(1).map(move |b| (kind, b)).collect::<Vec<_>>());
    for (kind, block) in blocks.concat() {
        let body = block.split("```").next().unwrap();
        let first = body.lines().next().unwrap_or_default();
        let name = first.strip_prefix("# ").filter(|n| n.ends_with(&format!(".{kind}")) && !n.contains('/'));
        if let Some(name) = name {
            let before = files.insert(name.to_owned(), body);
            assert!(before.is_none(), "{}: {name} twice", document.display());
            fs::write(folder.join(name), body).unwrap();
        }
    }
    folder
}

fn documents() -> Vec<PathBuf> {
    let mut all = vec![root().join("README.md")];
    all.extend(fs::read_dir(root().join("docs")).unwrap().map(|e| e.unwrap().path()));
    all.retain(|p| p.extension().is_some_and(|e| e == "md"));
    all.sort();
    assert!(all.len() >= 10);
    all
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn skyhop(arguments: &[String], folder: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_skyhop")).args(arguments).current_dir(folder).output().unwrap()
}

/// The help on a terminal of 80 columns.
fn narrow(command: &[String], folder: &Path) -> Output {
    let mut help = Command::new(env!("CARGO_BIN_EXE_skyhop"));
    help.args(command).arg("--help").env("COLUMNS", "80").current_dir(folder).output().unwrap()
}

fn stdout(out: &Output) -> String {
    String::from_utf8_lossy(&out.stdout).into_owned()
}

fn stderr(out: &Output) -> String {
    String::from_utf8_lossy(&out.stderr).into_owned()
}
