//! Hides secrets in what programs and servers say, in every way in which they spell them without effort.
//!
//! A secret is looked for as it is, in hexadecimal and in base64 (both alphabets, at each of the three alignments, so also
//! inside of a longer text such as `user:secret`), and all of that in the text as it stands and with its escapes read: those
//! of JSON and of shells, `%2F` and `+` of addresses, `&amp;` of XML. Line breaks do not count, since programs fold long lines.
//!
//! ```
//! use rehearsal_core::mask::Masker;
//!
//! let masker = Masker::new(["hunter2/and-more"]);
//! assert_eq!(masker.mask("it is hunter2/and-more!"), "it is [hidden]!");
//! assert_eq!(masker.mask(r#"{"key": "hunter2\/and\u002dmore"}"#), r#"{"key": "[hidden]"}"#);
//! assert_eq!(masker.mask("?key=hunter2%2fand-more&x=1"), "?key=[hidden]&x=1");
//! assert_eq!(masker.mask("Basic bWU6aHVudGVyMi9hbmQtbW9yZQ=="), "Basic [hidden]");
//! ```

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use aho_corasick::AhoCorasick;
use serde_json::{Map, Value};

use crate::{ModelResponse, PartData};

mod spelling;
mod view;

use spelling::Spelling;
use view::View;

/// What stands where a secret was.
pub const HIDDEN: &str = "[hidden]";

/// How many characters a secret must have: shorter ones stand in texts that have nothing to do with them.
pub const SHORTEST: usize = 8;

/// Hides secrets in texts; the default one hides nothing.
#[derive(Clone, Default)]
pub struct Masker(Option<Arc<Secrets>>);

struct Secrets {
    values: Vec<String>,
    search: AhoCorasick,
    spellings: Vec<Spelling>,
    instead: String,
}

impl Masker {
    /// Hides these; those that are too short are left out, see [`Masker::can_hide`].
    pub fn new<S: Into<String>>(secrets: impl IntoIterator<Item = S>) -> Self {
        Self::saying(HIDDEN, secrets)
    }

    /// The same with something else to stand where a secret was.
    pub fn saying<S: Into<String>>(instead: &str, secrets: impl IntoIterator<Item = S>) -> Self {
        let mut values: Vec<String> = secrets.into_iter().map(Into::into).collect();
        values.retain(|value| Self::can_hide(value));
        values.sort();
        values.dedup();
        let spellings: Vec<Spelling> = values.iter().flat_map(|value| spelling::all(value)).collect();
        if spellings.is_empty() {
            return Self::default();
        }
        let Ok(search) = AhoCorasick::new(spellings.iter().map(|spelling| &spelling.bytes)) else {
            unreachable!("a variable has at most some megabytes, far from the limits of an automaton");
        };
        Self(Some(Arc::new(Secrets { values, search, spellings, instead: instead.to_owned() })))
    }

    /// The same that hides more.
    #[must_use]
    pub fn and<S: Into<String>>(&self, more: impl IntoIterator<Item = S>) -> Self {
        let instead = self.0.as_ref().map_or(HIDDEN, |secrets| &secrets.instead);
        let own = self.0.iter().flat_map(|secrets| secrets.values.iter().cloned());
        Self::saying(instead, own.chain(more.into_iter().map(Into::into)))
    }

    /// Whether a secret is long enough to be told from other text.
    pub fn can_hide(secret: &str) -> bool {
        spelling::core(secret).chars().count() >= SHORTEST
    }

    /// Whether it hides anything at all.
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// How many bytes around a cut have to be known to see whether the cut goes through a secret.
    pub fn reach(&self) -> usize {
        // An escape such as `\u0041` takes six bytes for one.
        let longest = self.0.iter().flat_map(|secrets| &secrets.spellings).map(|one| one.bytes.len()).max();
        longest.map_or(0, |bytes| bytes * 6)
    }

