//! The same calls with nothing around them.

use std::fs;
use std::sync::Arc;

use futures::stream::{self, StreamExt as _};
use serde_json::Value;

use crate::conversations::{CONVERSATIONS, JOBS};

/// Sends the bodies of one conversation in order, for each conversation.
pub(crate) fn call(base_url: &str, bodies: &str) {
    drop(rustls::crypto::ring::default_provider().install_default());
    let bodies = fs::read_to_string(bodies).expect("the bodies are there");
    let bodies: Arc<Vec<String>> = Arc::new(bodies.lines().map(str::to_owned).collect());
    let url: Arc<str> = format!("{base_url}/chat/completions").into();
    let client = reqwest::Client::builder().no_proxy().build().expect("a client can be built");
    let runtime =
        tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime can be built");
    runtime.block_on(async {
        let talks = (0..CONVERSATIONS).map(|_| {
            let (client, url, bodies) = (client.clone(), url.clone(), bodies.clone());
            let talk = tokio::spawn(async move {
                for body in bodies.iter() {
                    // A client reads its own request and the answer, so both are parsed.
                    let body: Value = rehearsal_core::json::from_str(body).expect("a body is JSON");
                    let answer = client.post(&*url).json(&body).send().await.expect("the server answers");
                    let answer: Value = answer.json().await.expect("the answer is JSON");
                    assert!(answer["choices"][0]["message"].is_object());
                }
            });
            async { talk.await.expect("no call fails") }
        });
        stream::iter(talks).buffer_unordered(JOBS).collect::<Vec<()>>().await;
    });
}
