//! The way of datagrams through an association, by their size and by what waits.
//!
//! Follows docs/gateway.md: one that fits no packet goes in the stream, of which at most 128 kB may wait.
//! Leaves out the queue of datagrams, which `skyhop_transport` tests.

use bytes::Bytes;
use skyhop_splice::datagrams::{DatagramLoad, DatagramWay, send_datagram};
use skyhop_splice::gateway::budgets;
use skyhop_transport::stp::{Class, Config, Ends, Trunk};
use skyhop_units::Time;

#[test]
fn empty_and_large_ones_go_in_the_stream_until_too_much_waits_there() {
    let ends = Ends { local_port: 49_152, remote_port: 57_824, instance: 1, count: 1 };
    let mut trunk: Trunk<Bytes> = Trunk::connect(Config::default(), budgets(4 << 20, 100), ends, 5);
    let id = trunk.open(Class::default()).unwrap();
    let mut load = DatagramLoad::default();
    let mut send = |len: usize| {
        let framed = || [&(len as u16).to_be_bytes()[..], &vec![7; len]].concat().into();
        let way = send_datagram(Time::ZERO, &mut load, &mut trunk, id, vec![7; len].into(), framed);
        (way, trunk.unsent(id))
    };
    assert_eq!(send(100), (DatagramWay::Datagram, 0));
    assert_eq!(send(0), (DatagramWay::Stream, 2));
    assert_eq!(send(3000), (DatagramWay::Stream, 3004));
    assert_eq!(send(65_000), (DatagramWay::Stream, 68_006));
    assert_eq!(send(65_000), (DatagramWay::Stream, 133_008), "less than 128 KiB waited before");
    assert_eq!(send(3000), (DatagramWay::Refused, 133_008));
    assert_eq!(send(0), (DatagramWay::Refused, 133_008));
    assert_eq!(send(100), (DatagramWay::Datagram, 133_008), "a datagram does not wait for them");
    let datagrams = trunk.stats().datagrams;
    assert_eq!((datagrams.written, datagrams.late), (2, 0));
}
