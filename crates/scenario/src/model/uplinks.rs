//! Uplinks that terminals share by time and frequency, with slots that are assigned on demand.
//!
//! Follows ETSI EN 301 545-2 (DVB-RCS2) for the categories of capacity; defaults are those of OpenSAND or of SNS3.
//! Differs: a frame is a superframe of slots of one size.
//! Leaves out random access, log-on, and modulation.

use super::Scenario;
use super::named::named;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use skyhop_units::{Bytes, Rate, Span};

/// An uplink that terminals share (MF-TDMA): frames of slots on several carriers, which a controller assigns on demand.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Uplink {
    /// Rate of all carriers together.
    pub rate: Rate,
    /// Number of carriers; a terminal sends on one at a time.
    #[serde(default = "one_carrier")]
    #[schemars(range(min = 1, max = 1000))]
    pub carriers: u32,
    /// Program whose algorithm for requests and whose defaults the uplink uses.
    #[serde(default)]
    pub like: UplinkModel,
    /// Duration of a frame; 26.5 ms like OpenSAND, 100 ms like SNS3.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frame: Option<Span>,
    /// Payload of a slot; an ATM cell if left out.
    #[serde(default = "default_slot")]
    pub slot: Bytes,
    /// Time between two requests of a terminal, in whole frames; 1 s like OpenSAND, 100 ms like SNS3.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_period: Option<Span>,
    /// Number of frames for which a requested rate is valid; by default one more than between two requests like OpenSAND, and at
    /// least 5 like SNS3.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub persistence: Option<u32>,
    /// One-way delay between the far end of the terminals' links and the controller.
    #[serde(default)]
    pub controller_delay: Span,
}

named! {
    /// The program whose algorithm for requests and whose defaults an uplink uses.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
    pub enum UplinkModel {
        /// OpenSAND: the requested rate is that of arrivals, plus the waiting bytes over the time to an answer.
        #[default]
        OpenSand = "opensand",
        /// SNS3: the requested rate is that of arrivals, plus the earlier waiting bytes over the time between requests.
        Sns3 = "sns3",
    }
}

/// The part of a terminal in an uplink: the capacity that it may have, by category. Without any of the four it has the constant
/// and the rate-based assignment of `like`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OnDemand {
    /// Name of the uplink.
    pub name: String,
    /// Constant assignment (CRA), used or not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub constant: Option<Rate>,
    /// Limit of the capacity that is assigned by requested rate (RBDC).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_based: Option<Rate>,
    /// Limit of the volume that the terminal has requested and that is not assigned yet (VBDC).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub volume_based: Option<Bytes>,
    /// Limit of the free capacity, which is assigned without a request (FCA).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub free: Option<Rate>,
}

impl Uplink {
    /// Duration of a frame.
    pub fn frame(&self) -> Span {
        self.frame.unwrap_or(match self.like {
            UplinkModel::OpenSand => Span::from_micros(26_500),
            UplinkModel::Sns3 => Span::from_millis(100),
        })
    }

    /// Frames from one request of a terminal to the next.
    pub fn request_frames(&self) -> u64 {
        let period = self.request_period.unwrap_or(match self.like {
            UplinkModel::OpenSand => Span::from_secs(1),
            UplinkModel::Sns3 => Span::from_millis(100),
        });
        let frame = self.frame().as_nanos().max(1);
        ((period.as_nanos() + frame / 2) / frame).max(1)
    }

    /// Number of frames for which a requested rate is valid.
    pub fn persistence(&self) -> u64 {
        let default = match self.like {
            UplinkModel::OpenSand => self.request_frames() + 1,
            UplinkModel::Sns3 => (self.request_frames() + 1).max(5),
        };
        self.persistence.map_or(default, u64::from)
    }

    /// Rate of a carrier, bit/s.
    pub fn carrier_bps(&self) -> u64 {
        self.rate.as_bps() / u64::from(self.carriers.max(1))
    }

    /// Slots of a carrier in a frame.
    pub fn slots(&self) -> u64 {
        let bits = u128::from(self.carrier_bps()) * u128::from(self.frame().as_nanos()) / 1_000_000_000;
        u64::try_from(bits / u128::from(self.slot.bits().max(1))).unwrap_or(u64::MAX)
    }
}

impl OnDemand {
    /// The same with the categories of `uplink` where it names none.
    pub fn with_defaults(&self, uplink: &Uplink) -> Self {
        let given = self.constant.is_some()
            || self.rate_based.is_some()
            || self.volume_based.is_some()
            || self.free.is_some();
        if given {
            return self.clone();
        }
        let (constant, rate_based) = match uplink.like {
            UplinkModel::OpenSand => (100, 1024),
            UplinkModel::Sns3 => (50, 9216),
        };
        let kbit = |kbps: u64| Rate::from_bps(1000 * kbps);
        Self { constant: kbit(constant), rate_based: kbit(rate_based), ..self.clone() }
    }
}

impl Scenario {
    /// Largest rate at which a link of `rate` sends in an uplink's slots; `rate` itself without one.
    pub(crate) fn on_demand_rate(&self, on_demand: Option<&OnDemand>, rate: Rate) -> Rate {
        let Some(own) = self.categories(on_demand) else { return rate };
        if own.volume_based.is_some() {
            return rate;
        }
        let given = [own.constant, own.rate_based, own.free];
        let sum: u64 = given.into_iter().flatten().map(Rate::as_bps).fold(0, u64::saturating_add);
        Rate::from_bps(sum).map_or(rate, |sum| sum.min(rate))
    }

    /// Returns true if a terminal has a constant assignment, and more only after it has asked for a rate.
    pub(crate) fn asks_for_rate(&self, on_demand: Option<&OnDemand>) -> bool {
        self.categories(on_demand).is_some_and(|own| own.constant.is_some() && own.rate_based.is_some())
    }

    /// The categories of a terminal, with the defaults of its uplink; `None` without one.
    fn categories(&self, on_demand: Option<&OnDemand>) -> Option<OnDemand> {
        let own = on_demand?;
        Some(own.with_defaults(self.uplinks.get(&own.name)?))
    }
}

fn one_carrier() -> u32 {
    1
}
fn default_slot() -> Bytes {
    Bytes::new(53)
}
