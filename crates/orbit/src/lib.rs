//! Positions of satellites and terminals, and the view between them.
//!
//! Follows Henderson's thesis 2.2 and 3.2.3 for circular shells, Kepler for ellipses, SGP4 for catalogued satellites.
//! Differs: positions are in the rotating frame, in which all users need them.
//! Left out: manoeuvres and attitude; links between satellites are in `skyhop-topology`.

pub mod catalogue;
pub mod circular;
pub mod constellation;
pub mod course;
pub mod coverage;
pub mod earth;
pub mod elements;
pub mod elliptic;
pub mod epoch;
pub mod footprint;
pub mod omm;
pub mod passes;
pub mod places;
pub mod planes;
pub mod preset;
pub mod shell;
pub mod sky;
pub mod terminal;
pub mod tle;
pub mod track;
pub mod vec3;
pub mod visibility;
pub mod walker;

pub use catalogue::Catalogue;
pub use circular::CircularOrbits;
pub use constellation::{Constellation, MixtureError};
pub use course::{Course, CourseError, Waypoint};
pub use earth::EarthModel;
pub use elements::{ElementSet, ElementsError};
pub use elliptic::{Drift, EllipticOrbits, Kepler, KeplerError};
pub use epoch::{Epoch, EpochError};
pub use passes::{Pass, passes};
pub use planes::Planes;
pub use preset::{Preset, PresetError};
pub use shell::{Phasing, PlacedShell, Shell, ShellError};
pub use sky::Sky;
pub use terminal::{Terminal, TerminalError};
pub use track::{Sighting, sightings, sightings_on_course};
pub use vec3::{Ecef, Eci, Motion, Vec3};
pub use visibility::{Look, highest_elevation, look};
pub use walker::{Walker, WalkerError};
