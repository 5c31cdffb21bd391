//! Places by name or by coordinates: cities of the world.
//!
//! Follows common atlases, to a hundredth of a degree: one kilometre, or three microseconds.
//! Differs: a city is a point of height zero; spaces, hyphens and capitals in a name do not matter.
//! Left out: countries, so that of two cities with the same name only the larger is listed.

use std::fmt;

use crate::terminal::{Terminal, TerminalError};
use skyhop_text::spelling;

/// Name, latitude and east longitude in degrees, sorted by name.
pub const CITIES: &[(&str, f64, f64)] = &[
    ("abidjan", 5.36, -4.01),
    ("abu-dhabi", 24.45, 54.38),
    ("accra", 5.6, -0.19),
    ("addis-ababa", 9.03, 38.74),
    ("adelaide", -34.93, 138.6),
    ("algiers", 36.75, 3.06),
    ("almaty", 43.24, 76.89),
    ("amman", 31.95, 35.93),
    ("amsterdam", 52.37, 4.9),
    ("anchorage", 61.22, -149.9),
    ("ankara", 39.93, 32.86),
    ("antananarivo", -18.88, 47.51),
    ("apia", -13.83, -171.77),
    ("athens", 37.98, 23.73),
    ("atlanta", 33.75, -84.39),
    ("auckland", -36.85, 174.76),
    ("baghdad", 33.31, 44.37),
    ("baku", 40.41, 49.87),
    ("bangalore", 12.97, 77.59),
    ("bangkok", 13.76, 100.5),
    ("barcelona", 41.39, 2.17),
    ("beijing", 39.9, 116.41),
    ("beirut", 33.89, 35.5),
    ("belgrade", 44.79, 20.45),
    ("berkeley", 37.9, -122.3),
    ("berlin", 52.52, 13.41),
    ("bogota", 4.71, -74.07),
    ("boston", 42.3, -71.1),
    ("brasilia", -15.79, -47.88),
    ("brisbane", -27.47, 153.03),
    ("brussels", 50.85, 4.35),
    ("bucharest", 44.43, 26.1),
    ("budapest", 47.5, 19.04),
    ("buenos-aires", -34.6, -58.38),
    ("cairo", 30.04, 31.24),
    ("cape-town", -33.92, 18.42),
    ("caracas", 10.48, -66.9),
    ("casablanca", 33.57, -7.59),
    ("chennai", 13.08, 80.27),
    ("chicago", 41.88, -87.63),
    ("colombo", 6.93, 79.86),
    ("copenhagen", 55.68, 12.57),
    ("dakar", 14.72, -17.47),
    ("dallas", 32.78, -96.8),
    ("damascus", 33.51, 36.28),
    ("dar-es-salaam", -6.79, 39.21),
    ("darwin", -12.46, 130.84),
    ("delhi", 28.61, 77.21),
    ("denver", 39.74, -104.99),
    ("detroit", 42.33, -83.05),
    ("dhaka", 23.81, 90.41),
    ("doha", 25.29, 51.53),
    ("dubai", 25.2, 55.27),
    ("dublin", 53.35, -6.26),
    ("edinburgh", 55.95, -3.19),
    ("frankfurt", 50.11, 8.68),
    ("geneva", 46.2, 6.14),
    ("guam", 13.44, 144.79),
    ("guatemala-city", 14.63, -90.51),
    ("guayaquil", -2.17, -79.92),
    ("halifax", 44.65, -63.58),
    ("hamburg", 53.55, 9.99),
    ("hanoi", 21.03, 105.85),
    ("harare", -17.83, 31.05),
    ("havana", 23.11, -82.37),
    ("helsinki", 60.17, 24.94),
    ("ho-chi-minh-city", 10.82, 106.63),
    ("hobart", -42.88, 147.33),
    ("hong-kong", 22.32, 114.17),
    ("honolulu", 21.31, -157.86),
    ("houston", 29.76, -95.37),
    ("islamabad", 33.68, 73.05),
    ("istanbul", 41.01, 28.98),
    ("jakarta", -6.21, 106.85),
    ("jeddah", 21.49, 39.19),
    ("jerusalem", 31.77, 35.22),
    ("johannesburg", -26.2, 28.05),
    ("kabul", 34.56, 69.21),
    ("kampala", 0.35, 32.58),
    ("karachi", 24.86, 67.01),
    ("kathmandu", 27.72, 85.32),
    ("khartoum", 15.5, 32.56),
    ("kinshasa", -4.44, 15.27),
    ("kolkata", 22.57, 88.36),
    ("kuala-lumpur", 3.15, 101.71),
    ("kuwait-city", 29.38, 47.99),
    ("kyiv", 50.45, 30.52),
    ("la-paz", -16.5, -68.15),
    ("lagos", 6.52, 3.38),
    ("lahore", 31.55, 74.34),
    ("las-vegas", 36.17, -115.14),
    ("lima", -12.05, -77.04),
    ("lisbon", 38.72, -9.14),
    ("london", 51.51, -0.13),
    ("longyearbyen", 78.22, 15.65),
    ("los-angeles", 34.05, -118.24),
    ("luanda", -8.84, 13.23),
    ("lusaka", -15.39, 28.32),
    ("madrid", 40.42, -3.7),
    ("manaus", -3.12, -60.02),
    ("manila", 14.6, 120.98),
    ("maputo", -25.97, 32.57),
    ("marseille", 43.3, 5.37),
    ("mcmurdo", -77.85, 166.67),
    ("medellin", 6.24, -75.58),
    ("melbourne", -37.81, 144.96),
    ("mexico-city", 19.43, -99.13),
    ("miami", 25.76, -80.19),
    ("milan", 45.46, 9.19),
    ("minneapolis", 44.98, -93.27),
    ("minsk", 53.9, 27.57),
    ("mogadishu", 2.05, 45.32),
    ("montevideo", -34.9, -56.16),
    ("montreal", 45.5, -73.57),
    ("moscow", 55.76, 37.62),
    ("mumbai", 19.08, 72.88),
    ("munich", 48.14, 11.58),
    ("nairobi", -1.29, 36.82),
    ("new-orleans", 29.95, -90.07),
    ("new-york", 40.71, -74.01),
    ("novosibirsk", 55.01, 82.94),
    ("nuuk", 64.18, -51.72),
    ("osaka", 34.69, 135.5),
    ("oslo", 59.91, 10.75),
    ("ottawa", 45.42, -75.7),
    ("panama-city", 8.98, -79.52),
    ("papeete", -17.54, -149.57),
    ("paris", 48.86, 2.35),
    ("perth", -31.95, 115.86),
    ("philadelphia", 39.95, -75.17),
    ("phoenix", 33.45, -112.07),
    ("port-moresby", -9.44, 147.18),
    ("prague", 50.08, 14.44),
    ("punta-arenas", -53.16, -70.91),
    ("quito", -0.22, -78.51),
    ("recife", -8.05, -34.88),
    ("reykjavik", 64.15, -21.94),
    ("riga", 56.95, 24.11),
    ("rio-de-janeiro", -22.91, -43.17),
    ("riyadh", 24.71, 46.68),
    ("rome", 41.9, 12.5),
    ("san-diego", 32.72, -117.16),
    ("san-francisco", 37.77, -122.42),
    ("san-juan", 18.47, -66.11),
    ("santiago", -33.45, -70.67),
    ("sao-paulo", -23.55, -46.63),
    ("seattle", 47.61, -122.33),
    ("seoul", 37.57, 126.98),
    ("shanghai", 31.23, 121.47),
    ("shenzhen", 22.54, 114.06),
    ("singapore", 1.35, 103.82),
    ("sofia", 42.7, 23.32),
    ("st-petersburg", 59.93, 30.34),
    ("stellenbosch", -33.93, 18.86),
    ("stockholm", 59.33, 18.07),
    ("suva", -18.14, 178.44),
    ("sydney", -33.87, 151.21),
    ("taipei", 25.03, 121.57),
    ("tashkent", 41.3, 69.24),
    ("tbilisi", 41.72, 44.83),
    ("tehran", 35.69, 51.39),
    ("tel-aviv", 32.09, 34.78),
    ("tokyo", 35.68, 139.69),
    ("toronto", 43.65, -79.38),
    ("tunis", 36.81, 10.18),
    ("ulaanbaatar", 47.89, 106.91),
    ("vancouver", 49.28, -123.12),
    ("vienna", 48.21, 16.37),
    ("vladivostok", 43.12, 131.89),
    ("warsaw", 52.23, 21.01),
    ("washington", 38.91, -77.04),
    ("wellington", -41.29, 174.78),
    ("winnipeg", 49.9, -97.14),
    ("yakutsk", 62.03, 129.73),
    ("yangon", 16.87, 96.2),
    ("yerevan", 40.18, 44.51),
    ("zagreb", 45.82, 15.98),
    ("zurich", 47.37, 8.54),
];

