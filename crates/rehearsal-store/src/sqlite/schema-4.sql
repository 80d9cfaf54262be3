-- Version 4. What stands beside the conversation has kinds of its own, where it had been notes.

DROP TRIGGER events_after_end;
CREATE TRIGGER events_after_end BEFORE INSERT ON events
WHEN NEW.kind NOT IN (
        'note', 'step_started', 'step_ended', 'step_commands', 'time_limit', 'folder_kept', 'turn_ended',
        'turn_decision', 'user_simulation', 'remote_session', 'agent_log', 'run_failed',
        'cue_dismissed', 'late_result', 'repeated_result', 'tool_exception', 'agent_chosen',
        'cancel_reason', 'artifact_saved')
    AND (SELECT status FROM sessions WHERE id = NEW.session_id) <> 'active'
BEGIN SELECT RAISE(ABORT, 'events_after_end'); END;

DROP TRIGGER events_before_query;
CREATE TRIGGER events_before_query BEFORE INSERT ON events
WHEN NEW.kind NOT IN (
        'session_started', 'agent_started', 'state_change', 'user_message', 'error', 'session_ended',
        'note', 'step_started', 'step_ended', 'step_commands', 'time_limit', 'folder_kept', 'turn_ended',
        'turn_decision', 'user_simulation', 'remote_session', 'agent_log', 'run_failed',
        'cue_dismissed', 'late_result', 'repeated_result', 'tool_exception', 'agent_chosen',
        'cancel_reason', 'artifact_saved')
    AND NOT EXISTS (SELECT 1 FROM events WHERE session_id = NEW.session_id AND kind = 'user_message')
    AND (SELECT source FROM sessions WHERE id = NEW.session_id) IN ('api', 'adksim')
BEGIN SELECT RAISE(ABORT, 'events_before_query'); END;
