//! Full factorial designs: effects of factors, how the variation is divided among them, and their intervals.
//!
//! Follows Jain, The Art of Computer Systems Performance Analysis, chapters 20 to 23, and KG 4.4.1, which has such a design.
//! Differs from a regression: effects of a factor, or of a pair, sum to 0, so cells must have equally many runs.
//! Leaves out fractional designs, nested factors, transformations of the response, and effects of three factors or more.

mod grid;
mod text;

pub use grid::{ColumnValues, FactorialError, columns_of};

use grid::Grid;
use serde::Serialize;
use statrs::distribution::{ContinuousCDF, FisherSnedecor, StudentsT};

/// A factor and its levels, in the order of their first runs.
#[derive(Debug, Clone, Serialize)]
pub struct Factor {
    /// The column's name.
    pub name: String,
    /// The values.
    pub levels: Vec<String>,
    /// Standard deviation of a main effect.
    pub deviation: f64,
    /// Standard deviation of a main effect after KG 4.4.1; none without an error of that kind.
    pub paper_deviation: Option<f64>,
}

/// A part of the variation.
#[derive(Debug, Clone, Serialize)]
pub struct Component {
    /// Names of the factors; none for the residual.
    pub factors: Vec<String>,
    /// The name in tables.
    pub name: String,
    /// The sum of squares.
    pub sum_of_squares: f64,
    /// Degrees of freedom.
    pub df: usize,
    /// The share of the total variation in per cent.
    pub percent: f64,
    /// The mean square over that of the error.
    pub f: Option<f64>,
    /// The probability of so large a ratio by chance.
    pub p: Option<f64>,
}

/// The effect of a level, or of a pair of levels in addition to their own effects.
#[derive(Debug, Clone, Serialize)]
pub struct Effect {
    /// Names of the factors: one, or two.
    pub factors: Vec<String>,
    /// Their levels.
    pub levels: Vec<String>,
    /// The effect, in units of the response.
    pub effect: f64,
    /// The lower end of the interval.
    pub low: f64,
    /// The upper end of the interval.
    pub high: f64,
    /// The ends of the interval after KG 4.4.1; main effects only.
    pub paper: Option<(f64, f64)>,
    /// True if the interval does not include 0.
    pub significant: bool,
    /// True if another effect of these factors has the same size and the opposite sign.
    #[serde(skip)]
    mirrored: bool,
}

/// The error with which effects are compared.
#[derive(Debug, Clone, Serialize)]
pub struct ErrorTerm {
    /// Its source.
    pub source: String,
    /// Its standard deviation.
    pub standard_error: f64,
    /// Degrees of freedom.
    pub df: usize,
    /// Quantile of Student's t for the interval.
    pub t: f64,
}

/// The analysis of a full factorial design.
#[derive(Debug, Clone, Serialize)]
pub struct Factorial {
    /// The response's column.
    pub response: String,
    /// Number of runs in the analysis.
    pub runs: usize,
    /// Number of runs in each cell.
    pub replications: usize,
    /// Number of runs without a response, which are left out.
    pub left_out: usize,
    /// Confidence of the intervals.
    pub confidence: f64,
    /// Mean of all runs.
    pub mean: f64,
    /// Sum of the squares of all values.
    pub squares: f64,
    /// Sum of squares of the mean.
    pub squares_of_mean: f64,
    /// Sum of squares around the mean.
    pub variation: f64,
    /// The factors.
    pub factors: Vec<Factor>,
    /// Main effects, first-order interactions, and the residual.
    pub components: Vec<Component>,
    /// Effects of levels, then of pairs.
    pub effects: Vec<Effect>,
    /// The error.
    pub error: ErrorTerm,
    /// The error after KG 4.4.1: cell means around main effects and first-order interactions.
    pub paper: Option<ErrorTerm>,
}

/// Factors of a term of the model, by index, and its effect for each combination of their levels.
struct Term {
    of: Vec<usize>,
    effects: Vec<f64>,
    squares: f64,
    df: usize,
}

/// The model of a design: the mean, main effects and first-order interactions, fitted to the means of cells.
struct FittedModel {
    mean: f64,
    main: Vec<Term>,
    pairs: Vec<Term>,
    /// Sum of squares of the means of cells around the model, and its degrees of freedom.
    lack_of_fit: (f64, usize),
    /// Sum of squares of runs around the mean of their cell, and its degrees of freedom.
    within: (f64, usize),
}

