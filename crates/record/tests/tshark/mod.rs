//! Captures of STP packets, and what tshark with our dissector says of them.
//!
//! Follows docs/stp.md §2: UDP with the same ports, or IP protocol 253.
//! Differs from a capture of a run: packets one by one, at any time, cut off where a test likes.
//! Leaves out checksums of IP and UDP, which tshark does not ask for.
#![allow(dead_code)]

use crate::common::Scratch;
use skyhop_record::PcapngWriter;
use skyhop_wire::stp::{Contents, IP_PROTOCOL, Packet, UDP_PORT, emit};
use std::path::{Path, PathBuf};
use std::process::Command;

#[derive(Clone, Copy)]
pub enum Under {
    Udp,
    Ip,
}

pub struct Capture(PcapngWriter<Vec<u8>>);

impl Capture {
    pub fn new() -> Self {
        Self(PcapngWriter::new(Vec::new(), &["test".into()], None).unwrap())
    }

    pub fn put<P: Contents>(&mut self, at_ns: u64, under: Under, packet: &Packet<P>) {
        self.put_bytes(at_ns, under, &bytes(packet), packet.source_port, packet.destination_port);
    }

    pub fn put_bytes(&mut self, at_ns: u64, under: Under, stp: &[u8], source: u16, destination: u16) {
        let out = datagram(under, stp, source, destination);
        self.0.packet(0, at_ns, &out, out.len() as u32).unwrap();
    }

    /// A packet on the listener's port of which `keep` bytes were captured.
    pub fn put_cut(&mut self, at_ns: u64, stp: &[u8], keep: usize) {
        let out = datagram(Under::Udp, stp, UDP_PORT, 9);
        self.0.packet(0, at_ns, &out[..28 + keep], out.len() as u32).unwrap();
    }
}

/// An IP packet around one of STP.
fn datagram(under: Under, stp: &[u8], source: u16, destination: u16) -> Vec<u8> {
    let (protocol, udp) = match under {
        Under::Udp => (17, 8),
        Under::Ip => (IP_PROTOCOL, 0),
    };
    let mut out = vec![0x45, 0, 0, 0, 0, 0, 0x40, 0, 64, protocol, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
    if destination == UDP_PORT || source < destination {
        out[15] = 3;
    } else {
        (out[15], out[19]) = (2, 3);
    }
    let len = (20 + udp + stp.len()) as u16;
    out[2..4].copy_from_slice(&len.to_be_bytes());
    if udp > 0 {
        out.extend([source, destination, len - 20, 0].iter().flat_map(|n| n.to_be_bytes()));
    }
    out.extend_from_slice(stp);
    out
}

pub fn bytes<P: Contents>(packet: &Packet<P>) -> Vec<u8> {
    let mut out = Vec::new();
    emit(packet, &mut out);
    out
}

pub fn join(values: impl IntoIterator<Item = String>) -> String {
    values.into_iter().collect::<Vec<_>>().join(",")
}

/// Fields of each packet by tshark; `None` without tshark.
pub fn tshark(name: &str, capture: Capture, fields: &[&str], more: &[&str]) -> Option<Vec<Vec<String>>> {
    let scratch = Scratch::new(&format!("stp-{name}"));
    let path = scratch.0.join("stp.pcapng");
    std::fs::write(&path, capture.0.finish().unwrap()).unwrap();
    let dissector: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("../cli/src/wireshark/skystp.lua");
    let mut tshark = Command::new("tshark");
    // A home of its own: another version of the dissector may be installed in the user's.
    tshark.env("HOME", &scratch.0).env_remove("XDG_DATA_HOME").env_remove("XDG_CONFIG_HOME");
    tshark.arg("-X").arg(format!("lua_script:{}", dissector.display())).arg("-r").arg(&path).args(more);
    tshark.args(["-T", "fields", "-E", "separator=|", "-E", "occurrence=a"]);
    tshark.args(fields.iter().flat_map(|f| ["-e", f]));
    let Ok(out) = tshark.output() else {
        println!("skipped: tshark is not installed");
        return None;
    };
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    let told = String::from_utf8_lossy(&out.stderr);
    assert!(!told.to_lowercase().contains("lua"), "{told}");
    let text = String::from_utf8(out.stdout).unwrap();
    Some(text.lines().map(|line| line.split('|').map(str::to_owned).collect()).collect())
}
