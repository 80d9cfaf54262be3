//! An account: what may be used, what is reserved of it, and what was used. It knows no time and waits for nobody.

use super::Limits;

/// So much of what is limited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Amount {
    pub(super) tokens: u64,
    /// Millionths of millionths of a dollar, so that what is added up stays exact.
    pico: u64,
}

const PICO: f64 = 1e12;

impl Amount {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "it stays at the most there is"
    )]
    pub(super) fn of(tokens: u64, dollars: f64) -> Self {
        // Adding up may have lost a last digit, which must not be rounded up.
        Self { tokens, pico: (dollars * PICO - 1e-3).ceil().max(0.0) as u64 }
    }

    #[expect(clippy::cast_precision_loss, reason = "nobody has so much money")]
    pub(super) fn dollars(self) -> f64 {
        self.pico as f64 / PICO
    }

    fn plus(self, other: Self) -> Self {
        Self { tokens: self.tokens.saturating_add(other.tokens), pico: self.pico.saturating_add(other.pico) }
    }

    fn minus(self, other: Self) -> Self {
        Self { tokens: self.tokens.saturating_sub(other.tokens), pico: self.pico.saturating_sub(other.pico) }
    }

    pub(super) fn min(self, other: Self) -> Self {
        Self { tokens: self.tokens.min(other.tokens), pico: self.pico.min(other.pico) }
    }

    fn fits(self, left: Self) -> bool {
        self.tokens <= left.tokens && self.pico <= left.pico
    }
}

/// What a call may use: what is reserved for it, and the least with which it is made where nothing else is under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Need {
    pub(super) wanted: Amount,
    pub(super) least: Amount,
}

/// What becomes of a call that is to be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// So much is reserved for it.
    Held(Amount),
    /// Others are under way, and may leave enough.
    Wait,
    /// There is not enough left, whatever becomes of the others.
    Never(String),
}

/// What may be used, what is reserved, what was used.
#[derive(Debug)]
pub(super) struct Account {
    limits: Limits,
    limit: Amount,
    spent: Amount,
    held: Amount,
    calls: u64,
    reached: Option<String>,
    has_refused: bool,
}

impl Account {
    pub(super) fn new(limits: Limits) -> Self {
        let dollars = limits.cost.map_or(u64::MAX, |cost| Amount::of(0, cost).pico);
        let limit = Amount { tokens: limits.tokens.unwrap_or(u64::MAX), pico: dollars };
        let (spent, held) = (Amount::default(), Amount::default());
        Self { limits, limit, spent, held, calls: 0, reached: None, has_refused: false }
    }

    pub(super) fn spent(&self) -> Amount {
        self.spent
    }

    /// Which limit was reached, in words.
    pub(super) fn reached(&self) -> Option<String> {
        self.reached.clone()
    }

    /// Whether a call was not made because of it.
    pub(super) fn has_refused(&self) -> bool {
        self.has_refused
    }

    pub(super) fn ask(&mut self, need: Need) -> Answer {
        let left = self.limit.minus(self.spent);
        let free = left.minus(self.held);
        if self.reached.is_none() && need.wanted.fits(free) {
            return self.reserve(need.wanted);
        }
        if self.reached.is_none() && need.least.fits(left) {
            return if self.calls == 0 { self.reserve(need.wanted.min(free)) } else { Answer::Wait };
        }
        self.has_refused = true;
        let why = match &self.reached {
            Some(why) => why.clone(),
            None => {
                let why = self.words(Some(need.least));
                self.reached.insert(why).clone()
            }
        };
        Answer::Never(why)
    }

    fn reserve(&mut self, amount: Amount) -> Answer {
        self.held = self.held.plus(amount);
        self.calls += 1;
        Answer::Held(amount)
    }

    /// Counts what was used of what was reserved.
    pub(super) fn settle(&mut self, held: Amount, used: Amount) {
        self.held = self.held.minus(held);
        self.calls = self.calls.saturating_sub(1);
        self.count(used);
    }

    /// Counts what was used.
    pub(super) fn count(&mut self, used: Amount) {
        self.spent = self.spent.plus(used);
        let is_used_up = self.spent.tokens >= self.limit.tokens || self.spent.pico >= self.limit.pico;
        if is_used_up && self.reached.is_none() {
            self.reached = Some(self.words(None));
        }
    }

