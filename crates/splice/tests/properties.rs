//! Properties that hold for every pattern of losses, order and configuration on either side of a splice.
//!
//! All data arrive, in order, once; never more is held than the buffer; no clean close before the far end has everything
//! (`Net::check` runs after every event). A side that fails becomes a reset on the other.

use crate::common::*;
use proptest::prelude::*;
use skyhop_splice::{Config, Event, Side};
use skyhop_transport::tcp::State;
use skyhop_units::Span;

proptest! {
    #![proptest_config(settings())]

    #[test]
    fn every_byte_arrives_once_and_both_ends_close(
        ends in [tcp(), tcp()],
        config in config(),
        paths in [path(), path()],
        initial in any::<[u32; 4]>(),
        bytes in [0u64..40_000, 0u64..40_000],
    ) {
        let mut net = Net::new(ends, config, paths, initial);
        net.offer(bytes);
        net.run();
        prop_assert_eq!(net.states(), [State::Closed; 2]);
        for end in [CLIENT, SERVER] {
            prop_assert_eq!(net.ends[1 - end].delivered(), bytes[end]);
            prop_assert_eq!(net.moved[end], bytes[end]);
        }
        // An end that is done and has forgotten the connection answers a late FIN with a reset: whoever sent it cannot know
        // that all had arrived, and is told the worse.
        if !net.reset_seen() {
            prop_assert!(net.clean(CLIENT) && net.clean(SERVER));
            prop_assert_eq!(net.released, bytes);
            prop_assert_eq!(net.events.iter().filter(|e| **e == Event::Closed).count(), 1);
            prop_assert_eq!(net.splice.held(), 0);
        }
        prop_assert!(net.splice.over());
        prop_assert_eq!(net.splice.poll_timeout(), None);
    }

    #[test]
    fn a_side_that_dies_is_never_a_clean_close(
        ends in [tcp(), tcp()],
        config in config(),
        paths in [path(), path()],
        dead in 0usize..2,
        at in 0u64..4_000,
        bytes in [0u64..40_000, 0u64..40_000],
    ) {
        let config = Config { give_up: Span::from_secs(200), ..config };
        let mut net = Net::new(ends, config, paths, [1, 2, 3, 4]);
        net.offer(bytes);
        net.run_until(ms(at));
        net.cut(dead);
        let alive = 1 - dead;
        // The dead end repeats itself for ever, into nothing.
        net.run_until(ms(at) + Span::from_secs(5_000));
        let done = net.clean(alive);
        // An end that waits for one that is owed nothing is not told: nobody asks whether it is there.
        let owed = |side: usize| net.splice.connection(Side::BOTH[side]).map_or(0, |c| c.in_flight());
        let idle = net.states()[alive] == State::Listen || owed(dead) == 0 && net.ends[alive].in_flight() == 0;
        prop_assert!(done || idle || net.reset(alive), "{:?}", net.told[alive]);
        prop_assert!(!(done && net.reset(alive)), "{:?}", net.told[alive]);
    }

    #[test]
    fn an_end_that_breaks_off_breaks_the_other(
        ends in [tcp(), tcp()],
        config in config(),
        first in 0usize..2,
        at in 0u64..3_000,
        bytes in [0u64..40_000, 0u64..40_000],
    ) {
        let mut net = Net::new(ends, config, [Path::clean(20), Path::clean(250)], [1, 2, 3, 4]);
        net.offer(bytes);
        net.run_until(ms(at));
        let over = matches!(net.ends[first].state(), State::Closed | State::TimeWait | State::Listen | State::SynSent);
        net.ends[first].reset();
        net.drain();
        net.run();
        let second = 1 - first;
        if !over {
            let ended = net.clean(second) || net.states()[second] == State::Listen || net.reset(second);
            prop_assert!(ended, "{:?} {:?}", net.told, net.states());
            prop_assert!(net.splice.over());
        }
    }
}

fn settings() -> ProptestConfig {
    ProptestConfig {
        cases: 1000,
        max_shrink_iters: 2000,
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}
