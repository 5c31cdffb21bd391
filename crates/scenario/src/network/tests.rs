//! Networks resolved from paths, small and large.
//!
//! Follows the rules in the module's documentation, one test for each.
//! Differs from the error tests: these scenarios are valid.
//! Leaves out constellations.

use super::*;
use std::fmt::Write;

fn network(links: &[(&str, Option<[&str; 2]>)], flows: &[&str]) -> NetworkPlan {
    let mut text = String::from("duration = \"1 s\"\n");
    for (name, between) in links {
        writeln!(text, "[links.{name}]\nrate = \"1 Mbit/s\"\ndelay = \"1 ms\"").unwrap();
        between.iter().for_each(|b| writeln!(text, "between = {b:?}").unwrap());
    }
    for flow in flows {
        writeln!(text, "[[flows]]\n{flow}\ntraffic = {{ kind = \"bulk\" }}").unwrap();
    }
    let loaded = crate::parse(text.as_bytes(), "test.toml", &[]).unwrap_or_else(|e| panic!("{e}"));
    resolve(&loaded.scenario).unwrap()
}

/// A route as text: `server >satellite> user`, with `<` for links crossed backwards.
fn show(network: &NetworkPlan, links: &[&str], flow: usize) -> String {
    let mut links = links.to_vec();
    links.sort_unstable();
    let RoutePlan::Links { from, to, hops } = &network.routes[flow] else { panic!() };
    let mut out = network.nodes[*from].clone();
    let mut node = *from;
    for (link, direction) in hops {
        let ends = network.links[*link];
        let (enter, leave, mark) = match direction {
            Direction::Forward => (ends.a, ends.b, '>'),
            Direction::Reverse => (ends.b, ends.a, '<'),
        };
        assert_eq!(enter, node);
        node = leave;
        write!(out, " {mark}{}{mark} {}", links[*link], network.nodes[node]).unwrap();
    }
    assert_eq!(node, *to);
    out
}

const THREE: [&str; 3] = ["access", "satellite", "lan"];
fn three() -> Vec<(&'static str, Option<[&'static str; 2]>)> {
    THREE.iter().map(|name| (*name, None)).collect()
}

