//! Ends of associations: by their owner, by their peer, because they are idle, or to make room for another.
//!
//! Follows the purpose of RFC 9000 §10.1 (idle timeout) and §10.2 (immediate close); the closing message is sealed, so that only the
//! peer can send it.
//! Differs: an association with connections or streams is never idle, since those have timers of their own.
//! Leaves out an acknowledgment of the message: a peer that misses it learns of the end when it sends again (`lost`).

use crate::associations::{Associations, Event};
use crate::control::Message;
use skyhop_units::Time;

impl Associations {
    /// Records whether an association has connections or streams. One without any may make room for others, and ends when it is idle.
    pub fn set_used(&mut self, now: Time, id: u32, used: bool) {
        let Some(association) = self.open.get_mut(id).filter(|a| a.used != used) else { return };
        association.used = used;
        if !used {
            if association.ended_by_peer {
                return self.forget(id);
            }
            // The idle time begins now, since its owner may use it again.
            association.heard_at = association.heard_at.max(now);
        }
        self.open.check(id, self.config.idle);
    }

    /// Ends an association, and tells the peer.
    pub fn end(&mut self, id: u32) {
        self.say(id, None, Message::Bye);
        self.forget(id);
    }

    /// Ends all associations.
    pub fn end_all(&mut self) {
        for id in self.open.ids().collect::<Vec<_>>() {
            self.end(id);
        }
    }

    /// Ends associations whose idle time is over.
    pub(crate) fn sweep(&mut self, now: Time) {
        while let Some(id) = self.open.first_idle(self.config.idle, now) {
            self.end(id);
            self.outputs.report(Event::Ended { id });
        }
    }

    /// Makes room for one more association by ending the unused one that was silent for longest. Returns false if all are used.
    pub(crate) fn make_room(&mut self) -> bool {
        while self.open.len() >= self.config.associations_max {
            let Some(id) = self.open.first_idle(self.config.idle, Time::MAX) else { return false };
            self.counters.evicted += 1;
            self.end(id);
            self.outputs.report(Event::Ended { id });
        }
        true
    }

    /// Returns true if there is no room for one more association, and no unused one could make it.
    pub(crate) fn is_full(&self) -> bool {
        self.open.len() >= self.config.associations_max && self.open.next_check().is_none()
    }

    /// Handles the peer's message that it ends an association. Packets still in flight may arrive, and are answered.
    pub(crate) fn handle_bye(&mut self, id: u32) {
        match self.open.get_mut(id) {
            // Its last connection may have ended already, and not be removed yet.
            Some(association) if association.used => association.ended_by_peer = true,
            Some(_) => self.forget(id),
            None => {}
        }
        self.outputs.report(Event::Ended { id });
    }
}