    /// What was used of what may be, and what a call may need beside.
    fn words(&self, need: Option<Amount>) -> String {
        let left = self.limit.minus(self.spent);
        let by_tokens = match need {
            Some(need) => need.tokens > left.tokens,
            None => self.spent.tokens >= self.limit.tokens,
        };
        let (limit, used, more) = match self.limits.cost {
            Some(cost) if !by_tokens => {
                let more = need.map(|need| format!("${:.6}", need.dollars()));
                (format!("cost ${cost}"), format!("${:.6}", self.spent.dollars()), more)
            }
            _ => (
                format!("use {} tokens", self.limit.tokens),
                self.spent.tokens.to_string(),
                need.map(|need| need.tokens.to_string()),
            ),
        };
        let more = more.map(|more| format!(", and one more call may take {more}")).unwrap_or_default();
        format!("may {limit}; {used} were used{more}")
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn need(tokens: u64) -> Need {
        let amount = Amount::of(tokens, 0.0);
        Need { wanted: amount, least: amount }
    }

    fn account(tokens: u64) -> Account {
        Account::new(Limits { tokens: Some(tokens), cost: None })
    }

    #[test]
    fn what_is_reserved_is_not_given_twice() {
        let mut account = account(100);
        assert_eq!(account.ask(need(60)), Answer::Held(Amount::of(60, 0.0)));
        assert_eq!(account.ask(need(60)), Answer::Wait);
        account.settle(Amount::of(60, 0.0), Amount::of(30, 0.0));
        assert_eq!(account.ask(need(60)), Answer::Held(Amount::of(60, 0.0)));
        account.settle(Amount::of(60, 0.0), Amount::of(50, 0.0));
        let why = "may use 100 tokens; 80 were used, and one more call may take 30".to_owned();
        assert_eq!(account.ask(need(30)), Answer::Never(why.clone()));
        // What was refused once ends it for all.
        assert_eq!(account.ask(need(1)), Answer::Never(why));
    }

    #[test]
    fn a_guess_gets_what_is_left_where_nothing_else_is_under_way() {
        let mut account = account(100);
        let guess = Need { wanted: Amount::of(4000, 0.0), least: Amount::of(40, 0.0) };
        assert_eq!(account.ask(guess), Answer::Held(Amount::of(100, 0.0)));
        assert_eq!(account.ask(guess), Answer::Wait);
    }

    #[test]
    fn dollars_are_added_up_exactly() {
        let mut account = Account::new(Limits { tokens: None, cost: Some(0.3) });
        for _ in 0..3 {
            let tenth = Amount::of(1, 0.1);
            assert_eq!(account.ask(Need { wanted: tenth, least: tenth }), Answer::Held(tenth));
            account.settle(tenth, tenth);
        }
        assert_eq!(account.reached().as_deref(), Some("may cost $0.3; $0.300000 were used"));
    }

    proptest! {
        /// Whatever comes when: what is reserved and what was used stay within the limit together, as long as no call uses
        /// more than was reserved for it; and somebody can always go on.
        #[test]
        fn reservations_never_exceed_the_limit(
            limit in 1_u64..2000,
            steps in proptest::collection::vec((any::<bool>(), 1_u64..400, 1_u64..400, 0_u64..=100), 1..200),
        ) {
            let mut account = account(limit);
            let mut under_way: Vec<Amount> = Vec::new();
            for (asks, wanted, least, used) in steps {
                if asks {
                    let (wanted, least) = (Amount::of(wanted.max(least), 0.0), Amount::of(least.min(wanted), 0.0));
                    match account.ask(Need { wanted, least }) {
                        Answer::Held(amount) => under_way.push(amount),
                        Answer::Wait => prop_assert!(!under_way.is_empty()),
                        Answer::Never(_) => prop_assert!(account.reached().is_some()),
                    }
                } else if !under_way.is_empty() {
                    let held = under_way.remove(usize::try_from(used).unwrap() % under_way.len());
                    account.settle(held, Amount::of(held.tokens * used / 100, 0.0));
                }
                let held: u64 = under_way.iter().map(|held| held.tokens).sum();
                prop_assert!(account.spent().tokens + held <= limit);
            }
        }
    }
}
