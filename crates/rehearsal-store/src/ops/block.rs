//! Blocks and drafts: the cases of runs that nobody plays along with.

use bytes::Bytes;
use rehearsal_core::{SessionId, SessionPart};
use serde_json::Value;

use super::json;
use crate::block::{self, Block, CaseHead, Draft, Packed, SessionHead};
use crate::content::{self, Content};
use crate::db::{Cell, Db, DbError, Op, Row, first, odd};
use crate::word::Word as _;
use crate::{Change, SessionQuery, SessionRecord, SessionSource, SessionStatus, StoreError};

const PUT_BLOCK: &str = "INSERT INTO blocks \
    (run_id, number, first_case, last_case, oldest, newest, sessions, heads, results, events) \
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) ON CONFLICT (run_id, number) DO UPDATE SET \
    first_case = excluded.first_case, last_case = excluded.last_case, oldest = excluded.oldest, \
    newest = excluded.newest, sessions = excluded.sessions, heads = excluded.heads, results = excluded.results, \
    events = excluded.events";
const FORGET_CONTENTS: &str = "DELETE FROM block_contents WHERE run_id = $1 AND number = $2";
// One that is there already is written all the same, so that nobody removes it before the block refers to it.
const PUT_CONTENT: &str = "INSERT INTO contents (hash, bytes) VALUES ($1, $2) \
    ON CONFLICT (hash) DO UPDATE SET hash = excluded.hash";
const REFER_TO_CONTENT: &str =
    "INSERT INTO block_contents (run_id, number, place, hash) VALUES ($1, $2, $3, $4)";
const REMOVE_CONTENTS: &str = "DELETE FROM contents WHERE NOT EXISTS \
    (SELECT 1 FROM block_contents b WHERE b.hash = contents.hash)";
const CONTENTS_OF: &str = "SELECT c.bytes FROM block_contents b JOIN contents c ON c.hash = b.hash \
    WHERE b.run_id = $1 AND b.number = $2 ORDER BY b.place";
const REMOVE_DRAFTS: &str = "DELETE FROM drafts WHERE run_id = $1 AND case_number = $2";
const PUT_DRAFT: &str = "INSERT INTO drafts (run_id, case_number, part, since, head, lines) \
    VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (run_id, case_number, part, since) DO UPDATE SET \
    head = excluded.head, lines = excluded.lines";
const RUN_OF: &str = "SELECT id, status FROM runs WHERE substr(id, 9) = $1";
const BLOCKS_OF_CASE: &str = "SELECT number, heads FROM blocks \
    WHERE run_id = $1 AND first_case <= $2 AND last_case >= $3 ORDER BY number";
const RESULTS_OF_CASE: &str = "SELECT number, heads, results FROM blocks \
    WHERE run_id = $1 AND first_case <= $2 AND last_case >= $3 ORDER BY number";
const DRAFTS_OF_SESSION: &str = "SELECT head, lines FROM drafts \
    WHERE run_id = $1 AND case_number = $2 AND part = $3 ORDER BY since";
/// How many blocks are looked through at a time.
const PAGE: u64 = 32;

/// Keeps cases that have ended, in place of what they were while they ran.
#[derive(Debug)]
pub(crate) struct PutBlock {
    run: String,
    number: u64,
    cases: Vec<u32>,
    packed: Packed,
    /// What it refers to, by name, compressed.
    contents: Vec<(Bytes, Bytes)>,
}

impl PutBlock {
    pub(crate) fn new(run: &str, block: &Block) -> Result<Self, StoreError> {
        let cases = block.cases.iter().map(|case| case.number).collect();
        let contents = content::of(&block.cases);
        let dictionary = content::dictionary(contents.iter().map(|content| &*content.bytes));
        let packed = Packed::of(&block.cases, &dictionary)?;
        let squeezed = |content: Content| Ok((content.hash.into(), block::squeezed(&content.bytes)?.into()));
        let contents = contents.into_iter().map(squeezed).collect::<Result<_, StoreError>>()?;
        Ok(Self { run: run.to_owned(), number: block.number, cases, packed, contents })
    }
}

impl Op for PutBlock {
    type Output = ();

