//! Changes of links by request, while a network runs.
//!
//! Differs from schedules, which are known beforehand: transmissions that have begun are not affected; waiting packets leave at
//! the new rate and take the new delay. A shorter delay lets no packet overtake another.
//! Leaves out satellite links, whose ends move, and queues, which keep their packets.

use crate::agenda::Agenda;
use crate::direction::losses;
use crate::network::Network;
use skyhop_chance::Seed;
use skyhop_scenario::{self as scenario, Link};
use skyhop_units::{Rate, Span, Time};

/// Rate, delay and losses of a link direction.
fn own(link: &Link, backward: bool) -> (Rate, Span, &scenario::Loss) {
    let back = link.reverse.as_ref().filter(|_| backward);
    let rate = back.and_then(|back| back.rate).unwrap_or(link.rate);
    let loss = back.and_then(|back| back.loss.as_ref()).unwrap_or(&link.loss);
    (rate, link.delays()[usize::from(backward)], loss)
}

impl Network {
    /// Changes rate, delay and losses of link `index` of the scenario from now on, where `is` differs from `was`.
    pub fn change_link(
        &mut self,
        now: Time,
        agenda: &mut Agenda,
        index: usize,
        [was, is]: [&Link; 2],
        seed: Seed,
    ) {
        for backward in [false, true] {
            let number = 2 * index as u32 + u32::from(backward);
            let (old, (rate, delay, loss)) = (own(was, backward), own(is, backward));
            if old == (rate, delay, loss) {
                continue;
            }
            let name = &self.links.names[index];
            let direction = if backward { "reverse" } else { "forward" };
            let stream = || seed.stream(&format!("link/{name}/{direction}/loss"));
            let loss = (old.2 != loss).then(|| (losses(loss), Some(stream())));
            let (wire, medium) = self.links.wire(number);
            wire.link.change(now, rate, loss, &medium);
            (wire.rate, wire.delay) = (rate, Some(delay));
            self.after_wire(now, agenda, number);
        }
    }
}
