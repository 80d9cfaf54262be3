//! Many cases against a slow model, beside a bare client that makes the same calls.

use std::sync::Arc;

use futures::future::join_all;
use rehearsal::models::{Options, Providers};
use rehearsal::prelude::*;
use serde_json::{Value, json};

use crate::server::{LATENCY, Server};
use crate::{meter, wall};

const CASES: usize = 1000;
const TURNS: usize = 3;
const ROUNDS: usize = 6;

pub(crate) fn measure() {
    let server = Server::start();
    let runtime =
        tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime can be built");
    // Each goes several times and the best time counts: the first run of both opens a thousand connections.
    let (mut bare, mut ours) = (Measure::WORST, Measure::WORST);
    // The suite comes first: it sets up the TLS library that every client of the process needs.
    let suite = suite(&server.base_url);
    let client =
        reqwest::Client::builder().pool_max_idle_per_host(CASES).build().expect("a client can be built");
    for _ in 0..ROUNDS {
        bare = bare.better(Measure::of(|| runtime.block_on(bare_calls(&client, &server.base_url))));
        let mut run = None;
        ours = ours.better(Measure::of(|| run = Some(runtime.block_on(suite.run()))));
        assert!(run.is_some_and(|run| run.result.passed()), "every case must pass");
    }
    println!(
        "waiting: {CASES} cases of {TURNS} turns at once, against a loopback model that takes {LATENCY:?}"
    );
    println!("  bare client             {:8.3} s    {:.3} s CPU", bare.wall, bare.cpu);
    println!("  rehearsal               {:8.3} s    {:.3} s CPU", ours.wall, ours.cpu);
    println!("  ratio of wall time      {:8.3}      (aim: at most 1.05)", ours.wall / bare.wall);
}

#[derive(Clone, Copy)]
struct Measure {
    wall: f64,
    cpu: f64,
}

impl Measure {
    const WORST: Self = Self { wall: f64::INFINITY, cpu: f64::INFINITY };

    fn of(work: impl FnOnce()) -> Self {
        let before = meter::cpu();
        let ((), wall) = wall(work);
        Self { wall: wall.as_secs_f64(), cpu: meter::cpu().saturating_sub(before).as_secs_f64() }
    }

    fn better(self, other: Self) -> Self {
        if other.wall < self.wall { other } else { self }
    }
}

fn suite(base_url: &str) -> Suite {
    let spec = format!("openai-compatible:bench@{base_url}").parse().expect("the address is one");
    let providers = Providers::new(Options { concurrency: CASES, ..Options::default() });
    let model: Arc<dyn Model> = Arc::new(providers.connect(&spec, &|_| None).expect("loopback needs no key"));
    let cases = (0..CASES).map(|number| {
        let agent = LlmAgent::new("assistant", model.clone()).instruction("Be kind.");
        let user = Step::new("user", |cx| Ok(cx.respond(format!("message {}", cx.index + 1))));
        Case::new(&format!("case {number}"), Loop::new("conversation", agent).max_rounds(TURNS as u64))
            .first_message("message 0")
            .loop_user(user)
            .metric(FinalResponse::new("answers").contains("What else"))
    });
    Suite::new(cases).jobs(CASES)
}

/// The same calls with nothing around them.
async fn bare_calls(client: &reqwest::Client, base_url: &str) {
    let url = format!("{base_url}/chat/completions");
    let talks = (0..CASES).map(|_| {
        let (client, url) = (client.clone(), url.clone());
        tokio::spawn(async move {
            let mut messages = vec![json!({"role": "system", "content": "Be kind."})];
            for turn in 0..TURNS {
                messages.push(json!({"role": "user", "content": format!("message {turn}")}));
                let body = json!({"model": "bench", "messages": messages});
                let answer = client.post(&url).json(&body).send().await.expect("the server answers");
                let answer: Value = answer.json().await.expect("the answer is JSON");
                messages.push(answer["choices"][0]["message"].clone());
            }
        })
    });
    for talk in join_all(talks).await {
        talk.expect("no call fails");
    }
}