/// Analyses `response` over `factors`; over everything that was varied if no factor is named.
pub fn factorial(
    columns: &[(String, ColumnValues)],
    response: &str,
    factors: &[String],
    confidence: f64,
) -> Result<Factorial, FactorialError> {
    if !(confidence > 0.0 && confidence < 1.0) {
        return Err(FactorialError::Confidence(confidence));
    }
    let grid = Grid::new(columns, response, factors)?;
    let (cells, each) = (grid.cells.len(), grid.cells[0].len());
    let runs = cells * each;
    let values = || grid.cells.iter().flatten();
    let mut model = FittedModel::fit(&grid);
    let mean = model.mean;
    let variation: f64 = values().map(|y| (y - mean).powi(2)).sum();
    // Rounding of equal values leaves one part in 10^12.
    if variation.sqrt() <= 1e-12 * mean.abs() * (runs as f64).sqrt() {
        return Err(FactorialError::Constant { response: response.into(), value: mean });
    }
    let (source, (squares, df)) = model.error_source(&grid)?;
    let error = spread(source, squares, df, confidence);
    let paper = (grid.factors.len() >= 3).then(|| {
        let (rest, rest_df) = model.lack_of_fit;
        spread("cell means around main effects and first-order interactions", rest, rest_df, confidence)
    });
    if each == 1 && grid.factors.len() == 2 {
        // The interaction is the error.
        model.pairs.clear();
    }
    let deviation =
        |s: &ErrorTerm, levels: usize, of: usize| s.standard_error * ((levels - 1) as f64 / of as f64).sqrt();
    let factors = grid.factors.iter().map(|(name, levels)| Factor {
        name: name.clone(),
        levels: levels.clone(),
        deviation: deviation(&error, levels.len(), runs),
        paper_deviation: paper.as_ref().map(|p| deviation(p, levels.len(), cells)),
    });
    Ok(Factorial {
        response: response.into(),
        runs,
        replications: each,
        left_out: grid.left_out,
        confidence,
        mean,
        squares: values().map(|y| y * y).sum(),
        squares_of_mean: runs as f64 * mean * mean,
        variation,
        factors: factors.collect(),
        components: model.components(&grid, &error, (squares, df), variation),
        effects: model.effects(&grid, &error, paper.as_ref()),
        error,
        paper,
    })
}

impl FittedModel {
    fn fit(grid: &Grid) -> Self {
        let (cells, each, ways) = (grid.cells.len(), grid.cells[0].len(), grid.factors.len());
        let means: Vec<f64> = grid.cells.iter().map(|cell| cell.iter().sum::<f64>() / each as f64).collect();
        let mean = means.iter().sum::<f64>() / cells as f64;
        let main: Vec<Term> = (0..ways).map(|i| grid.term(&[i], &means, mean, each, &[])).collect();
        let pairs: Vec<Term> = (0..ways)
            .flat_map(|i| (i + 1..ways).map(move |j| (i, j)))
            .map(|(i, j)| grid.term(&[i, j], &means, mean, each, &[&main[i], &main[j]]))
            .collect();
        let rest: f64 = (0..cells)
            .map(|cell| {
                let fit: f64 =
                    main.iter().chain(&pairs).map(|term| term.effects[grid.index(&term.of, cell)]).sum();
                (means[cell] - mean - fit).powi(2)
            })
            .sum();
        let within: f64 = grid
            .cells
            .iter()
            .zip(&means)
            .flat_map(|(cell, m)| cell.iter().map(move |y| (y - m).powi(2)))
            .sum();
        let modelled: usize = main.iter().chain(&pairs).map(|term| term.df).sum();
        let (lack_of_fit, within) = ((rest, cells - 1 - modelled), (within, cells * (each - 1)));
        Self { mean, main, pairs, lack_of_fit, within }
    }

    fn terms(&self) -> impl Iterator<Item = &Term> {
        self.main.iter().chain(&self.pairs)
    }

    /// The source of the error, with its sum of squares and degrees of freedom.
    ///
    /// # Errors
    ///
    /// The design has one factor and one run in each cell.
    fn error_source(&self, grid: &Grid) -> Result<(&'static str, (f64, usize)), FactorialError> {
        // With two factors and one run in a cell, only the interaction can serve as the error (Jain 21).
        match (grid.cells[0].len(), grid.factors.len()) {
            (2.., _) => Ok(("runs of a cell around their mean", self.within)),
            (_, 3..) => Ok(("what main effects and first-order interactions leave", self.lack_of_fit)),
            (_, 2) => {
                let pair = &self.pairs[0];
                Ok(("the interaction, as each cell has one run", (pair.squares, pair.df)))
            }
            _ => Err(FactorialError::NoError { factor: grid.factors[0].0.clone() }),
        }
    }

