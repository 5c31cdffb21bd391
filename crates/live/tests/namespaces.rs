//! STP between two network namespaces, over a relay that delays, drops, repeats, disorders and alters packets.
//!
//! The path: 100 Mbit/s, round trip 600 ms, a queue of one bandwidth-delay product; 1 % lost, 0.1 % twice, 1 % out of order, 1 %
//! altered, both ways. Parity: the same scenario simulated, where what is altered is lost. Differs: real time, so a machine that
//! is too busy to relay in time proves nothing, and says so. Leaves out what needs no path, which `streams` has.

mod common {
    pub mod relay;
}

use common::relay::{Net, Path, ip};
use ring::digest::{Context, SHA256, digest};
use skyhop_live::associations::Config;
use skyhop_live::keys::Keys;
use skyhop_live::{Endpoint, Options, Security};
use skyhop_sim::Simulation;
use skyhop_sim::results::FlowKind;
use std::io::Read;
use std::net::{Shutdown, SocketAddr};
use std::sync::atomic::Ordering;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

const PATH: Path = Path {
    rate_bps: 100e6,
    delay: Duration::from_millis(300),
    queue_bytes: 7.5e6,
    lost: 0.01,
    duplicated: 0.001,
    reordered: 0.01,
    corrupted: 0.01,
};
const BYTES: usize = 100_000_000;

fn net(seed: u64) -> Option<Net> {
    match Net::new(PATH, seed) {
        Ok(net) => Some(net),
        Err(e) => {
            println!("skipped: no network namespaces here: {e} (root is needed, and iproute2)");
            None
        }
    }
}

fn options(keys: &Keys) -> Options {
    let mut options = Options::new(Security::Sealed(Box::new(Config::new(keys.clone()))));
    // As in the simulated path: the size of packets is known.
    options.mtu_base = None;
    options
}

/// Bytes that no two places share.
fn pattern() -> Vec<u8> {
    let mut state = 1_u64;
    let mut word = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state.to_be_bytes()
    };
    std::iter::repeat_with(&mut word).flatten().take(BYTES).collect()
}

/// Sends the bytes over a net; returns the seconds from connect to the last byte acknowledged.
fn transfer(net: &Net) -> f64 {
    let keys = Keys::generate_shared();
    let (server_options, client_options) = (options(&keys), options(&keys));
    let server = net.server;
    let far_end = net.right(move || Endpoint::bind(server, server_options)).unwrap();
    let near_end = net.left(move || Endpoint::bind(SocketAddr::from(([0; 4], 0)), client_options)).unwrap();
    let data = pattern();
    let expected = digest(&SHA256, &data);
    let (tell, told) = mpsc::channel();
    let listener = far_end.listen();
    let receiver = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        let (mut hash, mut total, mut buffer) = (Context::new(&SHA256), 0, vec![0; 1 << 18]);
        loop {
            match stream.read(&mut buffer).unwrap() {
                0 => break,
                n => {
                    hash.update(&buffer[..n]);
                    total += n;
                }
            }
        }
        tell.send((total, hash.finish())).unwrap();
        stream.finish(Some(Duration::from_secs(60))).unwrap();
    });
    let stream = near_end.connect(net.far).unwrap();
    let begin = Instant::now();
    stream.write_bytes(bytes::Bytes::from(data)).unwrap();
    stream.shutdown(Shutdown::Write).unwrap();
    // As the simulation counts: to the last byte acknowledged, and not to the END behind it.
    while stream.stats().acknowledged < BYTES as u64 {
        assert!(begin.elapsed() < Duration::from_secs(120), "{:?}", stream.stats());
        thread::sleep(Duration::from_millis(5));
    }
    let seconds = begin.elapsed().as_secs_f64();
    stream.finish(Some(Duration::from_secs(30))).unwrap();
    let (total, found) = told.recv().unwrap();
    assert_eq!(total, BYTES);
    assert_eq!(found.as_ref(), expected.as_ref(), "intact");
    receiver.join().unwrap();

    let stats = stream.stats();
    let counters = far_end.counters().unwrap();
    let done = &net.done;
    let count = |counter: &std::sync::atomic::AtomicU64| counter.load(Ordering::Relaxed);
    println!(
        "{seconds:.2} s, {:.1} Mbit/s; {} of {} data packets again, {} bytes came back; relay: {done:?}; receiver: {counters:?}",
        BYTES as f64 * 8e-6 / seconds,
        stats.stp.packets_retransmitted,
        stats.stp.packets_sent,
        stats.traffic.bytes_received,
    );
    assert_eq!(stats.acknowledged, BYTES as u64);
    // The relay has done what it is for, and every packet that it has altered or repeated was noticed.
    for done in [&done.lost, &done.corrupted, &done.reordered, &done.duplicated] {
        assert!(count(done) > 20);
    }
    let altered =
        counters.forged + counters.unknown + counters.garbage + counters.too_old + counters.replayed;
    let expected = count(&done.corrupted) + count(&done.duplicated);
    assert!(altered > expected * 8 / 10 && altered < expected * 11 / 10, "{altered} of {expected}");
    seconds
}

