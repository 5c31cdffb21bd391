//! Checks of STP's parameters: limits of the packet format, and keys that belong together.
//!
//! Follows docs/stp.md (24-bit numbers, of which half may be outstanding) and RFC 791.
//! Differs: a packet must have room for headers and at least one byte of data.
//! Leaves out values that are unwise but possible.

use crate::finding::FindingList;
use crate::model::{STP_HEADER, Stp};
use crate::path::KeyPath;
use skyhop_transport::stp::Congestion;
use skyhop_units::{Bytes, Span};

/// Largest packet: an IP packet without the headers of IP and UDP.
const LARGEST_PACKET: Bytes = Bytes::new(65_535 - 28);
/// Smallest packet: a header, a BGN and a POLL.
const SMALLEST_PACKET: Bytes = Bytes::new(64);
/// Half the sequence number space.
const MOST_PACKETS: u64 = (1 << 23) - 1;

pub(super) fn check(stp: &Stp, at: &KeyPath, out: &mut FindingList) {
    let packet = stp.packet_size();
    out.require(
        (SMALLEST_PACKET..=LARGEST_PACKET).contains(&packet),
        || at.key("packet_size"),
        || format!("packets of {packet}; expected {SMALLEST_PACKET} to {LARGEST_PACKET}"),
    );
    let payload = packet.get().saturating_sub(STP_HEADER).max(1);
    let window = stp.window.in_bytes(payload);
    out.require(
        window >= payload,
        || at.key("window"),
        || format!("window of {} has no room for a packet of {packet}", stp.window),
    );
    out.require(
        window / payload <= MOST_PACKETS,
        || at.key("window"),
        || {
            format!(
                "window of {} is more than {MOST_PACKETS} packets, half of all sequence numbers",
                stp.window
            )
        },
    );
    for (key, amount) in [("initial_window", stp.initial_window), ("initial_ssthresh", stp.initial_ssthresh)]
    {
        out.require(
            amount.is_none_or(|amount| amount.in_bytes(1) > 0),
            || at.key(key),
            || "initial window of 0 packets; expected at least 1".into(),
        );
    }
    for (key, number) in [
        ("polls_per_rtt", stp.polls_per_rtt),
        ("ustat_threshold", stp.ustat_threshold),
        ("begin_copies", stp.begin_copies.unwrap_or(1)),
    ] {
        out.require(
            (1..=1000).contains(&number),
            || at.key(key),
            || format!("{key} of {number}; expected 1 to 1000"),
        );
    }
    for (key, number) in
        [("poll_threshold", stp.poll_threshold), ("tail_copies", stp.tail_copies.unwrap_or(0))]
    {
        out.require(number <= 1000, || at.key(key), || format!("{key} of {number}; expected at most 1000"));
    }
    out.require(
        (0.0..=2.0).contains(&stp.spread),
        || at.key("spread"),
        || format!("spread of {}; expected a fraction of the RTT, 0 to 2", stp.spread),
    );
    let waits = [
        ("granularity", Some(stp.granularity)),
        ("poll_interval_min", stp.poll_interval_min),
        ("ustat_delay", stp.ustat_delay),
        ("reordering_delay", stp.reordering_delay),
        ("queue_target", Some(stp.queue_target)),
    ];
    for (key, wait) in waits {
        out.require(
            wait.is_none_or(|wait| wait <= Span::from_secs(10)),
            || at.key(key),
            || format!("{key} of {}; expected at most 10 s", wait.unwrap_or_default()),
        );
    }
    let timeouts = [
        ("rto_initial", Some(stp.rto_initial)),
        ("rto_max", Some(stp.rto_max)),
        ("silence", Some(stp.silence)),
        ("keep_alive", stp.keep_alive),
    ];
    for (key, timeout) in timeouts {
        out.require(
            timeout != Some(Span::ZERO),
            || at.key(key),
            || "timeout of 0 s; expected more than 0 s".into(),
        );
    }
    out.require(
        stp.rto_min <= stp.rto_max,
        || at.key("rto_min"),
        || format!("rto_min of {} is above rto_max of {}", stp.rto_min, stp.rto_max),
    );
    rates(stp, at, out);
}

/// Checks keys that belong to certain kinds of congestion control.
fn rates(stp: &Stp, at: &KeyPath, out: &mut FindingList) {
    let congestion = stp.congestion();
    out.require(
        congestion != Congestion::Rate || stp.max_rate.is_some(),
        || at.key("congestion"),
        || "congestion \"rate\" sends at max_rate; expected that key too".into(),
    );
    if let (Some(min), Some(max)) = (stp.min_rate, stp.max_rate) {
        out.require(
            min <= max,
            || at.key("min_rate"),
            || format!("min_rate of {min} is above max_rate of {max}"),
        );
    }
    out.require(
        congestion == Congestion::Window || stp.initial_ssthresh.is_none(),
        || at.key("initial_ssthresh"),
        || "only congestion \"window\" has a slow start with a threshold; leave it out".into(),
    );
    out.require(
        stp.ecn != Some(true) || stp.may_use_ecn(),
        || at.key("ecn"),
        || {
            "marks are obeyed by congestion \"delay\" and \"rate\" of format \"full\" only; expected false"
                .into()
        },
    );
    if let Some(saved) = stp.saved {
        out.require(
            saved.rtt > Span::ZERO,
            || at.key("saved").key("rtt"),
            || "rtt of 0 s; expected more than 0 s".into(),
        );
        out.require(
            congestion != Congestion::Rate,
            || at.key("saved"),
            || "congestion \"rate\" uses max_rate and no saved rate; leave it out".into(),
        );
    }
}
