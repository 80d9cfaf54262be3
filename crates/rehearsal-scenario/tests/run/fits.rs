//! What can never hold of a tool, and what goes out as it stands, is said before anything runs.

use crate::run::stage::problems;

/// A scenario with a tool whose schema says what it takes, a second mock that answers it, and these parts.
fn of_tool(evaluation: &str, mock: &str) -> String {
    format!(
        "agent:
  instructions: Help.
  tools:
    - name: find
      parameters:
        type: object
        properties:
          id: {{type: integer}}
          note: {{type: string}}
          ids: {{type: array, maxItems: 2, items: {{type: integer}}}}
          place: {{$ref: '#/$defs/place'}}
          free: {{type: object}}
        required: [id]
        $defs: {{place: {{type: object, properties: {{x: {{$ref: '#/$defs/number'}}}}}}, number: {{type: number}}}}
models: {{agent: {{script: [{{call: find, args: {{id: 7}}}}, done]}}}}
setup:
  mocks:
    - {{method: find, when: {{{mock}}}, response: 1}}
    - {{method: find, response: 2}}
run:
  - input: go
    evaluations: [{evaluation}]
"
    )
}

const FINE: &str = "{type: string_contains, value: done}";

#[test]
fn arguments_that_no_call_has_are_found_in_every_form() {
    for (args, why) in [
        ("{idd: 7}", "takes no argument `idd`"),
        ("{idd: {$gt: 7}}", "takes no argument `idd`"),
        ("{place: {y: 1}}", "takes no argument `place.y`"),
        ("{id: '7'}", "\"7\" is not of type \"integer\""),
        ("{id: [7]}", "[7] is not of type \"integer\""),
        ("{id: {a: 7}}", "{\"a\":7} is not of type \"integer\""),
        ("{ids: ['7']}", "`ids[]` of `find` cannot be this"),
        ("{ids: [1, 2, 3]}", "has more than 2 items"),
        ("{place: {x: '1'}}", "`place.x` of `find` cannot be this"),
        ("{id: {$eq: '7'}}", "\"7\" is not of type \"integer\""),
        ("{id: {$in: ['7', '8']}}", "\"7\" is not of type \"integer\""),
        ("{id: {$gte: '7'}}", "\"7\" is not of its type"),
        ("{id: 7.5}", "7.5 is not of type \"integer\""),
    ] {
        let evaluation = format!("{{type: tool_not_called, tool: find, args: {args}}}");
        let found = problems(&of_tool(&evaluation, "input: {id: 7}"));
        assert!(found.contains(why) && found.contains("so this always holds"), "{args}\n{found}");
    }
    for args in [
        "{id: 7}",
        "{id: 18446744073709551617}",
        "{ids: [1, 2]}",
        "{ids: {$size: 2}}",
        "{place: {x: 1.5}}",
        "{free: {anything: [1]}}",
        "{id: {$in: ['7', 8]}}",
        "{id: {$gt: 7.5}}",
        "{id: {$ne: '7'}}",
        "{note: {$gt: a}}",
    ] {
        let evaluation = format!("{{type: tool_not_called, tool: find, args: {args}}}");
        assert_eq!(problems(&of_tool(&evaluation, "input: {id: 7}")), "", "{args}");
    }
}

#[test]
fn conditions_of_mocks_that_no_call_meets_are_found_in_every_form() {
    for (when, why) in [
        ("input: {idd: 7}", "takes no argument `idd`"),
        ("input: {id: [7]}", "[7] is not of type \"integer\""),
        ("input: {id: {$gt: 7}}", "{\"$gt\":7} is not of type \"integer\""),
        ("args: [{idd: 7}]", "takes no argument `idd`"),
        ("args: [{note: a}]", "\"id\" is a required property"),
        ("args: ['7']", "no argument of `find` at place 1 can be \"7\""),
        ("args: [7, 8]", "no argument of `find` at place 2 can be 8"),
        ("args: [7, a, [1], {x: 1}, {}, more]", "takes 5 arguments, not 6"),
        ("partialArgs: [{idd: 7}]", "takes no argument `idd`"),
        ("partialArgs: ['7']", "no argument of `find` at place 1 can be \"7\""),
    ] {
        let found = problems(&of_tool(FINE, when));
        assert!(found.contains(why) && found.contains("so this never holds"), "{when}\n{found}");
    }
    // A call without a note has its list of numbers at the second place.
    for when in ["args: [{id: 7}]", "args: [7]", "args: [7, a]", "args: [7, [1]]", "args: [7, {x: 1}]"] {
        assert_eq!(problems(&of_tool(FINE, when)), "", "{when}");
    }
    for when in ["partialArgs: [{place: {x: 1}}]", "input: {free: {a: {b: 1}}}"] {
        assert_eq!(problems(&of_tool(FINE, when)), "", "{when}");
    }
}

