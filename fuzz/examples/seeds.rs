//! Writes small valid inputs for the targets that chance would hardly meet: `cargo run --release --example seeds` in fuzz/.
//!
//! The values are those of the formats' own tests. seeds/scenario is the folder of examples.
//! Differs from a corpus: each stands for something that is reached, and is small.
//! Leaves out key pairs' meaning: the keys are drawn here and open nothing else.

use skyhop_live::associations::{Associations, Config, Event};
use skyhop_live::entropy::SystemEntropy;
use skyhop_live::keys::Keys;
use skyhop_live::seal::HEADER_LEN;
use skyhop_record::PcapngWriter;
use skyhop_routing::hypatia::{ForwardingState, Hypatia};
use skyhop_splice::preamble::{Carries, Destination, Preamble};
use skyhop_transport::stp::{self, Connection, Ends};
use skyhop_units::{Span, Time};
use skyhop_wire::{
    Echo, Ecn, Flags, Ip, Packet, SackBlocks, TcpHeader, Timestamps, TooLarge, Transport, Udp, Version, emit,
    emit_with,
};
use std::fs;
use std::net::{SocketAddr, SocketAddrV4};
use std::path::Path;
use std::sync::Arc;

const TLE: &str = "0 IRIDIUM 106\n\
    1 41917U 17003A   25280.46368645  .00000466  00000+0  15920-3 0  9997\n\
    2 41917  86.4038 194.1078 0002337  70.8062 289.3387 14.34217580456988\n";
/// A twelve-hour orbit, which SGP4 treats apart; of the verification vectors of Vallado (2006).
const DEEP: &str = "1 08195U 75081A   06176.33215444  .00000099  00000-0  11873-3 0   813\n\
    2 08195  64.1586 279.0717 6877146 264.7651  20.2257  2.00491383225656\n";
const OMM: &str = r#"[{"OBJECT_NAME": "IRIDIUM 106", "OBJECT_ID": "2017-003A", "EPOCH": "2025-10-07T11:07:42.509280",
"MEAN_MOTION": 14.34217580, "ECCENTRICITY": 0.0002337, "INCLINATION": 86.4038, "RA_OF_ASC_NODE": 194.1078,
"ARG_OF_PERICENTER": 70.8062, "MEAN_ANOMALY": 289.3387, "EPHEMERIS_TYPE": 0, "CLASSIFICATION_TYPE": "U",
"NORAD_CAT_ID": 41917, "ELEMENT_SET_NO": 999, "REV_AT_EPOCH": 45698, "BSTAR": 0.0001592,
"MEAN_MOTION_DOT": 4.66e-6, "MEAN_MOTION_DDOT": 0}]"#;
const OMM_CSV: &str = "OBJECT_NAME,OBJECT_ID,EPOCH,MEAN_MOTION,ECCENTRICITY,INCLINATION,RA_OF_ASC_NODE,ARG_OF_PERICENTER,\
    MEAN_ANOMALY,EPHEMERIS_TYPE,CLASSIFICATION_TYPE,NORAD_CAT_ID,ELEMENT_SET_NO,REV_AT_EPOCH,BSTAR,MEAN_MOTION_DOT,MEAN_MOTION_DDOT\n\
    IRIDIUM 106,2017-003A,2025-10-07T11:07:42.509280,14.34217580,.0002337,86.4038,194.1078,70.8062,289.3387,0,U,41917,999,45698,\
    .15920000E-3,.466E-5,0\n";

fn main() {
    write("tle", "three-lines.tle", TLE);
    write("tle", "deep-space.tle", DEEP);
    write("tle", "omm.json", OMM);
    write("tle", "omm.csv", OMM_CSV);
    write("distribution", "step", "\0500 1 0.25\n4000 1 0.5\n1000000 2 1\n");
    write("distribution", "line", "\x010.5 1 0\n2.5 1 0.5\n100 2 1\n");
    for choice in [0u8, 5, 10, 15] {
        let file =
            "t_s,rate_bps,delay_s,loss,bit_error_rate\n0,10e6,,,\n0.5,5e6,0.02,0.001,\n1,0,,,1e-6\n1.5,,,,\n";
        write("trace", &format!("choice-{choice}"), [&[choice], file.as_bytes()].concat());
    }
    hypatia();
    keys();
    capture();
    wire_packets();
    stp_packets();
    preambles();
    plans();
}