/// The place for a text: a city's name, or `lat,lon` in degrees, north and east positive.
pub fn find(text: &str) -> Result<Terminal, PlaceError> {
    if let Some((latitude, longitude)) = text.split_once(',') {
        let degrees = |part: &str| part.trim().trim_end_matches("deg").trim_end().parse::<f64>().ok();
        if let (Some(latitude_deg), Some(longitude_deg)) = (degrees(latitude), degrees(longitude)) {
            let name = format!("{latitude_deg},{longitude_deg}");
            return Terminal::from_degrees(name, latitude_deg, longitude_deg)
                .map_err(PlaceError::Coordinates);
        }
    }
    let plain = spelling::plain(text);
    let joined = |name: &str| name.replace('-', "");
    let city = CITIES.iter().find(|(name, ..)| *name == plain || joined(name) == joined(&plain));
    match city {
        Some(&(name, latitude_deg, longitude_deg)) => {
            Terminal::from_degrees(name, latitude_deg, longitude_deg).map_err(PlaceError::Coordinates)
        }
        None => {
            let nearest = spelling::nearest(&plain, CITIES.iter().map(|(name, ..)| *name));
            Err(PlaceError::Unknown { text: text.chars().take(40).collect(), nearest })
        }
    }
}

/// The error for a text that is not a place.
#[derive(Debug, Clone, PartialEq)]
pub enum PlaceError {
    /// There is no city of that name.
    Unknown {
        /// The text.
        text: String,
        /// The city with the most similar name.
        nearest: Option<&'static str>,
    },
    /// Coordinates out of range.
    Coordinates(TerminalError),
}

