//! Metrics: the name, type and description of each field of results, in one list.
//!
//! [`measured!`] makes a struct of results, and with it the list of its fields. `summary.json`, the columns of tables and sweeps
//! follow that list.
//! Differs from serialisation: a column has a type even if no run has a value for it.
//! Leaves out series, whose metrics have only a name.

/// A value of a metric.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Measure<'a> {
    /// A count; `None` if it was not taken.
    Count(Option<u64>),
    /// A measurement; `None` if there was nothing to measure.
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

/// The type of a metric's values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Type {
    /// Whole numbers.
    Count,
    /// Real numbers.
    Real,
    /// Names.
    Text,
}

/// A metric of results of type `T`.
#[derive(Debug, Clone, Copy)]
pub struct Metric<T: 'static> {
    /// Name of the metric, with its unit at the end if it has one: a key of `summary.json` and a column of tables.
    pub name: &'static str,
    /// Description of the metric, one sentence.
    pub about: &'static str,
    /// Type of its values.
    pub kind: Type,
    /// Returns its value.
    pub get: fn(&T) -> Measure<'_>,
}

/// The types that a field of results may have.
pub(crate) trait MeasuredField {
    const TYPE: Type;
    fn measure(&self) -> Measure<'_>;
}

impl MeasuredField for u64 {
    const TYPE: Type = Type::Count;
    fn measure(&self) -> Measure<'_> {
        Measure::Count(Some(*self))
    }
}

impl MeasuredField for Option<u64> {
    const TYPE: Type = Type::Count;
    fn measure(&self) -> Measure<'_> {
        Measure::Count(*self)
    }
}

impl MeasuredField for f64 {
    const TYPE: Type = Type::Real;
    fn measure(&self) -> Measure<'_> {
        Measure::Real(Some(*self))
    }
}

impl MeasuredField for Option<f64> {
    const TYPE: Type = Type::Real;
    fn measure(&self) -> Measure<'_> {
        Measure::Real(*self)
    }
}

impl MeasuredField for &'static str {
    const TYPE: Type = Type::Text;
    fn measure(&self) -> Measure<'_> {
        Measure::Text(Some(self))
    }
}

/// Defines a struct of results and `METRICS`, its fields in order. Fields before a semicolon are no metrics.
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
            /// Metrics of the struct, in the order of its fields.
            pub const METRICS: &'static [$crate::measure::Metric<Self>] = &[$($crate::measure::Metric {
                name: stringify!($field),
                about: concat!($($about),+).trim_ascii_start(),
                kind: <$type as $crate::measure::MeasuredField>::TYPE,
                get: |result| $crate::measure::MeasuredField::measure(&result.$field),
            }),*];
        }
    };
    ($(#[$meta:meta])* pub struct $name:ident { $($fields:tt)* }) => {
        $crate::measure::measured! { $(#[$meta])* pub struct $name { ; $($fields)* } }
    };
}
pub(crate) use measured;
