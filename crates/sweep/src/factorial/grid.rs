//! The runs of a table as cells of a grid, one for each combination of the factors' levels.
//!
//! Follows the columns of a sweep: what was varied comes before `seed`, what was measured after it.
//! Differs from the table: runs without a response are left out, and levels are texts.
//! Leaves out ranges: each value of a column is a level.

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type, UInt64Type};
use arrow_schema::DataType;
use skyhop_text::spelling::hint;
use std::fmt;

/// Missing cells that a message names.
const MOST_NAMED: usize = 8;

/// The values of a column. Missing numbers are NaN.
#[derive(Debug, Clone)]
pub enum ColumnValues {
    /// Numbers.
    Numbers(Vec<f64>),
    /// Anything else.
    Texts(Vec<String>),
}

/// The reason why a table cannot be analysed.
#[derive(Debug, Clone, PartialEq)]
pub enum FactorialError {
    /// No column has this name.
    Unknown {
        /// Its role, response or factor.
        role: &'static str,
        /// The name.
        name: String,
        /// The nearest name in a question, or nothing.
        hint: String,
    },
    /// A factor is named twice, or is the response.
    Twice(String),
    /// No factor was varied.
    NoFactors,
    /// The response is not a number.
    Text {
        /// The response.
        response: String,
        /// A value of it.
        value: String,
    },
    /// No run has a response.
    Empty(String),
    /// A factor has one level.
    OneLevel {
        /// The factor.
        factor: String,
        /// Its level.
        level: String,
    },
    /// A column was varied and is not a factor.
    Varied {
        /// The column.
        column: String,
        /// The number of its values.
        values: usize,
    },
    /// Cells have no run.
    Missing {
        /// The cells.
        cells: Vec<String>,
        /// The number of cells in the grid.
        of: usize,
    },
    /// Cells have fewer runs than others.
    Unequal {
        /// The cells with fewest runs.
        cells: Vec<String>,
        /// The number of runs that these have.
        fewest: usize,
        /// The number of runs that others have.
        most: usize,
    },
    /// The response is the same in all runs.
    Constant {
        /// The response.
        response: String,
        /// Its value.
        value: f64,
    },
    /// One run for each level of the only factor.
    NoError {
        /// The factor.
        factor: String,
    },
    /// A confidence that is no share.
    Confidence(f64),
}

impl fmt::Display for FactorialError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown { role, name, hint } => write!(f, "{role}: no column \"{name}\"{hint}"),
            Self::Twice(name) => write!(
                f,
                "factors: \"{name}\" is named twice, or is the response; expected different columns"
            ),
            Self::NoFactors => f.write_str(
                "factors: no column has two values or more; expected a table of varied runs, or factors",
            ),
            Self::Text { response, value } => {
                write!(
                    f,
                    "response: \"{response}\" is text, such as \"{value}\"; expected a column of numbers"
                )
            }
            Self::Empty(response) => write!(f, "response: no run has a number in \"{response}\""),
            Self::OneLevel { factor, level } => {
                write!(f, "factors: \"{factor}\" is {level} in all runs; expected two levels or more")
            }
            Self::Varied { column, values } => write!(
                f,
                "factors: \"{column}\" has {values} values; expected it among the factors, or runs with one of them only"
            ),
            Self::Missing { cells, of } => {
                write!(
                    f,
                    "the grid is incomplete: {} of {of} cells have no run{}",
                    cells.len(),
                    listed(cells)
                )
            }
            Self::Unequal { cells, fewest, most } => write!(
                f,
                "the grid is unbalanced: {} with {fewest} run{} where others have {most}; expected as many in each{}",
                if cells.len() == 1 { "1 cell".into() } else { format!("{} cells", cells.len()) },
                if *fewest == 1 { "" } else { "s" },
                listed(cells)
            ),
            Self::Constant { response, value } => {
                write!(f, "response: \"{response}\" is {value} in all runs; expected one that varies")
            }
            Self::NoError { factor } => write!(
                f,
                "each level of \"{factor}\" has one run, which leaves no error; expected more seeds, or a second factor"
            ),
            Self::Confidence(value) => {
                write!(f, "confidence of {value}; expected more than 0 and less than 1, such as 0.9")
            }
        }
    }
}