#[test]
fn a_path_gives_its_links_ends_and_unnamed_nodes_names() {
    let net = network(&[("satellite", None)], &[r#"path = ["server", "satellite", "user"]"#]);
    assert_eq!(show(&net, &["satellite"], 0), "server >satellite> user");
    let net = network(&three(), &[r#"path = ["server", "access", "satellite", "lan", "user"]"#]);
    let way = "server >access> access~satellite >satellite> satellite~lan >lan> user";
    assert_eq!(show(&net, &THREE, 0), way);
    assert_eq!(net.nodes.len(), 4);
}

#[test]
fn a_later_path_backwards_is_reverse_all_the_way() {
    let net = network(
        &three(),
        &[
            r#"path = ["server", "access", "satellite", "lan", "user"]"#,
            r#"path = ["user", "lan", "satellite", "access", "server"]"#,
        ],
    );
    let back = "user <lan< satellite~lan <satellite< access~satellite <access< server";
    assert_eq!(show(&net, &THREE, 1), back);
}

#[test]
fn new_links_join_known_ones_on_the_right_side() {
    let links = ["a1", "a2", "l1", "l2", "satellite"];
    let given: Vec<_> = links.iter().map(|l| (*l, None)).collect();
    let net = network(
        &given,
        &[
            r#"path = ["s1", "a1", "satellite", "l1", "u1"]"#,
            r#"path = ["s2", "a2", "satellite", "l2", "u2"]"#,
        ],
    );
    assert_eq!(show(&net, &links, 1), "s2 >a2> a1~satellite >satellite> satellite~l1 >l2> u2");
    // A known host on the far side shows that the satellite is crossed backwards.
    let net = network(
        &given,
        &[
            r#"path = ["s1", "a1", "satellite", "l1", "u1"]"#,
            r#"path = ["u1", "l1", "satellite", "a2", "s2"]"#,
            r#"path = ["u2", "l2", "satellite", "a2", "s2"]"#,
        ],
    );
    assert_eq!(show(&net, &links, 1), "u1 <l1< satellite~l1 <satellite< a1~satellite >a2> s2");
    assert_eq!(show(&net, &links, 2), "u2 >l2> satellite~l1 <satellite< a1~satellite >a2> s2");
}

#[test]
fn stated_ends_decide_and_nodes_may_be_named_between() {
    let links = [("satellite", Some(["terminal", "gateway"])), ("lan", None)];
    let net = network(&links, &[r#"path = ["gateway", "satellite", "terminal", "lan", "user"]"#]);
    assert_eq!(show(&net, &["satellite", "lan"], 0), "gateway <satellite< terminal >lan> user");
}

#[test]
fn from_and_to_take_the_fewest_links_and_then_the_first_names() {
    let names = ["a", "b", "c", "d", "direct", "x"];
    let links = [
        ("a", Some(["s", "m"])),
        ("b", Some(["s", "n"])),
        ("c", Some(["t", "n"])),
        ("d", Some(["m", "t"])),
        ("direct", Some(["t", "u"])),
        ("x", Some(["u", "y"])),
    ];
    let net = network(
        &links,
        &["from = \"s\"\nto = \"t\"", "from = \"y\"\nto = \"s\"", "from = \"u\"\nto = \"y\""],
    );
    assert_eq!(show(&net, &names, 0), "s >a> m >d> t");
    // From the other end another link comes first.
    assert_eq!(show(&net, &names, 1), "y <x< u <direct< t >c> n <b< s");
    assert_eq!(show(&net, &names, 2), "u >x> y");
}

#[test]
fn parallel_links_are_told_apart() {
    let links = [("down", Some(["g", "u"])), ("up", Some(["u", "g"]))];
    let net = network(&links, &[r#"path = ["u", "up", "g"]"#, r#"path = ["u", "down", "g"]"#]);
    assert_eq!(show(&net, &["down", "up"], 0), "u >up> g");
    assert_eq!(show(&net, &["down", "up"], 1), "u <down< g");
}

// Ten times the largest dumbbell required; work that grows with the square would take seconds.
#[test]
fn ten_thousand_pairs_resolve_at_once() {
    let n = 10_000;
    let mut scenario = crate::parse(
        b"duration = \"1 s\"\n[links.mid]\nrate = \"1 Mbit/s\"\ndelay = \"1 ms\"\n[[flows]]\npath = [\"s\", \"mid\", \"u\"]\n\
          traffic = { kind = \"bulk\" }\n",
        "t.toml",
        &[],
    )
    .unwrap()
    .scenario;
    let (link, flow) = (scenario.links["mid"].clone(), scenario.flows[0].clone());
    scenario.flows.clear();
    for i in 0..n {
        scenario.links.insert(format!("a{i}"), link.clone());
        scenario.links.insert(format!("l{i}"), link.clone());
        let path = [format!("s{i}"), format!("a{i}"), "mid".into(), format!("l{i}"), format!("u{i}")];
        scenario.flows.push(crate::Flow { path: Some(path.to_vec()), ..flow.clone() });
    }
    // The same hosts again, by name only.
    for i in 0..n {
        let (from, to) = (Some(format!("u{i}").as_str().into()), Some(format!("s{i}").as_str().into()));
        scenario.flows.push(crate::Flow { path: None, from, to, ..flow.clone() });
    }
    // A search through all links for each flow would take hours here; this takes a moment.
    let net = resolve(&scenario).unwrap();
    let RoutePlan::Links { hops, .. } = &net.routes[2 * n - 1] else { panic!() };
    assert!(hops.iter().all(|(_, d)| *d == Direction::Reverse) && hops.len() == 3);
}

#[test]
fn multipath_takes_every_link_on_a_way_with_the_fewest() {
    let mesh = |scheme: &str| {
        let mut text = format!("duration = \"1 s\"\n[routing]\nscheme = \"{scheme}\"\n");
        // A square, a longer path around it, and a stub.
        for (name, ends) in [
            ("ab", "ab"),
            ("ac", "ac"),
            ("bd", "bd"),
            ("cd", "cd"),
            ("ax", "ax"),
            ("xy", "xy"),
            ("yd", "yd"),
            ("de", "de"),
        ] {
            let [a, b] = [&ends[..1], &ends[1..]];
            writeln!(
                text,
                "[links.{name}]\nrate = \"1 Mbit/s\"\ndelay = \"1 ms\"\nbetween = [\"{a}\", \"{b}\"]"
            )
            .unwrap();
        }
        for flow in [r#"from = "a"#, r#"from = "e"#] {
            let to = if flow.ends_with('a') { 'e' } else { 'a' };
            writeln!(text, "[[flows]]\n{flow}\"\nto = \"{to}\"\ntraffic = {{ kind = \"bulk\" }}").unwrap();
        }
        let path = "path = [\"a\", \"ab\", \"bd\", \"d\"]";
        writeln!(text, "[[flows]]\nfrom = \"x\"\nto = \"a\"\ntraffic = {{ kind = \"bulk\" }}").unwrap();
        writeln!(text, "[[flows]]\n{path}\ntraffic = {{ kind = \"bulk\" }}").unwrap();
        let loaded = crate::parse(text.as_bytes(), "test.toml", &[]).unwrap_or_else(|e| panic!("{e}"));
        resolve(&loaded.scenario).unwrap()
    };
    let names = ["ab", "ac", "ax", "bd", "cd", "de", "xy", "yd"];
    let crossed = |route: &RoutePlan| {
        let (RoutePlan::Spread { hops, .. } | RoutePlan::Links { hops, .. }) = route else { panic!() };
        hops.iter()
            .map(|(link, direction)| match direction {
                Direction::Forward => names[*link].to_string(),
                Direction::Reverse => format!("-{}", names[*link]),
            })
            .collect::<Vec<_>>()
            .join(" ")
    };
    let all = mesh("multipath");
    assert!(matches!(
        all.routes[..],
        [
            RoutePlan::Spread { .. },
            RoutePlan::Spread { .. },
            RoutePlan::Links { .. },
            RoutePlan::Links { .. }
        ]
    ));
    let links: Vec<String> = all.routes.iter().map(crossed).collect();
    assert_eq!(links, ["ab ac bd cd de", "-de -bd -cd -ab -ac", "-ax", "ab bd"]);
    let one = mesh("shortest");
    assert_eq!(
        one.routes.iter().map(crossed).collect::<Vec<_>>(),
        ["ab bd de", "-de -bd -ab", "-ax", "ab bd"]
    );
}
