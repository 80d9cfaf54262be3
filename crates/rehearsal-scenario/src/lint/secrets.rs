//! What a scenario takes from the environment and nobody is to see.

use rehearsal_core::mask::Masker;

use crate::ReadVariable;
use crate::{Implementation, Reached, Scenario};

impl Scenario {
    /// The names of variables whose values are too short to be hidden where a program shows them.
    pub fn too_short_to_hide(&self, variables: &ReadVariable) -> Vec<String> {
        let is_short = |name: &&str| {
            variables(name).is_some_and(|value| !value.trim().is_empty() && !Masker::can_hide(&value))
        };
        self.secrets().into_iter().filter(is_short).map(str::to_owned).collect()
    }

    /// Hides the values of variables that the file does not hold itself and does not call public.
    pub(crate) fn masker(&self, variables: &ReadVariable) -> Masker {
        Masker::new(self.secrets().into_iter().filter_map(variables))
    }

    /// The names of variables whose values nobody is to see.
    fn secrets(&self) -> Vec<&str> {
        let own = self.variables.iter().filter(|variable| variable.value.is_none() && !variable.public);
        let mut names: Vec<&str> = own.map(|variable| variable.name.as_str()).collect();
        let Some(agent) = &self.agent else { return names };
        if let Reached::Http(endpoint) = &agent.reached {
            names.extend(endpoint.headers.iter().flat_map(|(_, value)| named_in(value)));
        }
        for tool in &agent.tools {
            if let Some(Implementation::Http { headers, .. }) = &tool.implementation {
                names.extend(headers.iter().flat_map(|(_, value)| named_in(value)));
            }
        }
        names.sort_unstable();
        names.dedup();
        names
    }
}

/// The names in `${env.NAME}` of a header.
fn named_in(value: &str) -> impl Iterator<Item = &str> {
    value.split("${env.").skip(1).filter_map(|rest| rest.split_once('}').map(|(name, _)| name))
}
