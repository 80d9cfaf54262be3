//! Sessions, listed and removed.

use rehearsal_core::{SessionId, SessionPart};

use super::{block, page_size, page_token, read_page_token};
use crate::db::{Cell, Db, Op, Row, first};
use crate::word::Word;
use crate::{Change, Page, SessionQuery, SessionRecord, SessionSource, SessionStatus, StoreError};

const COLUMNS: &str =
    "id, created_ms, description, status, source, agent, part, run_id, last_seq, updated_at, meta";

/// Keeps apart what a search looks at, so that no text is found across two of them.
const BORDER: &str = "\u{1f}";

/// What a search looks at. Small letters are made here and not in the database: SQLite knows them only for ASCII.
pub(crate) fn words(session: &SessionId, description: Option<&str>, agent: Option<&str>) -> String {
    [session.as_str(), description.unwrap_or(""), agent.unwrap_or("")].join(BORDER).to_lowercase()
}

/// What is added to them.
pub(crate) fn more_words(text: &str) -> String {
    [BORDER, text].concat().to_lowercase()
}

#[derive(Debug)]
pub(crate) struct FindSession(pub(crate) SessionId);

impl Op for FindSession {
    type Output = Option<SessionRecord>;

    async fn run<D: Db>(&self, db: &mut D, _: &mut Vec<Change>) -> Result<Self::Output, StoreError> {
        let sql = format!("SELECT {COLUMNS} FROM sessions WHERE id = $1");
        match first(db, &sql, &[self.0.as_str().into()]).await? {
            Some(row) => read(row).map(Some),
            None => block::session(db, &self.0).await,
        }
    }
}

#[derive(Debug)]
pub(crate) struct FindSessions(pub(crate) SessionQuery);

impl Op for FindSessions {
    type Output = Page<SessionRecord>;

    async fn run<D: Db>(&self, db: &mut D, _: &mut Vec<Change>) -> Result<Self::Output, StoreError> {
        let query = &self.0;
        let (mut sql, mut binds) =
            (format!("SELECT {COLUMNS} FROM sessions WHERE 1 = 1"), Vec::<Cell>::new());
        let mut only = |condition: &dyn Fn(usize) -> String, values: Vec<Cell>| {
            sql += " AND ";
            sql += &condition(binds.len() + 1);
            binds.extend(values);
        };
        if !query.statuses.is_empty() {
            let among = |n: usize| {
                let places: Vec<String> = (n..n + query.statuses.len()).map(|n| format!("${n}")).collect();
                format!("status IN ({})", places.join(", "))
            };
            only(&among, query.statuses.iter().map(|status| status.word().into()).collect());
        }
        if let Some(agent) = &query.agent {
            only(&|n| format!("agent = ${n}"), vec![agent.as_str().into()]);
        }
        if let Some(run) = &query.run {
            only(&|n| format!("run_id = ${n}"), vec![run.as_str().into()]);
        }
        if let Some(source) = query.source {
            only(&|n| format!("source = ${n}"), vec![source.word().into()]);
        }
        if let Some(text) = query.search.as_deref().filter(|text| !text.is_empty()) {
            if text.contains(['\0', '\u{1f}']) {
                return Ok(Page { items: Vec::new(), next: None });
            }
            only(&|n| format!("{}(words, ${n}) > 0", D::FIND), vec![text.to_lowercase().into()]);
        }
        let (order, after) = if query.oldest_first { ("ASC", ">") } else { ("DESC", "<") };
        let token = query.page_token.as_deref().map(read_page_token).transpose()?;
        if let Some((time, id)) = token {
            only(&|n| format!("(created_ms, id) {after} (${n}, ${})", n + 1), vec![time.into(), id.into()]);
        }
        let limit = page_size(query.limit);
        let sql = format!("{sql} ORDER BY created_ms {order}, id {order} LIMIT {}", limit + 1);
        let rows = db.rows(&sql, &binds).await?;
        let mut items = rows.into_iter().map(read).collect::<Result<Vec<_>, _>>()?;
        let apart = block::sessions(db, query, token, limit as usize + 1).await?;
        if !apart.is_empty() {
            items.extend(apart);
            block::sort(&mut items, query.oldest_first);
            // One that a person plays along with may have been a draft a moment ago.
            items.dedup_by(|a, b| a.id == b.id);
        }
        Ok(Page {
            next: cut_page(&mut items, limit, |last| page_token(last.created_at, last.id.as_str())),
            items,
        })
    }
}

/// Takes away the one that was read only to see whether there is more, and says how to go on if there is.
pub(crate) fn cut_page<T>(items: &mut Vec<T>, limit: u32, token: impl Fn(&T) -> String) -> Option<String> {
    let limit = limit as usize;
    if items.len() <= limit {
        return None;
    }
    items.truncate(limit);
    items.last().map(token)
}

#[derive(Debug)]
pub(crate) struct DeleteSession(pub(crate) SessionId);

impl Op for DeleteSession {
    type Output = ();

    async fn run<D: Db>(&self, db: &mut D, told: &mut Vec<Change>) -> Result<(), StoreError> {
        let removed = db.run("DELETE FROM sessions WHERE id = $1", &[self.0.as_str().into()]).await?;
        if removed == 0 && !block::delete(db, &self.0).await? {
            return Err(StoreError::NotFound { what: "session", id: self.0.to_string() });
        }
        told.push(Change::Session(self.0.clone()));
        Ok(())
    }
}

/// Whether the tables are there.
#[derive(Debug)]
pub(crate) struct Ready;

impl Op for Ready {
    type Output = ();

    async fn run<D: Db>(&self, db: &mut D, _: &mut Vec<Change>) -> Result<(), StoreError> {
        db.rows("SELECT id FROM sessions LIMIT 1", &[]).await?;
        Ok(())
    }
}

fn read(mut row: Row) -> Result<SessionRecord, StoreError> {
    Ok(SessionRecord {
        id: SessionId::new(row.text()?),
        created_at: row.int()?,
        description: row.text_or_none()?,
        status: SessionStatus::read(&row.text()?)?,
        source: SessionSource::read(&row.text()?)?,
        agent: row.text_or_none()?,
        part: SessionPart::read(&row.text()?)?,
        run: row.text_or_none()?,
        last_seq: row.count()?,
        updated_at: row.int()?,
        meta: row.json()?,
    })
}
