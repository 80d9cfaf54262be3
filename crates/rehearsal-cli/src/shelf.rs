//! Look-up by id: finding what is kept by the beginning of its id.

use rehearsal_core::SessionId;
use rehearsal_store::{RunQuery, RunRecord, SessionQuery, SessionRecord, Store};

use crate::error::{CommandError, cannot_start};

/// The fewest characters of an id that are looked for.
const FEWEST: usize = 4;
/// How much is read at a time.
const PAGE: u32 = 1000;
/// How many are named where several fit.
const MAX_NAMED: usize = 5;

/// Runs what is asynchronous to its end.
pub(crate) fn block_on<T>(future: impl Future<Output = Result<T, CommandError>>) -> Result<T, CommandError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| cannot_start(&error))?;
    runtime.block_on(future)
}

/// The beginning of an id, as lists show it.
pub(crate) fn short(id: &str) -> &str {
    id.get(..8).unwrap_or(id)
}

/// The run with this id, or with the only one that begins like this; `last` is the newest. Of its result it has what
/// stands beside the cases that are kept apart.
pub(crate) async fn find_run(store: &dyn Store, id: &str) -> Result<RunRecord, CommandError> {
    let id = find_run_id(store, id).await?;
    store.run_frame(&id).await.map_err(CommandError::setup)?.ok_or_else(|| removed("run", &id))
}

/// The id of the run with this id, or with the only one that begins like this; `last` is the newest.
pub(crate) async fn find_run_id(store: &dyn Store, id: &str) -> Result<String, CommandError> {
    if id == "last" {
        let newest = RunQuery { limit: 1, ..RunQuery::default() };
        let page = store.runs(&newest).await.map_err(CommandError::setup)?;
        let none = || CommandError::user("no runs are kept yet; `rehearse run PATH` keeps its runs");
        return page.items.into_iter().next().map(|run| run.id).ok_or_else(none);
    }
    let id = beginning(id, "run")?;
    if store.run_frame(&id).await.map_err(CommandError::setup)?.is_some() {
        return Ok(id);
    }
    let mut fits = Vec::new();
    let mut query = RunQuery { limit: PAGE, ..RunQuery::default() };
    loop {
        let page = store.runs(&query).await.map_err(CommandError::setup)?;
        fits.extend(page.items.into_iter().map(|run| run.id).filter(|own| own.starts_with(&id)));
        query.page_token = page.next;
        if query.page_token.is_none() {
            break;
        }
    }
    only(&id, fits, "run", "`rehearse runs` lists them")
}

/// The session with this id, or with the only one that begins like this.
pub(crate) async fn find_session(store: &dyn Store, id: &str) -> Result<SessionRecord, CommandError> {
    let id = beginning(id, "session")?;
    if let Some(session) = store.session(&SessionId::new(id.as_str())).await.map_err(CommandError::setup)? {
        return Ok(session);
    }
    let mut fits = Vec::new();
    let mut query = SessionQuery { limit: PAGE, search: Some(id.clone()), ..SessionQuery::default() };
    loop {
        let page = store.sessions(&query).await.map_err(CommandError::setup)?;
        fits.extend(page.items.into_iter().filter(|own| own.id.as_str().starts_with(&id)));
        query.page_token = page.next;
        if query.page_token.is_none() {
            break;
        }
    }
    let ids = fits.iter().map(|session| session.id.to_string()).collect();
    let id = only(&id, ids, "session", "`rehearse sessions` lists them")?;
    fits.into_iter().find(|session| session.id.as_str() == id).ok_or_else(|| removed("session", &id))
}

fn removed(what: &str, id: &str) -> CommandError {
    CommandError::user(format_args!("{what} `{id}` was removed just now"))
}

/// An id or the beginning of one, as ids are written.
pub(crate) fn beginning(id: &str, what: &str) -> Result<String, CommandError> {
    let id = id.trim().to_lowercase();
    if id.len() < FEWEST {
        return Err(CommandError::user(format_args!(
            "`{id}` is too short: write at least {FEWEST} characters of the {what}'s id"
        )));
    }
    Ok(id)
}

/// The only id that fits.
pub(crate) fn only(id: &str, mut fits: Vec<String>, what: &str, list: &str) -> Result<String, CommandError> {
    if fits.len() > 1 {
        let count = fits.len();
        fits.truncate(MAX_NAMED);
        let more = if count > MAX_NAMED { "\n  …" } else { "" };
        return Err(CommandError::user(format_args!("{count} {what}s begin with `{id}`"))
            .hint(format_args!("write more of the id:\n  {}{more}", fits.join("\n  "))));
    }
    fits.pop().ok_or_else(|| CommandError::user(format_args!("there is no {what} `{id}`")).hint(list))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_only_one_that_fits_is_taken() {
        assert_eq!(only("abcd", vec!["abcde".to_owned()], "run", "").unwrap(), "abcde");
        assert!(only("abcd", Vec::new(), "run", "look").unwrap_err().text().ends_with("\n\nhint: look"));
        let several = (0..7).map(|n| format!("abcd{n}")).collect();
        let told = only("abcd", several, "run", "").unwrap_err().text();
        assert!(
            told.starts_with("7 runs begin with `abcd`") && told.contains("abcd4") && told.ends_with('…')
        );
        assert!(beginning("abc", "run").is_err());
        assert_eq!(beginning(" ABCD ", "run").unwrap(), "abcd");
    }
}
