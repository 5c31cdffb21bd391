//! Configurations of the endpoints from a scenario's transport, field by field.

use crate::endpoint::EndProtocol;
use crate::stp::StpCarrier;
use skyhop_scenario as scenario;
use skyhop_transport::stp;
use skyhop_transport::tcp::{Config, DelayedAck, Increase, Open, Saved};
use skyhop_wire::Version;
use skyhop_wire::stp::Features;

/// Protocols of the two ends of a flow's connections: the flow's own, unless a splice next to an end uses another protocol with it.
pub(crate) fn protocols<'a>(
    flow: &scenario::Flow,
    mut splices: impl DoubleEndedIterator<Item = (&'a scenario::Splice, Option<usize>)> + Clone,
) -> [EndProtocol; 2] {
    let with = |splice: Option<(&scenario::Splice, Option<usize>)>, side: usize| match splice
        .map(|(splice, inner)| splice.transports(&flow.transport, inner)[side])
    {
        Some(other) if other.kind() != flow.transport.kind() => protocol(other, flow.ip),
        _ => protocol(&flow.transport, flow.ip),
    };
    [with(splices.clone().next(), 0), with(splices.next_back(), 1)]
}

/// Protocol and configuration of a scenario's transport. Streams over UDP are refused by the scenario's checks.
pub(crate) fn protocol(transport: &scenario::Transport, ip: scenario::Ip) -> EndProtocol {
    match transport {
        scenario::Transport::Tcp(keys) => EndProtocol::Tcp(Box::new(tcp(keys, ip))),
        scenario::Transport::Stp(keys) => {
            EndProtocol::Stp(Box::new(stp(keys, ip)), StpCarrier { over: keys.over(), ip: version(ip) })
        }
        scenario::Transport::Udp => EndProtocol::Tcp(Box::default()),
    }
}

/// The version of the network layer.
pub(crate) fn version(ip: scenario::Ip) -> Version {
    match ip {
        scenario::Ip::V4 => Version::V4,
        scenario::Ip::V6 => Version::V6,
    }
}

/// The configuration of both ends of a TCP connection.
pub fn tcp(tcp: &scenario::Tcp, ip: scenario::Ip) -> Config {
    let mss = tcp.mss.get();
    Config {
        variant: tcp.variant,
        recovery: tcp.recovery,
        ip: version(ip),
        mss: mss as u32,
        path_mtu: tcp.path_mtu,
        // The route has this parameter.
        link_mtu: None,
        window: tcp.window.in_bytes(mss),
        window_max: tcp.window_max.in_bytes(mss),
        send_buffer: tcp.send_buffer.map_or(u64::MAX, |buffer| buffer.in_bytes(mss)),
        send_buffer_max: tcp.send_buffer_max.map_or(u64::MAX, |buffer| buffer.in_bytes(mss)),
        initial_window: tcp.initial_window.in_bytes(mss),
        initial_ssthresh: tcp.initial_ssthresh.map(|s| s.in_bytes(mss)),
        dupack_threshold: tcp.dupack_threshold,
        adaptive_reordering: tcp.adaptive_reordering,
        limited_transmit: tcp.limited_transmit,
        burst_after_recovery: tcp.burst_after_recovery,
        recovery_burst: tcp.recovery_burst,
        increase: match tcp.increase {
            scenario::Increase::One => Increase::One,
            scenario::Increase::By { segments } => Increase::By(segments),
            scenario::Increase::ConstantRate { c } => Increase::ConstantRate(c),
        },
        byte_counting: tcp.byte_counting,
        linux_windows: tcp.host == scenario::Host::Linux,
        hystart: tcp.hystart,
        rate_reduction: tcp.rate_reduction,
        undo: tcp.undo,
        quick_acks: tcp.quick_acks,
        validate_window: tcp.validate_window,
        rto_variation_min: tcp.rto_variation_min,
        pacing: tcp.pacing,
        ecn: tcp.ecn,
        open: match tcp.open {
            scenario::Open::Handshake => Open::Handshake,
            scenario::Open::TTcp { known } => Open::Transactions { known },
            scenario::Open::FastOpen { known } => Open::FastOpen { known },
        },
        after_idle: tcp.after_idle,
        share: tcp.share,
        ack_congestion: tcp.ack_congestion,
        resume: tcp.resume.map(|saved| Saved { rtt: saved.rtt, cwnd: saved.window.in_bytes(mss) }),
        timestamps: tcp.timestamps,
        sack_blocks: tcp.sack_blocks,
        dsack: tcp.dsack,
        delayed_ack: match tcp.delayed_ack {
            scenario::DelayedAck::None => DelayedAck::None,
            scenario::DelayedAck::OneShot { timeout } => DelayedAck::OneShot(timeout),
            scenario::DelayedAck::Adaptive { least, most } => DelayedAck::Adaptive { least, most },
            scenario::DelayedAck::Heartbeat { period } => DelayedAck::Heartbeat(period),
        },
        ack_every: tcp.ack_every,
        ack_division: tcp.ack_division,
        ack_gap_fillers: tcp.ack_gap_fillers,
        avoid_multiple_fast_retransmits: tcp.avoid_multiple_fast_retransmits,
        silly_window_avoidance: tcp.silly_window_avoidance,
        grow_unused: tcp.grow_unused,
        precise_halving: tcp.precise_halving,
        halve_flight: tcp.halve_flight,
        overhead: tcp.overhead,
        rto_initial: tcp.rto_initial,
        rto_min: tcp.rto_min,
        rto_max: tcp.rto_max,
        rto_granularity: tcp.rto_granularity,
        rto_tick: tcp.rto_tick,
    }
}

