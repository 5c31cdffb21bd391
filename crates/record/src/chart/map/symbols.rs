//! Marks and line styles of a map.
//!
//! Follows engineers' habit: triangles point in the direction of flight; filled is ascending, empty is descending.
//! Differs from colours alone: kinds of links also differ in dash and weight, so they survive a grey printer.

use super::FlightDirection;
use skyhop_topology::LinkKind;
use std::fmt::Write;

/// The style of a line.
pub struct Pen {
    pub name: &'static str,
    pub colour: &'static str,
    pub width: f64,
    pub dash: &'static str,
}

/// The kinds of links, in the order of drawing and of the legend.
pub const KINDS: [LinkKind; 7] = [
    LinkKind::IntraPlane,
    LinkKind::InterPlane,
    LinkKind::CrossSeam,
    LinkKind::InterShell,
    LinkKind::Ground,
    LinkKind::Fibre,
    LinkKind::Gsl,
];

/// The line style of a kind of link.
pub fn pen(kind: LinkKind) -> Pen {
    let (name, colour, width, dash) = match kind {
        LinkKind::IntraPlane => ("ISL in the plane", "#3f6f9f", 1.0, ""),
        LinkKind::InterPlane => ("ISL between planes", "#3f6f9f", 0.8, "3 2"),
        LinkKind::CrossSeam => ("ISL across the seam", "#b45a00", 1.2, "1.5 1.5"),
        LinkKind::InterShell => ("ISL between shells", "#6a4fa3", 0.8, "4 2 1 2"),
        LinkKind::Gsl => ("GSL", "#14694c", 1.3, ""),
        LinkKind::Fibre => ("fibre", "#8a3a80", 1.0, "6 2 1.5 2"),
        LinkKind::Ground => ("link on the ground", "#555555", 1.0, ""),
    };
    Pen { name, colour, width, dash }
}

/// Line style of the seam of a star pattern.
pub const SEAM: Pen = Pen { name: "seam", colour: "#6b6b6b", width: 1.4, dash: "9 3 2 3" };
/// Line style of a footprint.
pub const FOOTPRINT: Pen = Pen { name: "footprint", colour: "#7a6a3a", width: 0.6, dash: "" };
/// Line style of a moving terminal's track.
pub const TRACK: Pen = Pen { name: "track", colour: "#000000", width: 1.2, dash: "1 3" };
/// Line style of the path.
pub const PATH: Pen = Pen { name: "path", colour: "#b3160c", width: 2.6, dash: "" };

/// Draws a satellite's mark.
pub fn satellite(out: &mut String, (x, y): (f64, f64), reach: f64, flight: FlightDirection, on_path: bool) {
    let colour = if on_path { PATH.colour } else { "#1c3a58" };
    let (side, up) = (reach, 0.8 * reach);
    let _ = match flight {
        FlightDirection::Ascending => write!(
            out,
            "<path d=\"M{:.1} {:.1}L{:.1} {:.1}H{:.1}Z\" fill=\"{colour}\" stroke=\"#ffffff\" stroke-width=\"0.5\"/>",
            x,
            y - reach,
            x + side,
            y + up,
            x - side
        ),
        FlightDirection::Descending => write!(
            out,
            "<path d=\"M{:.1} {:.1}L{:.1} {:.1}H{:.1}Z\" fill=\"#ffffff\" stroke=\"{colour}\" stroke-width=\"{:.1}\"/>",
            x,
            y + reach,
            x + side,
            y - up,
            x - side,
            (reach * 0.3).clamp(0.6, 1.1)
        ),
        FlightDirection::Still => write!(
            out,
            "<path d=\"M{:.1} {y:.1}L{x:.1} {:.1}L{:.1} {y:.1}L{x:.1} {:.1}Z\" fill=\"{colour}\" stroke=\"#ffffff\" stroke-width=\"0.5\"/>",
            x - reach,
            y - reach,
            x + reach,
            y + reach
        ),
    };
}

/// Draws a terminal's or a gateway's mark.
pub fn site(out: &mut String, (x, y): (f64, f64), reach: f64, gateway: bool) {
    let _ = if gateway {
        write!(
            out,
            "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"{2:.1}\" height=\"{2:.1}\" fill=\"#ffffff\" stroke=\"#000000\" stroke-width=\"1.4\"/>",
            x - reach,
            y - reach,
            2.0 * reach
        )
    } else {
        write!(
            out,
            "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{reach:.1}\" fill=\"#000000\" stroke=\"#ffffff\" stroke-width=\"1.2\"/>"
        )
    };
}
