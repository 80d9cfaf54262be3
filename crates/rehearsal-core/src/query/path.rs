//! Dotted paths, and what stands at the end of them.

use serde_json::Value;

/// A dotted path such as `answers.0.score`.
#[derive(Clone, Debug)]
pub(super) struct Path {
    text: String,
    steps: Vec<Step>,
}

#[derive(Clone, Debug)]
struct Step {
    name: String,
    /// The position it means in an array, if it is all digits.
    index: Option<usize>,
}

impl Path {
    pub(super) fn new(text: &str) -> Self {
        let step = |name: &str| {
            let digits = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_digit());
            Step { name: name.to_owned(), index: name.parse().ok().filter(|_| digits) }
        };
        Self { text: text.to_owned(), steps: text.split('.').map(step).collect() }
    }

    pub(super) fn as_str(&self) -> &str {
        &self.text
    }

    pub(super) fn len(&self) -> usize {
        self.steps.len()
    }

    /// Finds what stands at the path in a document. What is not an object has no fields.
    pub(super) fn find<'a>(&self, document: &'a Value) -> Found<'a> {
        let mut found = Found::default();
        if document.is_object() {
            walk(document, &self.steps, &mut found);
        } else {
            found.missing = true;
        }
        found
    }
}

/// What stands at a path: several values where it passes through arrays.
#[derive(Debug, Default)]
pub(super) struct Found<'a> {
    values: Vec<&'a Value>,
    /// The elements of those values that are arrays, which most operators look at as well.
    elements: Vec<&'a Value>,
    /// Whether the path led, at least once, to an object or a scalar that does not have the next field.
    missing: bool,
}

impl<'a> Found<'a> {
    /// One element of an array, taken as it is: were it an array, its own elements would not be looked at.
    pub(super) fn element(value: &'a Value) -> Self {
        Self { values: vec![value], elements: Vec::new(), missing: false }
    }

    /// The values at the path, arrays whole.
    pub(super) fn values(&self) -> &[&'a Value] {
        &self.values
    }

    /// Whether any value at the path, or any element of one, passes.
    pub(super) fn any_present(&self, passes: impl Fn(&Value) -> bool) -> bool {
        self.values.iter().chain(&self.elements).any(|value| passes(value))
    }

    /// The same, but a missing field counts as null.
    pub(super) fn any(&self, passes: impl Fn(&Value) -> bool) -> bool {
        self.any_present(&passes) || (self.missing && passes(&Value::Null))
    }

    /// The value at the path; where there are several, an array of them.
    pub(super) fn to_value(&self) -> Option<Value> {
        match self.values.as_slice() {
            [] => None,
            [one] => Some((*one).clone()),
            several => Some(several.iter().copied().cloned().collect()),
        }
    }

    fn add(&mut self, value: &'a Value) {
        self.values.push(value);
        if let Value::Array(items) = value {
            self.elements.extend(items);
        }
    }
}

fn walk<'a>(value: &'a Value, steps: &[Step], found: &mut Found<'a>) {
    let Some((step, rest)) = steps.split_first() else { return found.add(value) };
    let next = match (value, step.index) {
        (Value::Object(fields), _) => fields.get(&step.name),
        (Value::Array(items), Some(index)) => items.get(index),
        (Value::Array(items), None) => {
            // Elements that are not objects are passed over, not counted as lacking the field; this is why
            // `{"a.b": null}` does not match `{"a": [1]}`. Arrays directly inside arrays are not entered.
            return items.iter().filter(|item| item.is_object()).for_each(|item| walk(item, steps, found));
        }
        _ => None,
    };
    match next {
        Some(next) => walk(next, rest, found),
        None => found.missing = true,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::Path;

    #[test]
    fn finds_values_through_objects_and_arrays() {
        let document = json!({
            "a": [{"b": 1}, 5, {"b": [2, 3]}, {}, [{"b": 4}]],
            "o": {"0": "zero", "": "empty"},
        });
        let table = [
            ("a.b", json!([1, [2, 3]]), json!([2, 3]), true),
            ("a.0.b", json!([1]), json!([]), false),
            ("a.4.b", json!([4]), json!([]), false),
            ("a.9", json!([]), json!([]), true),
            ("a.+1", json!([]), json!([]), true),
            ("o.0", json!(["zero"]), json!([]), false),
            ("o.", json!(["empty"]), json!([]), false),
            ("o.0.x", json!([]), json!([]), true),
            ("a.0.b.c", json!([]), json!([]), true),
        ];
        for (path, values, elements, missing) in table {
            let found = Path::new(path).find(&document);
            assert_eq!((json!(found.values), json!(found.elements)), (values, elements), "{path}");
            assert_eq!(found.missing, missing, "{path}");
        }
        assert!(Path::new("b").find(&json!([{"b": 1}])).missing, "only an object is a document");
    }
}