/// The preamble of a gateway's stream; the first byte is the size of the pieces in which it comes.
fn preambles() {
    let v4 = Destination::Address("192.0.2.7:443".parse().expect("an address"));
    let v6 = Destination::Address("[2001:db8::7]:443".parse().expect("an address"));
    let name = Destination::Name("a.example".into(), 80);
    let source = Some("10.1.0.9:50000".parse().expect("an address"));
    let seeds = [
        ("v4", Preamble { source, ..Preamble::to(v4.clone()) }),
        ("v6", Preamble { dscp: Some(46), ..Preamble::to(v6) }),
        ("name", Preamble::to(name)),
        ("datagrams", Preamble { source, dscp: Some(10), carries: Carries::Datagrams, ..Preamble::to(v4) }),
    ];
    for (file, preamble) in seeds {
        let mut bytes = vec![3];
        preamble.emit(&mut bytes);
        write("preamble", file, bytes);
    }
}

fn write(target: &str, name: &str, bytes: impl AsRef<[u8]>) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("seeds").join(target);
    fs::create_dir_all(&folder).expect("a folder");
    fs::write(folder.join(name), bytes).expect("a file");
}

fn hypatia() {
    let tles = "1 2\nKuiper-630 0\n1 00001U 00000ABC 00001.00000000  .00000000  00000-0  00000+0 0    04\n\
        2 00001  51.9000   0.0000 0000001   0.0000   0.0000 14.80000000    02\n\
        Kuiper-630 1\n1 00002U 00000ABC 00001.00000000  .00000000  00000-0  00000+0 0    05\n\
        2 00002  51.9000   0.0000 0000001   0.0000  10.0000 14.80000000    04\n";
    let stations = "0,Libreville,0.4,9.45,0.0\n1,Sao-Tome,0.33,6.73,0.0\n";
    let description = "max_gsl_length_m=1e7\nmax_isl_length_m=6000000\n";
    let network = Hypatia::read(tles, "0 1\n", stations, description).expect("sound");
    let state = ForwardingState::new(&network).step(0.0);
    let files = [tles, &network.isls_text(), &network.stations_text(), &network.description_text(), &state];
    write("hypatia", "two-satellites", files.join("\0"));
}

fn keys() {
    let path = std::env::temp_dir().join(format!("skyhop-seed-{}", std::process::id()));
    let mut file = |keys: &Keys| {
        let _ = fs::remove_file(&path);
        keys.write(&path).expect("a file");
        let bytes = fs::read(&path).expect("it is there");
        fs::remove_file(&path).expect("it was there");
        bytes
    };
    write("key_file", "shared", file(&Keys::Shared([7; 32].into())));
    let (Keys::Pair { private, .. }, public) = Keys::generate_pair() else { unreachable!("a pair") };
    let private = file(&Keys::Pair { private, peers: Vec::new() });
    write("key_file", "pair", [&private[..], &[0], format!("{public}\n").as_bytes()].concat());
}

/// Packets of an STP transfer, as bytes.
fn transfer() -> Vec<Vec<u8>> {
    let config = || stp::Config { packet_size: 200, base_size: 200, ..stp::Config::default() };
    let mut ends = [
        Connection::<bytes::Bytes>::connect(
            config(),
            Ends { local_port: 7, remote_port: 9, instance: 1234, count: 5 },
            (1 << 24) - 2,
        ),
        Connection::listen(config(), Ends { local_port: 9, remote_port: 0, instance: 0, count: 0 }, 9),
    ];
    ends[0].write(bytes::Bytes::from_static(&[b'x'; 700]));
    ends[0].shutdown();
    ends[1].shutdown();
    let (mut now, mut all) = (Time::ZERO, Vec::new());
    for _ in 0..40 {
        for end in 0..2 {
            while ends[end].poll_event().is_some() {}
            while ends[end].read(usize::MAX).is_some() {}
            ends[end].handle_timeout(now);
            while let Some(packet) = ends[end].poll_transmit(now) {
                let mut bytes = Vec::new();
                skyhop_wire::stp::emit(&packet, &mut bytes);
                all.push(bytes);
                // The third is lost: gaps and repeats.
                if all.len() != 3 {
                    ends[1 - end].handle_packet(now, &packet);
                }
            }
        }
        now += Span::from_millis(100);
    }
    all
}

