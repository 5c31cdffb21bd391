//! Ten thousand streams in an association, ten thousand associations: memory of each and at each end, and work when nothing happens.
//!
//! Follows docs/gateway.md, whose hosts are engines; two of them, and a path of 20 ms in virtual time.
//! Differs from a run of the gateway: memory is counted to the byte, and the time is the processor's.
//! Leaves out sockets.

#![allow(clippy::disallowed_methods, reason = "processor time is what is measured")]

#[path = "common/heap.rs"]
mod heap;
#[path = "common/path.rs"]
mod path;
#[path = "common/two.rs"]
mod two;

use bytes::Bytes;
use heap::Heap;
use path::{Path, address};
use skyhop_live::engine::Event;
use skyhop_transport::stp::TrunkEvent;
use skyhop_units::Span;
use std::sync::{Mutex, MutexGuard};

/// One at a time: memory is that of the process.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(|p| p.into_inner())
}

/// Time of this thread's processor, seconds.
fn cpu() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the structure is filled in.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

#[test]
fn ten_thousand_streams_take_three_kilobytes_each_and_end() {
    let _alone = alone();
    let mut path = Path::new(|config| (config.budgets.streams, config.memory) = (20_000, 4 << 30));
    path.ends[0].connect(path.now, address(1)).unwrap();
    path.run(Span::from_secs(2));
    let (client, server) = (path.up(0)[0], path.up(1)[0]);
    path.events.iter_mut().for_each(Vec::clear);
    let heap = Heap::now();
    let begin = cpu();
    let mut ids = Vec::new();
    for _ in 0..100 {
        for _ in 0..100 {
            let trunk = path.ends[0].trunk(client).unwrap();
            let id = trunk.open(Default::default()).unwrap();
            assert!(trunk.write(id, Bytes::copy_from_slice(&[7; 100])).is_none());
            ids.push(id);
        }
        path.run(Span::from_millis(20));
        // The server reads, and answers as much.
        for event in std::mem::take(&mut path.events[1]) {
            if let Event::Stream(_, TrunkEvent::Received(id, _)) = event {
                let trunk = path.ends[1].trunk(server).unwrap();
                while trunk.read(id, usize::MAX).is_some() {}
                assert!(trunk.write(id, Bytes::copy_from_slice(&[8; 100])).is_none());
            }
        }
    }
    path.run(Span::from_secs(2));
    let opening = cpu() - begin;
    let trunk = path.ends[0].trunk(client).unwrap();
    for &id in &ids {
        assert_eq!(trunk.readable(id), 100);
        while trunk.read(id, usize::MAX).is_some() {}
    }
    path.run(Span::from_secs(2));
    path.events.iter_mut().for_each(|events| *events = Vec::new());
    assert_eq!(path.ends[1].link(server).unwrap().trunk.streams(), 10_000);
    let each = heap.growth() / 20_000;
    // An idle minute: keep-alives and their answers, whatever the number of streams.
    let (before, begin) = (path.packets, cpu());
    path.run(Span::from_secs(60));
    let (idle_packets, idle) = (path.packets - before, cpu() - begin);
    println!(
        "10,000 streams: {each} bytes each and end; opened and answered in {opening:.2} s of processor time; an idle minute: \
         {idle_packets} packets, {:.2} ms",
        idle * 1e3
    );
    assert!((200..=3000).contains(&each), "{each} bytes");
    assert!(opening < 10.0, "{opening} s: fewer than 1,000 a second");
    assert!(idle_packets <= 40 && idle < 0.05, "{idle_packets} packets, {idle} s");
}

#[test]
fn ten_thousand_associations_take_twelve_kilobytes_each() {
    let _alone = alone();
    let mut path = Path::new(|config| {
        (config.memory, config.stp.window) = (4 << 30, 128 << 10);
        (config.budgets.streams, config.budgets.datagram_window) = (32, 8 << 10);
        // Their answers come from one address, which has read them.
        (config.associations.cookie_above, config.associations.half_open_max) = (1_000_000, 20_000);
    });
    let heap = Heap::now();
    let begin = cpu();
    for n in 0..10_000 {
        path.ends[0].connect(path.now, address(1)).unwrap();
        if n % 100 == 99 {
            path.run(Span::from_millis(50));
        }
    }
    path.run(Span::from_secs(3));
    assert_eq!((path.up(0).len(), path.up(1).len()), (10_000, 10_000));
    let opening = cpu() - begin;
    path.events.iter_mut().for_each(|events| *events = Vec::new());
    path.under_way.shrink_to_fit();
    let each = heap.growth() / 20_000;
    let (before, begin) = (path.packets, cpu());
    path.run(Span::from_secs(60));
    let (packets, idle) = (path.packets - before, cpu() - begin);
    println!(
        "10,000 associations: {each} bytes each and end; opened in {opening:.1} s of processor time; an idle minute: {packets} packets, \
         {idle:.2} s"
    );
    assert!((1000..=12_000).contains(&each), "{each} bytes");
    // A question and an answer of each end every 15 s, at most 50 us each.
    assert!(packets <= 10_000 * 4 * 4 + 1000 && idle < packets as f64 * 50e-6, "{packets} packets, {idle} s");
}
