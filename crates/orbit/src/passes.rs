//! Passes of a satellite over a terminal: rise, culmination, set.
//!
//! Follows HT 2.2.1 and TH figure 3.1: a pass lasts while the elevation is above the mask.
//! Differs: the extrema of the elevation are found first, so that no pass, however low, falls between two samples.
//! Left out: refraction, and passes with two extrema within [`STEP_S`].

use crate::constellation::Constellation;
use crate::terminal::Terminal;
use crate::vec3::{Ecef, Vec3};
use crate::visibility::{Look, elevation_rad, elevation_rate_rad_s, look};

/// A pass of one satellite.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pass {
    /// Number of the satellite.
    pub satellite: u32,
    /// Time at which it rises above the mask, s; `None` if it was above when the search began.
    pub rise_s: Option<f64>,
    /// Time of its highest elevation within the searched interval, s.
    pub culmination_s: f64,
    /// Time at which it sets below the mask, s; `None` if it is still above when the search ends.
    pub set_s: Option<f64>,
    /// View at the rise, or at the beginning of the search.
    pub first: Look,
    /// View at the culmination.
    pub highest: Look,
    /// View at the set, or at the end of the search.
    pub last: Look,
}

/// Time between samples of the elevation rate, s.
pub const STEP_S: f64 = 60.0;
/// Precision of instants, s.
pub const TOLERANCE_S: f64 = 1e-4;

/// The passes of a satellite over a terminal between two instants, in order.
///
/// The list ends early if a catalogued satellite becomes unavailable.
pub fn passes(
    constellation: &Constellation,
    terminal: &Terminal,
    satellite: u32,
    mask_rad: f64,
    (from_s, to_s): (f64, f64),
) -> Vec<Pass> {
    let place = terminal.position_ecef(constellation.earth());
    let view = PassView { constellation, terminal, place, up: terminal.up(), satellite };
    let period_s = constellation.period_s(satellite).unwrap_or(STEP_S);
    let step_s = STEP_S.min(period_s / 60.0);
    let mut found = Vec::new();
    let mut open: Option<Pass> = None;
    let mut begin_s = from_s;
    let (Some(mut elevation), Some(mut rate)) = (view.elevation_rad(from_s), view.rate_rad_s(from_s)) else {
        return found;
    };
    if elevation > mask_rad
        && let Some(first) = view.look(from_s)
    {
        open = Some(Pass {
            satellite,
            rise_s: None,
            culmination_s: from_s,
            set_s: None,
            first,
            highest: first,
            last: first,
        });
    }
    while begin_s < to_s {
        let end_s = (begin_s + step_s).min(to_s);
        let Some(next_rate) = view.rate_rad_s(end_s) else { break };
        let turn_s = (rate > 0.0 && next_rate <= 0.0) || (rate < 0.0 && next_rate >= 0.0);
        let turn_s = turn_s.then(|| root(begin_s, end_s, |t_s| view.rate_rad_s(t_s)));
        // Between extrema the elevation is monotonic.
        for stop_s in turn_s.into_iter().chain([end_s]) {
            let Some(next) = view.elevation_rad(stop_s) else { break };
            let above = next > mask_rad;
            if above != (elevation > mask_rad) {
                let edge_s = root(begin_s, stop_s, |t_s| view.elevation_rad(t_s).map(|e| e - mask_rad));
                let Some(seen) = view.look(edge_s) else { break };
                match open.take() {
                    Some(pass) => found.push(Pass { set_s: Some(edge_s), last: seen, ..pass }),
                    None => {
                        open = Some(Pass {
                            satellite,
                            rise_s: Some(edge_s),
                            culmination_s: edge_s,
                            set_s: None,
                            first: seen,
                            highest: seen,
                            last: seen,
                        });
                    }
                }
            }
            if let Some(pass) = &mut open
                && let Some(seen) = view.look(stop_s)
            {
                pass.last = seen;
                if seen.elevation_rad > pass.highest.elevation_rad {
                    (pass.culmination_s, pass.highest) = (stop_s, seen);
                }
            }
            (begin_s, elevation) = (stop_s, next);
        }
        (begin_s, rate) = (end_s, next_rate);
    }
    found.extend(open);
    found
}

struct PassView<'a> {
    constellation: &'a Constellation,
    terminal: &'a Terminal,
    place: Ecef,
    up: Vec3,
    satellite: u32,
}

impl PassView<'_> {
    fn elevation_rad(&self, t_s: f64) -> Option<f64> {
        Some(elevation_rad(self.place, self.up, self.constellation.position_ecef(self.satellite, t_s)?))
    }

    fn rate_rad_s(&self, t_s: f64) -> Option<f64> {
        Some(elevation_rate_rad_s(self.place, self.up, &self.constellation.motion(self.satellite, t_s)?))
    }

    fn look(&self, t_s: f64) -> Option<Look> {
        let satellite = self.constellation.position_ecef(self.satellite, t_s)?;
        Some(look(self.constellation.earth(), self.terminal, satellite))
    }
}

/// The instant at which `f` changes its sign, by bisection.
fn root(mut low_s: f64, mut high_s: f64, f: impl Fn(f64) -> Option<f64>) -> f64 {
    let rising = f(high_s).is_some_and(|value| value > 0.0);
    while high_s - low_s > TOLERANCE_S {
        let middle_s = 0.5 * (low_s + high_s);
        if middle_s <= low_s || middle_s >= high_s {
            break;
        }
        match f(middle_s) {
            Some(value) if (value > 0.0) == rising => high_s = middle_s,
            _ => low_s = middle_s,
        }
    }
    0.5 * (low_s + high_s)
}