/// The configuration of both ends of an STP connection.
pub fn stp(keys: &scenario::Stp, ip: scenario::Ip) -> stp::Config {
    let base = if keys.plain() { stp::Config::plain() } else { stp::Config::default() };
    let payload = keys.max_payload();
    let features = if keys.ecn() { base.features.with(Features::ECN) } else { base.features };
    stp::Config {
        features,
        packet_size: keys.packet_size().get() as u32,
        overhead: keys.headers_beneath(ip) as u32,
        window: keys.window.in_bytes(payload),
        congestion: keys.congestion(),
        initial_window: keys.initial_window.map_or_else(
            || base.initial_window / u64::from(base.max_payload()) * payload,
            |window| window.in_bytes(payload),
        ),
        initial_credit: keys.initial_credit,
        initial_ssthresh: keys.initial_ssthresh.map(|ssthresh| ssthresh.in_bytes(payload)),
        min_rate: keys.min_rate,
        max_rate: keys.max_rate,
        spread: keys.spread,
        granularity: keys.granularity,
        polls_per_rtt: keys.polls_per_rtt,
        poll_threshold: keys.poll_threshold,
        poll_interval_min: keys.poll_interval_min.unwrap_or(base.poll_interval_min),
        ustat_threshold: keys.ustat_threshold,
        ustat_delay: keys.ustat_delay.unwrap_or(base.ustat_delay),
        reordering_delay: keys.reordering_delay.unwrap_or(base.reordering_delay),
        tail_copies: keys.tail_copies.unwrap_or(base.tail_copies),
        begin_copies: keys.begin_copies.unwrap_or(base.begin_copies),
        queue_target: keys.queue_target,
        rto_initial: keys.rto_initial,
        rto_min: keys.rto_min,
        rto_max: keys.rto_max,
        silence: keys.silence,
        keep_alive: keys.keep_alive,
        linger: keys.linger,
        saved: keys.saved.map(|saved| stp::SavedRate { rtt: saved.rtt, rate: saved.rate }),
        // The packet format, and settings without a key.
        ..base
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_of_1999_is_the_endpoints_own_defaults() {
        let host = scenario::Host::Y1999.tcp(None, None);
        assert_eq!(
            tcp(&host, scenario::Ip::V4),
            Config { window_max: 256_000, send_buffer_max: u64::MAX, ..Config::default() }
        );
    }

    #[test]
    fn a_scenario_that_says_nothing_of_stp_gets_the_endpoints_own_defaults() {
        for (format, config) in [
            (scenario::StpFormat::Full, stp::Config::default()),
            (scenario::StpFormat::Plain, stp::Config::plain()),
        ] {
            // A host sends ECN-capable packets if it can read the field of those that arrive.
            let keys = scenario::Stp { format, ecn: Some(false), ..scenario::Stp::default() };
            assert_eq!(stp(&keys, scenario::Ip::V4), config);
        }
    }
}
