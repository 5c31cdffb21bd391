//! The ECN field on real sockets, and in the packets of an association.
//!
//! Follows docs/stp.md §6.5 and RFC 3168 §5.
//! Leaves out the reaction to marks, which `stp_marks` of `transport` has.

#![allow(clippy::disallowed_methods, reason = "a socket is waited for")]

#[path = "common/path.rs"]
mod path;
#[path = "common/two.rs"]
mod two;

use path::{Path, address};
use skyhop_live::socket::{Carrier, Part, Socket};
use skyhop_transport::stp::Class;
use skyhop_units::Span;
use skyhop_wire::Ecn;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

/// Both families, one datagram and a run of several: what is sent as ECN-capable arrives so, and all else does not.
#[test]
fn the_field_passes_the_kernel() {
    for any in ["127.0.0.1:0", "[::1]:0"] {
        let bind = || Socket::bind(Carrier::Udp, any.parse::<SocketAddr>().unwrap(), 1 << 20);
        let (Ok(here), Ok(mut there)) = (bind(), bind()) else {
            println!("skipped: no {any} here");
            continue;
        };
        let bytes = [7; 3000];
        for (capable, end, expected) in
            [(true, 1000, Ecn::Capable0), (false, 1000, Ecn::NotCapable), (true, 3000, Ecn::Capable0)]
        {
            if end > 1000 && here.segments_max() < 3 {
                continue;
            }
            let to = there.local_addr();
            let part = Part { to, from: None, start: 0, end, segment: 1000, fragments: false, capable };
            here.send(&bytes, &part).unwrap();
            let (mut heard, begin) = (0, Instant::now());
            while heard < end && begin.elapsed() < Duration::from_secs(5) {
                for run in 0..there.receive().unwrap() {
                    assert_eq!(there.field(run), expected, "{any} {end}");
                    heard += there.received(run).2.map(|datagram| datagram.len()).sum::<usize>();
                }
            }
            assert_eq!(heard, end, "{any}");
        }
    }
}

/// Data of an association are ECN-capable, hellos and answers are not, and a path that erases the field ends that.
#[test]
fn data_of_an_association_are_capable() {
    for erases in [false, true] {
        let mut path = Path::new(|_| ());
        path.erases = erases;
        path.ends[0].connect(path.now, address(1)).expect("room");
        path.run(Span::from_secs(3));
        let id = path.up(0)[0];
        let before = (path.packets, path.capable);
        let trunk = path.ends[0].trunk(id).expect("open");
        let stream = trunk.open(Class::default()).expect("room");
        assert!(trunk.write(stream, vec![1; 200_000].into()).is_none());
        path.run(Span::from_secs(5));
        let (sent, capable) = (path.packets - before.0, path.capable - before.1);
        println!("{capable} of {sent} packets");
        let link = path.ends[0].link(id).expect("open");
        assert_eq!((link.trunk.unacknowledged(stream), link.trunk.is_ecn_capable()), (0, !erases));
        let bounds = if erases { 0..60 } else { 140..180 };
        assert!(bounds.contains(&capable) && capable < sent, "{capable} of {sent}");
    }
}
