//! Names: of agents as ADK folders have them, of eval cases and of eval sets.

use rehearsal_core::Timestamp;

/// An agent's name in snake case: an underscore before every capital but the first character, all in lower case, and
/// an underscore in place of everything that is not `a` to `z`, a digit or an underscore.
///
/// ```
/// assert_eq!(rehearsal_adk::snake_case("MathAgent"), "math_agent");
/// assert_eq!(rehearsal_adk::snake_case("GP triage-2"), "g_p_triage_2");
/// ```
pub fn snake_case(name: &str) -> String {
    let mut spaced = String::with_capacity(name.len() + 8);
    for (index, character) in name.chars().enumerate() {
        if index > 0 && character.is_ascii_uppercase() {
            spaced.push('_');
        }
        spaced.push(character);
    }
    let is_plain = |character: char| {
        matches!(character, 'a'..='z' | '0'..='9' | '_').then_some(character).unwrap_or('_')
    };
    spaced.to_lowercase().chars().map(is_plain).collect()
}

/// The id of the eval set of an agent: `math_agent_evals`. ADK takes letters, digits and underscores only.
pub fn eval_set_id(agent: &str) -> String {
    format!("{}_evals", snake_case(agent))
}

/// An eval set id with everything replaced that ADK does not take in one.
pub(crate) fn sanitised(id: &str) -> String {
    let plain = |character: char| if character.is_ascii_alphanumeric() { character } else { '_' };
    let id: String = id.chars().map(plain).collect();
    if id.is_empty() { "_".to_owned() } else { id }
}

/// The id of an eval case: `math_agent_2025-12-23T14:30:00`, in UTC.
pub(crate) fn eval_id(agent: &str, start: Timestamp, colons: bool) -> String {
    let format = if colons { "%Y-%m-%dT%H:%M:%S" } else { "%Y-%m-%dT%H-%M-%S" };
    format!("{}_{}", snake_case(agent), start.strftime(format))
}

/// The id itself, or with the first of `_2`, `_3` … that is not taken.
pub(crate) fn unique(id: &str, is_taken: impl Fn(&str) -> bool) -> String {
    let suffixed = (2_u64..).map(|number| format!("{id}_{number}"));
    let mut candidates = std::iter::once(id.to_owned()).chain(suffixed);
    candidates.find(|id| !is_taken(id)).unwrap_or_else(|| unreachable!("a file has fewer than 2^64 cases"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What Python gives for `re.sub(r'(?<!^)(?=[A-Z])', '_', name).lower()` and then
    /// `re.sub(r'[^a-z0-9_]', '_', …)`.
    #[test]
    fn names_become_what_the_regular_expressions_make_of_them() {
        for (name, snake) in [
            ("", ""),
            ("MathAgent", "math_agent"),
            ("mathAgent2B", "math_agent2_b"),
            ("HTTPServer", "h_t_t_p_server"),
            ("My Agent", "my__agent"),
            ("a-b.c", "a_b_c"),
            ("Ärzte", "_rzte"),
            ("xÄB", "x__b"),
            ("\u{212a}elvin", "kelvin"),
            ("x\u{130}", "xi_"),
            ("_A", "__a"),
        ] {
            assert_eq!(snake_case(name), snake, "{name}");
        }
    }

    #[test]
    fn eval_ids_name_the_start_in_utc() {
        let start: Timestamp = "2025-12-23T15:30:00.999+01:00".parse().unwrap();
        assert_eq!(eval_id("MathAgent", start, true), "math_agent_2025-12-23T14:30:00");
        assert_eq!(eval_id("MathAgent", start, false), "math_agent_2025-12-23T14-30-00");
    }

    #[test]
    fn taken_ids_get_the_first_free_number() {
        assert_eq!(unique("a", |_| false), "a");
        assert_eq!(unique("a", |id| ["a", "a_2", "a_4"].contains(&id)), "a_3");
    }

    #[test]
    fn set_ids_are_paths_segments_to_adk() {
        assert_eq!(eval_set_id("Math Agent"), "math__agent_evals");
        assert_eq!(sanitised("a/b:c é"), "a_b_c__");
        assert_eq!(sanitised(""), "_");
    }
}
