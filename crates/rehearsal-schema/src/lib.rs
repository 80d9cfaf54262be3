//! A JSON Schema validator behind an interface without generics.
//!
//! `jsonschema` is generic in the JSON that it reads, so whoever names it compiles all of it once more: that was a third
//! of the time `rehearsal-core` took. It is named in this crate and in no other. Start from [`Validator`].
//!
//! ```
//! use rehearsal_schema::Validator;
//! use serde_json::json;
//!
//! let validator = Validator::compile(&json!({"type": "integer"})).unwrap();
//! assert!(validator.is_valid(&json!(3)));
//! assert_eq!(validator.breaks(&json!("3"))[0].message, r#""3" is not of type "integer""#);
//! ```

use serde_json::Value;

/// A schema, compiled.
#[derive(Debug)]
pub struct Validator(jsonschema::Validator);

/// A place where a value breaks a schema.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Break {
    /// Where in the value, as a JSON pointer.
    pub pointer: String,
    /// What is wrong there.
    pub message: String,
}

impl Validator {
    /// Compiles a schema as the newest draft, or as the one it names. Tools also come with schemas of older drafts that do
    /// not say so (`exclusiveMinimum: true`); what only an older draft can read is read as that.
    ///
    /// # Errors
    /// Why the newest draft cannot read it, when no other can either.
    pub fn compile(source: &Value) -> Result<Self, String> {
        let newest = jsonschema::validator_for(source);
        let older = || [jsonschema::Draft::Draft7, jsonschema::Draft::Draft4];
        let compiled = newest.or_else(|error| {
            let read = older()
                .into_iter()
                .find_map(|draft| jsonschema::options().with_draft(draft).build(source).ok());
            read.ok_or_else(|| error.to_string())
        });
        compiled.map(Self)
    }

    /// Whether a value satisfies it.
    pub fn is_valid(&self, value: &Value) -> bool {
        self.0.is_valid(value)
    }

    /// All the places where a value breaks it.
    pub fn breaks(&self, value: &Value) -> Vec<Break> {
        let broken = |error: jsonschema::ValidationError<'_>| Break {
            pointer: error.instance_path().as_str().to_owned(),
            message: error.to_string(),
        };
        self.0.iter_errors(value).map(broken).collect()
    }
}
