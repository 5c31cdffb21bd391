//! The transmitter of a link: the packet on it, and whether it starts the next one on its own.
//!
//! Follows the store-and-forward link: one packet at a time, for as long as its serialisation takes.
//! Differs from a clocked one: its times are set when a transmission begins, so that nothing happens at its end.
//! Leaves out the queue, and the slots of a link that sends in bursts (`bursts`).

use skyhop_units::Time;

/// A transmitter. It starts on its own unless it is paused, or waits for the command of turns or slots.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LinkTransmitter {
    /// False while the link takes no packets.
    up: bool,
    paused: bool,
    commanded: bool,
    /// True if it is paused or commanded: one value, which is read for each packet.
    held: bool,
    free_at: Time,
    /// Size of the packet on it until `free_at`, bytes.
    sending: u32,
}

impl LinkTransmitter {
    /// A transmitter that is up, and starts on its own.
    pub fn new() -> Self {
        Self { up: true, paused: false, commanded: false, held: false, free_at: Time::ZERO, sending: 0 }
    }

    #[inline]
    pub fn is_up(&self) -> bool {
        self.up
    }

    #[inline]
    pub fn is_paused(&self) -> bool {
        self.paused
    }

    /// Returns true if it never starts on its own.
    #[inline]
    pub fn is_commanded(&self) -> bool {
        self.commanded
    }

    /// Returns true if it does not start on its own now.
    #[inline]
    pub fn is_held(&self) -> bool {
        self.held
    }

    /// Time at which it has sent all that it has begun.
    #[inline]
    pub fn free_at(&self) -> Time {
        self.free_at
    }

    /// The later of `now` and the time at which it is free.
    #[inline]
    pub fn free_from(&self, now: Time) -> Time {
        self.free_at.max(now)
    }

    /// Size of the packet that is on it at `now`, bytes.
    #[inline]
    pub fn sending(&self, now: Time) -> Option<u32> {
        (now < self.free_at).then_some(self.sending)
    }

    /// Makes it start on command only.
    pub fn command(&mut self) {
        self.commanded = true;
        self.update();
    }

    /// Pauses it; what it has begun goes on.
    pub fn pause(&mut self) {
        self.paused = true;
        self.update();
    }

    /// Ends a pause. Returns true if there was one.
    pub fn resume(&mut self) -> bool {
        let paused = std::mem::take(&mut self.paused);
        self.update();
        paused
    }

    /// Takes it down, which ends a pause; what it has begun goes on.
    pub fn set_down(&mut self) {
        (self.up, self.paused) = (false, false);
        self.update();
    }

    pub fn set_up(&mut self) {
        self.up = true;
    }

    /// Keeps it busy until `leaves` with `size` bytes.
    #[inline]
    pub fn occupy(&mut self, leaves: Time, size: u32) {
        (self.free_at, self.sending) = (leaves, size);
    }

    /// Makes an idle transmitter free from `at` on, so that it begins nothing before.
    #[inline]
    pub fn idle_until(&mut self, at: Time) {
        self.free_at = at;
    }

    fn update(&mut self) {
        self.held = self.paused || self.commanded;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// After each sequence of calls it starts on its own exactly if it is neither paused nor commanded.
    #[test]
    fn a_pause_ends_by_itself_or_with_the_link_and_a_command_never() {
        let calls: [fn(&mut LinkTransmitter); 5] = [
            LinkTransmitter::pause,
            |one| {
                one.resume();
            },
            LinkTransmitter::set_down,
            LinkTransmitter::set_up,
            LinkTransmitter::command,
        ];
        for sequence in 0..5usize.pow(5) {
            let mut one = LinkTransmitter::new();
            let (mut up, mut paused, mut commanded) = (true, false, false);
            for place in 0..5 {
                let call = sequence / 5usize.pow(place) % 5;
                calls[call](&mut one);
                match call {
                    0 => paused = true,
                    1 => paused = false,
                    2 => (up, paused) = (false, false),
                    3 => up = true,
                    _ => commanded = true,
                }
                assert_eq!((one.is_up(), one.is_paused(), one.is_commanded()), (up, paused, commanded));
                assert_eq!(one.is_held(), paused || commanded);
            }
            assert_eq!((one.resume(), one.resume()), (paused, false));
        }
    }

    #[test]
    fn a_packet_is_on_it_until_its_last_bit_has_left() {
        let at = Time::from_nanos;
        let mut one = LinkTransmitter::new();
        assert_eq!((one.sending(at(0)), one.free_from(at(3))), (None, at(3)));
        one.occupy(at(10), 1500);
        one.set_down();
        assert_eq!((one.sending(at(9)), one.sending(at(10))), (Some(1500), None));
        assert_eq!((one.free_from(at(3)), one.free_from(at(12))), (at(10), at(12)));
        one.idle_until(at(12));
        assert_eq!((one.free_at(), one.sending(at(12))), (at(12), None));
    }
}
