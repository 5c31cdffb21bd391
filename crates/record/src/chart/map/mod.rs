//! Maps of a constellation at an instant: satellites, links, terminals, a path.
//!
//! Follows the snapshots of HT figures 1.2 and 6.1: satellites over an equirectangular world with the links that are up.
//! Differs: ascending and descending satellites have different shapes, and links are great circles.
//! Leaves out other projections, animation and dark screens: a map is a figure for paper.

mod draw;
mod geometry;
mod label;
pub(super) mod land;
mod legend;
mod symbols;
mod text;

pub use geometry::MapPoint;
use skyhop_orbit::{Constellation, Course, Terminal, Vec3};
use skyhop_topology::{LinkKind, NodeId, Topology};

/// Direction in which a satellite flies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum FlightDirection {
    /// North.
    Ascending,
    /// South.
    Descending,
    /// Stationary over the ground.
    Still,
}

#[derive(Debug, Clone)]
struct MapSatellite {
    name: String,
    at: MapPoint,
    flight: FlightDirection,
    on_path: bool,
}

#[derive(Debug, Clone)]
struct MapSite {
    name: String,
    at: MapPoint,
    gateway: bool,
}

#[derive(Debug, Clone)]
struct MapLine {
    kind: LinkKind,
    ends: [MapPoint; 2],
}

/// A node of a path on the map.
#[derive(Debug, Clone)]
struct Stop {
    name: String,
    at: MapPoint,
    satellite: bool,
}

/// A map. Build it with its methods, then call [`Map::svg`] or [`Map::text`].
///
/// ```
/// use skyhop_record::Map;
/// use skyhop_orbit::preset;
/// use skyhop_topology::{Rules, Topology};
/// let mut topology = Topology::new(preset::iridium(), Vec::new(), Rules::iridium())?;
/// topology.update(60.0);
/// let map = Map::new("Iridium at 60 s").network(&topology, 60.0);
/// assert!(map.svg().starts_with("<svg") && map.text(96).contains('^'));
/// # Ok::<(), skyhop_topology::TopologyError>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct Map {
    title: String,
    notes: Vec<String>,
    satellites: Vec<MapSatellite>,
    sites: Vec<MapSite>,
    lines: Vec<MapLine>,
    seams: Vec<Vec<Vec<MapPoint>>>,
    footprints: Vec<Vec<Vec<MapPoint>>>,
    mask_deg: f64,
    /// Waypoints of moving terminals.
    tracks: Vec<Vec<MapPoint>>,
    path: Vec<Stop>,
    names: Option<bool>,
}

impl Map {
    /// A map with coastlines only.
    pub fn new(title: impl Into<String>) -> Self {
        Map { title: title.into(), ..Map::default() }
    }

    /// Adds a note below the map.
    pub fn note(mut self, text: impl Into<String>) -> Self {
        self.notes.push(text.into());
        self
    }

    /// Shows or hides satellites' names, where there is room; by default up to a hundred are shown.
    pub fn names(mut self, names: bool) -> Self {
        self.names = Some(names);
        self
    }

    /// Adds the satellites at `t_s`, the links that were up at the topology's last update, stations and seams.
    pub fn network(mut self, topology: &Topology, t_s: f64) -> Self {
        let constellation = topology.constellation();
        for satellite in 0..constellation.len() as u32 {
            let Some(motion) = constellation.motion(satellite, t_s) else { continue };
            self.satellites.push(MapSatellite {
                name: constellation.name(satellite),
                at: MapPoint::below(motion.position),
                flight: flight(motion.velocity_m_s),
                on_path: false,
            });
        }
        for index in 0..topology.terminals().len() {
            let Some(terminal) = topology.terminal_at(index, t_s) else { continue };
            self.tracks.extend(topology.course(index).map(waypoints));
            self.sites.push(MapSite {
                at: at(&terminal),
                name: terminal.name,
                gateway: topology.terminal_node(index).is_some_and(|node| topology.relays(node)),
            });
        }
        for link in topology.links().iter().filter(|link| link.up) {
            if let (Some(a), Some(b)) = (point(topology, link.a, t_s), point(topology, link.b, t_s)) {
                self.lines.push(MapLine { kind: link.kind, ends: [a, b] });
            }
        }
        self.seams.extend(seams(constellation, t_s));
        self
    }

