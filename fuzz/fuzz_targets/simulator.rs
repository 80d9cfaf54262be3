//! Any bytes as payloads of the published simulator: what can be read becomes events that fit on a ledger.
#![no_main]

use libfuzzer_sys::fuzz_target;
use rehearsal_core::{Decision, Draft, EventBody, Ledger, Player, SessionStarted, Timestamp, TurnId};
use rehearsal_server::adksim::{
    events_for_request, events_for_response, request_from_wire, request_to_wire, response_from_wire,
    response_to_wire, validate_response,
};

// The bytes are turns: a byte that says whose, a length, a request, a length, a response.
fuzz_target!(|bytes: &[u8]| {
    let at = Timestamp::UNIX_EPOCH;
    let mut ledger = Ledger::new("s".into());
    let start = EventBody::SessionStarted(SessionStarted { agent: "root".into(), ..SessionStarted::default() });
    ledger.append(Draft::new(at, "rehearsal", start)).expect("a session starts");
    let mut rest = bytes;
    for number in 0..16 {
        let Some((&agent, more)) = rest.split_first() else { return };
        let (request, more) = piece(more);
        let (response, more) = piece(more);
        rest = more;
        let agent = ["root", "child", "other"][usize::from(agent) % 3];
        let turn = TurnId::new(format!("t{number}"));
        let Ok(request) = request_from_wire(request) else { continue };
        request_from_wire(&request_to_wire(&request)).ok();
        let drafts = events_for_request(&ledger, at, agent, &turn, &request).expect("a new turn can be asked");
        drafts.append_to(&mut ledger, &request).expect("what is derived fits");
        validate_response(response).ok();
        let Ok(response) = response_from_wire(response) else { continue };
        response_from_wire(&response_to_wire(&response)).ok();
        let decision = Decision { by: Player::Person, name: None, micros: 0 };
        let drafts = events_for_response(&ledger, at, &turn, &response, decision).expect("it is open");
        for draft in drafts {
            ledger.append(draft).expect("what is derived fits");
        }
    }
});

fn piece(bytes: &[u8]) -> (&[u8], &[u8]) {
    let Some((&length, rest)) = bytes.split_first() else { return (&[], &[]) };
    rest.split_at(usize::from(length).min(rest.len()))
}
