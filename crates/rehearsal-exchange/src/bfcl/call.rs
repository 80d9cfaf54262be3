//! Calls as the ground truth has them: Python, with nothing but literals as arguments.

use std::collections::BTreeMap;
use std::str::CharIndices;

use rehearsal_core::json;
use serde_json::{Map, Value};

/// A call of a function.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Call {
    pub(super) tool: String,
    pub(super) args: Map<String, Value>,
}

impl Call {
    /// Reads a call; arguments without a name get it from the function's parameters.
    pub(super) fn read(text: &str, parameters: &BTreeMap<String, Vec<String>>) -> Result<Self, String> {
        let mut reader = Reader { rest: text.trim() };
        let tool = reader.name()?;
        let names = parameters.get(&tool).ok_or_else(|| format!("there is no function `{tool}`"))?;
        reader.expect('(')?;
        let mut args = Map::new();
        let mut place = 0;
        while !reader.takes(')') {
            let name = reader.named().unwrap_or_else(|| {
                place += 1;
                names.get(place - 1).cloned().unwrap_or_default()
            });
            if name.is_empty() {
                return Err(format!("it has more arguments than `{tool}` has parameters"));
            }
            let value = reader.value()?;
            args.insert(name, value);
            if !reader.takes(',') {
                reader.expect(')')?;
                break;
            }
        }
        if reader.rest.trim().is_empty() {
            Ok(Self { tool, args })
        } else {
            Err("something stands after it".to_owned())
        }
    }
}

struct Reader<'t> {
    rest: &'t str,
}

impl Reader<'_> {
    fn takes(&mut self, letter: char) -> bool {
        let rest = self.rest.trim_start();
        let found = rest.strip_prefix(letter);
        self.rest = found.unwrap_or(rest);
        found.is_some()
    }

    fn expect(&mut self, letter: char) -> Result<(), String> {
        if self.takes(letter) { Ok(()) } else { Err(format!("`{letter}` is missing before `{}`", self.rest)) }
    }

    fn word(&mut self) -> Option<String> {
        let rest = self.rest.trim_start();
        let end =
            rest.find(|letter: char| !(letter.is_alphanumeric() || letter == '_')).unwrap_or(rest.len());
        (end > 0).then(|| {
            self.rest = &rest[end..];
            rest[..end].to_owned()
        })
    }

    fn name(&mut self) -> Result<String, String> {
        self.word().ok_or_else(|| "it does not begin with a name".to_owned())
    }

    /// The name of an argument that has one.
    fn named(&mut self) -> Option<String> {
        let before = self.rest;
        let name = self.word().filter(|_| self.takes('='));
        if name.is_none() {
            self.rest = before;
        }
        name
    }

    fn value(&mut self) -> Result<Value, String> {
        self.rest = self.rest.trim_start();
        match self.rest.chars().next() {
            Some(quote @ ('\'' | '"')) => self.text(quote).map(|text| json::plain(text).into()),
            Some('[') => self.list('[', ']').map(Value::Array),
            Some('(') => self.list('(', ')').map(Value::Array),
            Some('{') => self.map(),
            Some('-' | '+' | '.' | '0'..='9') => self.number(),
            Some(_) => match self.word().as_deref() {
                Some("True") => Ok(true.into()),
                Some("False") => Ok(false.into()),
                Some("None") => Ok(Value::Null),
                word => Err(format!("`{}` is no literal", word.unwrap_or(self.rest))),
            },
            None => Err("it ends before a value".to_owned()),
        }
    }

    fn number(&mut self) -> Result<Value, String> {
        let end = self
            .rest
            .find(|c: char| !(c.is_ascii_alphanumeric() || "+-._".contains(c)))
            .unwrap_or(self.rest.len());
        let (text, rest) = self.rest.split_at(end);
        self.rest = rest;
        let plain = text.replace('_', "");
        let plain = plain.strip_prefix('+').unwrap_or(&plain);
        // `5.` and `.5` are numbers in Python only.
        let plain = if plain.ends_with('.') { format!("{plain}0") } else { plain.replace("-.", "-0.") };
        let plain = if plain.starts_with('.') { format!("0{plain}") } else { plain };
        json::from_str(&plain).map_err(|_| format!("`{text}` is no number"))
    }

    fn list(&mut self, open: char, close: char) -> Result<Vec<Value>, String> {
        self.expect(open)?;
        let mut list = Vec::new();
        while !self.takes(close) {
            list.push(self.value()?);
            if !self.takes(',') {
                self.expect(close)?;
                break;
            }
        }
        Ok(list)
    }

    fn map(&mut self) -> Result<Value, String> {
        self.expect('{')?;
        let mut map = Map::new();
        while !self.takes('}') {
            let key = json::said(&self.value()?);
            self.expect(':')?;
            map.insert(key, self.value()?);
            if !self.takes(',') {
                self.expect('}')?;
                break;
            }
        }
        Ok(map.into())
    }

    fn text(&mut self, quote: char) -> Result<String, String> {
        let mut text = String::new();
        let mut letters = self.rest[1..].char_indices();
        while let Some((at, letter)) = letters.next() {
            match letter {
                _ if letter == quote => {
                    self.rest = &self.rest[at + 2..];
                    return Ok(text);
                }
                '\\' => match letters.next().map(|(_, letter)| letter) {
                    Some('\n') => {}
                    Some(letter) => match escaped(letter, &mut letters)? {
                        Some(meant) => text.push(meant),
                        // Python keeps the backslash of what it does not know.
                        None => text.extend(['\\', letter]),
                    },
                    None => return Err("a text has no end".to_owned()),
                },
                letter => text.push(letter),
            }
        }
        Err("a text has no end".to_owned())
    }
}

