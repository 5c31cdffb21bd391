//! From a scenario's words for a transport to the endpoints' own.
//!
//! Follows the scenario's model field by field.
//! Differs: what depends on the variant when it is left out is settled here.
//! Leaves out checks, which the scenario has had.

use skyhop_scenario as scenario;
use skyhop_transport::tcp::{AfterIdle, Config, DelayedAck, Increase, LossRecovery, Open, Saved, Variant};

/// The configuration of both ends of a TCP connection.
pub(crate) fn tcp(tcp: &scenario::Tcp) -> Config {
    let mss = tcp.mss.get();
    let cubic = tcp.variant == scenario::Variant::Cubic;
    Config {
        variant: variant(tcp.variant),
        recovery: tcp.recovery.map(recovery),
        mss: mss as u32,
        window: tcp.window.in_bytes(mss),
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
        hystart: tcp.hystart.unwrap_or(cubic),
        rate_reduction: tcp.rate_reduction.unwrap_or(cubic),
        pacing: tcp.pacing,
        ecn: tcp.ecn,
        open: match tcp.open {
            scenario::Open::Handshake => Open::Handshake,
            scenario::Open::TTcp { known } => Open::Transactions { known },
            scenario::Open::FastOpen { known } => Open::FastOpen { known },
        },
        after_idle: match tcp.after_idle {
            scenario::AfterIdle::Keep => AfterIdle::Keep,
            scenario::AfterIdle::Restart => AfterIdle::Restart,
            scenario::AfterIdle::Spread => AfterIdle::Spread,
        },
        share: tcp.share,
        ack_congestion: tcp.ack_congestion,
        resume: tcp.resume.map(|saved| Saved { rtt: saved.rtt, cwnd: saved.window.in_bytes(mss) }),
        timestamps: tcp.timestamps,
        sack_blocks: tcp.sack_blocks,
        dsack: tcp.dsack,
        delayed_ack: match tcp.delayed_ack {
            scenario::DelayedAck::None => DelayedAck::None,
            scenario::DelayedAck::OneShot { timeout } => DelayedAck::OneShot(timeout),
            scenario::DelayedAck::Heartbeat { period } => DelayedAck::Heartbeat(period),
        },
        ack_every: tcp.ack_every,
        ack_gap_fillers: tcp.ack_gap_fillers,
        grow_unused: tcp.grow_unused,
        precise_halving: tcp.precise_halving,
        overhead: tcp.overhead,
        rto_initial: tcp.rto_initial,
        rto_min: tcp.rto_min,
        rto_max: tcp.rto_max,
        rto_granularity: tcp.rto_granularity,
    }
}

fn variant(variant: scenario::Variant) -> Variant {
    match variant {
        scenario::Variant::Tahoe => Variant::Tahoe,
        scenario::Variant::Reno => Variant::Reno,
        scenario::Variant::Newreno => Variant::NewReno,
        scenario::Variant::NewrenoSlowButSteady => Variant::NewRenoSlowButSteady,
        scenario::Variant::SackReno => Variant::SackReno,
        scenario::Variant::SackNewreno => Variant::SackNewReno,
        scenario::Variant::Sack => Variant::Sack,
        scenario::Variant::Sack1 => Variant::Sack1,
        scenario::Variant::Fack => Variant::Fack,
        scenario::Variant::Vegas => Variant::Vegas,
        scenario::Variant::Cubic => Variant::Cubic,
        scenario::Variant::Hybla => Variant::Hybla,
        scenario::Variant::Bbr => Variant::Bbr,
    }
}

fn recovery(recovery: scenario::Recovery) -> LossRecovery {
    match recovery {
        scenario::Recovery::Reno => LossRecovery::Reno,
        scenario::Recovery::Newreno => LossRecovery::NewReno,
        scenario::Recovery::NewrenoSlowButSteady => LossRecovery::NewRenoSlowButSteady,
        scenario::Recovery::SackReno => LossRecovery::SackReno,
        scenario::Recovery::SackNewreno => LossRecovery::SackNewReno,
        scenario::Recovery::Rfc6675 => LossRecovery::Rfc6675,
        scenario::Recovery::Sack1 => LossRecovery::Sack1,
        scenario::Recovery::Fack => LossRecovery::Fack,
        scenario::Recovery::Rack => LossRecovery::Rack,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scenario_that_says_nothing_of_tcp_gets_the_endpoints_own_defaults() {
        assert_eq!(tcp(&scenario::Tcp::default()), Config::default());
    }
}