    async fn run<D: Db>(&self, db: &mut D, told: &mut Vec<Change>) -> Result<(), StoreError> {
        put(db, &self.run, self.number, &self.packed).await?;
        self.refer(db).await?;
        for case in &self.cases {
            db.run(REMOVE_DRAFTS, &[self.run.as_str().into(), u64::from(*case).into()]).await?;
        }
        told.push(Change::Run(self.run.clone()));
        Ok(())
    }
}

impl PutBlock {
    /// Notes what the block refers to.
    async fn refer<D: Db>(&self, db: &mut D) -> Result<(), StoreError> {
        let run: Cell = self.run.as_str().into();
        // It may be kept in place of one that referred to other things.
        db.run(FORGET_CONTENTS, &[run.clone(), self.number.into()]).await?;
        for (place, (hash, bytes)) in (0_u64..).zip(&self.contents) {
            db.run(PUT_CONTENT, &[hash.clone().into(), bytes.clone().into()]).await?;
            let binds = [run.clone(), self.number.into(), place.into(), hash.clone().into()];
            db.run(REFER_TO_CONTENT, &binds).await?;
        }
        Ok(())
    }
}

/// Removes contents that no block refers to any more.
#[derive(Debug)]
pub(crate) struct RemoveContents;

impl Op for RemoveContents {
    type Output = ();

    async fn run<D: Db>(&self, db: &mut D, _: &mut Vec<Change>) -> Result<(), StoreError> {
        match db.run(REMOVE_CONTENTS, &[]).await {
            // Somebody refers to one of them at this very moment: they all stay until the next time.
            Ok(_) | Err(DbError::Rule(_)) => Ok(()),
            Err(DbError::Failed(why)) => Err(why),
        }
    }
}

/// What the events of a block are compressed with.
async fn dictionary<D: Db>(db: &mut D, run: &str, number: u64) -> Result<Vec<u8>, StoreError> {
    let mut dictionary = Vec::new();
    for mut row in db.rows(CONTENTS_OF, &[run.into(), number.into()]).await? {
        dictionary.extend(block::whole(&row.bytes()?)?);
    }
    Ok(dictionary)
}

async fn put<D: Db>(db: &mut D, run: &str, number: u64, packed: &Packed) -> Result<(), StoreError> {
    let binds: [Cell; 10] = [
        run.into(),
        number.into(),
        u64::from(packed.first_case).into(),
        u64::from(packed.last_case).into(),
        packed.oldest.into(),
        packed.newest.into(),
        packed.sessions.into(),
        Bytes::from(packed.heads.clone()).into(),
        Bytes::from(packed.results.clone()).into(),
        Bytes::from(packed.events.clone()).into(),
    ];
    db.run(PUT_BLOCK, &binds).await?;
    Ok(())
}

/// Keeps what cases that go on have done.
#[derive(Debug)]
pub(crate) struct PutDrafts {
    run: String,
    rows: Vec<Vec<Cell>>,
    gone: Vec<u32>,
}

impl PutDrafts {
    pub(crate) fn new(run: &str, drafts: &[Draft], gone: &[u32]) -> Result<Self, StoreError> {
        let row = |draft: &Draft| {
            Ok(vec![
                run.into(),
                u64::from(draft.case).into(),
                draft.head.part.word().into(),
                draft.since.into(),
                json(&draft.head)?.into(),
                Bytes::from(draft.lines.clone()).into(),
            ])
        };
        let rows = drafts.iter().map(row).collect::<Result<_, StoreError>>()?;
        Ok(Self { run: run.to_owned(), rows, gone: gone.to_vec() })
    }
}

impl Op for PutDrafts {
    type Output = ();

    async fn run<D: Db>(&self, db: &mut D, told: &mut Vec<Change>) -> Result<(), StoreError> {
        for case in &self.gone {
            db.run(REMOVE_DRAFTS, &[self.run.as_str().into(), u64::from(*case).into()]).await?;
        }
        db.run_all(PUT_DRAFT, &self.rows).await.map_err(|(_, error)| error)?;
        told.push(Change::Run(self.run.clone()));
        Ok(())
    }
}

/// Removes all drafts of a run: what its cases did that came to no end.
#[derive(Debug)]
pub(crate) struct RemoveDrafts(pub(crate) String);

impl Op for RemoveDrafts {
    type Output = ();

