//! Names: of agents as ADK folders have them, of eval cases and of eval sets.

use std::path::Path;

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

/// The id of the eval set of an agent in a file: `math_agent_evals`, with the file's name in it where that says more than
/// the agent's. `adk eval` runs no two files with one id, and takes letters, digits and underscores only.
///
/// ```
/// # use std::path::Path;
/// use rehearsal_adk::eval_set_id;
///
/// assert_eq!(eval_set_id("MathAgent", Path::new("sets/math_agent.evalset.json")), "math_agent_evals");
/// assert_eq!(eval_set_id("MathAgent", Path::new("sets/smoke.evalset.json")), "math_agent_smoke_evals");
/// ```
pub fn eval_set_id(agent: &str, file: &Path) -> String {
    let agent = snake_case(agent);
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let stem = name.strip_suffix(".json").unwrap_or(&name);
    let stem = stem.strip_suffix(".evalset").unwrap_or(stem);
    let plain = snake_case(stem);
    if plain.is_empty() || plain == agent || plain.strip_suffix("_evals") == Some(&agent) {
        return format!("{agent}_evals");
    }
    // In some scripts nothing of a name would be left, so that all of them were the same.
    let spelt = |character: char| match character {
        '\0'..='\x7f' => character.to_string(),
        _ => format!("u{:x}", u32::from(character)),
    };
    let spelt: String = stem.chars().map(spelt).collect();
    format!("{agent}_{}_evals", snake_case(&spelt))
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
    fn set_ids_name_the_agent_and_what_the_file_adds() {
        for (agent, file, id) in [
            ("Math Agent", "Math Agent.evalset.json", "math__agent_evals"),
            ("MathAgent", "deep/math_agent.evalset.json", "math_agent_evals"),
            ("MathAgent", "math_agent_evals.json", "math_agent_evals"),
            ("MathAgent", ".evalset.json", "math_agent_evals"),
            ("MathAgent", "golden.evalset.json", "math_agent_golden_evals"),
            ("MathAgent", "golden.test.json", "math_agent_golden_test_evals"),
            ("MathAgent", "golden-2", "math_agent_golden_2_evals"),
            ("Ärzte", "Ärzte.evalset.json", "_rzte_evals"),
            ("a", "黄金.evalset.json", "a_u9ec4u91d1_evals"),
        ] {
            assert_eq!(eval_set_id(agent, Path::new(file)), id, "{agent} in {file}");
        }
    }

    #[test]
    fn set_ids_are_paths_segments_to_adk() {
        assert_eq!(sanitised("a/b:c é"), "a_b_c__");
        assert_eq!(sanitised(""), "_");
    }
}
