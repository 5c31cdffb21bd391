//! Expands populations of terminals into single ones.
//!
//! Positions are the rows of the table, or drawn with a random stream for each terminal, so that additional ones do not move the others.
//! Differs from a list of terminals: all keys but the position are those of the population.
//! Leaves out reading the table's file.

use super::places::{self, TerminalPlace};
use super::{Expansion, MOST};
use crate::error::{Place, Problem, quoted};
use crate::files::Files;
use crate::model::Population;
use crate::path::KeyPath;
use skyhop_chance::Seed;
use skyhop_orbit::terminal::LONGITUDES_DEG;
use skyhop_units::Length;

/// Half the circumference of the Earth, km: the largest distance between two places.
const FARTHEST_KM: f64 = 20_015.0;

impl Expansion<'_> {
    /// Adds the terminals of all populations. The error is in a table.
    pub(super) fn terminals(&mut self, files: &Files) -> Result<(), Problem> {
        let written = self.written;
        let key = KeyPath::default().key("populations");
        let most = MOST.saturating_sub(written.terminals.len());
        let mut sum = 0;
        for (name, population) in &written.populations {
            let at = key.key(name);
            crate::check::name::is_plain(name, || at.clone(), &mut self.out);
            if written.terminals.contains_key(name) {
                let message = || format!("name {} is taken by a terminal", quoted(name));
                self.out.push(|| at.clone(), message);
            }
            if !written.has_satellites() {
                let message =
                    || "a population of terminals without a constellation; add [constellation]".into();
                self.out.push(|| at.clone(), message);
            }
            let Some(places) = self.places(name, population, &at, files)? else { continue };
            let count = population.count.map_or(places.len(), |count| count as usize);
            sum += count;
            if sum > most {
                let message = || format!("{sum} terminals or more; expected at most {MOST} in all");
                self.out.push(|| at.key("count"), message);
                continue;
            }
            self.population(name, population, &places, &at);
        }
        Ok(())
    }

    /// The places of a population; `None` if its keys have mistakes.
    fn places(
        &mut self,
        name: &str,
        population: &Population,
        at: &KeyPath,
        files: &Files,
    ) -> Result<Option<Vec<TerminalPlace>>, Problem> {
        let before = self.out.list.len();
        let Population { file, around, count, radius, .. } = population;
        let out = &mut self.out;
        out.require(
            file.is_none() || around.is_none(),
            || at.key("around"),
            || "both file and around; expected one of them".into(),
        );
        out.require(
            file.is_some() || around.is_some(),
            || at.clone(),
            || {
                "no places; expected file = \"towns.csv\", or around = { lat = \"48 deg\", lon = \"11 deg\" }"
                    .into()
            },
        );
        out.require(
            around.is_none() || count.is_some(),
            || at.clone(),
            || "missing key \"count\"; expected the number of terminals around the place".into(),
        );
        out.require(
            (0.0..=FARTHEST_KM).contains(&radius.as_km()),
            || at.key("radius"),
            || format!("radius of {radius} is outside 0 km to {FARTHEST_KM} km"),
        );
        out.require(
            *radius == Length::default() || count.is_some(),
            || at.key("radius"),
            || {
                "radius needs count, as terminals of a table have places of their own; expected count too"
                    .into()
            },
        );
        if let Some(around) = around {
            let at = at.key("around");
            for (key, angle, (least, most)) in
                [("lat", around.lat, (-90.0, 90.0)), ("lon", around.lon, LONGITUDES_DEG)]
            {
                let fine = (least..=most).contains(&angle.as_deg());
                out.require(fine, || at.key(key), || format!("{angle} is outside {least} to {most} deg"));
            }
        }
        if out.list.len() > before {
            return Ok(None);
        }
        if let Some(around) = around {
            let (lat_deg, lon_deg) = (around.lat.as_deg(), around.lon.as_deg());
            let middle = TerminalPlace { name: String::new(), lat_deg, lon_deg, height: None, weight: 1.0 };
            return Ok(Some(vec![middle]));
        }
        let Some((file, bytes)) = file.as_ref().and_then(|file| Some((file, files.get(file)?))) else {
            return Ok(None);
        };
        let places = places::table(bytes, name).map_err(|error| Problem {
            place: match error.line {
                Some(line) => Place::Line { file: file.clone(), line },
                None => Place::File { file: file.clone() },
            },
            key: at.key("file").to_string(),
            message: error.message,
        })?;
        let weight: f64 = places.iter().map(|place| place.weight).sum();
        out.require(
            count.is_none() || weight > 0.0,
            || at.key("file"),
            || format!("all weights of {} are 0; expected a place with more", quoted(file)),
        );
        Ok(Some(places))
    }

    fn population(&mut self, name: &str, population: &Population, places: &[TerminalPlace], at: &KeyPath) {
        let mut members = Vec::new();
        match population.count {
            None => {
                for place in places {
                    let [lat, lon] = [place.lat_deg, place.lon_deg].map(skyhop_units::Angle::from_deg);
                    let height = place.height.unwrap_or(population.height);
                    members.push((format!("{name}-{}", place.name), population.terminal(lat, lon, height)));
                }
            }
            Some(count) => {
                let mut sum = 0.0;
                let sums: Vec<f64> = places
                    .iter()
                    .map(|place| {
                        sum += place.weight;
                        sum
                    })
                    .collect();
                for number in 1..=count {
                    let mut stream = Seed(self.written.seed).stream(&format!("population/{name}/{number}"));
                    let place = places::draw(places, &sums, &mut stream);
                    let (lat, lon) = places::scatter(place, population.radius, &mut stream);
                    let height = place.height.unwrap_or(population.height);
                    members.push((format!("{name}-{number}"), population.terminal(lat, lon, height)));
                }
            }
        }
        let mut names = Vec::with_capacity(members.len());
        for (member, terminal) in members {
            if self.scenario.terminals.contains_key(&member) {
                let message =
                    || format!("terminal {} of it exists already; expected another name", quoted(&member));
                self.out.push(|| at.clone(), message);
                return;
            }
            self.origins.terminals.insert(member.clone(), name.to_owned());
            self.scenario.terminals.insert(member.clone(), terminal);
            names.push(member);
        }
        if let Some((name, _)) = self.written.populations.get_key_value(name) {
            self.groups.insert(name, names);
        }
    }
}