    async fn run<D: Db>(&self, db: &mut D, told: &mut Vec<Change>) -> Result<(), StoreError> {
        db.run("DELETE FROM drafts WHERE run_id = $1", &[self.0.as_str().into()]).await?;
        told.push(Change::Run(self.0.clone()));
        Ok(())
    }
}

/// A case of a run that is kept in a block: where it stands, and what it came to.
#[derive(Clone, Debug, PartialEq)]
pub struct KeptResult {
    /// The number of its block.
    pub block: u64,
    /// Its number in the run.
    pub number: u32,
    /// Its place in the suite.
    pub place: u64,
    /// Which repeat of it.
    pub repeat: u32,
    /// What it came to, as a line of JSON.
    pub result: String,
}

/// What the cases of a run came to, a block at a time.
#[derive(Debug)]
pub(crate) struct FindResults {
    pub(crate) run: String,
    /// Only of blocks after this one.
    pub(crate) after: Option<u64>,
    pub(crate) blocks: u64,
}

impl Op for FindResults {
    type Output = Vec<KeptResult>;

    async fn run<D: Db>(&self, db: &mut D, _: &mut Vec<Change>) -> Result<Self::Output, StoreError> {
        let after = self.after.map_or(-1, |after| i64::try_from(after).unwrap_or(i64::MAX));
        results(db, &self.run, after, self.blocks).await
    }
}

async fn results<D: Db>(db: &mut D, run: &str, after: i64, most: u64) -> Result<Vec<KeptResult>, StoreError> {
    let sql = format!(
        "SELECT number, heads, results FROM blocks WHERE run_id = $1 AND number > $2 ORDER BY number LIMIT {most}"
    );
    let mut found = Vec::new();
    for row in db.rows(&sql, &[run.into(), after.into()]).await? {
        found.extend(results_of(row)?);
    }
    Ok(found)
}

/// A block of a run as it was kept: the first after the one with this number.
#[derive(Debug)]
pub(crate) struct FindBlock {
    pub(crate) run: String,
    pub(crate) after: Option<u64>,
}

impl Op for FindBlock {
    type Output = Option<Block>;

    async fn run<D: Db>(&self, db: &mut D, _: &mut Vec<Change>) -> Result<Self::Output, StoreError> {
        let after = self.after.map_or(-1, |after| i64::try_from(after).unwrap_or(i64::MAX));
        let sql = "SELECT number, heads, results, events FROM blocks WHERE run_id = $1 AND number > $2 \
            ORDER BY number LIMIT 1";
        let Some(mut row) = first(db, sql, &[self.run.as_str().into(), after.into()]).await? else {
            return Ok(None);
        };
        let (number, heads) = (row.count()?, block::heads(&row.bytes()?)?);
        let results = block::lines(block::whole(&row.bytes()?)?)?;
        let events = row.bytes()?;
        let events = block::whole_with(&dictionary(db, &self.run, number).await?, &events)?;
        Ok(Some(Block { number, cases: block::unpacked(heads, results, &events)? }))
    }
}

/// Removes cases from the blocks of a run, with what they came to and their sessions.
#[derive(Debug)]
pub(crate) struct DropCases {
    pub(crate) run: String,
    pub(crate) block: u64,
    pub(crate) cases: Vec<u32>,
}

impl Op for DropCases {
    type Output = ();

    async fn run<D: Db>(&self, db: &mut D, told: &mut Vec<Change>) -> Result<(), StoreError> {
        let binds: [Cell; 2] = [self.run.as_str().into(), self.block.into()];
        let sql = "SELECT heads, results, events FROM blocks WHERE run_id = $1 AND number = $2";
        let Some(mut row) = first(db, sql, &binds).await? else { return Ok(()) };
        let (heads, lines) = (block::heads(&row.bytes()?)?, block::lines(block::whole(&row.bytes()?)?)?);
        let dictionary = dictionary(db, &self.run, self.block).await?;
        let bytes = block::whole_with(&dictionary, &row.bytes()?)?;
        let (mut left, mut results, mut events, mut at) = (Vec::new(), String::new(), Vec::new(), 0);
        for (head, line) in heads.into_iter().zip(lines) {
            let end = at + head.bytes.iter().sum::<usize>();
            let own = bytes.get(at..end).ok_or_else(|| odd("a block that is too short"))?;
            at = end;
            if !self.cases.contains(&head.number) {
                results.push_str(&line);
                results.push('\n');
                events.extend_from_slice(own);
                left.push(head);
            }
        }
        if left.is_empty() {
            db.run("DELETE FROM blocks WHERE run_id = $1 AND number = $2", &binds).await?;
        } else {
            put(db, &self.run, self.block, &Packed::pack(&left, results.as_bytes(), &events, &dictionary)?)
                .await?;
        }
        told.push(Change::Run(self.run.clone()));
        Ok(())
    }
}

