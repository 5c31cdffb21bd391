//! Placement of labels next to their marks, without overlaps.
//!
//! Follows the usual greedy placement of point labels: eight positions around a mark, the one that covers least.
//! Differs from an optimal placement: the most important labels go first, and none moves for a later one.
//! Leaves out text measurement; no font is known here, so widths are estimated generously.

/// A box on the picture.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Area {
    pub left: f64,
    pub top: f64,
    pub right: f64,
    pub bottom: f64,
}

impl Area {
    /// A box around a point.
    pub fn around((x, y): (f64, f64), half: f64) -> Self {
        Area { left: x - half, top: y - half, right: x + half, bottom: y + half }
    }

    fn overlaps(&self, other: &Area) -> bool {
        self.left < other.right
            && other.left < self.right
            && self.top < other.bottom
            && other.top < self.bottom
    }

    fn holds(&self, (x, y): (f64, f64)) -> bool {
        (self.left..self.right).contains(&x) && (self.top..self.bottom).contains(&y)
    }

    fn within(&self, frame: &Area) -> bool {
        self.left >= frame.left
            && self.right <= frame.right
            && self.top >= frame.top
            && self.bottom <= frame.bottom
    }
}

/// A placed label: the left end of its baseline.
#[derive(Debug, Clone, PartialEq)]
pub struct Placed {
    pub text: String,
    pub x: f64,
    pub y: f64,
    pub size: f64,
}

/// Estimated width of a text, generous for common sans-serif fonts.
pub fn width(text: &str, size: f64) -> f64 {
    let narrow =
        |c: char| matches!(c, 'i' | 'j' | 'l' | 'I' | '.' | ',' | '\'' | ' ' | 'f' | 't' | ':' | '(' | ')');
    let wide = |c: char| matches!(c, 'm' | 'w' | 'M' | 'W' | '%' | '@');
    let letter = |c: char| match c {
        c if narrow(c) => 0.40,
        c if wide(c) => 0.95,
        c if c.is_uppercase() => 0.74,
        c if c.is_ascii_digit() => 0.64,
        _ => 0.6,
    };
    text.chars().map(letter).sum::<f64>() * size
}

/// The occupied areas of the picture.
#[derive(Debug, Clone)]
pub struct Placement {
    frame: Area,
    /// Marks, and the cost of covering each.
    marks: Vec<(Area, f64)>,
    labels: Vec<Area>,
    /// Points along lines, and the cost of covering each.
    lines: Vec<((f64, f64), f64)>,
}

const OVER_LABEL: f64 = 1000.0;
/// Cost of covering an important mark.
pub const OVER_MARK: f64 = 100.0;

impl Placement {
    /// An empty picture.
    pub fn new(frame: Area) -> Self {
        Placement { frame, marks: Vec::new(), labels: Vec::new(), lines: Vec::new() }
    }

    /// Adds a mark that labels avoid, at a cost.
    pub fn mark(&mut self, area: Area, cost: f64) {
        self.marks.push((area, cost));
    }

    /// Adds a point of a line that labels avoid, at a cost.
    pub fn line(&mut self, at: (f64, f64), cost: f64) {
        self.lines.push((at, cost));
    }

    /// Places a label around a mark of radius `reach`. Returns `None` if there is no room, unless it must be placed.
    pub fn label(
        &mut self,
        text: &str,
        (x, y): (f64, f64),
        reach: f64,
        size: f64,
        must: bool,
    ) -> Option<Placed> {
        let (width, height, gap) = (width(text, size), 0.95 * size, reach + 2.5);
        let beside = 0.36 * size;
        let baselines = [
            (x + gap, y + beside),
            (x - gap - width, y + beside),
            (x - width / 2.0, y - gap - 0.2 * size),
            (x - width / 2.0, y + gap + 0.75 * size),
            (x + 0.7 * gap, y - 0.7 * gap),
            (x - 0.7 * gap - width, y - 0.7 * gap),
            (x + 0.7 * gap, y + 0.7 * gap + 0.75 * size),
            (x - 0.7 * gap - width, y + 0.7 * gap + 0.75 * size),
        ];
        let mut best: Option<(f64, Area, (f64, f64))> = None;
        for (rank, (left, baseline)) in baselines.into_iter().enumerate() {
            let area = Area {
                left: left - 1.0,
                right: left + width + 1.0,
                top: baseline - 0.8 * size,
                bottom: baseline - 0.8 * size + height + 1.0,
            };
            if !area.within(&self.frame) {
                continue;
            }
            let cost = self.cost(&area) + 0.1 * rank as f64;
            if best.is_none_or(|(least, ..)| cost < least) {
                best = Some((cost, area, (left, baseline)));
            }
        }
        let (cost, area, (x, y)) = best?;
        if !must && cost >= OVER_MARK {
            return None;
        }
        self.labels.push(area);
        Some(Placed { text: text.to_owned(), x, y, size })
    }

    fn cost(&self, area: &Area) -> f64 {
        let labels = self.labels.iter().filter(|other| area.overlaps(other)).count() as f64;
        let marks: f64 =
            self.marks.iter().filter(|(mark, _)| area.overlaps(mark)).map(|(_, cost)| cost).sum();
        let lines: f64 = self.lines.iter().filter(|(at, _)| area.holds(*at)).map(|(_, cost)| cost).sum();
        OVER_LABEL * labels + marks + lines.min(0.9 * OVER_MARK)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_keep_off_each_other_and_inside() {
        let frame = Area { left: 0.0, top: 0.0, right: 300.0, bottom: 200.0 };
        let mut placement = Placement::new(frame);
        let points: Vec<(f64, f64)> =
            (0..60).map(|i| (f64::from(i * 47 % 300), f64::from(i * 31 % 200))).collect();
        points.iter().for_each(|&at| placement.mark(Area::around(at, 3.0), OVER_MARK));
        let placed: Vec<Placed> = points
            .iter()
            .enumerate()
            .filter_map(|(i, &at)| placement.label(&format!("{}.{}", i / 11, i % 11), at, 3.0, 9.0, false))
            .collect();
        assert!((20..60).contains(&placed.len()), "{}", placed.len());
        for (i, a) in placement.labels.iter().enumerate() {
            assert!(a.within(&frame));
            assert!(placement.labels[i + 1..].iter().all(|b| !a.overlaps(b)));
            assert!(placement.marks.iter().all(|(mark, _)| !a.overlaps(mark)));
        }
        // A label that must be shown is placed even if there is no room.
        assert!(placement.label("must", points[0], 3.0, 9.0, true).is_some());
    }
}