    /// The table of the analysis of variance; `residual` is the error's sum of squares and degrees of freedom.
    fn components(
        &self,
        grid: &Grid,
        error: &ErrorTerm,
        residual: (f64, usize),
        variation: f64,
    ) -> Vec<Component> {
        let component = |factors: Vec<String>, name: String, (squares, df): (f64, usize), tested: bool| {
            let f = squares / df as f64 / error.standard_error.powi(2);
            let p = FisherSnedecor::new(df as f64, error.df as f64)
                .map(|law| if f.is_finite() { law.sf(f) } else { 0.0 });
            Component {
                factors,
                name,
                sum_of_squares: squares,
                df,
                percent: 100.0 * squares / variation,
                f: tested.then_some(f),
                p: p.ok().filter(|_| tested),
            }
        };
        let of_term = |term: &Term| {
            let factors = grid.names(&term.of);
            let name = factors.join(" * ");
            component(factors, name, (term.squares, term.df), true)
        };
        let mut components: Vec<Component> = self.terms().map(of_term).collect();
        let (each, (rest, rest_df)) = (grid.cells[0].len(), self.lack_of_fit);
        if each > 1 && rest_df > 0 {
            let higher = (rest * each as f64, rest_df);
            components.push(component(Vec::new(), "higher interactions".into(), higher, true));
        }
        components.push(component(Vec::new(), "error".into(), residual, false));
        components
    }

    /// The effects of levels and of pairs, with their intervals.
    fn effects(&self, grid: &Grid, error: &ErrorTerm, paper: Option<&ErrorTerm>) -> Vec<Effect> {
        let (cells, runs) = (grid.cells.len(), grid.cells.len() * grid.cells[0].len());
        let mut effects = Vec::new();
        for term in self.terms() {
            let freedom = term.df as f64;
            let half = error.t * error.standard_error * (freedom / runs as f64).sqrt();
            let paper = paper.filter(|_| term.of.len() == 1);
            let paper = paper.map(|p| p.t * p.standard_error * (freedom / cells as f64).sqrt());
            for (at, effect) in term.effects.iter().copied().enumerate() {
                let at = grid.levels_of(&term.of, at);
                let levels = || term.of.iter().map(|i| &grid.factors[*i].1).zip(&at);
                effects.push(Effect {
                    factors: grid.names(&term.of),
                    levels: levels().map(|(levels, level)| levels[*level].clone()).collect(),
                    effect,
                    low: effect - half,
                    high: effect + half,
                    paper: paper.map(|half| (effect - half, effect + half)),
                    significant: effect.abs() > half.max(1e-12 * self.mean.abs()),
                    mirrored: levels().any(|(levels, level)| levels.len() == 2 && *level == 0),
                });
            }
        }
        effects
    }
}

/// The error term with this sum of squares.
fn spread(source: &str, squares: f64, df: usize, confidence: f64) -> ErrorTerm {
    let law = StudentsT::new(0.0, 1.0, df as f64);
    let t = law.map_or(f64::NAN, |law| law.inverse_cdf(0.5 + confidence / 2.0));
    ErrorTerm { source: source.into(), standard_error: (squares / df as f64).sqrt(), df, t }
}

impl Grid {
    /// Names of the factors `of`.
    fn names(&self, of: &[usize]) -> Vec<String> {
        of.iter().map(|i| self.factors[*i].0.clone()).collect()
    }

    /// The term of the factors `of`: means over all others, without the mean and the terms `below`.
    fn term(&self, of: &[usize], means: &[f64], mean: f64, each: usize, below: &[&Term]) -> Term {
        let count: usize = of.iter().map(|i| self.factors[*i].1.len()).product();
        let share = count as f64 / means.len() as f64;
        let mut effects = vec![-mean; count];
        for (cell, value) in means.iter().enumerate() {
            let lower: f64 = below.iter().map(|term| term.effects[self.index(&term.of, cell)]).sum();
            effects[self.index(of, cell)] += (value - lower) * share;
        }
        let squares = effects.iter().map(|e| e * e).sum::<f64>() / share * each as f64;
        let df = of.iter().map(|i| self.factors[*i].1.len() - 1).product();
        Term { of: of.to_vec(), effects, squares, df }
    }
}
