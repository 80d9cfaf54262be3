//! Blocks: cases of a run that came to their end, compressed together.
//!
//! A case that nobody plays along with is no row per event. While it runs, its ledgers are [`Draft`]s; when it has ended,
//! it goes into a block with others. What lists show of it, what it came to and its events are compressed apart, so that
//! none is read for another.
//!
//! Sessions of blocks have no rows, so their ids tell where they are: [`session_id`] makes one of the run's id and a
//! number, and [`number_of`] gives the number back.

use std::io;

use rehearsal_core::{SessionId, SessionPart};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::db::odd;
use crate::{SessionRecord, SessionSource, SessionStatus, StoreError};

/// How hard zstd tries. Harder is half as small again and five times as slow.
const LEVEL: i32 = 3;

/// What lists show of a session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SessionHead {
    /// The part it plays in its case.
    pub part: SessionPart,
    /// When it was made, in milliseconds since 1970.
    pub created_at: i64,
    /// When its last event was written.
    pub updated_at: i64,
    /// How it stands.
    pub status: SessionStatus,
    /// The agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// A label for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Why it failed, as the meta of a session has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<Value>,
    /// The number of its events.
    pub events: u64,
}

/// A session with its ledger.
#[derive(Clone, Debug, PartialEq)]
pub struct SessionLines {
    /// What lists show of it.
    pub head: SessionHead,
    /// Its events, a line of JSON each.
    pub lines: Vec<u8>,
}

/// A case of a run that came to its end.
#[derive(Clone, Debug, PartialEq)]
pub struct EndedCase {
    /// Its number in the run: no other case has it, not even another try of the same.
    pub number: u32,
    /// Its place in the suite.
    pub place: u64,
    /// Which repeat of it.
    pub repeat: u32,
    /// What it came to: a [`CaseResult`](rehearsal_core::CaseResult) as a line of JSON.
    pub result: String,
    /// Its sessions, unless they are kept by the event because a person played along.
    pub sessions: Vec<SessionLines>,
}

/// Cases that are kept together.
#[derive(Clone, Debug)]
pub struct Block {
    /// Its number in the run. A block that is kept again replaces the earlier one.
    pub number: u64,
    /// The cases.
    pub cases: Vec<EndedCase>,
}

/// What a session of a case that goes on did since the last time.
#[derive(Clone, Debug, PartialEq)]
pub struct Draft {
    /// The number of the case in the run.
    pub case: u32,
    /// How many events came before.
    pub since: u64,
    /// What lists show of the session now.
    pub head: SessionHead,
    /// The events, a line of JSON each.
    pub lines: Vec<u8>,
}

/// The most cases that a run has numbers for.
const MOST_CASES: u32 = 1 << 30;

/// The length of the ids that sessions of blocks can be made of.
const ID: usize = 36;

/// The id in the store of a session of a case in a run.
///
/// It differs from those of the run's other sessions in its first eight digits, which are what people see and type, and
/// looks as random as any.
///
/// # Errors
/// The run's id is no UUID, or has no number left.
pub fn session_id(run: &str, case: u32, part: SessionPart) -> Result<SessionId, StoreError> {
    if run.len() != ID || !run.is_ascii() || case >= MOST_CASES {
        return Err(StoreError::Refused(format!("case {case} of run `{run}` can have no sessions")));
    }
    let family = &run[8..];
    let number = scrambled(case * 4 + part_number(part), key(family));
    Ok(SessionId::new(format!("{number:08x}{family}")))
}

/// The part of an id that all sessions of a run share with it.
pub(crate) fn family(session: &SessionId) -> Option<&str> {
    let id = session.as_str();
    (id.len() == ID && id.is_ascii()).then(|| &id[8..])
}

/// The number of the case and the part of a session, once its run is known to be of its family.
pub(crate) fn number_of(session: &SessionId) -> Option<(u32, SessionPart)> {
    let number = u32::from_str_radix(session.as_str().get(..8)?, 16).ok()?;
    let number = unscrambled(number, key(family(session)?));
    let part = match number % 4 {
        0 => SessionPart::Main,
        1 => SessionPart::User,
        2 => SessionPart::Judge,
        _ => return None,
    };
    Some((number / 4, part))
}

