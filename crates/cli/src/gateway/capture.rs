//! A capture of a gateway's associations in the clear: a pcapng file with the headers of IP and UDP that the packets had.
//!
//! Follows `skyhop_record::pcapng`, RFC 791, 8200 and 768. The gateway's own address is written as the unspecified one, at STP's port:
//! what the kernel has chosen is not known here.
//! Differs from tcpdump beside the gateway, whose packets are sealed: each is taken before it is sealed, or after it was opened.
//! Leaves out handshakes, which carry nothing of the users', and packets that were not of an association.

use crate::failure::Failure;
use skyhop_live::UDP_PORT;
use skyhop_live::engine::{PacketTap, TappedPacket};
use skyhop_record::PcapngWriter;
use skyhop_units::Bytes;
use std::fs::OpenOptions;
use std::io::BufWriter;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Bytes before packets in a file, roughly, and around each.
const BLOCK: u64 = 48;

/// A reader that writes `path`, which only its owner can read, until it is `most` bytes large.
pub fn tap(path: &Path, most: Bytes) -> Result<PacketTap, Failure> {
    let failed = |e: &dyn std::fmt::Display| Failure::Scenario(format!("--capture: {}: {e}", path.display()));
    let file = OpenOptions::new().create(true).truncate(true).write(true).mode(0o600).open(path);
    let file = file.map_err(|e| failed(&e))?;
    let interfaces = ["out", "in"].map(str::to_owned);
    let writer = PcapngWriter::new(BufWriter::new(file), &interfaces, None).map_err(|e| failed(&e))?;
    let (mut writer, mut written) = (Some(writer), 0);
    let path = path.to_owned();
    Ok(Box::new(move |tapped| {
        let Some(open) = &mut writer else { return };
        let bytes = datagram(tapped);
        written += bytes.len() as u64 + BLOCK;
        let interface = u32::from(!tapped.outgoing);
        let done = match written > most.get() {
            true => Some("is as large as it may be".to_owned()),
            false => open
                .packet(interface, tapped.at.as_nanos(), &bytes, bytes.len() as u32)
                .err()
                .map(|e| e.to_string()),
        };
        if let Some(why) = done {
            eprintln!("skyhop gateway: the capture ends: {} {why}", path.display());
            writer = None;
        }
    }))
}

/// A packet with the headers in front of it.
fn datagram(tapped: &TappedPacket<'_>) -> Vec<u8> {
    let own = match tapped.peer {
        SocketAddr::V4(_) => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
        SocketAddr::V6(_) => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
    };
    let own = SocketAddr::new(own, UDP_PORT);
    let (from, to) = if tapped.outgoing { (own, tapped.peer) } else { (tapped.peer, own) };
    let udp_len = 8 + tapped.packet.len() as u16;
    let mut udp = Vec::with_capacity(usize::from(udp_len));
    for field in [from.port(), to.port(), udp_len, 0] {
        udp.extend_from_slice(&field.to_be_bytes());
    }
    udp.extend_from_slice(tapped.packet);
    let octets = |ip: IpAddr| match ip {
        IpAddr::V4(v4) => v4.octets().to_vec(),
        IpAddr::V6(v6) => v6.octets().to_vec(),
    };
    let addresses = [octets(from.ip()), octets(to.ip())].concat();
    let pseudo = [&addresses[..], &[0, 17], &udp_len.to_be_bytes(), &udp[..]].concat();
    let sum = match checksum(&pseudo) {
        0 => 0xffff,
        sum => sum,
    };
    udp[6..8].copy_from_slice(&sum.to_be_bytes());
    let mut ip = match addresses.len() {
        8 => {
            let mut ip = vec![0x45, 0];
            ip.extend_from_slice(&(20 + udp_len).to_be_bytes());
            ip.extend_from_slice(&[0, 0, 0x40, 0, 64, 17, 0, 0]);
            ip
        }
        _ => {
            let mut ip = vec![0x60, 0, 0, 0];
            ip.extend_from_slice(&udp_len.to_be_bytes());
            ip.extend_from_slice(&[17, 64]);
            ip
        }
    };
    ip.extend_from_slice(&addresses);
    if addresses.len() == 8 {
        let sum = checksum(&ip);
        ip[10..12].copy_from_slice(&sum.to_be_bytes());
    }
    ip.extend_from_slice(&udp);
    ip
}

/// RFC 1071.
fn checksum(bytes: &[u8]) -> u16 {
    let sum: u32 = bytes
        .chunks(2)
        .map(|pair| u32::from(pair[0]) << 8 | pair.get(1).map_or(0, |low| u32::from(*low)))
        .sum();
    let folded = (sum & 0xffff) + (sum >> 16);
    !((folded & 0xffff) + (folded >> 16)) as u16
}
