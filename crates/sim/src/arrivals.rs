//! Packets for programs and for ends that the driver simulates, until the driver takes them.
//!
//! Follows the network: packets are in order of arrival.
//! Differs from one queue: the few corrupted packets have their flipped bits in a list beside it, so that the others stay small.
//! Leaves out the packets' bytes, which the emulator keeps.

use crate::programs::{Arrived, is_message};
use skyhop_link::FlippedBit;
use skyhop_network::Frame;
use skyhop_units::Time;
use std::collections::VecDeque;

/// The packets that have arrived. For each corrupted packet for a program there is a list of flipped bits, in the same order.
#[derive(Debug, Default)]
pub(crate) struct ProgramArrivals {
    packets: VecDeque<Arrived>,
    flipped: VecDeque<Vec<FlippedBit>>,
    /// Packets for ends that the driver simulates.
    held: VecDeque<(Arrived, Vec<FlippedBit>)>,
}

impl ProgramArrivals {
    /// Adds a packet of a flow with its flipped bits, if any; with `hold`, it is for an end that the driver simulates.
    pub fn add(&mut self, flow: u32, frame: &Frame, now: Time, flipped: Vec<FlippedBit>, hold: bool) {
        // A router's message is intact, though the packet that caused it may not have been.
        let corrupted = !flipped.is_empty() && !is_message(&frame.packet);
        let arrived = Arrived::of(flow, frame, now, corrupted);
        if hold {
            return self.held.push_back((arrived, flipped));
        }
        self.packets.push_back(arrived);
        if corrupted {
            self.flipped.push_back(flipped);
        }
    }

    /// The next packet for a program.
    pub fn poll(&mut self) -> Option<Arrived> {
        self.packets.pop_front()
    }

    /// The flipped bits of the next packet from [`Self::poll`] that is corrupted.
    pub fn poll_flipped(&mut self) -> Option<Vec<FlippedBit>> {
        self.flipped.pop_front()
    }

    /// The next packet for an end that the driver simulates.
    pub fn poll_held(&mut self) -> Option<(Arrived, Vec<FlippedBit>)> {
        self.held.pop_front()
    }

    /// Returns true if a packet for an end that the driver simulates has arrived.
    pub fn holds_any(&self) -> bool {
        !self.held.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::programs::Content;
    use skyhop_chance::Seed;
    use skyhop_link::{Corruption, Fixed, Label, Limit, Link, Loss};
    use skyhop_units::{Rate, Span};
    use skyhop_wire::{Ip, Packet, TcpHeader, TooLarge, Transport, Version};
    use std::net::Ipv4Addr;

    /// A bit that a link has flipped.
    fn flipped_bit(seed: u64) -> FlippedBit {
        let medium = Fixed(Span::ZERO);
        let mut link = Link::new(Rate::mbit(1), Limit::packets(1), Loss::None, None)
            .with_corruption(Corruption { probability: 1.0 }, Seed(seed).stream("corruption"));
        link.handle_packet(Time::ZERO, (), 1000, Label::default(), &medium).unwrap();
        link.poll_arrival(Time::ZERO + Span::from_secs(1), &medium).unwrap().corrupted.unwrap()
    }

    fn frame(tag: u32, message: bool) -> Frame {
        let (source, destination) = (Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 0, 2));
        let ip = Ip::new(Version::V4, source, destination);
        let packet = Packet { ip, transport: Transport::Tcp(TcpHeader::default()), payload_len: 100 };
        let told = Packet { transport: Transport::TooLarge(TooLarge::quoting(&packet, 1400)), ..packet };
        Frame::new(0, false, [0, tag], Time::ZERO, if message { told } else { packet })
    }

    #[test]
    fn each_corrupted_packet_has_the_bits_with_which_it_arrived() {
        let mut arrivals = ProgramArrivals::default();
        let bits: Vec<Vec<FlippedBit>> = (0..100)
            .map(|number| if number % 3 == 0 { vec![flipped_bit(number)] } else { Vec::new() })
            .collect();
        for (number, flipped) in (0..).zip(&bits) {
            let frame = frame(number, number % 5 == 0);
            arrivals.add(7, &frame, Time::ZERO, flipped.clone(), number % 4 == 0);
        }
        let mut polled = 0;
        while let Some(arrived) = arrivals.poll() {
            match arrived.what {
                Content::Tagged { tag, corrupted, .. } => {
                    let flipped = if corrupted { arrivals.poll_flipped().unwrap() } else { Vec::new() };
                    assert_eq!(flipped, bits[tag as usize]);
                }
                // Bits of the packet that caused a message are not the message's.
                Content::Message { tag, .. } => assert_eq!(tag % 5, 0),
            }
            polled += 1;
        }
        assert_eq!((polled, arrivals.poll_flipped()), (75, None));
        for number in (0..100).step_by(4) {
            assert!(arrivals.holds_any());
            let (arrived, flipped) = arrivals.poll_held().unwrap();
            let (Content::Tagged { tag, .. } | Content::Message { tag, .. }) = arrived.what;
            assert_eq!((tag, flipped), (number, bits[number as usize].clone()));
        }
        assert!(!arrivals.holds_any());
    }
}
