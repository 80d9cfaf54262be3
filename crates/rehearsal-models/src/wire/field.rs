//! Members of JSON objects that may be missing or `null`.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A member of a JSON object: missing, `null` or a value.
///
/// APIs write `null` for some of what they leave out, and readers may tell the two apart, so it is kept which
/// of them it was.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Field<T> {
    /// It is not there.
    #[default]
    Missing,
    /// It is `null`.
    Null,
    /// It is this.
    Value(T),
}

impl<T> Field<T> {
    /// Whether it is not there; it is not written then.
    pub fn is_missing(&self) -> bool {
        matches!(self, Self::Missing)
    }

    /// The value, if there is one.
    pub fn value(&self) -> Option<&T> {
        match self {
            Self::Value(value) => Some(value),
            Self::Missing | Self::Null => None,
        }
    }

    /// The value to change, if there is one.
    pub fn value_mut(&mut self) -> Option<&mut T> {
        match self {
            Self::Value(value) => Some(value),
            Self::Missing | Self::Null => None,
        }
    }

    /// The value, if there is one.
    pub fn into_value(self) -> Option<T> {
        match self {
            Self::Value(value) => Some(value),
            Self::Missing | Self::Null => None,
        }
    }

    /// The value to change, put there first if there was none.
    pub(crate) fn get_or_insert_default(&mut self) -> &mut T
    where
        T: Default,
    {
        if self.value().is_none() {
            *self = Self::Value(T::default());
        }
        self.value_mut().expect("a value was just put there")
    }
}

impl Field<String> {
    /// The text, if there is some that is not empty.
    pub fn text(&self) -> Option<&str> {
        self.value().map(String::as_str).filter(|text| !text.is_empty())
    }
}

impl<T> From<T> for Field<T> {
    fn from(value: T) -> Self {
        Self::Value(value)
    }
}

impl From<&str> for Field<String> {
    fn from(value: &str) -> Self {
        Self::Value(value.to_owned())
    }
}

impl<T> From<Option<T>> for Field<T> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Missing, Self::Value)
    }
}

impl<T: Serialize> Serialize for Field<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.value().serialize(serializer)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Field<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Option::deserialize(deserializer).map(|value| value.map_or(Self::Null, Self::Value))
    }
}
