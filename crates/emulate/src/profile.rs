//! Common paths, as scenarios without a file.
//!
//! Follows operators' present descriptions of their services, and papers with measurements; each text cites its source.
//! Differs from a file: a profile can be printed, changed and kept as a scenario.
//! Leaves out weather and load, which differ between users.

/// Places of the two ends of a profile with moving satellites: names, and coordinates in degrees.
#[derive(Debug, Clone, PartialEq)]
pub struct ProfileEnds {
    /// Name, latitude and longitude of the user.
    pub user: (String, f64, f64),
    /// The same for the other end: the server, or the gateway in front of it.
    pub server: (String, f64, f64),
}

/// A profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Profile {
    /// Its name.
    pub name: &'static str,
    /// A line of description.
    pub about: &'static str,
    text: &'static str,
    /// Default cities of its ends; `None` if nothing moves.
    pub cities: Option<[&'static str; 2]>,
}

/// All profiles.
pub const PROFILES: [Profile; 6] = [
    Profile {
        name: "geo",
        about: "a geostationary satellite: 50/5 Mbit/s, 560 ms there and back",
        text: GEO,
        cities: None,
    },
    Profile {
        name: "leo",
        about: "a low satellite that stands still: 100/20 Mbit/s, 40 ms there and back, some loss",
        text: LEO,
        cities: None,
    },
    Profile {
        name: "meo",
        about: "O3b's 20 satellites over the equator: 100/20 Mbit/s, handovers",
        text: MEO,
        cities: Some(["Lima", "Miami"]),
    },
    Profile {
        name: "iridium",
        about: "Iridium's 66 satellites with their links: 10 Mbit/s",
        text: IRIDIUM,
        cities: Some(["New York", "San Francisco"]),
    },
    Profile {
        name: "starlink",
        about: "Starlink's first shell: 250/20 Mbit/s, a choice of satellites every 15 s",
        text: STARLINK,
        cities: Some(["London", "Frankfurt"]),
    },
    Profile {
        name: "dial-return",
        about: "a broadcast satellite down, a telephone line back: 10 Mbit/s and 33.6 kbit/s",
        text: DIAL_RETURN,
        cities: None,
    },
];

impl Profile {
    /// The profile of this name.
    pub fn named(name: &str) -> Option<Self> {
        PROFILES.into_iter().find(|profile| profile.name == name)
    }

    /// Its scenario. `ends` are for the profiles that have `cities`.
    pub fn scenario(&self, ends: Option<&ProfileEnds>) -> String {
        let mut text = self.text.to_owned();
        if let Some(ProfileEnds { user, server }) = ends {
            for ((name, lat, lon), end) in [(user, "USER"), (server, "SERVER")] {
                let place = format!("lat = \"{lat} deg\", lon = \"{lon} deg\"");
                text = text.replace(&format!("{end}_PLACE"), &place).replace(&format!("{end}_NAME"), name);
            }
        }
        text
    }
}

const GEO: &str = r#"# A geostationary satellite as it is sold to homes: an RTT of 560 ms, of which 20 ms are on the ground.
name = "geo"
duration = "10 min"
[links.internet]
rate = "1 Gbit/s"
delay = "10 ms"
[links.satellite]
rate = "50 Mbit/s"
delay = "270 ms"
reverse = { rate = "5 Mbit/s" }
[[flows]]
name = "programs"
real = true
path = ["server", "internet", "satellite", "user"]
traffic = { kind = "bulk" }
"#;

const LEO: &str = r#"# A satellite of a low constellation as one link whose delay stays: an RTT of 40 ms, one packet in a thousand lost.
name = "leo"
duration = "10 min"
[links.internet]
rate = "1 Gbit/s"
delay = "10 ms"
[links.satellite]
rate = "100 Mbit/s"
delay = "10 ms"
loss = { kind = "packets", probability = 0.001 }
reverse = { rate = "20 Mbit/s" }
[[flows]]
name = "programs"
real = true
path = ["server", "internet", "satellite", "user"]
traffic = { kind = "bulk" }
"#;

