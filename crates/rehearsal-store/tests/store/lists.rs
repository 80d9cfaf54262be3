//! Lists: pages, filters, searches.

use rehearsal_core::SessionId;
use rehearsal_store::{
    RunAbout, RunLife, RunQuery, RunRecord, RunStatus, SessionQuery, SessionSource, SessionStatus,
    StoreError, Write,
};

use crate::support::*;

/// A session made so many milliseconds after the others, with this description and agent.
async fn make(home: &Home, later: i64, description: &str, agent: &str) -> SessionId {
    let session = fresh();
    let mut write = create(&session, SessionSource::Api);
    let new = write.create.as_mut().unwrap();
    new.created_at += later;
    (new.description, new.agent) = (Some(description.to_owned()), Some(agent.to_owned()));
    home.store.write(write).await.unwrap();
    session
}

async fn list(home: &Home, query: SessionQuery) -> Vec<SessionId> {
    let page = home.store.sessions(&query).await.unwrap();
    page.items.into_iter().map(|session| session.id).collect()
}

/// What a search finds, by description.
async fn search(home: &Home, text: &str) -> Vec<String> {
    let query = SessionQuery { search: Some(text.to_owned()), oldest_first: true, ..SessionQuery::default() };
    let page = home.store.sessions(&query).await.unwrap();
    page.items.into_iter().filter_map(|session| session.description).collect()
}

