//! What a scenario takes from the environment and nobody is to see.

use rehearsal_core::mask::Masker;

use crate::{Implementation, Reached, ReadVariable, Scenario, filled};

impl Scenario {
    /// The names of variables whose values are too short to be hidden where a program shows them.
    pub fn too_short_to_hide(&self, variables: &ReadVariable) -> Vec<String> {
        let is_short = |name: &&str| {
            variables(name).is_some_and(|value| !value.trim().is_empty() && !Masker::can_hide(&value))
        };
        self.secrets().iter().map(String::as_str).filter(is_short).map(str::to_owned).collect()
    }

    /// Hides the values of variables that the file does not hold itself and does not call public.
    pub(crate) fn masker(&self, variables: &ReadVariable) -> Masker {
        Masker::new(self.secrets().iter().filter_map(|name| variables(name)))
    }

    /// The names of variables whose values nobody is to see.
    fn secrets(&self) -> Vec<String> {
        let own = self.variables.iter().filter(|variable| variable.value.is_none() && !variable.public);
        let mut names: Vec<String> = own.map(|variable| variable.name.clone()).collect();
        let is_public = |name: &str| self.variables.iter().any(|own| own.name == name && own.public);
        let mut add = |text: &str| {
            names
                .extend(filled::names(text).map(|(name, _)| name.to_owned()).filter(|name| !is_public(name)));
        };
        if let Some(agent) = &self.agent {
            if let Reached::Http(endpoint) = &agent.reached {
                for (_, value) in &endpoint.headers {
                    add(value);
                }
            }
            for tool in &agent.tools {
                if let Some(Implementation::Http { headers, .. }) = &tool.implementation {
                    for (_, value) in headers {
                        add(value);
                    }
                }
            }
        }
        names.extend(self.open_names().into_iter().filter(|name| !is_public(name)));
        names.sort_unstable();
        names.dedup();
        names
    }
}
