//! Checks of TCP's parameters: limits of the header, and keys that belong together.
//!
//! Follows RFC 7323 (windows up to 2^30 bytes), RFC 2018 (SACK blocks) and the documents of the variants.
//! Differs: a segment may have at most 65,000 bytes, so that every header and option has room.
//! Leaves out values that are unwise but possible.

use crate::error::quoted;
use crate::finding::FindingList;
use crate::model::{DelayedAck, Increase, Open, Tcp};
use crate::path::KeyPath;
use skyhop_transport::tcp::{AfterIdle, Law, LossRecovery, Variant};
use skyhop_units::{Bytes, Span};

/// Largest payload of a segment.
const LARGEST_MSS: Bytes = Bytes::new(65_000);
/// Largest window that can be announced: 65,535 shifted by 14 (RFC 7323 §2.3).
pub(super) const LARGEST_WINDOW: Bytes = Bytes::new(65_535 << 14);
/// Largest number of segments that byte counting adds for an acknowledgment.
const MOST_COUNTED: u32 = 64;

pub(super) fn check(tcp: &Tcp, at: &KeyPath, out: &mut FindingList) {
    let mss = tcp.mss;
    out.require(
        mss >= Bytes::new(1) && mss <= LARGEST_MSS,
        || at.key("mss"),
        || {
            format!(
                "mss of {mss}; expected 1 B to {LARGEST_MSS}, so that headers fit the IP packet's 65535 B"
            )
        },
    );
    windows(tcp, at, out);
    out.require(
        tcp.initial_window.in_bytes(1) > 0,
        || at.key("initial_window"),
        || format!("initial window of {} sends nothing; expected at least 1 segment", tcp.initial_window),
    );
    if let Some(ssthresh) = tcp.initial_ssthresh {
        out.require(
            ssthresh.in_bytes(1) > 0,
            || at.key("initial_ssthresh"),
            || format!("threshold of {ssthresh}; expected at least 1 segment"),
        );
    }
    out.require(
        tcp.dupack_threshold > 0,
        || at.key("dupack_threshold"),
        || "threshold of 0 would repeat every segment; expected at least 1".into(),
    );
    out.require(
        tcp.recovery_burst != Some(0),
        || at.key("recovery_burst"),
        || "burst of 0 segments; expected at least 1".into(),
    );
    let most = if tcp.timestamps { 3 } else { 4 };
    out.require(
        (1..=most).contains(&tcp.sack_blocks),
        || at.key("sack_blocks"),
        || {
            let why = if tcp.timestamps { " with timestamps" } else { "" };
            format!("{} SACK blocks do not fit; expected 1 to {most}{why}", tcp.sack_blocks)
        },
    );
    let (key, wait) = match tcp.delayed_ack {
        DelayedAck::None => ("kind", Span::MAX),
        DelayedAck::OneShot { timeout } => ("timeout", timeout),
        DelayedAck::Heartbeat { period } => ("period", period),
        DelayedAck::Adaptive { least, most } => {
            out.require(
                least <= most,
                || at.key("delayed_ack").key("least"),
                || format!("least of {least} is above most of {most}"),
            );
            ("least", least)
        }
    };
    out.require(
        wait > Span::ZERO,
        || at.key("delayed_ack").key(key),
        || format!("{key} of 0 s; expected more than 0 s, or kind \"none\" to acknowledge at once"),
    );
    for (key, timeout) in [("rto_initial", tcp.rto_initial), ("rto_max", tcp.rto_max)] {
        out.require(timeout > Span::ZERO, || at.key(key), || "timeout of 0 s; expected more than 0 s".into());
    }
    out.require(
        tcp.rto_min <= tcp.rto_max,
        || at.key("rto_min"),
        || format!("rto_min of {} is above rto_max of {}", tcp.rto_min, tcp.rto_max),
    );
    variant(tcp, at, out);
    out.require(
        tcp.ack_every > 0,
        || at.key("ack_every"),
        || "an acknowledgment every 0 segments; expected at least 1".into(),
    );
    out.require(
        (1..=100).contains(&tcp.ack_division),
        || at.key("ack_division"),
        || format!("an acknowledgment in {} parts; expected 1 to 100", tcp.ack_division),
    );
    out.require(
        tcp.overhead <= Span::from_secs(1),
        || at.key("overhead"),
        || format!("overhead of {}; expected at most 1 s", tcp.overhead),
    );
    out.require(
        tcp.rto_tick <= tcp.rto_max,
        || at.key("rto_tick"),
        || format!("rto_tick of {} is above rto_max of {}", tcp.rto_tick, tcp.rto_max),
    );
}

