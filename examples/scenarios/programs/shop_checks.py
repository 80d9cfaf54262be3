"""Checks of example 22. A function gets the record of what was said and done, and what the file hands it."""


def promises_what_it_did(record, word):
    """The agent may speak of a refund only where one was made."""
    refunds = [call for call in record.calls if call["tool"] == "refund" and "output" in call]
    assert bool(refunds) == (word in record.reply), f"{len(refunds)} refunds, and it says: {record.reply}"
    return {"passed": True, "reason": "it says what it did", "events": [call["event"] for call in refunds]}
