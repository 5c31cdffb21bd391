//! Builds the queue of a link direction from its table in a scenario.
//!
//! Follows the model's tables `queue`; the parameters of each discipline are described in docs/scenario.md.
//! Leaves out the disciplines, which are in `crates/link/src/queue`.

use skyhop_link::{
    CellOrder, CodelConfig, Discipline, DrdConfig, DrrConfig, FqCodelConfig, Limit, PriorityConfig,
    RedConfig, UbrConfig, UbrPolicy,
};
use skyhop_scenario as scenario;
use skyhop_units::{Bytes, Rate};

/// The queue of a link; RED and DRD draw from `chance`.
pub(crate) fn discipline(
    queue: scenario::Queue,
    rate: Rate,
    chance: impl FnOnce() -> skyhop_chance::Stream,
) -> Discipline {
    let limit = Limit(queue.limit().at(rate));
    let bytes = |size: Bytes| u32::try_from(size.get()).unwrap_or(u32::MAX);
    match queue {
        scenario::Queue::DropTail { .. } => Discipline::DropTail(limit),
        scenario::Queue::Red { min, max, weight, max_p, gentle, wait, ecn, mean_packet, .. } => {
            let config = RedConfig { limit, min, max, weight, max_p, gentle, wait, ecn, mean_packet };
            Discipline::Red(config, chance())
        }
        scenario::Queue::Drd { min, max, max_p, .. } => {
            Discipline::Drd(DrdConfig { limit, min, max, max_p }, chance())
        }
        scenario::Queue::Codel { target, interval, ecn, .. } => {
            Discipline::Codel(CodelConfig { limit, target, interval, ecn })
        }
        scenario::Queue::FqCodel { target, interval, ecn, quantum, queues, .. } => {
            let quantum = bytes(quantum);
            Discipline::FqCodel(FqCodelConfig { limit, target, interval, ecn, quantum, queues })
        }
        scenario::Queue::Drr { quantum, .. } => Discipline::Drr(DrrConfig { limit, quantum: bytes(quantum) }),
        scenario::Queue::Priority { bands, .. } => Discipline::Priority(PriorityConfig { limit, bands }),
        scenario::Queue::Ubr {
            policy, threshold, scale, service, cells, port_rate, guaranteed_rate, ..
        } => {
            let service = match (service, cells) {
                (scenario::UbrService::Channels, _) => CellOrder::Channels,
                (scenario::UbrService::Fifo, scenario::UbrCells::Trains) => CellOrder::Trains,
                (scenario::UbrService::Fifo, scenario::UbrCells::Each) => CellOrder::Cells,
            };
            let policy = match policy {
                scenario::UbrPolicy::TailDrop => UbrPolicy::TailDrop,
                scenario::UbrPolicy::PartialPacketDiscard => UbrPolicy::PartialPacketDiscard,
                scenario::UbrPolicy::EarlyPacketDiscard => UbrPolicy::EarlyPacketDiscard,
                scenario::UbrPolicy::SelectiveDrop => UbrPolicy::SelectiveDrop,
                scenario::UbrPolicy::FairBufferAllocation => UbrPolicy::FairBufferAllocation,
            };
            let limit = skyhop_link::cells_of(limit.0);
            let guaranteed = guaranteed_rate;
            Discipline::Ubr(UbrConfig { limit, policy, threshold, scale, service, port_rate, guaranteed })
        }
    }
}
