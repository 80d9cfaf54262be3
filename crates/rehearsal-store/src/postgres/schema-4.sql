-- Version 4. The same as in SQLite.

CREATE OR REPLACE FUNCTION events_rules() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    is_beside BOOLEAN := NEW.kind IN (
        'note', 'step_started', 'step_ended', 'step_commands', 'time_limit', 'folder_kept', 'turn_ended',
        'turn_decision', 'user_simulation', 'remote_session', 'agent_log', 'run_failed',
        'cue_dismissed', 'late_result', 'repeated_result', 'tool_exception', 'agent_chosen',
        'cancel_reason', 'artifact_saved');
    broken TEXT;
    session_status TEXT;
    session_source TEXT;
BEGIN
    IF TG_OP = 'UPDATE' THEN
        RAISE EXCEPTION USING ERRCODE = 'check_violation', CONSTRAINT = 'events_immutable',
            MESSAGE = 'events_immutable';
    END IF;
    SELECT status, source INTO session_status, session_source FROM sessions WHERE id = NEW.session_id;
    IF NEW.seq > 1 AND NOT EXISTS (
        SELECT 1 FROM events WHERE session_id = NEW.session_id AND seq = NEW.seq - 1) THEN
        broken := 'events_gap';
    ELSIF NOT is_beside AND session_status <> 'active' THEN
        broken := 'events_after_end';
    ELSIF session_source IN ('api', 'adksim')
        AND NOT is_beside
        AND NEW.kind NOT IN ('session_started', 'agent_started', 'state_change', 'user_message', 'error',
            'session_ended')
        AND NOT EXISTS (SELECT 1 FROM events WHERE session_id = NEW.session_id AND kind = 'user_message') THEN
        broken := 'events_before_query';
    ELSIF NEW.kind = 'model_response' AND NEW.turn_id <> '' AND session_source IN ('api', 'adksim')
        AND NOT EXISTS (
        SELECT 1 FROM events
        WHERE session_id = NEW.session_id AND turn_id = NEW.turn_id AND kind = 'model_request') THEN
        broken := 'events_unknown_turn';
    ELSIF NEW.kind = 'tool_result' AND NOT EXISTS (
        SELECT 1 FROM events
        WHERE session_id = NEW.session_id AND call_id = NEW.call_id AND kind = 'tool_call') THEN
        broken := 'events_unknown_call';
    END IF;
    IF broken IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'check_violation', CONSTRAINT = broken, MESSAGE = broken;
    END IF;
    RETURN NEW;
END $$;