/// Checks the receive window, the send buffer, and their limits.
fn windows(tcp: &Tcp, at: &KeyPath, out: &mut FindingList) {
    let mss = tcp.mss;
    let window = Bytes::new(tcp.window.in_bytes(mss.get()));
    out.require(
        window >= mss,
        || at.key("window"),
        || format!("window of {} is less than the mss of {mss}; no full segment could be sent", tcp.window),
    );
    out.require(
        window <= LARGEST_WINDOW,
        || at.key("window"),
        || {
            format!(
                "window of {} cannot be announced; expected at most {LARGEST_WINDOW} (65535 B shifted by 14)",
                tcp.window
            )
        },
    );
    let most = tcp.window_max.in_bytes(mss.get());
    out.require(
        window > LARGEST_WINDOW || (window.get()..=LARGEST_WINDOW.get()).contains(&most),
        || at.key("window_max"),
        || {
            format!(
                "window_max of {}; expected at least window, which is {}, and at most {LARGEST_WINDOW}",
                tcp.window_max, tcp.window
            )
        },
    );
    if let Some(buffer) = tcp.send_buffer {
        let least = buffer.in_bytes(mss.get());
        out.require(
            least >= mss.get(),
            || at.key("send_buffer"),
            || format!("send buffer of {buffer} does not hold a segment; expected at least the mss of {mss}"),
        );
        let most = tcp.send_buffer_max.map_or(u64::MAX, |most| most.in_bytes(mss.get()));
        out.require(
            most >= least,
            || at.key("send_buffer_max"),
            || {
                let most = tcp.send_buffer_max.unwrap_or(buffer);
                format!("send_buffer_max of {most} is below send_buffer, which is {buffer}")
            },
        );
    } else if let Some(most) = tcp.send_buffer_max {
        out.require(
            false,
            || at.key("send_buffer_max"),
            || format!("send_buffer_max of {most} without send_buffer, from which it would grow"),
        );
    }
}

/// Checks keys that belong to certain variants.
fn variant(tcp: &Tcp, at: &KeyPath, out: &mut FindingList) {
    use LossRecovery as R;
    let name = quoted(&word(&tcp.variant));
    let model = tcp.variant.law().needs_model();
    if let Some(recovery) = tcp.recovery {
        let given = quoted(&word(&recovery));
        out.require(
            !matches!(tcp.variant, Variant::Vegas | Variant::Tahoe),
            || at.key("recovery"),
            || format!("recovery {given} with variant {name}, which has its own; leave it out"),
        );
        out.require(
            !model || matches!(recovery, R::Rfc6675 | R::Rack),
            || at.key("recovery"),
            || format!("recovery {given} with variant {name}, whose model needs rack or rfc6675"),
        );
    }
    let positive = |x: f64| x.is_finite() && x > 0.0;
    match tcp.increase {
        Increase::One => {}
        Increase::By { segments } => out.require(
            positive(segments),
            || at.key("increase").key("segments"),
            || format!("increase by {segments}; expected more than 0 segments an RTT"),
        ),
        Increase::ConstantRate { c } => out.require(
            positive(c),
            || at.key("increase").key("c"),
            || format!("c of {c}; expected more than 0 segments a second each second"),
        ),
    }
    let renos_law = tcp.variant.law() == Law::Reno;
    out.require(
        renos_law || tcp.increase == Increase::One,
        || at.key("increase"),
        || format!("variant {name} has its own growth; leave increase out, or choose a variant with Reno's"),
    );
    out.require(
        renos_law || tcp.byte_counting.is_none(),
        || at.key("byte_counting"),
        || {
            format!(
                "variant {name} has its own growth; leave byte_counting out, or take a variant with Reno's"
            )
        },
    );
    out.require(
        tcp.byte_counting.is_none_or(|l| (1..=MOST_COUNTED).contains(&l)),
        || at.key("byte_counting"),
        || {
            let l = tcp.byte_counting.unwrap_or(0);
            format!("{l} segments an acknowledgment; expected 1 to {MOST_COUNTED} (RFC 3465 has 1 and 2)")
        },
    );
    let recovery = tcp.recovery.unwrap_or(tcp.variant.recovery());
    let piped = matches!(recovery, R::Rfc6675 | R::Rack) && !model;
    out.require(
        piped || !tcp.rate_reduction,
        || at.key("rate_reduction"),
        || {
            format!(
                "variant {name} does not count the data in flight; expected recovery \"rfc6675\" or \"rack\""
            )
        },
    );
    out.require(
        renos_law || !matches!(tcp.open, Open::TTcp { .. }),
        || at.key("open"),
        || {
            format!(
                "variant {name} has no T/TCP (RFC 1644); expected kind \"fast-open\", which every variant has, or a variant with \
                    Reno's growth"
            )
        },
    );
    out.require(
        !model || tcp.after_idle == AfterIdle::Keep,
        || at.key("after_idle"),
        || format!("variant {name} has a restart after idle of its own; leave it out"),
    );
    out.require(
        tcp.ecn || !tcp.ack_congestion,
        || at.key("ack_congestion"),
        || "acknowledgments cannot be marked without ecn = true".into(),
    );
    out.require(
        tcp.delayed_ack != DelayedAck::None || !tcp.ack_congestion,
        || at.key("ack_congestion"),
        || "ack_congestion needs delayed acknowledgments; expected delayed_ack of kind \"one-shot\" or \"heartbeat\"".into(),
    );
    if let Some(resume) = tcp.resume {
        out.require(
            resume.rtt > Span::ZERO,
            || at.key("resume").key("rtt"),
            || "rtt of 0 s; expected more than 0 s".into(),
        );
        out.require(
            !model && tcp.variant != Variant::Vegas,
            || at.key("resume"),
            || format!("variant {name} has a model of its own and cannot resume; leave it out"),
        );
    }
}

/// The spelling of a choice in a file.
fn word<T: serde::Serialize>(value: &T) -> String {
    serde_json::to_value(value).ok().and_then(|v| v.as_str().map(str::to_owned)).unwrap_or_default()
}
