//! Tools behind HTTP, where that is built in.

#[cfg(feature = "http")]
use std::sync::Arc;

#[cfg(feature = "http")]
use futures::FutureExt as _;
use rehearsal_agent::ToolRef;
#[cfg(feature = "http")]
use rehearsal_agent::{FunctionTool, ToolOutput};
#[cfg(feature = "http")]
use rehearsal_core::ToolError;
use rehearsal_core::mask::Masker;
#[cfg(feature = "http")]
use serde_json::Value;

#[cfg(feature = "http")]
use super::told;
#[cfg(feature = "http")]
use super::tools::{Reads, TOOL_TIMEOUT, declaration};
#[cfg(feature = "http")]
use crate::filled::filled;
use crate::{CompileError, ToolDefinition};

#[cfg(feature = "http")]
/// The most that is read of an HTTP tool's answer.
const MAX_ANSWER: usize = 8 * 1024 * 1024;

/// How a tool is reached.
#[cfg_attr(not(feature = "http"), expect(dead_code, reason = "it is only refused"))]
pub(super) struct HttpTool<'a> {
    pub(super) url: &'a String,
    pub(super) method: &'a String,
    pub(super) headers: &'a [(String, String)],
}

impl HttpTool<'_> {
    #[cfg(not(feature = "http"))]
    #[expect(clippy::unused_self, reason = "with HTTP it is reached")]
    pub(super) fn tool(
        &self,
        _: &ToolDefinition,
        _: &dyn Fn(&str) -> Option<String>,
        _: &Masker,
    ) -> Result<ToolRef, CompileError> {
        Err(CompileError::NoHttp)
    }

    /// The tool, which runs for real.
    #[cfg(feature = "http")]
    pub(super) fn tool(
        &self,
        tool: &ToolDefinition,
        variable: &dyn Fn(&str) -> Option<String>,
        masker: &Masker,
    ) -> Result<ToolRef, CompileError> {
        let Self { url, method, headers } = *self;
        let no_address = |why: String| CompileError::Address { url: url.clone(), why };
        let url =
            reqwest::Url::parse(&filled(url, variable)?).map_err(|error| no_address(error.to_string()))?;
        let client = rehearsal_world::remote::build_client(&url)?;
        let method = method.parse().map_err(|_| CompileError::Method { method: method.clone() })?;
        let mut request = client.request(method, url);
        let mut secrets = Vec::new();
        for (name, value) in headers {
            let value = filled(value, variable)?;
            if reqwest::header::HeaderValue::from_str(&value).is_err() {
                let (header, tool) = (name.clone(), tool.name.clone());
                return Err(CompileError::Header { header, tool });
            }
            secrets.extend(rehearsal_world::remote::header_secrets(name, &value));
            request = request.header(name, value);
        }
        let (request, masker, reads) = (Arc::new(request), masker.and(secrets), Reads::of(tool));
        let run = move |args: Value, _| call_http(request.try_clone(), masker.clone(), reads, args).boxed();
        Ok(FunctionTool::raw(declaration(tool), run).into())
    }
}

#[cfg(feature = "http")]
async fn call_http(
    request: Option<reqwest::RequestBuilder>,
    masker: Masker,
    reads: Reads,
    args: Value,
) -> Result<ToolOutput, ToolError> {
    let failed = |why: String| ToolError::new("HttpFailed", why);
    let request = request.ok_or_else(|| failed("the request cannot be made twice".to_owned()))?;
    let request = request
        .header("content-type", "application/json")
        .body(rehearsal_core::json::text(&args))
        .timeout(TOOL_TIMEOUT);
    let mut response = request.send().await.map_err(|error| failed(told(&error.without_url())))?;
    let status = response.status();
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(|error| failed(told(&error.without_url())))? {
        body.extend_from_slice(&chunk);
        if body.len() > MAX_ANSWER {
            return Err(failed(format!("its answer has more than {MAX_ANSWER} bytes")));
        }
    }
    // A server may send back what it was sent.
    let text = masker.mask(&String::from_utf8_lossy(&body)).into_owned();
    if !status.is_success() {
        let start = rehearsal_core::shorten(&text, 500);
        return Err(failed(format!("it answered HTTP {}: {start}", status.as_u16())));
    }
    Ok(ToolOutput::new(reads.value(&text)))
}
