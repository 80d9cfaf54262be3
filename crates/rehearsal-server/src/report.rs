//! Reports: one run in one file, which opens without a server.

use rehearsal_store::{SessionQuery, Store, StoreError};
use serde_json::{Value, json};

use crate::desk::SessionView;
use crate::history::event_shown;
use crate::http::RunView;

/// How much is read at a time.
const PAGE: u32 = 1000;

/// Why there is no report.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReportError {
    /// There is no such run.
    #[error("there is no run `{0}`")]
    NoRun(String),
    /// This program was built without the page.
    #[error(
        "this program was built without its page; install Node.js 20 or later with npm and build it again"
    )]
    NoPage,
    /// The store cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// A run with all its sessions as one HTML file. Values that are large are cut, as they are on the page.
///
/// # Errors
/// There is no such run, the store cannot be used, or the page is not part of this program.
pub async fn report_html(store: &dyn Store, run: &str) -> Result<String, ReportError> {
    let page = rehearsal_web::report().ok_or(ReportError::NoPage)?;
    let data = rehearsal_core::json::text(&report_data(store, run).await?);
    // In a script element a browser looks for its end and for comments, and JSON may write any character so.
    let data = data.replace('<', "\\u003c").replace('\u{2028}', "\\u2028").replace('\u{2029}', "\\u2029");
    let filled = rehearsal_web::REPORT_DATA.replace("null", &data);
    Ok(page.replacen(rehearsal_web::REPORT_DATA, &filled, 1))
}

/// What a report shows: `{run, sessions: [{session, events}]}`, as the API gives them.
async fn report_data(store: &dyn Store, id: &str) -> Result<Value, ReportError> {
    let run = store.run(id).await?.ok_or_else(|| ReportError::NoRun(id.to_owned()))?;
    let mut query = SessionQuery {
        limit: PAGE,
        run: Some(run.id.clone()),
        oldest_first: true,
        ..SessionQuery::default()
    };
    let mut sessions = Vec::new();
    loop {
        let page = store.sessions(&query).await?;
        for record in page.items {
            let mut events: Vec<Value> = Vec::new();
            let mut after = 0;
            loop {
                let read = store.glance(&record.id, after, PAGE).await?;
                let Some(last) = read.last() else { break };
                after = last.event.seq;
                events.extend(read.iter().map(event_shown));
            }
            sessions.push(json!({"session": SessionView::listed(record), "events": events}));
        }
        query.page_token = page.next;
        if query.page_token.is_none() {
            break;
        }
    }
    Ok(json!({"run": RunView::from(run), "sessions": sessions}))
}
