//! Large things once: instructions, tool schemas and long outputs that cases have in common are kept by their content.
//!
//! A block is compressed with what it has in common with others as its dictionary: those things stand in a table of their
//! own, once for all blocks and runs, and the block only refers to them. Nothing is cut out of ledgers and put back, so a
//! thing that is overlooked costs some room and nothing else.

use std::collections::{BTreeMap, BTreeSet};

use memchr::{memchr, memchr2, memchr3_iter, memmem};
use sha2::{Digest as _, Sha256};

use crate::block::EndedCase;

/// What is smaller is not worth a row of its own.
const LARGE: usize = 1024;

/// So many bytes of contents a block refers to at most; whoever reads one of its sessions reads them too.
const MOST: usize = 1 << 20;

/// What stands before what a model is set up with: its instructions, its tools, the form of its answer.
const SETUP: &[u8] = br#""setup":{"#;

/// How much of its digest names a content.
const NAME: usize = 16;

/// A large thing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Content {
    /// The beginning of its SHA-256.
    pub(crate) hash: Vec<u8>,
    pub(crate) bytes: Vec<u8>,
}

/// The large things that cases are likely to have in common with others, in the order of their names: what models are set
/// up with, and texts that more than one case has.
pub(crate) fn of(cases: &[EndedCase]) -> Vec<Content> {
    let (mut setups, mut texts) = (BTreeSet::new(), BTreeMap::<&[u8], usize>::new());
    for case in cases {
        let mut own = BTreeSet::new();
        for session in &case.sessions {
            let lines = session.lines.split(|byte| *byte == b'\n').filter(|line| line.len() > LARGE);
            for line in lines {
                look(line, &mut setups, &mut own);
            }
        }
        for text in own {
            *texts.entry(text).or_default() += 1;
        }
    }
    let repeated = texts.into_iter().filter(|(_, cases)| *cases > 1).map(|(text, _)| text);
    let named = setups.into_iter().chain(repeated).map(|bytes| {
        let hash = Sha256::digest(bytes)[..NAME].to_vec();
        (hash, bytes)
    });
    let mut left = MOST;
    let named: BTreeMap<Vec<u8>, &[u8]> = named.collect();
    let fits = |(hash, bytes): (Vec<u8>, &[u8])| {
        left = left.checked_sub(bytes.len())?;
        Some(Content { hash, bytes: bytes.to_vec() })
    };
    named.into_iter().map_while(fits).collect()
}

/// All of them, as a dictionary.
pub(crate) fn dictionary<'a>(contents: impl IntoIterator<Item = &'a [u8]>) -> Vec<u8> {
    contents.into_iter().flatten().copied().collect()
}

/// Finds what is large in an event.
fn look<'a>(line: &'a [u8], setups: &mut BTreeSet<&'a [u8]>, texts: &mut BTreeSet<&'a [u8]>) {
    let Some(found) = memmem::find(line, SETUP) else { return strings(line, texts) };
    strings(&line[..found], texts);
    let setup = object(&line[found + SETUP.len() - 1..]);
    if setup.len() >= LARGE {
        setups.insert(setup);
    }
    strings(&line[found + SETUP.len() - 1 + setup.len()..], texts);
}

/// The object that a text begins with; all of the text where it does not end.
fn object(text: &[u8]) -> &[u8] {
    let (mut depth, mut quoted_until) = (0_usize, 0);
    for at in memchr3_iter(b'{', b'}', b'"', text) {
        match text[at] {
            _ if at < quoted_until => {}
            b'"' => quoted_until = end_of_string(text, at + 1) + 1,
            b'{' => depth += 1,
            _ => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return &text[..=at];
                }
            }
        }
    }
    text
}

/// Finds long texts.
fn strings<'a>(json: &'a [u8], texts: &mut BTreeSet<&'a [u8]>) {
    let mut at = 0;
    while let Some(open) = json.get(at..).and_then(|rest| memchr(b'"', rest)) {
        let start = at + open + 1;
        let end = end_of_string(json, start);
        if end >= start + LARGE {
            texts.insert(&json[start..end]);
        }
        at = end + 1;
    }
}

/// Where a text ends that begins here: the place of its quote.
fn end_of_string(json: &[u8], start: usize) -> usize {
    let mut at = start;
    while let Some(found) = json.get(at..).and_then(|rest| memchr2(b'"', b'\\', rest)) {
        at += found;
        if json[at] == b'"' {
            return at;
        }
        at += 2;
    }
    json.len()
}
