//! The rate of a host's interface: what its kernel hands to the device waits in a queue that the kernel knows, as before a network
//! card.
//!
//! Follows tc-tbf(8). A TUN device takes packets at once and from their socket's account. Linux checks a send buffer only where a
//! piece of 64 kB is full, and a piece that leaves in parts never is: without a card that holds TCP back (`tcp_small_queue_check`)
//! a transfer has up to 14 MB in flight with a send buffer of 4 MiB.
//! Differs: packets pass in bursts of [`BURST`] bytes. Leaves out kernels without `sch_tbf`, whose hosts have no such queue.

use crate::netlink::Netlink;
use netlink_packet_core::{DefaultNla, NLM_F_CREATE, NLM_F_REPLACE};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::tc::{TcAttribute, TcHandle, TcMessage, TcOption, TcStats2};
use skyhop_units::Rate;

/// An interface is at least twice as fast as what its packets enter, or else has no rate of its own: beyond 1 Gbit/s a program's
/// writes are hardly faster than the queue, which then holds nothing back.
pub(crate) const INTERFACE: Rate = Rate::mbit(1000);
/// Bytes that pass at once: the largest frame with the headers of its packets.
const BURST: u32 = 128 << 10;
/// Bytes that may wait: sockets hold far less.
const LIMIT: u32 = 64 << 20;
/// Attributes of tc-tbf in linux/pkt_sched.h, and Ethernet among link layers.
const TCA_TBF_PARMS: u16 = 1;
const TCA_TBF_BURST: u16 = 6;
const ETHERNET: u8 = 1;

/// The rate of the interface of a host whose packets leave it at `own`, if that is known.
pub(crate) fn interface_rate(own: Option<Rate>) -> Option<Rate> {
    own.filter(|own| own.as_bps() <= INTERFACE.as_bps() / 2).map(|_| INTERFACE)
}

impl Netlink {
    /// Has packets of a device wait for a rate. Returns false if the kernel cannot.
    pub(crate) fn pace_device(&mut self, index: u32, rate: Rate) -> bool {
        let message = message(index, rate);
        self.ask(RouteNetlinkMessage::NewQueueDiscipline(message), NLM_F_CREATE | NLM_F_REPLACE).is_ok()
    }

    /// Packets that the queue of a paced device has dropped.
    pub(crate) fn dropped_before(&mut self, index: u32) -> u64 {
        let mut message = TcMessage::default();
        message.header.index = index as i32;
        let all = self.list(RouteNetlinkMessage::GetQueueDiscipline(message)).unwrap_or_default();
        let of_root = |message| match message {
            RouteNetlinkMessage::NewQueueDiscipline(one) if one.header.index == index as i32 => Some(one),
            _ => None,
        };
        let stats = all.into_iter().filter_map(of_root).flat_map(|one| one.attributes);
        let drops = |attribute| match attribute {
            TcAttribute::Stats2(all) => all.iter().find_map(|one| match one {
                TcStats2::Queue(queue) => Some(u64::from(queue.drops)),
                _ => None,
            }),
            _ => None,
        };
        stats.filter_map(drops).sum()
    }
}

/// The request for a token bucket at the root of a device.
fn message(index: u32, rate: Rate) -> TcMessage {
    let mut message = TcMessage::default();
    message.header.index = index as i32;
    message.header.parent = TcHandle::ROOT;
    // struct tc_tbf_qopt: two tc_ratespec (cell_log, linklayer, overhead, cell_align, mpu, rate), limit, buffer, mtu.
    let mut options = vec![0_u8; 36];
    options[1] = ETHERNET;
    let bytes_a_second = u32::try_from(rate.as_bps() / 8).unwrap_or(u32::MAX);
    options[8..12].copy_from_slice(&bytes_a_second.to_ne_bytes());
    options[24..28].copy_from_slice(&LIMIT.to_ne_bytes());
    let burst = BURST.to_ne_bytes().to_vec();
    let options = [(TCA_TBF_PARMS, options), (TCA_TBF_BURST, burst)];
    let options = options.map(|(kind, value)| TcOption::Other(DefaultNla::new(kind, value)));
    message.attributes = vec![TcAttribute::Kind("tbf".into()), TcAttribute::Options(options.to_vec())];
    message
}