const MEO: &str = r#"# O3b: USER_NAME to a gateway in SERVER_NAME over satellites that pass along the equator, without links among them.
name = "meo"
duration = "6 h"
[constellation]
preset = "o3b"
gsl = { up = { rate = "20 Mbit/s" }, down = { rate = "100 Mbit/s" } }
[terminals]
user = { USER_PLACE }
gateway = { SERVER_PLACE, gateway = true, antennas = "all", gsl = { rate = "1 Gbit/s" } }
[links.internet]
between = ["server", "gateway"]
rate = "1 Gbit/s"
delay = "5 ms"
[[flows]]
name = "programs"
real = true
from = "server"
to = "user"
traffic = { kind = "bulk" }
"#;

const IRIDIUM: &str = r#"# Iridium with the thesis's orbits, and more rate than it sells:
# USER_NAME to SERVER_NAME from satellite to satellite.
name = "iridium"
duration = "24 h"
[constellation]
preset = "iridium"
gsl = { rate = "10 Mbit/s" }
isl = { rate = "100 Mbit/s" }
[terminals]
user = { USER_PLACE, antennas = 1 }
server = { SERVER_PLACE, antennas = 1 }
[[flows]]
name = "programs"
real = true
from = "server"
to = "user"
traffic = { kind = "bulk" }
"#;

const STARLINK: &str = r#"# Starlink's first shell: USER_NAME to a gateway in SERVER_NAME.
# All terminals choose their satellite together every 15 s.
name = "starlink"
duration = "1 h"
[constellation]
preset = "starlink-550"
handover = "synchronous"
handover_period = "15 s"
gsl = { up = { rate = "20 Mbit/s" }, down = { rate = "250 Mbit/s" } }
isl = { rate = "10 Gbit/s" }
[terminals]
user = { USER_PLACE, antennas = 1 }
gateway = { SERVER_PLACE, gateway = true, antennas = "all", gsl = { rate = "10 Gbit/s" } }
[links.internet]
between = ["server", "gateway"]
rate = "10 Gbit/s"
delay = "5 ms"
[[flows]]
name = "programs"
real = true
from = "server"
to = "user"
traffic = { kind = "bulk" }
"#;

const DIAL_RETURN: &str = r#"# A broadcast satellite down, and a modem back whose queue holds 10 packets.
name = "dial-return"
duration = "10 min"
[links.satellite]
rate = "10 Mbit/s"
delay = "270 ms"
[links.satellite.reverse]
rate = "33.6 kbit/s"
delay = "75 ms"
queue = { kind = "drop-tail", limit = "10 packets" }
[[flows]]
name = "programs"
real = true
path = ["server", "satellite", "user"]
traffic = { kind = "bulk" }
"#;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_profile_is_a_scenario_without_a_warning() {
        let ends =
            ProfileEnds { user: ("Quito".into(), -0.22, -78.51), server: ("Lima".into(), -12.05, -77.04) };
        for profile in PROFILES {
            let text = profile.scenario(Some(&ends));
            assert!(!text.contains("_PLACE") && !text.contains("_NAME"), "{text}");
            assert_eq!(profile.cities.is_some(), text.contains("Quito"));
            let loaded =
                skyhop_scenario::parse(text.as_bytes(), profile.name, &[]).unwrap_or_else(|e| panic!("{e}"));
            assert_eq!(loaded.name, profile.name);
            assert_eq!(loaded.scenario.flows.iter().filter(|flow| !flow.real.none()).count(), 1);
            let built = skyhop_sim::Simulation::with_programs(&loaded.scenario, &loaded.files, 1, &[0]);
            assert!(built.is_ok(), "{}", profile.name);
        }
        assert!(Profile::named("geo").is_some() && Profile::named("moon").is_none());
    }
}