#[test]
fn what_looks_like_a_variable_is_told_wherever_it_goes_out() {
    let text = "agent:
  instructions: Help ${INSTRUCTIONS}.
  tools:
    - {name: find, description: 'Finds ${DESCRIPTION}', http: {url: 'http://127.0.0.1/${ADDRESS}', headers: {a: '${HEADER} ${env.KEPT}'}}}
    - {name: other}
models:
  agent: {script: [{call: other, args: {a: '${ARGUMENT}'}}, 'done ${SAID}']}
  user: {script: [hello]}
  judge: {script: [hello]}
setup:
  state: {session: {a: '${STATE}'}}
  virtual_fs: {a.sh: 'echo ${KEPT}'}
  mocks:
    - {method: other, when: {input: {a: '${CONDITION}'}}, error: {code: A, message: 'no ${ERROR}'}}
    - {method: other, response: {a: [b, '${RESPONSE}']}}
    - {method: find, response: 1}
run:
  - input: I am ${INPUT}
    context: {a: '${CONTEXT}'}
    evaluations:
      - {type: llm_judge, prompt: 'Is it ${PROMPT}?', expected: 'yes', description: 'about ${KEPT}'}
      - {type: tool_not_called, tool: other, args: {a: '${COMPARED}'}}
      - {type: command_exit_code_is, command: 'test ${KEPT}', expected_code: 0}
      - {type: file_contains, path: a.sh, value: '${KEPT}'}
  - conversation: {max_turns: 2, user: {script: ['It is ${LINE}', b]}}
  - conversation:
      max_turns: 2
      user_simulator: {persona: 'p ${PERSONA}', objective: 'o ${OBJECTIVE}', style: 's ${STYLE}', constraints: ['c ${CONSTRAINT}']}
  - code: echo ${KEPT}
    evaluations: [{type: string_contains, value: x}]
";
    let found = problems(text);
    for name in
        "INSTRUCTIONS DESCRIPTION ADDRESS HEADER ARGUMENT SAID STATE ERROR RESPONSE INPUT CONTEXT PROMPT LINE PERSONA \
         OBJECTIVE STYLE CONSTRAINT"
            .split(' ')
    {
        assert!(found.contains(&format!("not-filled-in: `${{{name}}}` is sent as it stands")), "{name}\n{found}");
    }
    for name in ["CONDITION", "COMPARED"] {
        assert!(found.contains(&format!("`${{{name}}}` is compared as it stands")), "{name}\n{found}");
    }
    assert!(found.contains("[to fill it in, write: ${env.HEADER}]"), "{found}");
    assert!(!found.contains("KEPT"), "{found}");
}

#[test]
fn words_that_the_user_never_says_are_told_where_all_of_them_are_known() {
    let rule = |words: &str| format!("{{type: tool_order, never: [find], after_user_says: {words}}}");
    let of = |words: &str| problems(&of_tool(&rule(words), "input: {id: 7}"));
    assert!(of("stopp").contains("never says \"stopp\", so this always holds"), "{}", of("stopp"));
    assert_eq!(of("GO"), "");
    let with = |user: &str, words: &str| {
        let text = of_tool(FINE, "input: {id: 7}");
        let talk =
            format!("  - conversation: {{max_turns: 2, {user}, final_evaluations: [{}]}}\n", rule(words));
        problems(&format!("{text}{talk}")).contains("so this always holds")
    };
    assert!(with("user: {script: [hello, then]}", "stopp"));
    assert!(!with("user: {script: [hello, then]}", "then"));
    assert!(!with("user_simulator: {persona: p, objective: o}", "stopp"));
}