fn stp_packets() {
    for (n, packet) in transfer().iter().enumerate().take(12) {
        write("stp_packet", &format!("transfer-{n:02}"), packet);
    }
}

fn ip(from: [u8; 4], to: [u8; 4], identification: u16) -> Ip {
    Ip { version: Version::V4, source: from.into(), destination: to.into(), identification, ttl: 64, ecn: Ecn::Capable0 }
}

/// A handshake, sealed packets and one that was altered, with the key log that opens them.
fn capture() {
    let (client, server) = (SocketAddr::from(([10, 0, 0, 1], 4000)), SocketAddr::from(([10, 0, 0, 2], 5000)));
    let now = Time::ZERO + Span::from_secs(1);
    let config = || Config { key_log: true, ..Config::new(Keys::Shared([7; 32].into())) };
    let mut hosts =
        [false, true].map(|accepts| Associations::new(now, Config { accepts, ..config() }, Arc::new(SystemEntropy)));
    let id = hosts[0].connect(now, server).expect("a key");
    let mut datagrams = Vec::new();
    for (host, from) in [(0, client), (1, server)] {
        let (_, mut bytes) = hosts[host].poll_transmit().expect("a first packet, and its answer");
        datagrams.push((host, bytes.clone()));
        hosts[1 - host].handle_datagram(now, from, &mut bytes);
    }
    let events = std::iter::from_fn(|| hosts[0].poll_event());
    let line = events.filter_map(|event| if let Event::Keys(line) = event { Some(line) } else { None });
    let line: String = line.collect();
    for (n, packet) in transfer().iter().enumerate().take(6) {
        let mut bytes = vec![0; HEADER_LEN];
        bytes.extend_from_slice(packet);
        hosts[0].get_mut(id).expect("it is open").seal(&mut bytes, 0);
        if n == 4 {
            bytes[HEADER_LEN + 3] ^= 1;
        }
        datagrams.push((0, bytes));
    }
    let mut pcapng = PcapngWriter::new(Vec::new(), &["link".into()], None).expect("memory");
    for (n, (host, payload)) in datagrams.iter().enumerate() {
        let [a, b] = [client, server].map(|address| match address {
            SocketAddr::V4(v4) => v4,
            SocketAddr::V6(_) => unreachable!("they are above"),
        });
        let (from, to): (SocketAddrV4, SocketAddrV4) = if *host == 0 { (a, b) } else { (b, a) };
        let udp = Udp { source_port: from.port(), destination_port: to.port() };
        let packet = Packet {
            ip: ip(from.ip().octets(), to.ip().octets(), n as u16),
            transport: Transport::Udp(udp),
            payload_len: payload.len() as u32,
        };
        let mut bytes = Vec::new();
        let len = emit_with(&packet, payload, usize::MAX, &mut bytes);
        pcapng.packet(0, n as u64 * 1_000_000, &bytes, len).expect("memory");
    }
    let file = pcapng.finish().expect("memory");
    write("capture", "sealed", [&[0], &file[..]].concat());
    write("capture", "opened", [&[1], line.trim_end().as_bytes(), &[b'\n', 0], &file[..]].concat());
}

