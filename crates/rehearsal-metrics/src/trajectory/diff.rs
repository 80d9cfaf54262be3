//! Two lists of calls side by side.

use rehearsal_core::Evidence;

use super::alignment::Fits;
use super::expected::{ExpectedCall, json};
use super::{MadeCall, MatchKind};

/// How many steps evidence shows.
const MOST_STEPS: usize = 200;

/// How many differences of one call's arguments evidence shows.
const MOST_DIFFERENCES: usize = 5;

/// The calls expected and made, joined where they belong together.
pub(super) struct Diff<'a> {
    expected: &'a [ExpectedCall],
    made: &'a [MadeCall<'a>],
    kind: MatchKind,
    steps: Vec<Step>,
}

/// One line; the numbers are places in the two lists.
#[derive(Clone, Copy)]
enum Step {
    /// Made as expected.
    Same(usize, usize),
    /// The right tool with other arguments.
    Changed(usize, usize),
    /// Not made.
    Missing(usize),
    /// Not expected.
    Other(usize),
}

impl<'a> Diff<'a> {
    pub(super) fn new(expected: &'a [ExpectedCall], made: &'a [MadeCall<'a>], kind: MatchKind) -> Self {
        let fits = Fits::new(expected.len(), made.len(), |e, m| {
            expected[e].tool() == made[m].tool && expected[e].accepts(made[m].args)
        });
        let mut diff = Self { expected, made, kind, steps: Vec::new() };
        match kind {
            MatchKind::Exact | MatchKind::InOrder => diff.align(&fits.pairs_in_order()),
            MatchKind::AnyOrder | MatchKind::Subset => diff.assign(&fits.pairs_in_any_order()),
        }
        diff
    }

    /// How many calls were made as expected.
    pub(super) fn matches(&self) -> usize {
        self.steps.iter().filter(|step| matches!(step, Step::Same(..))).count()
    }

    /// Keeps the order of both lists: between two pairs come the calls that only one of them has.
    fn align(&mut self, pairs: &[(usize, usize)]) {
        let (mut e, mut m) = (0, 0);
        for &(expected, made) in pairs {
            self.align_gap((e, expected), (m, made));
            self.steps.push(Step::Same(expected, made));
            (e, m) = (expected + 1, made + 1);
        }
        self.align_gap((e, self.expected.len()), (m, self.made.len()));
    }

    /// Joins calls of the same tool that lie between two pairs.
    fn align_gap(&mut self, (mut e, e_end): (usize, usize), (mut m, m_end): (usize, usize)) {
        let (e_start, m_start) = (e, m);
        let same_tool = Fits::new(e_end - e, m_end - m, |i, j| {
            self.expected[e_start + i].tool() == self.made[m_start + j].tool
        });
        for (i, j) in same_tool.pairs_in_order() {
            let (expected, made) = (e_start + i, m_start + j);
            self.steps.extend((e..expected).map(Step::Missing));
            self.steps.extend((m..made).map(Step::Other));
            self.steps.push(Step::Changed(expected, made));
            (e, m) = (expected + 1, made + 1);
        }
        self.steps.extend((e..e_end).map(Step::Missing));
        self.steps.extend((m..m_end).map(Step::Other));
    }

    /// Follows the list that matters: what was made for a subset, what was expected otherwise.
    fn assign(&mut self, pairs: &[(usize, usize)]) {
        let open_expected: Vec<usize> =
            (0..self.expected.len()).filter(|e| pairs.iter().all(|pair| pair.0 != *e)).collect();
        let open_made: Vec<usize> =
            (0..self.made.len()).filter(|m| pairs.iter().all(|pair| pair.1 != *m)).collect();
        let same_tool = Fits::new(open_expected.len(), open_made.len(), |i, j| {
            self.expected[open_expected[i]].tool() == self.made[open_made[j]].tool
        });
        let changed = same_tool.pairs_in_any_order();
        let mut steps: Vec<Step> = pairs.iter().map(|&(e, m)| Step::Same(e, m)).collect();
        steps.extend(changed.iter().map(|&(i, j)| Step::Changed(open_expected[i], open_made[j])));
        let is_left = |taken: Vec<usize>| move |place: &usize| !taken.contains(place);
        let left_expected = is_left(changed.iter().map(|pair| open_expected[pair.0]).collect());
        let left_made = is_left(changed.iter().map(|pair| open_made[pair.1]).collect());
        steps.extend(open_expected.into_iter().filter(left_expected).map(Step::Missing));
        steps.extend(open_made.into_iter().filter(left_made).map(Step::Other));
        let by_made = self.kind == MatchKind::Subset;
        steps.sort_by_key(|step| match *step {
            Step::Same(e, m) | Step::Changed(e, m) => (0, if by_made { m } else { e }),
            Step::Missing(e) => (usize::from(by_made), e),
            Step::Other(m) => (usize::from(!by_made), m),
        });
        self.steps = steps;
    }

    /// The diff as evidence, a piece a call. Calls that make no difference are summed up at the end.
    pub(super) fn evidence(&self) -> Vec<Evidence> {
        let is_same = |step: &Step| matches!(step, Step::Same(..));
        // Where not all steps have room, those that went as expected are the ones to leave out.
        let differing = self.steps.iter().filter(|step| !is_same(step)).count();
        let mut room_for_same = MOST_STEPS.saturating_sub(differing);
        let chosen = self.steps.iter().filter(|step| {
            let keep = !is_same(step) || room_for_same > 0;
            room_for_same -= usize::from(is_same(step) && room_for_same > 0);
            keep
        });
        let told: Vec<Evidence> = chosen.filter_map(|step| self.tell(*step)).collect();
        let all = self.steps.iter().filter_map(|step| self.tell(*step)).count();
        let mut evidence: Vec<Evidence> = told.into_iter().take(MOST_STEPS).collect();
        let hidden = all - evidence.len();
        if hidden > 0 {
            evidence.push(Evidence { text: format!("… and {hidden} more steps"), events: Vec::new() });
        }
        evidence.extend(self.summary());
        if evidence.is_empty() {
            evidence.push(Evidence { text: "no calls were made".to_owned(), events: Vec::new() });
        }
        evidence
    }

    fn tell(&self, step: Step) -> Option<Evidence> {
        let (text, made) = match step {
            Step::Same(_, m) => (format!("= {}", self.show(m)), Some(m)),
            Step::Changed(e, m) => (format!("~ {}: {}", self.made[m].tool, self.changes(e, m)), Some(m)),
            Step::Missing(e) if self.kind != MatchKind::Subset => {
                (format!("- missing {}", self.expected[e]), None)
            }
            Step::Other(m) if matches!(self.kind, MatchKind::Exact | MatchKind::Subset) => {
                (format!("+ unexpected {}", self.show(m)), Some(m))
            }
            Step::Missing(_) | Step::Other(_) => return None,
        };
        Some(Evidence { text, events: made.map(|m| self.made[m].seq).into_iter().collect() })
    }

    fn show(&self, made: usize) -> String {
        format!("{} {}", self.made[made].tool, json(self.made[made].args))
    }

    fn changes(&self, expected: usize, made: usize) -> String {
        let mut differences = self.expected[expected].differences(self.made[made].args);
        let more = differences.len().saturating_sub(MOST_DIFFERENCES);
        differences.truncate(MOST_DIFFERENCES);
        if more > 0 {
            differences.push(format!("and {more} more differences"));
        }
        differences.join("; ")
    }

    /// What the kind of match allows, in a line.
    fn summary(&self) -> Option<Evidence> {
        let (mut missing, mut others) = (0, Vec::new());
        for step in &self.steps {
            match *step {
                Step::Missing(_) => missing += 1,
                Step::Other(m) => others.push(self.made[m].seq),
                Step::Same(..) | Step::Changed(..) => {}
            }
        }
        match self.kind {
            MatchKind::InOrder | MatchKind::AnyOrder if !others.is_empty() => Some(Evidence {
                text: format!("other calls, which are allowed: {}", others.len()),
                events: others,
            }),
            MatchKind::Subset if missing > 0 => {
                let text = format!("expected calls not made, which is allowed: {missing}");
                Some(Evidence { text, events: Vec::new() })
            }
            _ => None,
        }
    }
}
