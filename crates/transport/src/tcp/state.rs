//! The state of a connection, and what may change it.
//!
//! Follows the diagram of RFC 9293 §3.3.2, by its names.
//! Differs: a FIN that is written during the handshake is sent after it, as a change of the state at its end.
//! Leaves out simultaneous open, and what a segment must be like to count (`connection`, `opening`).

use skyhop_units::Time;

/// States of RFC 9293 §3.3.2.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum State {
    Closed,
    Listen,
    SynSent,
    SynReceived,
    Established,
    FinWait1,
    FinWait2,
    CloseWait,
    Closing,
    LastAck,
    TimeWait,
}

/// The end of an end's part in a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Parting {
    /// The connection goes on.
    NotYet,
    /// Both FINs are acknowledged, the peer's by this end, so that TIME-WAIT begins.
    TimeWait,
    /// Both FINs are acknowledged, this end's by the peer, so that nothing more is due.
    Closed,
}

/// The state, and the end of TIME-WAIT, which has a time in that state only.
#[derive(Debug)]
pub(super) struct ConnectionState {
    state: State,
    time_wait_until: Option<Time>,
}

impl ConnectionState {
    /// The state of an end that opens the connection.
    pub fn opening() -> Self {
        Self { state: State::SynSent, time_wait_until: None }
    }

    /// The state of an end that waits for its peer to open the connection.
    pub fn listening() -> Self {
        Self { state: State::Listen, time_wait_until: None }
    }

    #[inline(always)]
    pub fn get(&self) -> State {
        self.state
    }

    /// Time at which TIME-WAIT ends.
    #[inline(always)]
    pub fn time_wait_until(&self) -> Option<Time> {
        self.time_wait_until
    }

    /// A SYN has come to a listening end.
    pub fn syn_received(&mut self) {
        if self.state == State::Listen {
            self.state = State::SynReceived;
        }
    }

    /// The handshake is complete; `fin` is true if a FIN was written during it.
    pub fn established(&mut self, fin: bool) {
        if matches!(self.state, State::SynSent | State::SynReceived) {
            self.state = if fin { State::FinWait1 } else { State::Established };
        }
    }

    /// The application closes its direction. Returns true if a FIN is to be sent.
    pub fn close(&mut self) -> bool {
        match self.state {
            State::SynSent | State::SynReceived => {}
            State::Established => self.state = State::FinWait1,
            State::CloseWait => self.state = State::LastAck,
            State::Listen => {
                self.end();
                return false;
            }
            _ => return false,
        }
        true
    }

    /// The peer's FIN has arrived, after all its data.
    pub fn fin_received(&mut self) -> Parting {
        match self.state {
            State::Established => self.state = State::CloseWait,
            State::FinWait1 => self.state = State::Closing,
            State::FinWait2 => return Parting::TimeWait,
            _ => {}
        }
        Parting::NotYet
    }

    /// The FIN of this end is acknowledged.
    pub fn fin_acknowledged(&mut self) -> Parting {
        match self.state {
            State::FinWait1 => self.state = State::FinWait2,
            State::Closing => return Parting::TimeWait,
            State::LastAck => return Parting::Closed,
            _ => {}
        }
        Parting::NotYet
    }

    /// Waits in TIME-WAIT until `until`.
    pub fn wait(&mut self, until: Time) {
        (self.state, self.time_wait_until) = (State::TimeWait, Some(until));
    }

    /// Ends the connection, in whatever state.
    pub fn end(&mut self) {
        (self.state, self.time_wait_until) = (State::Closed, None);
    }
}

#[cfg(test)]
mod tests {
    use super::State::*;
    use super::*;

    const ALL: [State; 11] = [
        Closed,
        Listen,
        SynSent,
        SynReceived,
        Established,
        FinWait1,
        FinWait2,
        CloseWait,
        Closing,
        LastAck,
        TimeWait,
    ];

    #[derive(Debug, Clone, Copy, PartialEq)]
    enum Input {
        Syn,
        HandshakeDone,
        HandshakeDoneWithFin,
        Close,
        Fin,
        AckOfFin,
    }

    /// The arrows of RFC 9293's figure 5, but for those of resets and timeouts; all other inputs leave the state as it is.
    const ARROWS: [(State, Input, State); 14] = [
        (Listen, Input::Syn, SynReceived),
        (Listen, Input::Close, Closed),
        (SynSent, Input::HandshakeDone, Established),
        (SynSent, Input::HandshakeDoneWithFin, FinWait1),
        (SynReceived, Input::HandshakeDone, Established),
        (SynReceived, Input::HandshakeDoneWithFin, FinWait1),
        (Established, Input::Close, FinWait1),
        (Established, Input::Fin, CloseWait),
        (CloseWait, Input::Close, LastAck),
        (FinWait1, Input::Fin, Closing),
        (FinWait1, Input::AckOfFin, FinWait2),
        (FinWait2, Input::Fin, TimeWait),
        (Closing, Input::AckOfFin, TimeWait),
        (LastAck, Input::AckOfFin, Closed),
    ];

    /// The state after an input, and true if a FIN is to be sent.
    fn after(state: State, input: Input) -> (State, bool) {
        let at = Time::from_nanos(1);
        let mut one = ConnectionState { state, time_wait_until: (state == TimeWait).then_some(at) };
        let mut sends_fin = false;
        let parting = match input {
            Input::Syn => {
                one.syn_received();
                Parting::NotYet
            }
            Input::HandshakeDone | Input::HandshakeDoneWithFin => {
                one.established(input == Input::HandshakeDoneWithFin);
                Parting::NotYet
            }
            Input::Close => {
                sends_fin = one.close();
                Parting::NotYet
            }
            Input::Fin => one.fin_received(),
            Input::AckOfFin => one.fin_acknowledged(),
        };
        match parting {
            Parting::NotYet => {}
            Parting::TimeWait => one.wait(at),
            Parting::Closed => one.end(),
        }
        assert_eq!(one.time_wait_until().is_some(), one.get() == TimeWait);
        (one.get(), sends_fin)
    }

    #[test]
    fn the_states_are_those_of_the_diagram() {
        use Input::*;
        for state in ALL {
            for input in [Syn, HandshakeDone, HandshakeDoneWithFin, Close, Fin, AckOfFin] {
                let arrow = ARROWS.iter().find(|(from, by, _)| (*from, *by) == (state, input));
                let next = arrow.map_or(state, |(_, _, to)| *to);
                // During the handshake the FIN waits, and the state does not show it.
                let fin = input == Close && matches!(state, SynSent | SynReceived | Established | CloseWait);
                assert_eq!(after(state, input), (next, fin), "{state:?} {input:?}");
            }
        }
    }

    #[test]
    fn the_end_of_time_wait_is_known_in_that_state_only() {
        let mut one = ConnectionState::opening();
        one.wait(Time::from_nanos(5));
        one.wait(Time::from_nanos(9));
        assert_eq!((one.get(), one.time_wait_until()), (TimeWait, Some(Time::from_nanos(9))));
        one.end();
        assert_eq!((one.get(), one.time_wait_until()), (Closed, None));
    }
}