/// What the cases of a block came to.
fn results_of(mut row: Row) -> Result<impl Iterator<Item = KeptResult>, StoreError> {
    let (block, heads) = (row.count()?, block::heads(&row.bytes()?)?);
    let lines = block::lines(block::whole(&row.bytes()?)?)?;
    if lines.len() != heads.len() {
        return Err(odd("a block with another number of results than of cases"));
    }
    Ok(heads.into_iter().zip(lines).map(move |(head, result)| KeptResult {
        block,
        number: head.number,
        place: head.place,
        repeat: head.repeat,
        result,
    }))
}

/// What one case of a run came to, by its number.
#[derive(Debug)]
pub(crate) struct FindResult {
    pub(crate) run: String,
    pub(crate) number: u32,
}

impl Op for FindResult {
    type Output = Option<KeptResult>;

    async fn run<D: Db>(&self, db: &mut D, _: &mut Vec<Change>) -> Result<Self::Output, StoreError> {
        let number = u64::from(self.number);
        let binds = [self.run.as_str().into(), number.into(), number.into()];
        for row in db.rows(RESULTS_OF_CASE, &binds).await? {
            if let Some(found) = results_of(row)?.find(|case| case.number == self.number) {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }
}

/// The result of a run with those of its cases, which stand apart.
pub(super) async fn with_cases<D: Db>(db: &mut D, run: &str, mut result: Value) -> Result<Value, StoreError> {
    let mut cases = results(db, run, -1, u64::from(u32::MAX)).await?;
    if cases.is_empty() {
        return Ok(result);
    }
    cases.sort_by_key(|case| (case.place, case.repeat));
    let read = |case: KeptResult| {
        rehearsal_core::json::from_str::<Value>(&case.result)
            .map_err(|error| odd(format!("the result of a case cannot be read: {error}")))
    };
    let cases = cases.into_iter().map(read).collect::<Result<Vec<_>, _>>()?;
    if let Some(fields) = result.as_object_mut() {
        fields.insert("results".to_owned(), Value::Array(cases));
    }
    Ok(result)
}

/// Where a session is that has no row.
struct Place {
    run: String,
    case: u32,
    part: SessionPart,
    is_running: bool,
}

async fn place<D: Db>(db: &mut D, session: &SessionId) -> Result<Option<Place>, StoreError> {
    let Some(family) = block::family(session) else { return Ok(None) };
    let Some(mut row) = first(db, RUN_OF, &[family.into()]).await? else { return Ok(None) };
    let Some((case, part)) = block::number_of(session) else { return Ok(None) };
    let run = row.text()?;
    Ok(Some(Place { run, case, part, is_running: row.text()? == "running" }))
}

/// The block of a session, with the heads of its cases.
async fn block_of<D: Db>(db: &mut D, place: &Place) -> Result<Option<(u64, Vec<CaseHead>)>, StoreError> {
    let case = u64::from(place.case);
    for mut row in db.rows(BLOCKS_OF_CASE, &[place.run.as_str().into(), case.into(), case.into()]).await? {
        let (number, heads) = (row.count()?, block::heads(&row.bytes()?)?);
        if block::span(&heads, place.case, place.part).is_some() {
            return Ok(Some((number, heads)));
        }
    }
    Ok(None)
}

/// A session without a row.
pub(super) async fn session<D: Db>(
    db: &mut D,
    session: &SessionId,
) -> Result<Option<SessionRecord>, StoreError> {
    let Some(place) = place(db, session).await? else { return Ok(None) };
    if let Some((_, heads)) = block_of(db, &place).await? {
        let of_case = heads.into_iter().find(|head| head.number == place.case);
        let sessions = of_case.into_iter().flat_map(|head| head.sessions);
        let head = sessions.into_iter().find(|head| head.part == place.part);
        return head.map(|head| block::record(&place.run, place.case, head)).transpose();
    }
    let binds = [place.run.as_str().into(), u64::from(place.case).into(), place.part.word().into()];
    let Some(mut row) = db.rows(DRAFTS_OF_SESSION, &binds).await?.pop() else { return Ok(None) };
    let mut head: SessionHead = row.json()?;
    unfinished(&mut head, place.is_running);
    block::record(&place.run, place.case, head).map(Some)
}

/// What goes on when nobody runs it any more was cancelled.
fn unfinished(head: &mut SessionHead, is_running: bool) {
    if !is_running && head.status == SessionStatus::Active {
        head.status = SessionStatus::Cancelled;
    }
}

/// The lines of a session without a row; nothing when there is no such session.
pub(super) async fn lines<D: Db>(db: &mut D, session: &SessionId) -> Result<Option<Vec<String>>, StoreError> {
    let Some(place) = place(db, session).await? else { return Ok(None) };
    if let Some((number, heads)) = block_of(db, &place).await? {
        let span = block::span(&heads, place.case, place.part);
        let sql = "SELECT events FROM blocks WHERE run_id = $1 AND number = $2";
        let row = first(db, sql, &[place.run.as_str().into(), number.into()]).await?;
        let (Some(span), Some(mut row)) = (span, row) else { return Ok(None) };
        let dictionary = dictionary(db, &place.run, number).await?;
        let events = block::whole_with(&dictionary, &row.bytes()?)?;
        let own = events.get(span).ok_or_else(|| odd("a block that is too short"))?;
        return block::lines(own.to_vec()).map(Some);
    }
    let binds = [place.run.as_str().into(), u64::from(place.case).into(), place.part.word().into()];
    let rows = db.rows(DRAFTS_OF_SESSION, &binds).await?;
    if rows.is_empty() {
        return Ok(None);
    }
    let mut all = Vec::new();
    for mut row in rows {
        row.text()?;
        all.extend_from_slice(&row.bytes()?);
    }
    block::lines(all).map(Some)
}

/// Removes a session without a row; whether it was there.
pub(super) async fn delete<D: Db>(db: &mut D, session: &SessionId) -> Result<bool, StoreError> {
    let Some(place) = place(db, session).await? else { return Ok(false) };
    let Some((number, mut heads)) = block_of(db, &place).await? else {
        let sql = "DELETE FROM drafts WHERE run_id = $1 AND case_number = $2 AND part = $3";
        let binds = [place.run.as_str().into(), u64::from(place.case).into(), place.part.word().into()];
        return Ok(db.run(sql, &binds).await? > 0);
    };
    let sql = "SELECT results, events FROM blocks WHERE run_id = $1 AND number = $2";
    let row = first(db, sql, &[place.run.as_str().into(), number.into()]).await?;
    let (Some(span), Some(mut row)) = (block::span(&heads, place.case, place.part), row) else {
        return Ok(false);
    };
    let dictionary = dictionary(db, &place.run, number).await?;
    let (results, mut events) =
        (block::whole(&row.bytes()?)?, block::whole_with(&dictionary, &row.bytes()?)?);
    events.drain(span);
    for head in heads.iter_mut().filter(|head| head.number == place.case) {
        if let Some(at) = head.sessions.iter().position(|session| session.part == place.part) {
            head.sessions.remove(at);
            head.bytes.remove(at);
        }
    }
    put(db, &place.run, number, &Packed::pack(&heads, &results, &events, &dictionary)?).await?;
    Ok(true)
}

/// Sessions without rows that fit a query: at least so many of those that come first in its order, if there are so many.
pub(super) async fn sessions<D: Db>(
    db: &mut D,
    query: &SessionQuery,
    after: Option<(i64, &str)>,
    most: usize,
) -> Result<Vec<SessionRecord>, StoreError> {
    if query.source.is_some_and(|source| source != SessionSource::Run) {
        return Ok(Vec::new());
    }
    let search = query.search.as_deref().filter(|text| !text.is_empty()).map(str::to_lowercase);
    let fits = |record: &SessionRecord| fits(record, query, search.as_deref(), after);
    let mut found = drafts(db, query).await?;
    found.retain(fits);
    let (order, edge, bound) =
        if query.oldest_first { ("ASC", "oldest", "newest >=") } else { ("DESC", "newest", "oldest <=") };
    let mut skip = 0;
    loop {
        let (mut sql, mut binds) = (format!("SELECT run_id, {edge}, heads FROM blocks"), Vec::<Cell>::new());
        let mut word = "WHERE";
        if let Some(run) = &query.run {
            sql += " WHERE run_id = $1";
            binds.push(run.as_str().into());
            word = "AND";
        }
        if let Some((time, _)) = after {
            binds.push(time.into());
            sql = format!("{sql} {word} {bound} ${}", binds.len());
        }
        let sql = format!(
            "{sql} ORDER BY {edge} {order}, run_id {order}, number {order} LIMIT {PAGE} OFFSET {skip}"
        );
        let rows = db.rows(&sql, &binds).await?;
        let (read, mut at_edge) = (rows.len() as u64, None);
        for mut row in rows {
            let run = row.text()?;
            at_edge = Some(row.int()?);
            for case in block::heads(&row.bytes()?)? {
                for head in case.sessions {
                    let record = block::record(&run, case.number, head)?;
                    if fits(&record) {
                        found.push(record);
                    }
                }
            }
        }
        skip += read;
        if read < PAGE || is_enough(&mut found, query, most, at_edge) {
            return Ok(found);
        }
    }
}

/// Whether nothing that follows can come before the last of those that are wanted.
fn is_enough(found: &mut [SessionRecord], query: &SessionQuery, most: usize, edge: Option<i64>) -> bool {
    let Some(edge) = edge.filter(|_| found.len() >= most && most > 0) else { return false };
    sort(found, query.oldest_first);
    let last = found[most - 1].created_at;
    if query.oldest_first { last < edge } else { last > edge }
}

/// Puts sessions into the order of lists.
pub(super) fn sort(found: &mut [SessionRecord], oldest_first: bool) {
    found.sort_by(|a, b| {
        let order = (a.created_at, a.id.as_str()).cmp(&(b.created_at, b.id.as_str()));
        if oldest_first { order } else { order.reverse() }
    });
}

fn fits(
    record: &SessionRecord,
    query: &SessionQuery,
    search: Option<&str>,
    after: Option<(i64, &str)>,
) -> bool {
    let words = || super::session::words(&record.id, record.description.as_deref(), record.agent.as_deref());
    let is_after = |(time, id): (i64, &str)| {
        let order = (record.created_at, record.id.as_str()).cmp(&(time, id));
        if query.oldest_first { order.is_gt() } else { order.is_lt() }
    };
    (query.statuses.is_empty() || query.statuses.contains(&record.status))
        && query.agent.as_ref().is_none_or(|agent| record.agent.as_ref() == Some(agent))
        && query.run.as_ref().is_none_or(|run| record.run.as_ref() == Some(run))
        && after.is_none_or(is_after)
        && search.is_none_or(|text| words().contains(text))
}

async fn drafts<D: Db>(db: &mut D, query: &SessionQuery) -> Result<Vec<SessionRecord>, StoreError> {
    let mut sql =
        "SELECT d.run_id, d.case_number, d.head, r.status FROM drafts d JOIN runs r ON r.id = d.run_id \
                   WHERE NOT EXISTS (SELECT 1 FROM drafts n WHERE n.run_id = d.run_id \
                   AND n.case_number = d.case_number AND n.part = d.part AND n.since > d.since)"
            .to_owned();
    let mut binds: Vec<Cell> = Vec::new();
    if let Some(run) = &query.run {
        sql += " AND d.run_id = $1";
        binds.push(run.as_str().into());
    }
    let mut found = Vec::new();
    for mut row in db.rows(&sql, &binds).await? {
        let (run, case) = (row.text()?, row.count()?);
        let mut head: SessionHead = row.json()?;
        unfinished(&mut head, row.text()? == "running");
        let case = u32::try_from(case).map_err(|_| odd("a case with a number that none has"))?;
        found.push(block::record(&run, case, head)?);
    }
    Ok(found)
}
