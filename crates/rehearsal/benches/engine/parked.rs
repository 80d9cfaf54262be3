//! Memory per case that waits in a yield.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rehearsal::prelude::*;
use serde_json::json;
use tokio::sync::Notify;
use tokio::task::JoinSet;

use crate::meter;

const CASES: usize = 10_000;

pub(crate) fn measure() {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime can be built");
    runtime.block_on(async {
        let parked = Arc::new(Parked::default());
        let case = Arc::new(case(parked.clone()));
        // One case first, so that what is shared by all is not counted.
        let mut running = JoinSet::new();
        park(&mut running, &case, &parked, 1).await;
        let before = meter::memory();
        park(&mut running, &case, &parked, CASES + 1).await;
        let grown = meter::memory().saturating_sub(before);
        println!("parked: {CASES} cases, each waiting for its user after one model turn and one mocked call");
        #[expect(clippy::cast_precision_loss, reason = "the figures are small")]
        let kib = grown as f64 / CASES as f64 / 1024.0;
        println!("  memory per case         {kib:8.1} KiB  (aim: at most 32)");
        running.abort_all();
    });
}

/// Counts the cases that wait.
#[derive(Default)]
struct Parked {
    count: AtomicUsize,
    changed: Notify,
}

fn case(parked: Arc<Parked>) -> Case {
    let model = ScriptedModel::list(
        "script",
        [
            Reply::call("lookup", json!({"query": "headache"})),
            Reply::text("Could you tell me more about when it started?"),
        ],
    );
    let lookup = FunctionTool::raw(ToolDeclaration::new("lookup", "Looks something up"), |_, _| {
        unreachable!("the tool is mocked")
    });
    let agent = LlmAgent::new("assistant", Arc::new(model)).instruction("Look everything up.").tool(lookup);
    let person = Step::new_async("person", move |_cx| {
        let parked = parked.clone();
        async move {
            parked.count.fetch_add(1, Ordering::SeqCst);
            parked.changed.notify_one();
            std::future::pending().await
        }
    });
    Case::new("parked", Loop::new("conversation", agent))
        .first_message("I've had a headache since this morning")
        .mock("lookup", Mock::returning(json!({"hits": ["paracetamol", "rest", "water"]})))
        .loop_user(person)
        .user_timeout(std::time::Duration::from_hours(1))
}

/// Starts cases until `count` of them wait.
async fn park(running: &mut JoinSet<CaseRun>, case: &Arc<Case>, parked: &Parked, count: usize) {
    while running.len() < count {
        let (case, seed) = (case.clone(), running.len() as u64);
        running.spawn(async move { case.run(&RunOptions { seed, ..RunOptions::default() }).await });
    }
    while parked.count.load(Ordering::SeqCst) < count {
        parked.changed.notified().await;
    }
}
