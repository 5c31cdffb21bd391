//! Expands links with a star in their name into single ones.
//!
//! Follows pattern rules of make: the star in a link's name and in its ends stands for the same text.
//! Differs from a pattern that only finds: an end that no node matches is a new node.
//! Leaves out chains: a star is matched against terminals, and ends of links that have a count or no star.

use super::pattern::{Pattern, fill};
use super::{Expansion, MOST, fitting};
use crate::error::quoted;
use crate::model::Link;
use crate::path::KeyPath;

impl Expansion<'_> {
    /// Adds all links: those without a star, those with a count, then those that need the ends of these.
    pub(super) fn links_into(&mut self) {
        let written = self.written;
        let (many, single): (Vec<_>, Vec<_>) =
            written.links.iter().partition(|(name, link)| name.contains('*') || link.count.is_some());
        for (name, link) in single {
            for (end, node) in link.between.iter().flatten().enumerate() {
                let at = || KeyPath::default().key("links").key(name).key("between").index(end);
                self.out.require(!node.contains('*'), at, || {
                    format!(
                        "{} for one link; expected an asterisk in the link's name too, such as \"{name}-*\"",
                        quoted(node)
                    )
                });
            }
            self.scenario.links.insert(name.clone(), link.clone());
        }
        let mut sum = self.scenario.links.len();
        let (counted, open): (Vec<_>, Vec<_>) = many.into_iter().partition(|(_, link)| link.count.is_some());
        for (name, link) in counted {
            let stems: Vec<String> = (1..=link.count.unwrap_or(0)).map(|n| n.to_string()).collect();
            self.links_of(name, link, &stems, &mut sum);
        }
        // All of these match their stars against the same nodes, whatever their order.
        let found: Vec<_> = open.iter().map(|(name, link)| self.stems(name, link)).collect();
        for ((name, link), stems) in open.into_iter().zip(found) {
            self.links_of(name, link, &stems.unwrap_or_default(), &mut sum);
        }
    }

    /// The texts that the star stands for: from the nodes that match the first end, or if none do the second end.
    fn stems(&mut self, name: &str, link: &Link) -> Option<Vec<String>> {
        let at = KeyPath::default().key("links").key(name);
        let Some(between) = &link.between else {
            let message = || "missing key \"between\"; expected two nodes, such as [\"user-*\", \"home-*\"]";
            self.out.push(|| at.clone(), || message().into());
            return None;
        };
        let nodes = self.nodes();
        let group = |end: &String| match self.written.populations.contains_key(end) {
            true => format!("{end}-*"),
            false => end.clone(),
        };
        for end in between.iter().map(group) {
            let Some(pattern) = Pattern::of(&end) else { continue };
            let stems: Vec<String> = fitting(&pattern, &nodes)
                .iter()
                .filter_map(|node| pattern.stem(node))
                .map(str::to_owned)
                .collect();
            if !stems.is_empty() {
                return Some(stems);
            }
        }
        let ends = between.iter().map(|end| quoted(end)).collect::<Vec<_>>().join(" nor ");
        let message =
            || format!("no terminal or node matches {ends}; expected a pattern that matches one, or count");
        self.out.push(|| at.key("between"), message);
        None
    }

    /// Adds a link for each of `stems`.
    fn links_of(&mut self, name: &str, link: &Link, stems: &[String], sum: &mut usize) {
        let at = KeyPath::default().key("links").key(name);
        *sum += stems.len();
        if *sum > MOST {
            let message = || format!("{sum} links or more; expected at most {MOST} in all");
            return self.out.push(|| at.clone(), message);
        }
        let Some(pattern) = Pattern::of(name) else {
            let stars = name.matches('*').count();
            let message = || match stars {
                0 => {
                    format!(
                        "{} links of one name; expected an asterisk in it, such as \"{name}-*\"",
                        stems.len()
                    )
                }
                _ => format!("{stars} asterisks in a name; expected one"),
            };
            return self.out.push(|| at.clone(), message);
        };
        for (end, node) in link.between.iter().flatten().enumerate() {
            let stars = node.matches('*').count();
            self.out.require(
                stars < 2,
                || at.key("between").index(end),
                || format!("{stars} asterisks in a name; expected one"),
            );
        }
        let end = |end: &String, stem: &str| match self.written.populations.contains_key(end) {
            true => format!("{end}-{stem}"),
            false => fill(end, stem),
        };
        for stem in stems {
            let between = link.between.as_ref().map(|[a, b]| [end(a, stem), end(b, stem)]);
            let own = pattern.fill(stem);
            if self.scenario.links.contains_key(&own) {
                let message = || format!("link {} of it exists already; expected another name", quoted(&own));
                return self.out.push(|| at.clone(), message);
            }
            self.origins.links.insert(own.clone(), name.to_owned());
            self.scenario.links.insert(own, Link { between, count: None, ..link.clone() });
        }
    }
}
