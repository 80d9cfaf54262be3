//! Bounds that authors give.

use rehearsal_core::keys::{At, Complaint, Given};

/// Says that nothing keeps two bounds, where that is so.
pub(super) fn complain(
    given: &mut Given<'_>,
    bounds: (Option<u64>, Option<u64>),
    keys: (&'static str, &'static str),
) {
    if let (Some(low), Some(high)) = bounds
        && low > high
    {
        let at = if given.has(keys.1) { At::Name(keys.1) } else { At::Whole };
        let message = format!("nothing is at least {low} and at most {high}");
        let complaint = Complaint::no_effect("never-true", at, message);
        given.complain(complaint.help(format!("make `{}` the smaller one", keys.0)));
    }
}
