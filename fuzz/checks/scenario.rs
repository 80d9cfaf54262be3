//! No text makes reading a scenario file panic, and every problem has a place in the text.

use rehearsal_scenario::{CheckOptions, Dialect, Severity, Style, check_agent, check_with};

/// The text is a scenario file.
pub(crate) fn check(text: &str) {
    for dialect in [Dialect::Rehearsal, Dialect::ElizaOs] {
        let options = CheckOptions { dialect, ..CheckOptions::default() };
        let checked = check_with(text, &options);
        let errors = checked.problems.iter().filter(|problem| problem.severity == Severity::Error).count();
        assert_eq!(checked.is_usable(), errors == 0, "{:?}", checked.problems);
        for problem in checked.problems.iter().take(5) {
            assert!(problem.span.start <= problem.span.end && problem.span.end <= text.len());
            let (line, _) = problem.place(text);
            assert!(line <= text.split('\n').count());
            assert!(problem.render("fuzz.yaml", text, Style::Plain).contains(problem.code));
        }
        if let Some(scenario) = checked.scenario {
            for problem in scenario.missing().into_iter().chain(scenario.unused()) {
                problem.render("fuzz.yaml", text, Style::Plain);
            }
            for evaluation in scenario.evaluations() {
                assert!(!evaluation.label().is_empty());
                assert!(evaluation.line <= text.split('\n').count());
            }
        }
        check_agent(text, &options);
    }
}
