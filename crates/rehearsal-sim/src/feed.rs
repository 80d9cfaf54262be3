//! The runs of a suite's cases that are next: a queue that can grow while the suite runs.

use std::collections::{BTreeMap, VecDeque};

use rehearsal_core::{Fault, Verdict};
use rehearsal_metrics::Tally;

/// What runs of cases came to, by their place among all runs.
pub(crate) type Known = BTreeMap<usize, (Verdict, Option<Fault>)>;

/// The runs that are next.
///
/// Where so many valid runs of each case are wanted, a case has places for more of them, one after the other. A run whose
/// outcome says nothing about the agent is followed by one more of its case, as long as there is a place. So those that
/// are begun of a case are always the first of its places, whichever ends first, and which ones they are follows from
/// what each of them comes to.
#[derive(Debug)]
pub(crate) struct Feed {
    queue: VecDeque<usize>,
    valid: Option<Valid>,
    known: Known,
}

/// Runs that are added until enough of them are valid.
#[derive(Debug)]
struct Valid {
    /// How many places a case has.
    places: usize,
    /// How many of them are taken.
    taken: Vec<usize>,
}

impl Feed {
    /// These runs, but for those of which is known what they came to.
    pub(crate) fn of(orders: impl IntoIterator<Item = usize>, known: Known) -> Self {
        let queue = orders.into_iter().filter(|order| !known.contains_key(order)).collect();
        Self { queue, valid: None, known }
    }

    /// So many valid runs of each of so many cases that have so many places each.
    pub(crate) fn valid(cases: usize, wanted: usize, places: usize, known: Known) -> Self {
        let valid = Valid { places, taken: vec![0; cases] };
        let mut feed = Self { queue: VecDeque::new(), valid: Some(valid), known };
        for case in 0..cases {
            for _ in 0..wanted {
                feed.one_more(case);
            }
        }
        feed
    }

    /// The next one.
    pub(crate) fn next(&mut self) -> Option<usize> {
        self.queue.pop_front()
    }

    /// A run came to this.
    pub(crate) fn ended(&mut self, order: usize, fault: Option<Fault>) {
        if !is_valid(fault)
            && let Some(valid) = &self.valid
        {
            self.one_more(order / valid.places);
        }
    }

    /// One more valid run of a case is wanted.
    fn one_more(&mut self, case: usize) {
        let Some(Valid { places, taken }) = &mut self.valid else { return };
        while taken[case] < *places {
            let order = case * *places + taken[case];
            taken[case] += 1;
            match self.known.get(&order) {
                None => {
                    self.queue.push_back(order);
                    return;
                }
                Some((_, fault)) if is_valid(*fault) => return,
                Some(_) => {}
            }
        }
    }

    /// Tells a tally what is known, and which runs nobody needed.
    pub(crate) fn tell(&self, tally: &mut Tally) {
        for (order, (verdict, fault)) in &self.known {
            tally.ended(*order, *verdict, *fault);
        }
        let Some(Valid { places, taken }) = &self.valid else { return };
        for (case, taken) in taken.iter().enumerate() {
            (*taken..*places).for_each(|place| tally.leave_out(case * places + place));
        }
    }
}

fn is_valid(fault: Option<Fault>) -> bool {
    fault.is_none_or(Fault::is_of_agent)
}
