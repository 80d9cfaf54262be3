//! People in parts that they cannot play.

use crate::{Problem, Scenario};

impl Scenario {
    /// What is wrong with people in parts that they cannot play.
    pub(super) fn misplaced_people(&self) -> Vec<Problem> {
        let mut problems: Vec<Problem> = Vec::new();
        for (role, written, at) in self.uses() {
            let Some(named) = self.model(role, written).filter(|_| self.is_person(role, written)) else {
                continue;
            };
            let Some(instead) = role.instead_of_person() else { continue };
            let at = if named.span.is_empty() { at } else { named.span.clone() };
            let message = role.not_by_person();
            let problem = Problem::error("no-person", at, message).help(instead);
            if !problems.contains(&problem) {
                problems.push(problem);
            }
        }
        problems
    }
}
