//! JSON objects that say in `type` what they are.

use serde::Serialize;

/// Defines an enum of JSON objects told apart by their `type`. Kinds that are not known are kept as they came;
/// a known kind that is not as it should be is an error.
macro_rules! tagged {
    (
        $(#[$doc:meta])*
        pub enum $name:ident {
            $( $(#[$variant_doc:meta])* $tag:literal => $variant:ident($body:ty), )+
        }
    ) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq)]
        #[non_exhaustive]
        pub enum $name {
            $( $(#[$variant_doc])* $variant($body), )+
            /// A kind that is not known here, as it came.
            Other(serde_json::Map<String, serde_json::Value>),
        }

        impl $name {
            /// The kind, as `type` says it; empty where nothing does.
            pub fn kind(&self) -> &str {
                match self {
                    $( Self::$variant(_) => $tag, )+
                    Self::Other(map) => map.get("type").and_then(serde_json::Value::as_str).unwrap_or_default(),
                }
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                match self {
                    $( Self::$variant(body) => $crate::wire::tagged::Tagged { kind: $tag, body }.serialize(serializer), )+
                    Self::Other(map) => map.serialize(serializer),
                }
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let mut map = serde_json::Map::<String, serde_json::Value>::deserialize(deserializer)?;
                match map.get("type").and_then(serde_json::Value::as_str) {
                    $( Some($tag) => {
                        map.shift_remove("type");
                        rehearsal_core::json::from_value(serde_json::Value::Object(map)).map(Self::$variant).map_err(|error| {
                            serde::de::Error::custom(format!(concat!("`", $tag, "`: {}"), error))
                        })
                    } )+
                    _ => Ok(Self::Other(map)),
                }
            }
        }
    };
}

pub(crate) use tagged;

#[derive(Serialize)]
pub(crate) struct Tagged<'a, T> {
    #[serde(rename = "type")]
    pub(crate) kind: &'static str,
    #[serde(flatten)]
    pub(crate) body: &'a T,
}
