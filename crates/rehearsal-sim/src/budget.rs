//! Budgets: what models may use, of a run and of a case. What a call may use is reserved before it is made, so that calls
//! side by side cannot use more together, and what it used is counted afterwards.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use rehearsal_agent::{Charge, Meter, ModelCall, ModelError};
use rehearsal_core::{BudgetReport, Player, Spent, Usage};
use rehearsal_metrics::{Price, Prices};
use tokio::sync::{Notify, watch};

use self::account::{Account, Amount, Answer, Need};
use self::estimate::Estimates;

mod account;
mod estimate;

/// The most that models may use.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Limits {
    /// Tokens, read and written.
    pub tokens: Option<u64>,
    /// US dollars.
    pub cost: Option<f64>,
}

impl Limits {
    /// Whether nothing is limited.
    pub fn is_empty(&self) -> bool {
        self.tokens.is_none() && self.cost.is_none()
    }

    /// These limits, and others where these say nothing.
    #[must_use]
    pub fn or(self, others: Self) -> Self {
        Self { tokens: self.tokens.or(others.tokens), cost: self.cost.or(others.cost) }
    }
}

/// What the models of a run may use, and what they used of it.
#[derive(Debug)]
pub struct Budget {
    limits: Limits,
    of_case: Limits,
    max_time: Option<Duration>,
    purse: Arc<Purse>,
    estimates: Mutex<Estimates>,
    time_is_up: watch::Sender<bool>,
}

impl Budget {
    /// A budget of a run, whose cases may use no more than `of_case` each, whatever they say themselves.
    pub fn new(limits: Limits, of_case: Limits, max_time: Option<Duration>) -> Self {
        let purse = Purse::new("the run", limits);
        Self {
            limits,
            of_case,
            max_time,
            purse,
            estimates: Mutex::default(),
            time_is_up: watch::Sender::new(false),
        }
    }

    /// Counts what was used before: by cases of the run that ended when it was begun.
    pub fn used_before(&self, spent: Spent) {
        self.purse.account().count(Amount::of(spent.tokens, spent.cost.unwrap_or_default()));
    }

    /// The longest that the run may take.
    pub fn max_time(&self) -> Option<Duration> {
        self.max_time
    }

    /// Ends the cases that run, because the time is up.
    pub fn end_time(&self) {
        self.time_is_up.send_replace(true);
    }

    /// Whether no further case may begin.
    pub fn is_used_up(&self) -> bool {
        *self.time_is_up.borrow() || self.purse.account().reached().is_some()
    }

    /// The limits and what was used of them. `is_cut` says whether cases were not run.
    pub fn report(&self, is_cut: bool) -> BudgetReport {
        let account = self.purse.account();
        let was_refused = account.has_refused();
        let reached = account
            .reached()
            .filter(|_| is_cut || was_refused)
            .map(|why| format!("{} {why}", self.purse.whose));
        let spent = account.spent();
        let cost = self.limits.cost.or(self.of_case.cost).is_some();
        BudgetReport {
            max_tokens: self.limits.tokens,
            max_cost: self.limits.cost,
            max_time_ms: self.max_time.map(crate::simulation::millis),
            spent: Spent { tokens: spent.tokens, cost: cost.then(|| spent.dollars()) },
            reached: self.time_is_up_because().or(reached),
        }
    }

    pub(crate) async fn time_up(&self) -> String {
        // The sender is held here, so the channel cannot close while this waits.
        drop(self.time_is_up.subscribe().wait_for(|is_up| *is_up).await);
        self.time_is_up_because().unwrap_or_default()
    }

    pub(crate) fn time_is_up_because(&self) -> Option<String> {
        let limit = self.max_time.unwrap_or_default();
        self.time_is_up.borrow().then(|| format!("the run may take {limit:?}, and that time is up"))
    }

