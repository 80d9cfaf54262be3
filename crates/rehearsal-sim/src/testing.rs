//! Cases as ordinary tests, and a run as people read it.

use std::fmt;

use rehearsal_core::{MetricStatus, transcript};

use crate::{Case, CaseRun, RunOptions};

impl Case {
    /// Runs the case to its end on the present thread, with seed 0 and the machine's clock.
    ///
    /// # Panics
    /// It is called from within an async runtime; use [`run`](Self::run) there.
    pub fn run_blocking(&self) -> CaseRun {
        self.run_blocking_with(&RunOptions::default())
    }

    /// Runs the case to its end on the present thread.
    ///
    /// # Panics
    /// It is called from within an async runtime; use [`run`](Self::run) there.
    pub fn run_blocking_with(&self, options: &RunOptions) -> CaseRun {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.expect("a runtime on the present thread can be built").block_on(self.run(options))
    }

    /// Runs the case and panics unless it passed, showing the transcript, what failed and how to repeat it.
    ///
    /// This is all it takes to make a case a test:
    ///
    /// ```
    /// # use rehearsal_agent::Step;
    /// # use rehearsal_metrics::FinalResponse;
    /// # use rehearsal_sim::Case;
    /// // #[test]
    /// fn greets_politely() {
    ///     let polite = Step::new("polite", |cx| Ok(cx.respond("Hello there!")));
    ///     Case::new("greets", polite).metric(FinalResponse::new("greeting").contains("hello")).assert_passes();
    /// }
    /// # greets_politely();
    /// ```
    ///
    /// # Panics
    /// The case did not pass.
    #[track_caller]
    pub fn assert_passes(&self) {
        self.assert_passes_with(&RunOptions::default());
    }

    /// Like [`assert_passes`](Self::assert_passes), with a seed or a clock of your own.
    ///
    /// # Panics
    /// The case did not pass.
    #[track_caller]
    pub fn assert_passes_with(&self, options: &RunOptions) {
        let run = self.run_blocking_with(options);
        assert!(run.passed(), "\n{run}");
    }
}

/// The run as people read it: verdict, transcript, what each metric found, and how to repeat it.
impl fmt::Display for CaseRun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let result = &self.result;
        writeln!(f, "case `{}` {}", result.name, result.status)?;
        if let Some(reason) = result.termination_reason {
            writeln!(
                f,
                "ended by {}",
                rehearsal_core::json::to_string(&reason).map_err(|_| fmt::Error)?.trim_matches('"')
            )?;
        }
        if let Some(error) = &result.error {
            writeln!(f, "\nerror in {}:\n  {}", error.phase, error.message.replace('\n', "\n  "))?;
        }
        writeln!(f, "\ntranscript:")?;
        for line in transcript(self.events()) {
            writeln!(f, "  {:>4}  {}", line.seq, line.to_string().replace('\n', "\n        "))?;
        }
        if !result.metrics.is_empty() {
            writeln!(f, "\nmetrics:")?;
        }
        for (name, metric) in &result.metrics {
            let mark = match metric.status {
                MetricStatus::Passed => "passed",
                MetricStatus::Failed => "FAILED",
                MetricStatus::Error => "ERROR",
                MetricStatus::Unscored => "UNSCORED",
            };
            let score = metric.score.map(|score| format!(" (score {score:.2})")).unwrap_or_default();
            writeln!(f, "  {mark:<8} {name}{score}")?;
            if metric.passed() {
                continue;
            }
            for evidence in &metric.evidence {
                let events: Vec<String> = evidence.events.iter().map(|seq| format!("#{seq}")).collect();
                let events =
                    if events.is_empty() { String::new() } else { format!(" [{}]", events.join(" ")) };
                writeln!(f, "             {}{events}", evidence.text.replace('\n', "\n             "))?;
            }
        }
        write!(f, "\nto repeat it: RunOptions {{ seed: {}, ..RunOptions::default() }}", result.seed)
    }
}