impl std::error::Error for FactorialError {}

fn listed(cells: &[String]) -> String {
    let more = cells.len().saturating_sub(MOST_NAMED);
    let mut out: String = cells.iter().take(MOST_NAMED).map(|cell| format!("\n  {cell}")).collect();
    if more > 0 {
        out += &format!("\n  and {more} more");
    }
    out
}

/// The columns of a table.
pub fn columns_of(batches: &[RecordBatch]) -> Vec<(String, ColumnValues)> {
    let Some(first) = batches.first() else { return Vec::new() };
    let schema = first.schema();
    let column = |at: usize, kind: &DataType| {
        let arrays = batches.iter().map(|batch| batch.column(at));
        match kind {
            DataType::Float64 => ColumnValues::Numbers(
                arrays
                    .flat_map(|a| a.as_primitive::<Float64Type>().iter().map(|v| v.unwrap_or(f64::NAN)))
                    .collect(),
            ),
            DataType::Int64 => ColumnValues::Numbers(
                arrays
                    .flat_map(|a| {
                        a.as_primitive::<Int64Type>().iter().map(|v| v.map_or(f64::NAN, |v| v as f64))
                    })
                    .collect(),
            ),
            DataType::UInt64 => ColumnValues::Numbers(
                arrays
                    .flat_map(|a| {
                        a.as_primitive::<UInt64Type>().iter().map(|v| v.map_or(f64::NAN, |v| v as f64))
                    })
                    .collect(),
            ),
            DataType::Boolean => ColumnValues::Texts(
                arrays
                    .flat_map(|a| a.as_boolean().iter().map(|v| v.map_or(String::new(), |v| v.to_string())))
                    .collect(),
            ),
            _ => ColumnValues::Texts(
                arrays
                    .flat_map(|a| a.as_string::<i32>().iter().map(|v| v.unwrap_or_default().to_owned()))
                    .collect(),
            ),
        }
    };
    schema
        .fields()
        .iter()
        .enumerate()
        .map(|(at, field)| (field.name().clone(), column(at, field.data_type())))
        .collect()
}

impl ColumnValues {
    /// The value in a row as the name of a level.
    fn level(&self, row: usize) -> String {
        match self {
            ColumnValues::Numbers(values) => match values[row] {
                v if v == 0.0 || (1e-4..1e15).contains(&v.abs()) => v.to_string(),
                v => format!("{v:e}"),
            },
            ColumnValues::Texts(values) => values[row].clone(),
        }
    }

    fn levels(&self, rows: &[usize]) -> Vec<String> {
        let mut levels: Vec<String> = Vec::new();
        for level in rows.iter().map(|row| self.level(*row)) {
            if !levels.contains(&level) {
                levels.push(level);
            }
        }
        levels
    }
}

/// Factors with their levels, and the response of each cell's runs. The last factor changes from cell to cell.
pub struct Grid {
    pub factors: Vec<(String, Vec<String>)>,
    pub cells: Vec<Vec<f64>>,
    pub left_out: usize,
}

