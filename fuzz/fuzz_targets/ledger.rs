//! Whatever is read as a ledger is written back as the same ledger.
#![no_main]

use libfuzzer_sys::fuzz_target;
use rehearsal_core::Ledger;

fuzz_target!(|text: &str| {
    if let Ok(ledger) = Ledger::from_jsonl(text) {
        let written = ledger.to_jsonl();
        let again = Ledger::from_jsonl(&written).expect("what was written can be read");
        assert_eq!(again.events(), ledger.events());
        assert_eq!(again.state(), ledger.state());
        for event in ledger.events() {
            ledger.state_at(event.seq);
            if let Some(turn) = &event.turn {
                ledger.request(turn);
            }
        }
        ledger.to_transcript();
    }
});