behaviours! {
    async fn pages_follow_each_other_without_gap_or_repeat(home: &Home) {
        let mut made = Vec::new();
        for at in 0..7 {
            // Some are made in the same moment.
            made.push(make(home, at / 2, "d", "a").await);
        }
        for oldest_first in [false, true] {
            let all = list(home, SessionQuery { oldest_first, ..SessionQuery::default() }).await;
            let mut paged = Vec::new();
            let mut query = SessionQuery { limit: 3, oldest_first, ..SessionQuery::default() };
            loop {
                let page = home.store.sessions(&query).await.unwrap();
                assert!(page.items.len() <= 3);
                paged.extend(page.items.into_iter().map(|session| session.id));
                match page.next {
                    Some(next) => query.page_token = Some(next),
                    None => break,
                }
            }
            assert_eq!(paged, all);
            let mut sorted = paged.clone();
            sorted.sort();
            made.sort();
            assert_eq!(sorted, made);
        }
        let exact = SessionQuery { limit: 7, ..SessionQuery::default() };
        assert_eq!(home.store.sessions(&exact).await.unwrap().next, None);
        let odd = SessionQuery { page_token: Some("x".to_owned()), ..SessionQuery::default() };
        assert!(matches!(home.store.sessions(&odd).await, Err(StoreError::Refused(_))));
    }

    async fn the_newest_come_first_unless_the_oldest_are_wanted(home: &Home) {
        let (old, new) = (make(home, 0, "d", "a").await, make(home, 5, "d", "a").await);
        assert_eq!(list(home, SessionQuery::default()).await, [new.clone(), old.clone()]);
        assert_eq!(list(home, SessionQuery { oldest_first: true, ..SessionQuery::default() }).await, [old, new]);
    }

    async fn only_those_that_fit_are_listed(home: &Home) {
        let (triage, other) = (make(home, 0, "d", "triage").await, make(home, 1, "d", "other").await);
        let mut write = Write::new(other.clone(), NOW, 0);
        write.status = Some(SessionStatus::Cancelled);
        home.store.write(write).await.unwrap();
        let imported = fresh();
        home.store.write(create(&imported, SessionSource::Import)).await.unwrap();

        let all = SessionQuery::default;
        assert_eq!(list(home, SessionQuery { agent: Some("triage".to_owned()), ..all() }).await, std::slice::from_ref(&triage));
        assert_eq!(list(home, SessionQuery { statuses: vec![SessionStatus::Cancelled], ..all() }).await, std::slice::from_ref(&other));
        assert_eq!(list(home, SessionQuery { source: Some(SessionSource::Import), ..all() }).await, [imported]);
        let ended = vec![SessionStatus::Completed, SessionStatus::Cancelled];
        assert_eq!(list(home, SessionQuery { statuses: ended, ..all() }).await, [other]);
        assert_eq!(list(home, SessionQuery { run: Some("none".to_owned()), ..all() }).await, []);
        let both = SessionQuery {
            agent: Some("triage".to_owned()),
            statuses: vec![SessionStatus::Active],
            search: Some("D".to_owned()),
            ..all()
        };
        assert_eq!(list(home, both).await, [triage]);
    }

    async fn a_search_looks_at_id_description_and_agent_in_whatever_case(home: &Home) {
        let first = make(home, 0, "Ärger im BÜRO", "Triage").await;
        make(home, 1, "100% sure_thing\\", "other").await;
        make(home, 2, "1000 surely thing", "other").await;
        assert_eq!(search(home, "ärger IM büro").await, ["Ärger im BÜRO"]);
        assert_eq!(search(home, "tRIAGE").await, ["Ärger im BÜRO"]);
        assert_eq!(search(home, &first.as_str()[3..20].to_uppercase()).await, ["Ärger im BÜRO"]);
        assert_eq!(search(home, "0%").await, ["100% sure_thing\\"]);
        assert_eq!(search(home, "e_t").await, ["100% sure_thing\\"]);
        assert_eq!(search(home, "thing\\").await, ["100% sure_thing\\"]);
        assert_eq!(search(home, "%").await.len(), 1);
        assert_eq!(search(home, "").await.len(), 3);
        assert_eq!(search(home, "nothing like it").await, [""; 0]);
        assert_eq!(search(home, "a\0").await, [""; 0]);

        let mut write = Write::new(first, NOW, 0);
        write.agent = Some("Chosen".to_owned());
        home.store.write(write).await.unwrap();
        assert_eq!(search(home, "chosen").await, ["Ärger im BÜRO"]);
        assert_eq!(search(home, "triage").await, [""; 0]);
    }

    async fn runs_are_listed_newest_first_with_a_summary_of_their_results(home: &Home) {
        for number in 0..5 {
            let run = RunRecord {
                id: format!("r-{number}"),
                started_at: NOW + number / 2,
                ended_at: Some(NOW),
                title: "t".to_owned(),
                status: RunStatus::Failed,
                about: RunAbout::default(),
                result: Some(serde_json::json!({"version": 1, "summary": {"passed": number}, "durationMs": 7, "scenarios": []})),
                life: RunLife::default(),
            };
            home.store.put_run(&run).await.unwrap();
        }
        let (mut ids, mut query) = (Vec::new(), RunQuery { limit: 2, ..RunQuery::default() });
        loop {
            let page = home.store.runs(&query).await.unwrap();
            for run in &page.items {
                let number: i64 = run.id.trim_start_matches("r-").parse().unwrap();
                assert_eq!(run.result, Some(serde_json::json!({"summary": {"passed": number}, "duration_ms": 7})));
            }
            ids.extend(page.items.into_iter().map(|run| run.id));
            query.page_token = page.next;
            if query.page_token.is_none() {
                break;
            }
        }
        assert_eq!(ids, ["r-4", "r-3", "r-2", "r-1", "r-0"]);
    }

    async fn runs_are_found_by_all_that_names_them(home: &Home) {
        let run = |id: &str, about: RunAbout| RunRecord {
            id: id.to_owned(),
            started_at: NOW,
            ended_at: None,
            title: "2 Scenarios: shop".to_owned(),
            status: RunStatus::Running,
            about,
            result: None,
            life: RunLife::default(),
        };
        let word = |text: &str| Some(text.to_owned());
        let named = RunAbout { name: word("Nächtlich"), model: word("openai:gpt-5"), ..RunAbout::default() };
        let built = RunAbout { commit: word("0123abcd"), branch: word("feature/refunds"), ..RunAbout::default() };
        let runs = [run("r-1", named), run("r-2", built), run("r-3", RunAbout::default())];
        for run in &runs {
            home.store.put_run(run).await.unwrap();
        }
        assert_eq!(home.store.run("r-1").await.unwrap().as_ref(), Some(&runs[0]));
        for (text, expected) in [
            ("NÄCHT", vec!["r-1"]),
            ("gpt-5", vec!["r-1"]),
            ("0123", vec!["r-2"]),
            ("Refunds", vec!["r-2"]),
            ("r-3", vec!["r-3"]),
            ("SCENARIOS", vec!["r-3", "r-2", "r-1"]),
            ("", vec!["r-3", "r-2", "r-1"]),
            ("%", vec![]),
            ("a\0", vec![]),
        ] {
            let (mut ids, mut token) = (Vec::new(), None);
            loop {
                let query = RunQuery { search: word(text), limit: 2, page_token: token };
                let page = home.store.runs(&query).await.unwrap();
                ids.extend(page.items.into_iter().map(|run| run.id));
                token = page.next;
                if token.is_none() {
                    break;
                }
            }
            assert_eq!(ids, expected, "{text}");
        }
    }
}