impl Grid {
    pub fn new(
        columns: &[(String, ColumnValues)],
        response: &str,
        factors: &[String],
    ) -> Result<Self, FactorialError> {
        let find = |role, name: &str| {
            let found = columns.iter().find(|(known, _)| known == name).map(|(_, column)| column);
            found.ok_or_else(|| FactorialError::Unknown {
                role,
                name: name.into(),
                hint: hint(name, columns.iter().map(|(known, _)| known.as_str())),
            })
        };
        let values = match find("response", response)? {
            ColumnValues::Numbers(values) => values,
            ColumnValues::Texts(texts) => {
                let value = texts.iter().find(|text| !text.is_empty()).cloned().unwrap_or_default();
                return Err(FactorialError::Text { response: response.into(), value });
            }
        };
        let all: Vec<usize> = (0..values.len()).collect();
        let rows: Vec<usize> = all.iter().copied().filter(|row| values[*row].is_finite()).collect();
        if rows.is_empty() {
            return Err(FactorialError::Empty(response.into()));
        }
        let seed = columns.iter().position(|(name, _)| name == "seed").unwrap_or(0);
        let varied = columns[..seed].iter().filter(|(name, _)| name != "point");
        let varied =
            varied.map(|(name, column)| (name, column.levels(&all).len())).filter(|(_, levels)| *levels > 1);
        let varied: Vec<(&String, usize)> = varied.collect();
        let factors: Vec<String> = if factors.is_empty() {
            varied.iter().map(|(name, _)| (*name).clone()).collect()
        } else {
            factors.to_vec()
        };
        let mut found: Vec<(String, &ColumnValues)> = Vec::new();
        for name in &factors {
            let column = find("factors", name)?;
            if name == response || found.iter().any(|(known, _)| known == name) {
                return Err(FactorialError::Twice(name.clone()));
            }
            found.push((name.clone(), column));
        }
        if found.is_empty() {
            return Err(FactorialError::NoFactors);
        }
        // Levels of runs that failed count: a level without any other run is a hole in the grid.
        let levels: Vec<Vec<String>> = found.iter().map(|(_, column)| column.levels(&all)).collect();
        for ((factor, _), levels) in found.iter().zip(&levels) {
            if let [level] = levels.as_slice() {
                return Err(FactorialError::OneLevel { factor: factor.clone(), level: level.clone() });
            }
        }
        let cells = vec![Vec::new(); levels.iter().map(Vec::len).product()];
        let left_out = all.len() - rows.len();
        let mut grid = Grid {
            factors: found.iter().map(|(name, _)| name.clone()).zip(levels).collect(),
            cells,
            left_out,
        };
        let place = |row: usize| {
            found.iter().zip(&grid.factors).fold(0, |place, ((_, column), (_, levels))| {
                let level = column.level(row);
                place * levels.len() + levels.iter().position(|known| *known == level).unwrap_or(0)
            })
        };
        let places: Vec<usize> = all.iter().map(|row| place(*row)).collect();
        // A column varied in step with a factor, as by [sweep.zip], has one level in each cell.
        for (name, values) in varied.into_iter().filter(|(name, _)| !factors.contains(name)) {
            let column = find("factors", name)?;
            let mut first: Vec<Option<String>> = vec![None; grid.cells.len()];
            for row in &all {
                let level = column.level(*row);
                if *first[places[*row]].get_or_insert_with(|| level.clone()) != level {
                    return Err(FactorialError::Varied { column: name.clone(), values });
                }
            }
        }
        for row in rows {
            grid.cells[places[row]].push(values[row]);
        }
        grid.balanced()
    }

    fn balanced(self) -> Result<Self, FactorialError> {
        let runs = || self.cells.iter().map(Vec::len);
        let (fewest, most) = (runs().min().unwrap_or(0), runs().max().unwrap_or(0));
        if fewest == most {
            return Ok(self);
        }
        let few = (0..self.cells.len()).filter(|cell| self.cells[*cell].len() == fewest);
        let cells: Vec<String> = few.map(|cell| self.named(cell)).collect();
        Err(match fewest {
            0 => FactorialError::Missing { cells, of: self.cells.len() },
            fewest => FactorialError::Unequal { cells, fewest, most },
        })
    }

    fn named(&self, cell: usize) -> String {
        let all: Vec<usize> = (0..self.factors.len()).collect();
        let levels = self.levels_of(&all, cell);
        let parts =
            self.factors.iter().zip(levels).map(|((name, levels), at)| format!("{name} = {}", levels[at]));
        parts.collect::<Vec<_>>().join(", ")
    }

    /// The place of a cell among the combinations of levels of the factors `of`.
    pub fn index(&self, of: &[usize], cell: usize) -> usize {
        let all: Vec<usize> = (0..self.factors.len()).collect();
        let levels = self.levels_of(&all, cell);
        of.iter().fold(0, |place, i| place * self.factors[*i].1.len() + levels[*i])
    }

    /// The level of each of the factors `of` at a place among their combinations.
    pub fn levels_of(&self, of: &[usize], mut place: usize) -> Vec<usize> {
        let mut levels = vec![0; of.len()];
        for (level, i) in levels.iter_mut().zip(of).rev() {
            let count = self.factors[*i].1.len();
            *level = place % count;
            place /= count;
        }
        levels
    }
}
