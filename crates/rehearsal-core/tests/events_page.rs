//! The page of reference about events comes from the types that are written: their names, their fields and what is
//! said about them in this crate's sources, with the examples of the golden ledger.

#![expect(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use expect_test::expect_file;
use rehearsal_core::json;
use serde_json::Value;
use syn::punctuated::Punctuated;
use syn::{Attribute, Expr, Field, Fields, GenericArgument, Item, Lit, Meta, PathArguments, Token, Type};

const HEAD: &str = "\
# Events

What a ledger holds, one event on each line, as JSON: the files of `rehearse run --out`, what `GET \
/v1/sessions/{id}/events` gives, and what the store keeps. [Event kinds](../design/events.md) says why they are so. \
Fields in **bold** are always there. A reader takes a field that it does not know for something new, not for an error.

";

/// Types of other crates and of no fields, and how their values are written.
const FORMS: [(&str, &str); 15] = [
    ("str", "text"),
    ("String", "text"),
    ("bool", "`true` or `false`"),
    ("u32", "whole number"),
    ("u64", "whole number"),
    ("i32", "whole number"),
    ("i64", "whole number"),
    ("Number", "number"),
    ("usize", "whole number"),
    ("f64", "number"),
    ("Value", "any JSON"),
    ("Map", "object"),
    ("Timestamp", "time, as in RFC 3339"),
    ("State", "object: scopes, and what is in them"),
    ("StatePatch", "JSON Merge Patch (RFC 7396) of a state"),
];

#[test]
fn the_page_is_the_one_that_the_types_make() {
    let examples = fs::read_to_string(here("tests/golden/ledger.jsonl")).unwrap();
    let beside = fs::read_to_string(here("tests/golden/beside.jsonl")).unwrap();
    let examples = examples.lines().chain(beside.lines()).map(|line| json::from_str(line).unwrap()).collect();
    let mut page = Page { items: items(), examples, text: HEAD.to_owned(), spoken_of: Vec::new() };
    page.envelope();
    page.kinds();
    page.forms();
    expect_file!["../../../docs/reference/events.md"].assert_eq(&page.text);
}

struct Page {
    items: BTreeMap<String, Item>,
    examples: Vec<Value>,
    text: String,
    /// Types that have a section of their own, in the order they were first spoken of.
    spoken_of: Vec<String>,
}

impl Page {
    fn envelope(&mut self) {
        self.text += "## The envelope\n\n";
        self.section("Event");
        let example = self.examples.iter().find(|event| event["body"]["type"] == "model_response").cloned();
        self.example(example.as_ref());
    }

    fn kinds(&mut self) {
        self.text += "## The kinds\n\nWhat `body` can be; its `type` says which.\n\n";
        let Item::Enum(kinds) = self.items["EventBody"].clone() else { panic!("`EventBody` is an enum") };
        for variant in &kinds.variants {
            let name = snake(&variant.ident.to_string());
            writeln!(self.text, "### {name}\n\n{}\n", doc(&variant.attrs)).unwrap();
            match &variant.fields {
                Fields::Named(fields) => self.table(fields.named.iter()),
                Fields::Unnamed(fields) => {
                    let of = &fields.unnamed[0].ty;
                    let inner = arguments(of);
                    self.body(&ident(inner.first().unwrap_or(of)));
                }
                Fields::Unit => {}
            }
            let example = self.examples.iter().map(|event| &event["body"]).find(|body| body["type"] == name);
            let example = example.cloned();
            self.example(example.as_ref());
        }
    }

    fn forms(&mut self) {
        self.text += "## The forms\n\nWhat fields above have in them.\n";
        let mut at = 0;
        // Forms have further ones in them: the list grows while it is read.
        while let Some(name) = self.spoken_of.get(at).cloned() {
            writeln!(self.text, "\n### {name}\n").unwrap();
            self.section(&name);
            self.text.truncate(self.text.trim_end().len());
            self.text += "\n";
            at += 1;
        }
    }

    fn section(&mut self, name: &str) {
        let said = doc(attributes(&self.items[name]));
        writeln!(self.text, "{said}\n").unwrap();
        self.body(name);
    }

    /// The fields of a struct, or what an enum can be. A type that writes itself has only its words.
    fn body(&mut self, name: &str) {
        let item = self.items[name].clone();
        if !is_derived(attributes(&item)) {
            return;
        }
        match &item {
            Item::Struct(of) => self.table(of.fields.iter()),
            Item::Enum(of) => {
                let tag = serde(&of.attrs, "tag");
                self.text += "| | |\n|---|---|\n";
                for variant in &of.variants {
                    let word = serde(&variant.attrs, "rename").unwrap_or(snake(&variant.ident.to_string()));
                    let shown = match (&tag, &variant.fields) {
                        (Some(tag), _) => format!("`\"{tag}\": \"{word}\"`{}", self.among(&variant.fields)),
                        (None, Fields::Unit) => format!("`\"{word}\"`"),
                        (None, fields) => format!("`{{\"{word}\": …}}`{}", self.among(fields)),
                    };
                    writeln!(self.text, "| {shown} | {} |", doc(&variant.attrs)).unwrap();
                }
                self.text += "\n";
            }
            _ => unreachable!("only structs and enums are listed"),
        }
    }

    /// What a choice of an enum has in it, in a few words.
    fn among(&mut self, fields: &Fields) -> String {
        let of = fields.iter().map(|field| match &field.ident {
            Some(name) => format!("`{name}`: {}", self.form(&field.ty)),
            None => self.form(&field.ty),
        });
        let of = of.collect::<Vec<_>>().join(", ");
        if of.is_empty() { of } else { format!(" with {of}") }
    }

