//! Mistakes in a gateway's file: each is told with its line or key, the allowed values, and the nearest spelling.
//!
//! Follows `crates/scenario/tests/mistakes.txt`, which has those of scenarios.
//! Leaves out missing rights and programs, which `python/tests/test_gateway.py` has.

#[path = "common/folder.rs"]
mod folder;

use folder::Folder;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

fn skyhop(folder: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_skyhop")).args(args).current_dir(folder).output().unwrap()
}

#[test]
fn mistakes_are_told_with_their_lines() {
    let folder = Folder::new("gateway-mistakes");
    let at = folder.path();
    assert!(skyhop(at, &["gateway", "new", "hub.toml"]).status.success());
    assert!(
        skyhop(at, &["gateway", "add", "home", "--hub", "hub.toml", "--at", "192.0.2.1"]).status.success()
    );
    let hub = fs::read_to_string(at.join("hub.toml")).unwrap();
    let home = fs::read_to_string(at.join("home.toml")).unwrap();
    let key = hub.lines().find(|line| line.starts_with("key = \"skyhop")).unwrap();
    let twice = format!("{hub}\n[terminals.other]\n{key}\n");
    let cases = [
        (hub.replace("memory =", "memroy ="), "unknown field `memroy`", "did you mean \"memory\"?"),
        (hub.replace("\"64 MB\"", "\"64 MX\""), "memory: ", "MX"),
        (hub.replace("\"64 MB\"", "\"1 kB\""), "memory: ", "1 MiB"),
        (hub.replace("role = \"hub\"", "role = \"hubb\""), "unknown variant `hubb`", "did you mean \"hub\"?"),
        (hub.replace("hub.key\"", "no.key\""), "key: ", "does not exist"),
        (hub.replace("127.0.0.1:9464", "0.0.0.0:9464"), "metrics: ", "loopback"),
        (format!("{hub}rates = \"1 Mbit/s\"\n"), "unknown field `rates`", "did you mean \"rate\"?"),
        (twice, "terminals.other.key: ", "that of home too"),
        (home.replace("hub = ", "hubs = "), "unknown field `hubs`", "did you mean"),
        (
            home.lines().filter(|l| !l.starts_with("hub = ")).collect::<Vec<_>>().join("\n"),
            "a terminal needs `hub`",
            "",
        ),
        (format!("{hub}quota = \"many\"\n"), "terminals.home.quota: ", "many"),
        (format!("{hub}quota_period = \"1 d\"\n"), "terminals.home.quota_period: ", "`quota`"),
        (format!("{hub}quota = \"1 GB\"\nquota_period = \"1 ms\"\n"), "quota_period: ", "at least 1 s"),
        (
            format!("{hub}[[users]]\nup = \"1 Mbit/s\"\n"),
            "users: of the users' side only",
            "for each terminal",
        ),
        (format!("{home}[[users]]\nup = \"1 kbit/s\"\n"), "users.up: 1 kbit/s is less than 8 kbit/s", ""),
        (format!("{home}[[users]]\nup = \"1 Mb/s\"\n"), "users.up: ", "Mbit/s"),
        (format!("{home}[[users]]\ndwon = \"1 Mbit/s\"\n"), "unknown field `dwon`", "did you mean \"down\"?"),
        (format!("{home}[[users]]\nconnections = 0\n"), "users.connections: ", "1"),
        (format!("{hub}[[users]]\nconnections = 5\n"), "users: of the users' side only", "a hub has"),
        (format!("{home}[[users]]\nquota = \"much\"\n"), "users.quota: ", "much"),
        (format!("{home}[[users]]\nquota_period = \"1 d\"\n"), "users.quota_period: ", "`quota`"),
        (
            format!("{hub}[[users]]\nquota = \"1 GB\"\n"),
            "users: of the users' side only",
            "`quota` for each terminal",
        ),
        (
            format!("{home}[[users]]\nup = \"1 Mbit/s\"\n[[users]]\ndown = \"1 Mbit/s\"\n"),
            "users: an entry before this one is for all addresses",
            "",
        ),
        (format!("{hub}qouta = \"1 GB\"\n"), "unknown field `qouta`", "did you mean \"quota\"?"),
        (hub.replace("memory =", "congestion = \"bbr\"\nmemory ="), "congestion: ", "role = \"alone\""),
        (hub.replace("role = \"hub\"", "role = \"alone\""), "terminals: ", "a hub alone has none"),
        ("role = \"alone\"\nkey = \"hub.key\"\n".into(), "key: ", "no far gateway"),
        ("role = \"alone\"\nlisten = \"0.0.0.0:1\"\n".into(), "listen: ", "no far gateway"),
        ("role = \"alone\"\n".into(), "a hub alone needs [intercept]", ""),
        (
            "role = \"alone\"\n[intercept]\ninterfaces = [\"sat0\"]\nhandshake = \"after-server\"\n".into(),
            "intercept.handshake: ",
            "a hub alone answers at once",
        ),
        (
            home.clone() + "\n[intercept]\ninterfaces = [\"lan\"]\nhandshake = \"after\"\n",
            "unknown variant `after`",
            "`at-once` or `after-server`",
        ),
        (hub.replace("key = \"hub.key\"", ""), "a hub and a terminal need `key`", ""),
        (format!("{hub}[[dscp]]\nclient = [\"eff\"]\n"), "dscp.client: ", "\"af41\""),
        (
            format!("{hub}[[dscp]]\nclient = [\"ef\", \"46\"]\n[[dscp]]\nclient = [\"ef\"]\n"),
            "dscp.client: ",
            "before",
        ),
        (format!("{hub}[[dscp]]\nclient = [\"ef\"]\npriority = 8\n"), "dscp.priority: ", "0 to 7"),
        (
            format!("{home}[intercept]\ninterfaces = [\"e\"]\nquic = \"limit\"\n"),
            "intercept.quic: ",
            "quic_rate",
        ),
        (
            format!("{home}[intercept]\ninterfaces = [\"e\"]\nquic_rate = \"1 Mbit/s\"\n"),
            "intercept.quic_rate: ",
            "limit",
        ),
        (
            format!("{home}[intercept]\ninterfaces = [\"e\"]\ndns = \"cashe\"\n"),
            "unknown variant `cashe`",
            "did you mean \"cache\"?",
        ),
        (
            format!("{hub}[intercept]\ninterfaces = [\"e\"]\nudp = \"carry\"\n"),
            "intercept.udp: ",
            "of a terminal only",
        ),
        (home.replace("127.0.0.1:1080", "0.0.0.0:1080"), "socks.listen: ", "open to everybody"),
        (
            format!("{home}[[forward]]\nlisten = \"127.0.0.1:1\"\nto = \"nowhere\"\n"),
            "forward.to: ",
            "no host with a port",
        ),
        (format!("{home}[intercept]\ninterfaces = []\n"), "intercept.interfaces: ", "name the devices"),
        (
            format!("{home}[intercept]\ninterfaces = [\"a b\"]\n"),
            "intercept.interfaces: ",
            "no name of a device",
        ),
        (
            format!("{home}[intercept]\ninterfaces = [\"e\"]\nports = [\"0\"]\n"),
            "intercept.ports: ",
            "8000-8999",
        ),
        (
            format!("{home}[intercept]\ninterfaces = [\"e\"]\nexcept = [\"10.0.0.1/8\"]\n"),
            "intercept.except: ",
            "bits behind",
        ),
    ];
    for (text, what, more) in cases {
        folder.write("wrong.toml", &text);
        for command in ["check", "rules", "run"] {
            let out = skyhop(at, &["gateway", command, "wrong.toml"]);
            let said = String::from_utf8_lossy(&out.stderr).into_owned();
            assert_eq!(out.status.code(), Some(2), "{command}: {said}");
            assert!(
                said.starts_with("error: wrong.toml:") && said.contains(what) && said.contains(more),
                "{what}: {said}"
            );
        }
    }
    let out = skyhop(at, &["gateway", "add", "home", "--hub", "hub.toml", "--at", "192.0.2.1"]);
    assert_eq!(out.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&out.stderr).contains("the terminal home exists"));
    let out = skyhop(at, &["gateway", "new", "hub.toml"]);
    assert!(out.status.code() == Some(2) && fs::read_to_string(at.join("hub.toml")).unwrap() == hub);
}
