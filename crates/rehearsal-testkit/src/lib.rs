//! Scripted models, ledger builders and other help for the project's own tests
