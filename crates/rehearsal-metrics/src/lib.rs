//! Pure functions of a ledger: metrics, evaluators, statistics
