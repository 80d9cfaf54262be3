//! Agents behind HTTP, where that is built in.

#[cfg(feature = "http")]
use std::sync::Arc;
#[cfg(feature = "http")]
use std::time::Duration;

use rehearsal_agent::AgentRef;
#[cfg(feature = "http")]
use rehearsal_world::remote::{CallPaths, HttpAgent, HttpSettings, UsagePaths};

use super::{CompileError, Compiled};
#[cfg(feature = "http")]
use crate::CallsInAnswer;
use crate::HttpEndpoint;
#[cfg(feature = "http")]
use crate::filled::filled;

impl Compiled {
    #[cfg(not(feature = "http"))]
    #[expect(clippy::unused_self, reason = "with HTTP it tells the agent about the scenario")]
    pub(super) fn http_agent(&self, _: &str, _: &HttpEndpoint, _: u16) -> Result<AgentRef, CompileError> {
        Err(CompileError::NoHttp)
    }

    #[cfg(feature = "http")]
    pub(super) fn http_agent(
        &self,
        name: &str,
        endpoint: &HttpEndpoint,
        port: u16,
    ) -> Result<AgentRef, CompileError> {
        Ok(Arc::new(HttpAgent::new(self.http_settings(name, endpoint, port)?)?))
    }

    #[cfg(feature = "http")]
    fn http_settings(
        &self,
        name: &str,
        endpoint: &HttpEndpoint,
        port: u16,
    ) -> Result<HttpSettings, CompileError> {
        let url = endpoint.url.replace("${port}", &port.to_string());
        let mut settings = HttpSettings::new(name, &url, &endpoint.response);
        settings.method.clone_from(&endpoint.method);
        for (header, value) in &endpoint.headers {
            let value = filled(value, &*self.backstage.variables)?;
            settings.headers.insert(header.clone(), value.into());
        }
        if let Some(request) = &endpoint.request {
            settings.request = request.clone();
        }
        settings.session.clone_from(&endpoint.session);
        settings.usage = endpoint.usage.clone().map(|(input, output)| UsagePaths { input, output });
        settings.calls = endpoint.calls.clone().map(|paths| {
            let CallsInAnswer { list, tool, args, result, error } = paths;
            CallPaths { list, tool, args, result, error }
        });
        if let Some(millis) = endpoint.timeout_ms {
            settings.timeout = Duration::from_millis(millis);
        }
        settings.masker = self.masker.clone();
        settings.introduction = self.introduction(None);
        Ok(settings)
    }
}