/// The same path and transfer, simulated.
fn simulated(seed: u64) -> f64 {
    // A sealed packet is 28 bytes longer than the simulated one: the link is slower by as much.
    let text = r#"
        duration = "120 s"
        [links.satellite]
        rate = "98.133333 Mbit/s"
        delay = "300 ms"
        queue = { kind = "drop-tail", limit = "7500000 B" }
        loss = { kind = "packets", probability = 0.0199 }
        [[flows]]
        name = "transfer"
        path = ["server", "satellite", "user"]
        transport = { kind = "stp", packet_size = "1444 B", granularity = "1 ms" }
        traffic = { kind = "bulk", size = "100 MB" }
        "#;
    let loaded =
        skyhop_scenario::parse(text.as_bytes(), "parity.toml", &[]).unwrap_or_else(|e| panic!("{e}"));
    let mut simulation = Simulation::new(&loaded.scenario, &loaded.files, seed).unwrap();
    simulation.without_series();
    simulation.run_until(simulation.end());
    let result = simulation.finish();
    let FlowKind::Transfer(transfer) = &result.flows[0].kind else { panic!("a transfer") };
    assert_eq!(transfer.bytes_delivered, BYTES as u64);
    transfer.completed_s.expect("it completes")
}

#[test]
fn a_hundred_megabytes_arrive_intact_and_as_fast_as_simulated() {
    let mut seeds: Vec<f64> = (1..=5).map(simulated).collect();
    seeds.sort_by(f64::total_cmp);
    let expected = seeds[2];
    println!("simulated: {seeds:.2?} s, median {expected:.2}");
    let mut measured = Vec::new();
    for attempt in 0..3 {
        let Some(net) = net(attempt) else { return };
        let seconds = transfer(&net);
        let done = &net.done;
        let (late, all) = (done.late.load(Ordering::Relaxed), done.forwarded.load(Ordering::Relaxed));
        let ratio = expected / seconds;
        println!("goodput {ratio:.3} of the simulated; {late} of {all} packets relayed late");
        if (0.9..=1.1).contains(&ratio) {
            return;
        }
        measured.push((ratio, late * 100 > all));
    }
    if measured.iter().all(|(_, late)| *late) {
        println!("skipped: this machine is too busy to relay packets in time: {measured:?}");
        return;
    }
    panic!("goodput differs from the simulated by more than 10 % in each of three runs: {measured:?}");
}

#[test]
fn an_interface_that_is_too_narrow_is_named() {
    let Some(net) = net(9) else { return };
    let keys = Keys::generate_shared();
    let (server_options, client_options) = (options(&keys), options(&keys));
    let server = net.server;
    let far_end = net.right(move || Endpoint::bind(server, server_options)).unwrap();
    let _listener = far_end.listen();
    let near_end = net.left(move || {
        ip("link set eth0 mtu 1400").unwrap();
        Endpoint::bind(SocketAddr::from(([0; 4], 0)), client_options)
    });
    let stream = near_end.unwrap().connect(net.far).unwrap();
    stream.write_bytes(bytes::Bytes::from(vec![0; 100_000])).unwrap();
    let e = stream.finish(Some(Duration::from_secs(30))).unwrap_err();
    assert_eq!(
        e.to_string(),
        "packets of 1500 bytes are larger than this host's interface carries: use a smaller --mtu"
    );
    // Who searches finds what the path carries.
    let mut searching = options(&keys);
    searching.mtu_base = Some(1280);
    let near_end = net.left(move || Endpoint::bind(SocketAddr::from(([0; 4], 0)), searching)).unwrap();
    let stream = near_end.connect(net.far).unwrap();
    stream.write_bytes(bytes::Bytes::from(vec![0; 100_000])).unwrap();
    stream.finish(Some(Duration::from_secs(30))).unwrap();
}