    /// Adds the footprint of each satellite at the rules' elevation mask.
    pub fn footprints(mut self, topology: &Topology, t_s: f64) -> Self {
        let (constellation, mask_rad) = (topology.constellation(), topology.rules().elevation_mask_rad);
        self.mask_deg = mask_rad.to_degrees();
        for satellite in 0..constellation.len() as u32 {
            let Some(place) = constellation.position_ecef(satellite, t_s) else { continue };
            let radius_rad =
                geometry::footprint_rad(constellation.earth().radius_m, place.0.norm(), mask_rad);
            self.footprints.push(geometry::circle(MapPoint::below(place), radius_rad));
        }
        self
    }

    /// Adds a path over a network added before.
    pub fn path(mut self, topology: &Topology, nodes: &[NodeId], t_s: f64) -> Self {
        for &node in nodes {
            let Some(at) = point(topology, node, t_s) else { continue };
            let (name, satellite) = (topology.node_name(node), topology.is_satellite(node));
            for known in self.satellites.iter_mut().filter(|known| satellite && known.name == name) {
                known.on_path = true;
            }
            self.path.push(Stop { name, at, satellite });
        }
        self
    }

    /// The complete picture as SVG.
    pub fn svg(&self) -> String {
        draw::svg(self)
    }

    /// The picture as text, in braille and letters: `columns` wide and half as many lines high.
    pub fn text(&self, columns: usize) -> String {
        text::draw(self, columns)
    }
}

fn east(lon_deg: f64) -> f64 {
    lon_deg - 360.0 * (lon_deg / 360.0).round()
}

fn at(terminal: &Terminal) -> MapPoint {
    MapPoint {
        lat_deg: terminal.latitude_rad.to_degrees(),
        lon_deg: east(terminal.longitude_rad.to_degrees()),
    }
}

fn waypoints(course: &Course) -> Vec<MapPoint> {
    course.waypoints().iter().map(|waypoint| at(&waypoint.terminal(""))).collect()
}

/// The point on the map below a node; of a terminal, its own latitude and longitude.
fn point(topology: &Topology, node: NodeId, t_s: f64) -> Option<MapPoint> {
    match topology.terminal_index(node).and_then(|index| topology.terminal_at(index, t_s)) {
        Some(terminal) => Some(at(&terminal)),
        None => topology.position_ecef(node, t_s).map(MapPoint::below),
    }
}

/// Largest ground speed of a stationary satellite; the slowest other one is Molniya near its apogee.
const STILL_M_S: f64 = 50.0;

fn flight(velocity_m_s: Vec3) -> FlightDirection {
    match velocity_m_s {
        v if v.norm() < STILL_M_S => FlightDirection::Still,
        v if v.z >= 0.0 => FlightDirection::Ascending,
        _ => FlightDirection::Descending,
    }
}

/// The seam of each star pattern: halfway between its first and last plane, which counter-rotate.
fn seams(constellation: &Constellation, t_s: f64) -> Vec<Vec<Vec<MapPoint>>> {
    let planes = constellation.planes();
    let axis = |plane: u32| -> Option<Vec3> {
        let satellite = *planes.members(plane).first()?;
        let motion = constellation.motion(satellite, t_s)?;
        let (r, ground) = (motion.position.0, motion.velocity_m_s);
        let turn = Vec3::new(0.0, 0.0, constellation.earth().rotation_rad_s());
        let axis = r.cross(ground + turn.cross(r));
        Some(axis * (1.0 / axis.norm()))
    };
    let stars = planes.shells().iter().filter(|shell| !shell.wraps && shell.planes.len() > 2);
    stars
        .filter_map(|shell| {
            let (first, last) = (axis(shell.planes.start)?, axis(shell.planes.end - 1)?);
            Some(geometry::great_circle(first - last))
        })
        .collect()
}
