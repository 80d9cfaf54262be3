//! The page of reference about personas comes from the personas themselves.

use std::fmt::Write as _;

use expect_test::expect_file;
use rehearsal_scenario::personas;

const HEAD: &str = "\
# Personas

How people are, for simulated users: `persona: {named: impatient}` in a `user_simulator`. `about` says who the user is \
beside that (their name, their order, what they know). `style`, `emotional_state` and `knowledge_level` of the file go \
before those of the persona, and `constraints` are added to its own. `rehearse personas` lists them.

```yaml
user_simulator:
  persona: {named: impatient, about: 'Ann Lee, 41, order 7'}
  objective: get a refund
```

";

#[test]
fn the_page_is_the_one_that_the_personas_make() {
    let mut page = HEAD.to_owned();
    for persona in personas() {
        let _ = writeln!(page, "## {}\n\nYou are {}.\n", persona.name, persona.persona);
        let _ = writeln!(page, "- `style`: {}", persona.style);
        let _ = writeln!(page, "- `emotional_state`: {}", persona.emotional_state);
        let _ = writeln!(page, "- `knowledge_level`: {}", persona.knowledge_level.word());
        for constraint in persona.constraints {
            let _ = writeln!(page, "- keeps to: {constraint}");
        }
        page.push('\n');
    }
    page.truncate(page.trim_end().len());
    page.push('\n');
    expect_file!["../../../docs/reference/personas.md"].assert_eq(&page);
}

#[test]
fn names_stand_in_order_and_once() {
    let names: Vec<&str> = personas().iter().map(|persona| persona.name).collect();
    let mut sorted = names.clone();
    sorted.sort_unstable();
    sorted.dedup();
    assert_eq!(names, sorted);
}