fn wire_packets() {
    let tcp = |tcp: TcpHeader, payload_len| Packet {
        ip: ip([10, 0, 0, 1], [10, 0, 0, 2], 7),
        transport: Transport::Tcp(TcpHeader { source_port: 1, destination_port: 2, window: 999, ..tcp }),
        payload_len,
    };
    let stamps = Some(Timestamps { value: 5, echo: 4 });
    let mut sack = SackBlocks::default();
    sack.push(3000, 4000);
    sack.push(6000, 7000);
    let syn = tcp(
        TcpHeader {
            flags: Flags::SYN,
            mss: Some(1460),
            window_scale: Some(7),
            sack_permitted: true,
            timestamps: stamps,
            ..TcpHeader::default()
        },
        0,
    );
    let data = |seq, payload_len| {
        tcp(
            TcpHeader { flags: Flags::ACK, seq, ack: 9, timestamps: stamps, ..TcpHeader::default() },
            payload_len,
        )
    };
    let ack = tcp(TcpHeader { flags: Flags::ACK, seq: 1, ack: 2000, sack, ..TcpHeader::default() }, 0);
    let with =
        |transport, payload_len| Packet { ip: ip([10, 0, 0, 9], [10, 0, 0, 1], 8), transport, payload_len };
    let quoted = TooLarge::quoting(&data(1, 900), 576);
    let others = [
        with(Transport::Icmp(Echo { reply: false, identifier: 3, sequence: 4 }), 56),
        with(Transport::Icmp(Echo { reply: true, identifier: 3, sequence: 5 }), 56),
        with(Transport::TooLarge(quoted), 0),
        with(Transport::Udp(Udp { source_port: 53, destination_port: 7 }), 30),
    ];
    let all: Vec<Packet> =
        [syn, data(1, 100), data(101, 100), data(201, 100), ack].into_iter().chain(others).collect();
    write("wire_packet", "one-of-each", framed(&all));
    let of_v6 = |mut packet: Packet| {
        packet.ip.version = Version::V6;
        packet
    };
    let small = TooLarge::quoting(&of_v6(data(1, 300)), 1280);
    let all: Vec<Packet> = all
        .into_iter()
        .map(|packet| match packet.transport {
            Transport::TooLarge(_) => Packet { transport: Transport::TooLarge(small), ..of_v6(packet) },
            _ => of_v6(packet),
        })
        .collect();
    write("wire_packet", "one-of-each-v6", framed(&all));
}

/// Packets behind their lengths, which are counted in fours; what is padded is payload.
fn framed(packets: &[Packet]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for packet in packets {
        let mut one = Vec::new();
        emit(packet, usize::MAX, &mut one);
        one.resize(one.len().next_multiple_of(4), 0);
        bytes.push((one.len() / 4) as u8);
        bytes.extend(one);
    }
    bytes
}

/// Plans of conversations that come about: the handshake, data both ways, and the end.
fn plans() {
    for (name, last) in [("tcp-tcp", 0u8), ("stp-tcp", 8 + 1), ("tcp-stp", 16 + 2), ("stp-stp", 24 + 3)] {
        // A remainder of one by three is a spoofed connection.
        let last = if last % 3 == 1 { last | 64 } else { last };
        let arrive = |bytes: &mut Vec<u8>, times| {
            for _ in 0..times {
                bytes.extend([0, 16, 8, 24]);
            }
        };
        let mut bytes = vec![2, 60, 6, 60, 7, 60, 40, last];
        arrive(&mut bytes, 3);
        // Four kilobytes of the client's, 512 of the server's, then both are done.
        bytes.extend([7 | 4 << 5, 7 | 1 << 3 | 3 << 5]);
        arrive(&mut bytes, 10);
        bytes.extend([6 | 2 << 5, 7 | 5 << 5, 7 | 1 << 3 | 5 << 5]);
        arrive(&mut bytes, 6);
        write("splice", name, &bytes);
    }
    // Pairs of an event and its kind: connect, first packet and answer arrive, packets either way, a move, a question, a restart.
    let (to_second, to_first) = (128, 0);
    let opens = [2u8, 0, to_second, 0, to_first, 0];
    let talks = [to_second | 3, 0, to_second, 0, to_first | 3, 0, to_first, 0];
    let moves =
        [12, 1, to_second | 3, 0, to_second, 0, to_first, 0, to_second, 0, to_first | 3, 0, to_first, 0];
    let restarts = [14, 0, to_second | 3, 0, to_second, 0, to_first, 0, to_second, 0, to_first, 0, 11, 4];
    let asks = [to_second | 5, 4, 1, 0, 0, 1, to_second, 0, to_first, 0];
    for choice in [0u8, 1, 8, 16 + 2 + 4, 32 + 1] {
        // With a cookie there is a round trip more.
        let cookie = if choice & 8 != 0 { &opens[2..] } else { &[][..] };
        let all = [&[choice], &opens[..], cookie, &talks, &asks, &moves, &talks, &restarts, &talks].concat();
        write("associations", &format!("choice-{choice}"), all);
    }
}