impl fmt::Display for PlaceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown { text, nearest: Some(nearest) } => {
                write!(f, "unknown place \"{text}\"; did you mean \"{nearest}\"?")
            }
            Self::Unknown { text, nearest: None } => {
                write!(
                    f,
                    "unknown place \"{text}\"; expected a large city or lat,lon in degrees like 40.71,-74.01"
                )
            }
            Self::Coordinates(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for PlaceError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cities_are_in_order_and_on_the_earth() {
        assert!(CITIES.len() >= 150, "{} cities", CITIES.len());
        assert!(CITIES.windows(2).all(|pair| pair[0].0 < pair[1].0), "by name, each once");
        assert!(CITIES.iter().all(|(name, ..)| find(name).is_ok() && spelling::plain(name) == *name));
    }

    #[test]
    fn places_are_found_however_they_are_written() {
        for text in ["New York", "new-york", "newyork", " NEW_YORK ", "40.71,-74.01", "40.71 , -74.01"] {
            let found = find(text).expect(text);
            assert_eq!(
                (found.latitude_rad, found.longitude_rad),
                (40.71f64.to_radians(), -74.01f64.to_radians())
            );
        }
        assert_eq!(find("40.71,-74.01").expect("coordinates").name, "40.71,-74.01");
        let error = |text: &str| find(text).expect_err(text).to_string();
        assert_eq!(error("Lodnon"), "unknown place \"Lodnon\"; did you mean \"london\"?");
        assert!(error("xq").starts_with("unknown place \"xq\"; expected a large city or lat,lon"));
        assert_eq!(error("91,0"), "latitude of 91 deg for terminal \"91,0\"; expected -90 to 90 deg");
        assert!(error("nan,0").starts_with("latitude of NaN deg"));
    }
}