    fn table<'f>(&mut self, fields: impl Iterator<Item = &'f Field>) {
        self.text += "| field | form | |\n|---|---|---|\n";
        for field in fields {
            let name = field.ident.as_ref().map(ToString::to_string).unwrap_or_default();
            let name = serde(&field.attrs, "rename").unwrap_or(name);
            let always = serde(&field.attrs, "skip_serializing_if").is_none();
            let shown = if always { format!("**`{name}`**") } else { format!("`{name}`") };
            let form = self.form(&field.ty);
            writeln!(self.text, "| {shown} | {form} | {} |", doc(&field.attrs)).unwrap();
        }
        self.text += "\n";
    }

    fn example(&mut self, example: Option<&Value>) {
        let Some(example) = example else { return };
        let written = json::to_string_pretty(example).unwrap();
        write!(self.text, "```json\n{written}\n```\n\n").unwrap();
    }

    /// How a value of the type is written.
    fn form(&mut self, of: &Type) -> String {
        let name = ident(of);
        let inner = arguments(of);
        match (name.as_str(), inner.as_slice()) {
            ("Arc" | "Box" | "Option", [inner]) => self.form(inner),
            ("Vec", [inner]) => format!("list of {}", self.form(inner)),
            ("IndexMap" | "BTreeMap", [_, inner]) => format!("object of {}", self.form(inner)),
            _ => self.named(&name),
        }
    }

    fn named(&mut self, name: &str) -> String {
        if let Some((_, form)) = FORMS.iter().find(|(of, _)| *of == name) {
            return (*form).to_owned();
        }
        if name.ends_with("Id") {
            return "id".to_owned();
        }
        assert!(self.items.contains_key(name), "how is `{name}` written? Say it in FORMS.");
        // The kinds have their own part of the page.
        if name == "EventBody" {
            return "[one of the kinds](#the-kinds)".to_owned();
        }
        if !self.spoken_of.iter().any(|each| each == name) {
            self.spoken_of.push(name.to_owned());
        }
        format!("[{name}](#{})", name.to_lowercase())
    }
}

/// Every struct and enum of the crate, by name.
fn items() -> BTreeMap<String, Item> {
    let mut found = BTreeMap::new();
    let mut folders = vec![here("src")];
    while let Some(folder) = folders.pop() {
        for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|it| it == "rs") {
                let file = syn::parse_file(&fs::read_to_string(path).unwrap()).unwrap();
                found.extend(file.items.into_iter().filter_map(|item| Some((name_of(&item)?, item))));
            }
        }
    }
    found
}

fn here(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

fn name_of(item: &Item) -> Option<String> {
    match item {
        Item::Struct(of) => Some(of.ident.to_string()),
        Item::Enum(of) => Some(of.ident.to_string()),
        _ => None,
    }
}

fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Struct(of) => &of.attrs,
        Item::Enum(of) => &of.attrs,
        _ => &[],
    }
}

/// The words about an item: its first paragraph, in one line.
fn doc(attrs: &[Attribute]) -> String {
    let lines = attrs.iter().filter(|attr| attr.path().is_ident("doc")).filter_map(|attr| {
        let Meta::NameValue(said) = &attr.meta else { return None };
        text(&said.value)
    });
    let lines: Vec<String> =
        lines.map(|line| line.trim().to_owned()).take_while(|it| !it.is_empty()).collect();
    lines.join(" ").replace("[`", "`").replace("`]", "`").replace('|', "\\|")
}

/// Whether the form is that of the fields.
fn is_derived(attrs: &[Attribute]) -> bool {
    attrs.iter().filter(|attr| attr.path().is_ident("derive")).any(|attr| {
        let derived = attr.parse_args_with(Punctuated::<syn::Path, Token![,]>::parse_terminated).unwrap();
        derived.iter().any(|each| each.is_ident("Serialize"))
    })
}

/// What `#[serde(KEY = "…")]` says.
fn serde(attrs: &[Attribute], key: &str) -> Option<String> {
    attrs.iter().filter(|attr| attr.path().is_ident("serde")).find_map(|attr| {
        let said = attr.parse_args_with(Punctuated::<Meta, Token![,]>::parse_terminated).unwrap();
        said.iter().find_map(|meta| match meta {
            Meta::NameValue(pair) if pair.path.is_ident(key) => text(&pair.value),
            _ => None,
        })
    })
}

fn text(value: &Expr) -> Option<String> {
    match value {
        Expr::Lit(lit) => match &lit.lit {
            Lit::Str(text) => Some(text.value()),
            _ => None,
        },
        _ => None,
    }
}

/// The last name of a type's path.
fn ident(of: &Type) -> String {
    let Type::Path(path) = of else { panic!("a field is of a named type") };
    path.path.segments.last().unwrap().ident.to_string()
}

fn arguments(of: &Type) -> Vec<Type> {
    let Type::Path(path) = of else { return Vec::new() };
    let PathArguments::AngleBracketed(given) = &path.path.segments.last().unwrap().arguments else {
        return Vec::new();
    };
    let types = given.args.iter().filter_map(|argument| match argument {
        GenericArgument::Type(of) => Some(of.clone()),
        _ => None,
    });
    types.collect()
}

/// `SessionStarted` as `session_started`, as serde writes it.
fn snake(name: &str) -> String {
    let mut written = String::new();
    for letter in name.chars() {
        if letter.is_uppercase() && !written.is_empty() {
            written.push('_');
        }
        written.extend(letter.to_lowercase());
    }
    written
}
