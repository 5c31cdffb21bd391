//! The limits of flows, determined at the end of a run: bottlenecks, and warnings of buffers that are too small for the path.
//!
//! Follows the rule that a window must hold the product of rate and round-trip time, and the contents of the bottleneck's queue.
//! Differs from the check of a scenario, which does not know the outcome.
//! Leaves out causes, which the transports find.

use crate::endpoint::EndProtocol;
use crate::flow::{App, FlowState};
use skyhop_network::Network;
use skyhop_results::{Cause, FlowKind, FlowResult};
use skyhop_scenario::check::about;
use skyhop_traffic::{Application, End};
use skyhop_units::{Amount, Time};

/// Links whose busy times differ by less than this share count as equally busy.
const EQUALLY_BUSY: f64 = 0.01;
/// Share of a transfer's time that a buffer may limit it before a warning is given.
const WORTH_A_WARNING: f64 = 1.0 / 3.0;
/// Busy share from which a bottleneck counts as used: a buffer that limits a sender there only keeps the queue short.
const USED: f64 = 0.75;

/// Results of the flows with their bottlenecks; warnings about their buffers are appended to `warnings`.
pub(crate) fn flow_results(
    flows: &[FlowState],
    network: &Network,
    end: Time,
    warnings: &mut Vec<String>,
) -> Vec<FlowResult> {
    let result = |flow: &FlowState| flow.result(end, &network.account(flow.account));
    let mut results: Vec<_> = flows.iter().map(result).collect();
    for (flow, result) in flows.iter().zip(&mut results) {
        let wire = bottleneck(flow, network, end);
        if let (Some(limits), Some(wire)) = (&mut result.limits, wire) {
            limits.bottleneck = Some(network.link_name(wire).to_owned());
            warnings.extend(too_small(flow, network, result, wire, end));
        }
    }
    results
}

/// The busiest wire on a flow's path in the direction of its data; of equally busy ones, that with the longest queue.
fn bottleneck(flow: &FlowState, network: &Network, end: Time) -> Option<u32> {
    let App::Stream(stream) = &flow.app else { return None };
    let against = u32::from(stream.conversations.senders() == [End::Server]);
    let wires = flow.routes.clone().flat_map(|route| network.wires_of(route));
    let all: Vec<_> = wires.map(|wire| wire ^ against).collect();
    let all: Vec<_> = all.into_iter().map(|wire| (wire, network.direction_result(wire, end))).collect();
    let most = all.iter().map(|(_, result)| result.utilisation).fold(0.0, f64::max);
    let busiest = all.iter().filter(|(_, r)| r.utilisation > 0.0 && r.utilisation >= most - EQUALLY_BUSY);
    let busiest = busiest.max_by_key(|(wire, r)| (r.queue_max_packets, std::cmp::Reverse(*wire)));
    busiest.map(|(wire, _)| *wire)
}

/// Warning for a bulk flow whose buffer was too small for its path.
fn too_small(
    flow: &FlowState,
    network: &Network,
    result: &FlowResult,
    wire: u32,
    end: Time,
) -> Option<String> {
    let (App::Stream(stream), FlowKind::Transfer(transfer)) = (&flow.app, &result.kind) else {
        return None;
    };
    let limits = result.limits.as_ref()?;
    let often = |cause: &Cause| limits.share(*cause).is_some_and(|share| share > WORTH_A_WARNING);
    let cause = [Cause::ReceiveWindow, Cause::SendBuffer].into_iter().find(often)?;
    // The leg beyond may close the window of this leg.
    if flow.legs() > 1 {
        return None;
    }
    if network.direction_result(wire, end).utilisation >= USED {
        return None;
    }
    let sends = cause == Cause::SendBuffer;
    let (key, size, packet) = match stream.conversations.protocol(sends) {
        // For a buffer that tunes itself, its maximum is the limit.
        EndProtocol::Tcp(tcp) => {
            let (key, first, most) = match sends {
                true => ("send_buffer", tcp.send_buffer, tcp.send_buffer_max),
                false => ("window", tcp.window, tcp.window_max),
            };
            let key = if most > first { format!("{key}_max") } else { key.to_owned() };
            (key, first.max(most), u64::from(tcp.mss + tcp.headers()))
        }
        EndProtocol::Stp(stp, _) => {
            ("window".to_owned(), stp.window, u64::from(stp.packet_size + stp.overhead))
        }
    };
    let (rate, queue) = network.capacity(wire);
    let product = rate.as_bps() as f64 / 8.0 * transfer.rtt_min_s?;
    let queue = match queue {
        Amount::Packets(packets) => packets.saturating_mul(packet) as f64,
        Amount::Bytes(bytes) => bytes.get() as f64,
    };
    // A larger queue only lengthens waiting. Parallel connections fill the path together.
    let Application::Bulk(bulk) = &stream.application else { return None };
    let enough = (product + queue.min(product)) / f64::from(bulk.connections());
    if enough <= size as f64 {
        return None;
    }
    Some(format!(
        "flow {} was held up by its {} of {} for more than a third of its time; the path holds {}: write transport.{key} = \
         \"{}\"",
        result.name,
        cause.name().replace('_', " "),
        about(size),
        about(product as u64),
        up_to_two_digits(enough)
    ))
}

/// A size rounded up to two significant digits, in the units of a scenario.
fn up_to_two_digits(bytes: f64) -> String {
    let step = 10f64.powf(bytes.max(10.0).log10().floor() - 1.0);
    let bytes = (bytes / step - 1e-9).ceil() * step;
    let (scale, unit) = match bytes {
        b if b >= 999.5e6 => (1e9, "GB"),
        b if b >= 999.5e3 => (1e6, "MB"),
        b if b >= 999.5 => (1e3, "kB"),
        _ => (1.0, "B"),
    };
    let value = bytes / scale;
    if value < 9.95 && scale > 1.0 { format!("{value:.1} {unit}") } else { format!("{value:.0} {unit}") }
}

#[cfg(test)]
mod tests {
    use super::up_to_two_digits;

    #[test]
    fn sizes_are_rounded_up_to_two_digits_that_a_scenario_takes() {
        let sizes = [10.0, 999.0, 1000.0, 64_001.0, 256_000.0, 999_999.0, 3_750_000.0, 150e6, 2.01e9];
        let texts = sizes.map(up_to_two_digits);
        assert_eq!(
            texts,
            ["10 B", "1.0 kB", "1.0 kB", "65 kB", "260 kB", "1.0 MB", "3.8 MB", "150 MB", "2.1 GB"]
        );
        for (text, bytes) in texts.iter().zip(sizes) {
            let read: skyhop_units::Bytes = text.parse().unwrap();
            assert!(read.get() as f64 >= bytes && read.get() as f64 <= 1.1 * bytes, "{text}: {bytes}");
        }
    }
}