/// The letter that is meant by an escape of Python; nothing where it is none.
fn escaped(letter: char, rest: &mut CharIndices<'_>) -> Result<Option<char>, String> {
    let digits = match letter {
        'n' => return Ok(Some('\n')),
        't' => return Ok(Some('\t')),
        'r' => return Ok(Some('\r')),
        'a' => return Ok(Some('\u{7}')),
        'b' => return Ok(Some('\u{8}')),
        'f' => return Ok(Some('\u{c}')),
        'v' => return Ok(Some('\u{b}')),
        '\\' | '\'' | '"' => return Ok(Some(letter)),
        'x' => 2,
        'u' => 4,
        'U' => 8,
        'N' | '0'..='9' => return Err(format!("`\\{letter}` is an escape that is not read")),
        _ => return Ok(None),
    };
    let number: String = rest.by_ref().take(digits).map(|(_, digit)| digit).collect();
    let meant = u32::from_str_radix(&number, 16).ok().filter(|_| number.len() == digits);
    let meant = meant.and_then(char::from_u32);
    meant.map(Some).ok_or_else(|| format!("`\\{letter}{number}` is no letter"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(text: &str) -> Result<Value, String> {
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let parameters = BTreeMap::from([
            ("sort".to_owned(), names(&["file_name"])),
            ("f".to_owned(), names(&["a", "b"])),
        ]);
        Call::read(text, &parameters).map(|call| json!([call.tool, call.args]))
    }

    #[test]
    fn arguments_have_names_and_literals_are_values() {
        for (text, wanted) in [
            ("sort('final.pdf')", json!(["sort", {"file_name": "final.pdf"}])),
            ("f()", json!(["f", {}])),
            ("f(1, b=-2.5)", json!(["f", {"a": 1, "b": -2.5}])),
            (
                "f(a=[1, 'x', True], b={'k': None, 2: (1,)})",
                json!(["f", {"a": [1, "x", true], "b": {"k": null, "2": [1]}}]),
            ),
            (r#"f(a="it's\n \"so\"", b='=,)')"#, json!(["f", {"a": "it's\n \"so\"", "b": "=,)"}])),
            (r"f(a='core\u2019s \x41\d', b='\U0001F600')", json!(["f", {"a": "core’s A\\d", "b": "😀"}])),
            ("f(a=5., b=.5)", json!(["f", {"a": 5.0, "b": 0.5}])),
        ] {
            assert_eq!(read(text), Ok(wanted), "{text}");
        }
    }

    #[test]
    fn what_is_no_call_of_literals_is_refused() {
        for text in [
            "f(a=g(1))",
            "g()",
            "f(1, 2, 3)",
            "f(a='x",
            "f(1) + 1",
            "f(a=x)",
            r"f(a='\u20')",
            r"f(a='\ud800')",
        ] {
            assert!(read(text).is_err(), "{text}");
        }
    }
}
