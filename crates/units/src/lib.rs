//! Quantities with units, and the rule for writing them: input is a string with a unit, output is in SI units.
//!
//! Follows the SI and IEC 80000-13 prefixes (k = 1000, Ki = 1024, b = bit, B = byte).
//! Differs: `mbps` and its kin are refused, because tc reads them as bytes and ns-2 as bits per second.
//! Leaves out arithmetic on mixed dimensions, and units without use in satellite networks.
//!
//! ```
//! use skyhop_units::{Bytes, Rate, Span};
//! let rate: Rate = "1.5 Mbit/s".parse().unwrap();
//! let packet = Bytes::new(1500);
//! assert_eq!(rate.serialisation(packet), "8 ms".parse::<Span>().unwrap());
//! ```

mod amount;
mod angle;
mod bytes;
mod cure;
mod depth;
mod length;
mod parse;
mod rate;
mod serde_text;
mod speed;
mod time;

pub use amount::Amount;
pub use angle::Angle;
pub use bytes::Bytes;
pub use depth::Depth;
pub use length::Length;
pub use parse::UnitError;
pub use rate::Rate;
pub use speed::Speed;
pub use time::{Span, Time};
