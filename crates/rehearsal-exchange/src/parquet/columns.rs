//! Columns: what they are called, what is in them, and how that is read from a row.

use std::borrow::Cow;
use std::fmt;

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnKind {
    /// Text in UTF-8.
    Text,
    /// A whole number of 64 bits; one that is larger is the largest.
    Integer,
    /// A number with a fraction.
    Number,
    /// Yes or no.
    Boolean,
    /// A moment in UTC, to the microsecond.
    Time,
}

/// As the reference has it.
impl fmt::Display for ColumnKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Text => "text",
            Self::Integer => "integer",
            Self::Number => "number",
            Self::Boolean => "boolean",
            Self::Time => "time",
        })
    }
}

/// What there is to know of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ColumnAbout {
    /// What it is called.
    pub name: &'static str,
    /// What it holds.
    pub kind: ColumnKind,
    /// Whether every row has it.
    pub always: bool,
    /// What it says.
    pub about: &'static str,
}

/// A column of rows like `R`.
pub(super) struct Column<R> {
    pub(super) name: &'static str,
    pub(super) always: bool,
    pub(super) about: &'static str,
    pub(super) get: Get<R>,
}

/// How the value of a column is read from a row.
pub(super) enum Get<R> {
    Text(fn(&R) -> Option<Cow<'_, str>>),
    Integer(fn(&R) -> Option<i64>),
    Number(fn(&R) -> Option<f64>),
    Boolean(fn(&R) -> Option<bool>),
    /// In microseconds since 1970.
    Time(fn(&R) -> Option<i64>),
}

impl<R> Column<R> {
    pub(super) const fn text(
        name: &'static str,
        about: &'static str,
        get: fn(&R) -> Option<Cow<'_, str>>,
    ) -> Self {
        Self { name, always: false, about, get: Get::Text(get) }
    }

    pub(super) const fn integer(name: &'static str, about: &'static str, get: fn(&R) -> Option<i64>) -> Self {
        Self { name, always: false, about, get: Get::Integer(get) }
    }

    pub(super) const fn number(name: &'static str, about: &'static str, get: fn(&R) -> Option<f64>) -> Self {
        Self { name, always: false, about, get: Get::Number(get) }
    }

    pub(super) const fn boolean(
        name: &'static str,
        about: &'static str,
        get: fn(&R) -> Option<bool>,
    ) -> Self {
        Self { name, always: false, about, get: Get::Boolean(get) }
    }

    pub(super) const fn time(name: &'static str, about: &'static str, get: fn(&R) -> Option<i64>) -> Self {
        Self { name, always: false, about, get: Get::Time(get) }
    }

    /// The same, where every row has it.
    pub(super) const fn always(mut self) -> Self {
        self.always = true;
        self
    }

    pub(super) const fn kind(&self) -> ColumnKind {
        match self.get {
            Get::Text(_) => ColumnKind::Text,
            Get::Integer(_) => ColumnKind::Integer,
            Get::Number(_) => ColumnKind::Number,
            Get::Boolean(_) => ColumnKind::Boolean,
            Get::Time(_) => ColumnKind::Time,
        }
    }

    pub(super) fn about(&self) -> ColumnAbout {
        ColumnAbout { name: self.name, kind: self.kind(), always: self.always, about: self.about }
    }
}

/// A text of a row.
#[expect(clippy::unnecessary_wraps, reason = "columns are read as values that may be missing")]
pub(super) fn some(text: &str) -> Option<Cow<'_, str>> {
    Some(Cow::Borrowed(text))
}

/// A text that a row may have.
pub(super) fn maybe(text: Option<&str>) -> Option<Cow<'_, str>> {
    text.map(Cow::Borrowed)
}

/// A text that is made of something in a row.
#[expect(clippy::unnecessary_wraps, reason = "columns are read as values that may be missing")]
pub(super) fn made<'a>(value: impl fmt::Display) -> Option<Cow<'a, str>> {
    Some(Cow::Owned(value.to_string()))
}

/// A number that may be larger than a column takes.
#[expect(clippy::unnecessary_wraps, reason = "columns are read as values that may be missing")]
pub(super) fn whole<N: TryInto<i64>>(number: N) -> Option<i64> {
    Some(number.try_into().unwrap_or(i64::MAX))
}