    fn estimates(&self) -> MutexGuard<'_, Estimates> {
        self.estimates.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for Budget {
    /// Nothing is limited.
    fn default() -> Self {
        Self::new(Limits::default(), Limits::default(), None)
    }
}

/// An account, and those who wait for it.
struct Purse {
    whose: &'static str,
    account: Mutex<Account>,
    /// Whoever is next has this, so that calls get their share in the order in which they came.
    gate: tokio::sync::Mutex<()>,
    changed: Notify,
}

impl fmt::Debug for Purse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Purse").field(&*self.account()).finish()
    }
}

impl Purse {
    fn new(whose: &'static str, limits: Limits) -> Arc<Self> {
        let account = Mutex::new(Account::new(limits));
        let (gate, changed) = (tokio::sync::Mutex::default(), Notify::new());
        Arc::new(Self { whose, account, gate, changed })
    }

    fn account(&self) -> MutexGuard<'_, Account> {
        self.account.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until there is enough left, and reserves it.
    async fn hold(self: &Arc<Self>, need: Need) -> Result<Held, String> {
        let _next = self.gate.lock().await;
        loop {
            let answer = self.account().ask(need);
            match answer {
                Answer::Held(amount) => return Ok(Held { purse: self.clone(), amount: Some(amount) }),
                Answer::Wait => self.changed.notified().await,
                Answer::Never(why) => return Err(format!("is not asked: {} {why}", self.whose)),
            }
        }
    }
}

/// What is reserved in an account; where nobody says what became of it, it is used.
struct Held {
    purse: Arc<Purse>,
    /// Nothing once it is known what was used.
    amount: Option<Amount>,
}

impl Held {
    fn settle(mut self, used: Amount) {
        self.end(Some(used));
    }

    fn end(&mut self, used: Option<Amount>) {
        if let Some(held) = self.amount.take() {
            self.purse.account().settle(held, used.unwrap_or(held));
            self.purse.changed.notify_one();
        }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.end(None);
    }
}

/// Counts what the models of a case use.
#[derive(Debug)]
pub(crate) struct CaseMeter {
    run: Arc<Budget>,
    own: Arc<Purse>,
    prices: Arc<Prices>,
    counts_cost: bool,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Why a call was not made, or its answer not taken.
    stopped: Option<String>,
    /// An agent elsewhere that has not said yet what it used.
    silent: Option<String>,
    /// An agent elsewhere whose usage has no price.
    unpriced: Option<String>,
}

impl CaseMeter {
    /// Counts, where something is limited.
    pub(crate) fn of(run: Option<&Arc<Budget>>, own: Limits, prices: &Arc<Prices>) -> Option<Arc<Self>> {
        let run = run.cloned().unwrap_or_default();
        let own = run.of_case.or(own);
        if own.is_empty() && run.limits.is_empty() {
            return None;
        }
        Some(Arc::new(Self {
            counts_cost: own.cost.or(run.limits.cost).is_some(),
            own: Purse::new("the case", own),
            run,
            prices: prices.clone(),
            state: Mutex::default(),
        }))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Why a call was not made, or its answer not taken.
    pub(crate) fn stopped(&self) -> Option<String> {
        self.state().stopped.clone()
    }

    /// Why no budget could be kept of what an agent elsewhere used.
    pub(crate) fn unsaid(&self) -> Option<String> {
        let state = self.state();
        let silent = state.silent.as_ref().map(|agent| {
            format!(
                "`{agent}` does not say what its models used, so no budget can be kept\n\nhint: let it give its usage, or \
                 limit the run by `--max-time` alone"
            )
        });
        silent.or_else(|| state.unpriced.clone())
    }

    fn stop(&self, model: &Arc<str>, why: String) -> ModelError {
        self.state().stopped.get_or_insert_with(|| format!("{model} {why}"));
        ModelError::Budget { model: model.clone(), why }
    }

    fn price(&self, model: &str) -> Option<Price> {
        self.prices.0.get(model).copied()
    }

    async fn hold(&self, need: Need) -> Result<[Held; 2], String> {
        let own = self.own.hold(need).await?;
        // What the case gave is what the run is asked for.
        let wanted = own.amount.unwrap_or_default();
        let granted = Need { wanted, least: need.least.min(wanted) };
        match self.run.purse.hold(granted).await {
            Ok(run) => Ok([own, run]),
            Err(why) => {
                own.settle(Amount::default());
                Err(why)
            }
        }
    }
}

#[async_trait]
impl Meter for CaseMeter {
    async fn begin(
        self: Arc<Self>,
        model: &Arc<str>,
        player: Player,
        call: &ModelCall,
    ) -> Result<Arc<dyn Charge>, ModelError> {
        let price = self.price(model);
        if player == Player::Provider && self.counts_cost && price.is_none() {
            let why = format!(
                "is not asked: its cost is limited and it has no price\n\nhint: add to the file, in US dollars for a \
                 million tokens:\nprices:\n  {model}: {{input: …, output: …}}"
            );
            return Err(self.stop(model, why));
        }
        let must_say = player == Player::Provider;
        let raw = estimate::raw(&call.request);
        let tokens = self.run.estimates().need(model, raw, call.request.setup.settings.max_tokens, must_say);
        let cost = |usage| price.map_or(0.0, |price| price.without_cache().of(usage));
        let amount = |usage: Usage| Amount::of(usage.input.saturating_add(usage.output), cost(usage));
        let need = Need { wanted: amount(tokens.wanted), least: amount(tokens.least) };
        let held = self.hold(need).await.map_err(|why| self.stop(model, why))?;
        let held = Mutex::new(Some(held));
        Ok(Arc::new(CallCharge { meter: self, model: model.clone(), price, raw, need, must_say, held }))
    }

