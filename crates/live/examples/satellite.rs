//! A transfer between two namespaces over the tests' relay: 100 Mbit/s, 600 ms, and everything that may happen to packets.
//!
//! Follows `tests/namespaces.rs`, whose path, relay and simulation it uses; `bench/stp.py` runs it with a gigabyte.
//! Differs: the size is an argument, and the result a line of JSON.
//! Leaves out a verdict.

#[path = "../tests/common/lane.rs"]
mod lane;
#[path = "../tests/common/namespace.rs"]
mod namespace;
#[path = "../tests/common/relay.rs"]
mod relay;
#[path = "../tests/common/simulated.rs"]
mod simulated;
#[path = "../tests/common/transfer.rs"]
mod transfer;

fn main() {
    let mut args = std::env::args().skip(1).map(|arg| arg.parse().expect("numbers: bytes and seed"));
    let bytes = args.next().unwrap_or(100_000_000);
    let seed = args.next().unwrap_or(1);
    let net = match relay::Net::new(relay::PATH, seed as u64) {
        Ok(net) => net,
        Err(e) => {
            eprintln!("no network namespaces here: {e} (root is needed, and iproute2)");
            std::process::exit(1);
        }
    };
    let outcome = transfer::transfer(&net, bytes);
    let overflown: u64 = net.done.lock().expect("the relay").iter().map(|way| way.packets_dropped).sum();
    let relay_late = net.stop();
    let simulated_s = (1..=3).map(|seed| simulated::simulated(bytes, seed)).sum::<f64>() / 3.0;
    let transfer::Outcome { seconds, stats, receiver, lateness, curve } = outcome;
    let curve: Vec<String> = curve.iter().map(|(pace, acked)| format!("[{pace:.2}, {acked:.2}]")).collect();
    println!(
        "{{\"bytes\": {bytes}, \"duration_s\": {seconds:.3}, \"simulated_s\": {simulated_s:.3}, \"packets_sent\": {}, \
         \"packets_retransmitted\": {}, \"return_bytes\": {}, \"opened\": {}, \"forged\": {}, \"replayed\": {}, \
         \"overflown\": {overflown}, \"relay_late_s\": {:.6}, \"timers_late_s\": [{:.6}, {:.6}], \"pace_mbps_and_mb\": [{}]}}",
        stats.stp.packets_sent,
        stats.stp.packets_retransmitted,
        stats.traffic.bytes_received,
        receiver.opened,
        receiver.forged,
        receiver.replayed,
        relay_late.as_secs_f64(),
        lateness[0].worst.as_secs_f64(),
        lateness[1].worst.as_secs_f64(),
        curve.join(", "),
    );
}