    /// The text with its secrets hidden.
    pub fn mask<'a>(&self, text: &'a str) -> Cow<'a, str> {
        self.mask_within(text, 0..text.len())
    }

    /// A part of a text with its secrets hidden, those as well that begin or end outside of the part.
    pub fn mask_within<'a>(&self, text: &'a str, part: Range<usize>) -> Cow<'a, str> {
        let Some(secrets) = &self.0 else { return text[part].into() };
        let places = secrets.places(text);
        if places.is_empty() {
            return text[part].into();
        }
        let (mut masked, mut at) = (String::new(), part.start);
        for place in places.iter().filter(|place| place.end > part.start && place.start < part.end) {
            masked.push_str(&text[at..place.start.max(at)]);
            masked.push_str(&secrets.instead);
            at = place.end.min(part.end);
        }
        masked.push_str(&text[at..part.end]);
        masked.into()
    }

    /// Hides secrets in a text in place; says whether there were any.
    pub fn mask_text(&self, text: &mut String) -> bool {
        let masked = match self.mask(text) {
            Cow::Borrowed(_) => return false,
            Cow::Owned(masked) => masked,
        };
        *text = masked;
        true
    }

    /// Hides secrets in the texts, names and numbers of a value; says whether there were any.
    pub fn mask_value(&self, value: &mut Value) -> bool {
        if self.is_empty() {
            return false;
        }
        match value {
            Value::String(text) if crate::json::is_whole(&Value::from(text.as_str())) => {
                self.mask_number(value)
            }
            Value::String(text) => self.mask_text(text),
            Value::Number(_) => self.mask_number(value),
            Value::Array(values) => {
                values.iter_mut().fold(false, |found, value| self.mask_value(value) | found)
            }
            Value::Object(members) => self.mask_map(members),
            Value::Null | Value::Bool(_) => false,
        }
    }

    /// A number that is a secret becomes a text: there is no number that says nothing.
    fn mask_number(&self, value: &mut Value) -> bool {
        let mut digits = crate::json::text(value);
        let found = self.mask_text(&mut digits);
        if found {
            *value = Value::from(digits);
        }
        found
    }

    /// Hides secrets in the members of an object; says whether there were any.
    pub fn mask_map(&self, members: &mut Map<String, Value>) -> bool {
        if self.is_empty() {
            return false;
        }
        let found = members.values_mut().fold(false, |found, value| self.mask_value(value) | found);
        if !members.keys().any(|name| matches!(self.mask(name), Cow::Owned(_))) {
            return found;
        }
        let named = std::mem::take(members).into_iter();
        *members = named.map(|(name, value)| (self.mask(&name).into_owned(), value)).collect();
        true
    }

    /// Hides secrets in what a model answered.
    pub fn mask_response(&self, response: &mut ModelResponse) {
        if self.is_empty() {
            return;
        }
        for part in &mut Arc::make_mut(&mut response.content).parts {
            self.mask_map(&mut part.extra);
            match &mut part.data {
                PartData::Text(text) => drop(self.mask_text(text)),
                PartData::FunctionCall(call) => {
                    self.mask_text(&mut call.name);
                    self.mask_map(&mut call.args);
                    self.mask_map(&mut call.extra);
                }
                _ => {}
            }
        }
        if let Some(version) = &mut response.model_version {
            self.mask_text(version);
        }
    }
}

/// Says how many secrets there are, and none of them.
impl fmt::Debug for Masker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Masker({} hidden)", self.0.as_ref().map_or(0, |secrets| secrets.values.len()))
    }
}

impl Secrets {
    /// Where in a text secrets stand, in order and apart.
    fn places(&self, text: &str) -> Vec<Range<usize>> {
        // Most texts hold none, and to find that out needs no positions.
        if !view::of(text, false).any(|view| self.search.is_match(&view.bytes)) {
            return Vec::new();
        }
        let mut places: Vec<Range<usize>> = view::of(text, true)
            .flat_map(|view| {
                let found = self.search.find_overlapping_iter(&view.bytes);
                let found = found.map(|found| (found.pattern(), found.range()));
                found.map(|(pattern, at)| self.place(&view, pattern.as_usize(), at)).collect::<Vec<_>>()
            })
            .map(|place| text.floor_char_boundary(place.start)..text.ceil_char_boundary(place.end))
            .collect();
        places.sort_by_key(|place| place.start);
        places.dedup_by(|next, before| {
            let touches = next.start <= before.end;
            if touches {
                before.end = before.end.max(next.end);
            }
            touches
        });
        places
    }

    /// Where a spelling that was found in a view stands in the text.
    fn place(&self, view: &View, pattern: usize, mut at: Range<usize>) -> Range<usize> {
        if self.spellings[pattern].in_base64 {
            // The letters beside it hold a part of the secret's first and last byte, and what is around them is the rest
            // of a header or a token.
            while at.start > 0 && view.is_joined(at.start) && is_base64(view.bytes[at.start - 1]) {
                at.start -= 1;
            }
            let more = |byte: u8| is_base64(byte) || byte == b'=';
            while at.end < view.bytes.len() && view.is_joined(at.end) && more(view.bytes[at.end]) {
                at.end += 1;
            }
        }
        view.source(at)
    }
}

fn is_base64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"+/-_".contains(&byte)
}