/// The id of an event of a session in a block.
pub(crate) fn event_id(session: &SessionId, seq: u64) -> String {
    match session.as_str().get(..24) {
        Some(most) => format!("{most}{:012x}", seq & 0xffff_ffff_ffff),
        None => format!("{session}-{seq}"),
    }
}

/// The number of the event with this id.
pub(crate) fn seq_of(session: &SessionId, event_id: &str) -> Option<u64> {
    let digits = event_id.strip_prefix(session.as_str().get(..24)?)?;
    (digits.len() == 12).then(|| u64::from_str_radix(digits, 16).ok()).flatten()
}

fn part_number(part: SessionPart) -> u32 {
    match part {
        SessionPart::Main => 0,
        SessionPart::User => 1,
        SessionPart::Judge => 2,
    }
}

const A: u32 = 0x9e37_79b1;
const B: u32 = 0x85eb_ca6b;

/// The number by which a multiplication is undone.
const fn inverse(odd: u32) -> u32 {
    let (mut inverse, mut round) = (odd, 0);
    while round < 5 {
        inverse = inverse.wrapping_mul(2u32.wrapping_sub(odd.wrapping_mul(inverse)));
        round += 1;
    }
    inverse
}

fn key(family: &str) -> u32 {
    family.bytes().fold(0x811c_9dc5, |key: u32, byte| (key ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

fn scrambled(number: u32, key: u32) -> u32 {
    let mixed = (number ^ key).wrapping_mul(A);
    let mixed = (mixed ^ (mixed >> 16)).wrapping_mul(B);
    mixed ^ (mixed >> 16)
}

fn unscrambled(number: u32, key: u32) -> u32 {
    let mixed = (number ^ (number >> 16)).wrapping_mul(inverse(B));
    (mixed ^ (mixed >> 16)).wrapping_mul(inverse(A)) ^ key
}

/// What is read of a case without its result and its events.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct CaseHead {
    pub(crate) number: u32,
    pub(crate) place: u64,
    pub(crate) repeat: u32,
    pub(crate) sessions: Vec<SessionHead>,
    /// How long the lines of each session are.
    pub(crate) bytes: Vec<usize>,
}

/// A block as it is kept.
#[derive(Debug)]
pub(crate) struct Packed {
    pub(crate) first_case: u32,
    pub(crate) last_case: u32,
    pub(crate) oldest: i64,
    pub(crate) newest: i64,
    pub(crate) sessions: u64,
    pub(crate) heads: Vec<u8>,
    pub(crate) results: Vec<u8>,
    pub(crate) events: Vec<u8>,
}

impl Packed {
    pub(crate) fn of(cases: &[EndedCase], dictionary: &[u8]) -> Result<Self, StoreError> {
        let heads: Vec<CaseHead> = cases.iter().map(head).collect();
        let (mut results, mut events) = (String::new(), Vec::new());
        for case in cases {
            results.push_str(&case.result);
            results.push('\n');
            for session in &case.sessions {
                events.extend_from_slice(&session.lines);
            }
        }
        Self::pack(&heads, results.as_bytes(), &events, dictionary)
    }

    /// What is in the dictionary takes no room among the events.
    pub(crate) fn pack(
        heads: &[CaseHead],
        results: &[u8],
        events: &[u8],
        dictionary: &[u8],
    ) -> Result<Self, StoreError> {
        let numbers = || heads.iter().map(|case| case.number);
        let made = || heads.iter().flat_map(|case| &case.sessions).map(|session| session.created_at);
        let json = rehearsal_core::json::to_vec(heads).map_err(|error| odd(error.to_string()))?;
        let mut press = press(&[])?;
        let mut squeezed = |bytes: &[u8]| press.compress(bytes).map_err(|error| cannot_be_made(&error));
        Ok(Self {
            first_case: numbers().min().unwrap_or(0),
            last_case: numbers().max().unwrap_or(0),
            oldest: made().min().unwrap_or(0),
            newest: made().max().unwrap_or(0),
            sessions: made().count() as u64,
            heads: squeezed(&json)?,
            results: squeezed(results)?,
            events: if dictionary.is_empty() { squeezed(events)? } else { press_with(dictionary, events)? },
        })
    }
}

fn head(case: &EndedCase) -> CaseHead {
    CaseHead {
        number: case.number,
        place: case.place,
        repeat: case.repeat,
        sessions: case.sessions.iter().map(|session| session.head.clone()).collect(),
        bytes: case.sessions.iter().map(|session| session.lines.len()).collect(),
    }
}

/// What compresses; to set it up costs as much as a small block.
fn press(dictionary: &[u8]) -> Result<zstd::bulk::Compressor<'static>, StoreError> {
    zstd::bulk::Compressor::with_dictionary(LEVEL, dictionary).map_err(|error| cannot_be_made(&error))
}

fn press_with(dictionary: &[u8], bytes: &[u8]) -> Result<Vec<u8>, StoreError> {
    press(dictionary)?.compress(bytes).map_err(|error| cannot_be_made(&error))
}

/// A content, compressed by itself.
pub(crate) fn squeezed(bytes: &[u8]) -> Result<Vec<u8>, StoreError> {
    press_with(&[], bytes)
}

fn cannot_be_made(error: &io::Error) -> StoreError {
    odd(format!("a block cannot be made: {error}"))
}

/// What was compressed.
pub(crate) fn whole(bytes: &[u8]) -> Result<Vec<u8>, StoreError> {
    whole_with(&[], bytes)
}

/// What was compressed with a dictionary.
pub(crate) fn whole_with(dictionary: &[u8], bytes: &[u8]) -> Result<Vec<u8>, StoreError> {
    let mut whole = Vec::new();
    let read = zstd::stream::read::Decoder::with_dictionary(bytes, dictionary)
        .and_then(|mut decoder| io::Read::read_to_end(&mut decoder, &mut whole));
    read.map(|_| whole).map_err(|error| odd(format!("a block cannot be read: {error}")))
}

/// The heads of a block.
pub(crate) fn heads(bytes: &[u8]) -> Result<Vec<CaseHead>, StoreError> {
    let json = whole(bytes)?;
    rehearsal_core::json::from_slice(&json)
        .map_err(|error| odd(format!("the heads of a block cannot be read: {error}")))
}

/// What is compressed, as lines.
pub(crate) fn lines(bytes: Vec<u8>) -> Result<Vec<String>, StoreError> {
    let text = String::from_utf8(bytes).map_err(|error| odd(format!("a block is no text: {error}")))?;
    Ok(text.lines().map(str::to_owned).collect())
}

/// The cases of a block.
pub(crate) fn unpacked(
    heads: Vec<CaseHead>,
    results: Vec<String>,
    events: &[u8],
) -> Result<Vec<EndedCase>, StoreError> {
    if results.len() != heads.len() {
        return Err(odd("a block with another number of results than of cases"));
    }
    let (mut left, mut cases) = (events, Vec::with_capacity(heads.len()));
    for (case, result) in heads.into_iter().zip(results) {
        let CaseHead { number, place, repeat, sessions: heads, bytes } = case;
        let mut sessions = Vec::with_capacity(heads.len());
        for (head, bytes) in heads.into_iter().zip(bytes) {
            let (own, rest) = left.split_at_checked(bytes).ok_or_else(|| odd("a block that is too short"))?;
            sessions.push(SessionLines { head, lines: own.to_vec() });
            left = rest;
        }
        cases.push(EndedCase { number, place, repeat, result, sessions });
    }
    Ok(cases)
}

/// The bytes of the session with this number among those of a block.
pub(crate) fn span(heads: &[CaseHead], case: u32, part: SessionPart) -> Option<std::ops::Range<usize>> {
    let mut start = 0;
    for head in heads {
        for (session, bytes) in head.sessions.iter().zip(&head.bytes) {
            if head.number == case && session.part == part {
                return Some(start..start + bytes);
            }
            start += bytes;
        }
    }
    None
}

/// A session of a case as it is listed.
pub(crate) fn record(run: &str, case: u32, head: SessionHead) -> Result<SessionRecord, StoreError> {
    let meta = match head.failure {
        Some(failure) => serde_json::json!({SessionRecord::FAILURE: failure}),
        None => serde_json::json!({}),
    };
    Ok(SessionRecord {
        id: session_id(run, case, head.part)?,
        created_at: head.created_at,
        description: head.description,
        status: head.status,
        source: SessionSource::Run,
        agent: head.agent,
        part: head.part,
        run: Some(run.to_owned()),
        last_seq: head.events,
        updated_at: head.updated_at,
        meta,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::content;

    fn ended(number: u32, lines: String) -> EndedCase {
        let head = SessionHead {
            part: SessionPart::Main,
            created_at: 0,
            updated_at: 0,
            status: SessionStatus::Completed,
            agent: None,
            description: None,
            failure: None,
            events: 0,
        };
        let sessions = vec![SessionLines { head, lines: lines.into_bytes() }];
        EndedCase { number, place: 0, repeat: 0, result: "{}".to_owned(), sessions }
    }

    proptest! {
        /// Whatever is in ledgers, and however broken their JSON is.
        #[test]
        fn what_is_read_is_what_was_written(
            cases in prop::collection::vec(
                prop::collection::vec((0..5_usize, r#"[a-z"\\{}:\n]{0,40}"#), 0..6), 1..5,
            ),
        ) {
            let large = [
                format!("\"setup\":{{\"system\":\"{}\"}}", "be kind, ".repeat(200)),
                format!("\"output\":\"{}\"", "a \\\"long\\\" answer ".repeat(300)),
                "\"setup\":{\"never\":\"ends".repeat(99),
                "\"".repeat(3000),
                String::new(),
            ];
            let line = |(kind, text): &(usize, String)| format!("{{{},{text}}}\n", large[*kind]);
            let cases: Vec<EndedCase> =
                (0..).zip(&cases).map(|(number, lines)| ended(number, lines.iter().map(line).collect())).collect();
            let contents = content::of(&cases);
            let dictionary = content::dictionary(contents.iter().map(|content| &*content.bytes));
            let packed = Packed::of(&cases, &dictionary).unwrap();
            let events: Vec<u8> = cases.iter().flat_map(|case| case.sessions[0].lines.clone()).collect();
            prop_assert_eq!(whole_with(&dictionary, &packed.events).unwrap(), events);
            for content in contents {
                prop_assert_eq!(whole(&squeezed(&content.bytes).unwrap()).unwrap(), content.bytes);
            }
        }
    }

    #[test]
    fn what_cases_have_in_common_is_found_by_its_content() {
        let (instructions, answer) = ("Be kind. ".repeat(200), "x".repeat(3000));
        let line = |own: &str| {
            format!(
                "{{\"type\":\"model_request\",\"setup\":{{\"system\":\"{instructions}\",\"tools\":[{{\"name\":\"}}\"}}]}}}}\n\
                 {{\"output\":\"{answer}\",\"own\":\"{}\"}}\n",
                own.repeat(2000)
            )
        };
        let found = |cases: &[EndedCase]| {
            let sizes = content::of(cases).into_iter().map(|content| content.bytes.len());
            sizes.collect::<std::collections::BTreeSet<_>>()
        };
        let setup = "{\"system\":\"\",\"tools\":[{\"name\":\"}\"}]}".len() + instructions.len();
        assert_eq!(found(&[ended(0, line("a")), ended(1, line("b"))]), [setup, 3000].into());
        assert_eq!(found(&[ended(0, line("a"))]), [setup].into());
        let mut other = content::of(&[ended(5, line("c"))]);
        other.retain(|content| content.bytes.len() == setup);
        assert!(content::of(&[ended(0, line("a")), ended(1, line("b"))]).contains(&other[0]));
    }

    #[test]
    fn an_id_tells_where_its_session_is() {
        let run = "5b0e7a9c-3f51-4f0e-9d55-0d9f6a1c2b3d";
        let mut seen = std::collections::BTreeSet::new();
        for case in (0..2000).chain([MOST_CASES - 1]) {
            for part in [SessionPart::Main, SessionPart::User, SessionPart::Judge] {
                let id = session_id(run, case, part).unwrap();
                assert_eq!((number_of(&id), family(&id)), (Some((case, part)), Some(&run[8..])));
                assert!(seen.insert(id.clone()), "{id}");
                let event = event_id(&id, 7);
                assert!(crate::rules::is_uuid_v4(id.as_str()) && crate::rules::is_uuid_v4(&event), "{event}");
                assert_eq!((seq_of(&id, &event), seq_of(&id, "x")), (Some(7), None));
            }
        }
        assert!(session_id("b", 0, SessionPart::Main).is_err());
        assert!(session_id(run, MOST_CASES, SessionPart::Main).is_err());
    }
}
