//! Metrics: what a result's field is called in every file, what it is in, and what it means, listed where the field is.
//!
//! [`measured!`] makes a struct of results, and beside it the list of its fields. `summary.json`, the columns of tables and sweeps follow that list.
//! Differs from serialising: a column has a type also where no run has a value for it.
//! Leaves out series, whose metrics are told by their name alone.

/// A value of a metric.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Measure<'a> {
    /// A number of things; `None` if they were not counted.
    Count(Option<u64>),
    /// A measure; `None` if there was nothing to measure.
    Real(Option<f64>),
    /// A name.
    Text(Option<&'a str>),
}

impl Measure<'_> {
    /// The value as a number, if it is one.
    pub fn number(self) -> Option<f64> {
        match self {
            Measure::Count(n) => n.map(|n| n as f64),
            Measure::Real(x) => x,
            Measure::Text(_) => None,
        }
    }
}

/// Of which type the values of a metric are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Type {
    /// Whole numbers.
    Count,
    /// Measures.
    Real,
    /// Names.
    Text,
}

/// A metric of results of type `T`.
#[derive(Debug, Clone, Copy)]
pub struct Metric<T: 'static> {
    /// Its name, with its unit at the end if it has one: a key of `summary.json` and a column of tables.
    pub name: &'static str,
    /// What it is, in a sentence.
    pub about: &'static str,
    /// The type of its values.
    pub kind: Type,
    /// Its value.
    pub get: fn(&T) -> Measure<'_>,
}

/// What a field of results may be.
pub(crate) trait Measured {
    const TYPE: Type;
    fn measure(&self) -> Measure<'_>;
}

impl Measured for u64 {
    const TYPE: Type = Type::Count;
    fn measure(&self) -> Measure<'_> {
        Measure::Count(Some(*self))
    }
}

impl Measured for Option<u64> {
    const TYPE: Type = Type::Count;
    fn measure(&self) -> Measure<'_> {
        Measure::Count(*self)
    }
}

impl Measured for f64 {
    const TYPE: Type = Type::Real;
    fn measure(&self) -> Measure<'_> {
        Measure::Real(Some(*self))
    }
}

impl Measured for Option<f64> {
    const TYPE: Type = Type::Real;
    fn measure(&self) -> Measure<'_> {
        Measure::Real(*self)
    }
}

impl Measured for &'static str {
    const TYPE: Type = Type::Text;
    fn measure(&self) -> Measure<'_> {
        Measure::Text(Some(self))
    }
}

/// A struct of results, and `METRICS`, its fields in their order. Fields before a semicolon are no metrics.
macro_rules! measured {
    ($(#[$meta:meta])* pub struct $name:ident {
        $($(#[$plain_meta:meta])* pub $plain:ident: $plain_type:ty,)* ;
        $($(#[doc = $about:literal])+ pub $field:ident: $type:ty,)*
    }) => {
        $(#[$meta])*
        pub struct $name {
            $($(#[$plain_meta])* pub $plain: $plain_type,)*
            $($(#[doc = $about])+ pub $field: $type,)*
        }

        impl $name {
            /// Its metrics, in the order of results.
            pub const METRICS: &'static [$crate::measure::Metric<Self>] = &[$($crate::measure::Metric {
                name: stringify!($field),
                about: concat!($($about),+).trim_ascii_start(),
                kind: <$type as $crate::measure::Measured>::TYPE,
                get: |result| $crate::measure::Measured::measure(&result.$field),
            }),*];
        }
    };
    ($(#[$meta:meta])* pub struct $name:ident { $($fields:tt)* }) => {
        $crate::measure::measured! { $(#[$meta])* pub struct $name { ; $($fields)* } }
    };
}
pub(crate) use measured;