    fn told(&self, agent: &str, usage: Option<Usage>) {
        let Some(usage) = usage else {
            self.state().silent.get_or_insert_with(|| agent.to_owned());
            return;
        };
        self.state().silent = None;
        let price = self.price(agent);
        if self.counts_cost && price.is_none() {
            let why = format!("the cost is limited and `{agent}` has no price\n\nhint: add it to `prices`");
            self.state().unpriced.get_or_insert(why);
        }
        let used =
            Amount::of(usage.input.saturating_add(usage.output), price.map_or(0.0, |price| price.of(usage)));
        for purse in [&self.own, &self.run.purse] {
            purse.account().count(used);
        }
    }
}

/// What is reserved for one call.
struct CallCharge {
    meter: Arc<CaseMeter>,
    model: Arc<str>,
    price: Option<Price>,
    raw: u64,
    need: Need,
    must_say: bool,
    held: Mutex<Option<[Held; 2]>>,
}

impl fmt::Debug for CallCharge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallCharge")
            .field("model", &self.model)
            .field("need", &self.need)
            .finish_non_exhaustive()
    }
}

impl CallCharge {
    fn take(&self) -> Option<[Held; 2]> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn settle(&self, used: Amount) {
        self.take().into_iter().flatten().for_each(|held| held.settle(used));
    }
}

#[async_trait]
impl Charge for CallCharge {
    async fn again(&self) -> Result<(), ModelError> {
        if self.held.lock().unwrap_or_else(PoisonError::into_inner).is_some() {
            return Ok(());
        }
        let held = self.meter.hold(self.need).await.map_err(|why| self.meter.stop(&self.model, why))?;
        *self.held.lock().unwrap_or_else(PoisonError::into_inner) = Some(held);
        Ok(())
    }

    fn lost(&self) {
        // Dropped, it counts as used.
        drop(self.take());
    }

    fn answered(&self, usage: Option<Usage>) -> Result<(), ModelError> {
        match usage {
            Some(usage) => {
                self.meter.run.estimates().learn(&self.model, self.raw, usage);
                let cost = self.price.map_or(0.0, |price| price.of(usage));
                self.settle(Amount::of(usage.input.saturating_add(usage.output), cost));
                Ok(())
            }
            None if self.must_say => {
                self.lost();
                let why = "answered, but does not say what the call used, so no budget can be kept\n\nhint: use a server \
                           that gives `usage`, or limit the run by `--max-time` alone";
                Err(self.meter.stop(&self.model, why.to_owned()))
            }
            None => {
                self.settle(Amount::default());
                Ok(())
            }
        }
    }

    fn free(&self) {
        self.settle(Amount::default());
    }
}
