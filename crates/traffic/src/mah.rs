//! The web of 1995: fits to the distributions measured by Bruce Mah, from which HT 3.2.1 draws.
//!
//! Follows ns-2's files (value, count, share): length of requests and replies, files per page, pages per server, think time.
//! Differs: the files are not shipped; these are fits by `tools/fit_traffic.py`, capped at the largest measured value.
//! Leaves out correlations between quantities, which the files do not have either.

use crate::Distribution;

/// The measured quantities.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mah {
    /// Length of a request, bytes. Four lognormals: Kolmogorov-Smirnov distance 0.0475, mean 340 of 337.
    Request,
    /// Length of a reply, bytes. Two lognormals: distance 0.0518, mean 6696 of 7231.
    Reply,
    /// Time between a page and the next request, s. Three lognormals: distance 0.0143, mean 1635 of 1804.
    Think,
    /// Number of files of a page. A lognormal, rounded up: distance 0.0237, mean 2.89 of 2.84.
    Files,
    /// Number of successive pages from one server. A Weibull, rounded up: distance 0.0133, mean 4.00 of 4.01.
    Stay,
}

impl Mah {
    /// The fitted distribution.
    pub fn distribution(self) -> Distribution {
        const REQUEST: &[(f64, f64, f64)] = &[
            (0.1943, 169.3, 0.6419),
            (0.5522, 223.0, 0.1060),
            (0.1242, 287.2, 0.0396),
            (0.1293, 1080.0, 0.0294),
        ];
        const REPLY: &[(f64, f64, f64)] = &[(0.8687, 1626.0, 1.7321), (0.1313, 2872.0, 0.2934)];
        const THINK: &[(f64, f64, f64)] =
            &[(0.1425, 2.313, 0.4774), (0.6765, 15.84, 1.1320), (0.1810, 1323.0, 2.3096)];
        let (inner, most, whole) = match self {
            Mah::Request => (Distribution::Lognormals(REQUEST), 1373.0, false),
            Mah::Reply => (Distribution::Lognormals(REPLY), 1_636_039.0, false),
            Mah::Think => (Distribution::Lognormals(THINK), 86_394.941, false),
            Mah::Files => (Distribution::Lognormal { median: 0.9625, sigma: 1.3403 }, 65.0, true),
            Mah::Stay => (Distribution::Weibull { scale: 2.9193, shape: 0.758 }, 54.0, true),
        };
        let cut = Distribution::Cut(Box::new(inner), most);
        if whole { Distribution::Whole(Box::new(cut)) } else { cut }
    }
}
