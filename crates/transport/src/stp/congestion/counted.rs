//! Numbers of packets lost and sent, of which older ones weigh less.

/// Number of packets after which the weight of an earlier packet is halved.
const HALF: f64 = 5000.0;
/// Packets, and part of those sent, above which losses are an overload.
const OVERLOAD: (f64, f64) = (3.0, 0.05);

/// Numbers of packets lost and sent, of which older ones weigh less.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Counted {
    pub lost: f64,
    pub sent: f64,
}

impl Counted {
    pub fn sum(counted: &[Self]) -> Self {
        let add = |sum: Self, one: &Self| Self { lost: sum.lost + one.lost, sent: sum.sent + one.sent };
        counted.iter().fold(Self::default(), add)
    }

    /// Part of the packets that is lost. While little is known it is one in twenty.
    pub fn part(self) -> f64 {
        (self.lost + 1.0) / (self.sent + 20.0)
    }

    /// Returns true if so many were lost that the path's rate has fallen, or it had an outage. They came together, so that their number
    /// says nothing of chance or of others, who fill a queue little by little.
    pub fn is_overload(&self) -> bool {
        self.lost > OVERLOAD.0.max(OVERLOAD.1 * self.sent)
    }

    pub fn add(&mut self, lost: f64, sent: f64) {
        let old = (-sent / HALF).exp2();
        *self = Self { lost: self.lost * old + lost, sent: self.sent * old + sent };
    }
}
