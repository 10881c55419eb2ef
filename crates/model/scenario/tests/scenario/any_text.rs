//! Any text is a scenario or a list of errors: nothing panics, and every error lies within the text.

use std::collections::BTreeMap;

use proptest::prelude::*;
use pullnet_scenario::{Origin, compile, template};

fn check(text: &str, set: &[(String, String)]) -> Result<(), TestCaseError> {
    let files = BTreeMap::<String, Vec<u8>>::new();
    let Err(errors) = compile("x.toml", text, set, &files) else { return Ok(()) };
    prop_assert!(!errors.is_empty());
    prop_assert!(errors.windows(2).all(|pair| pair[0].origin <= pair[1].origin));
    let lines: Vec<_> = text.split('\n').collect();
    for error in errors {
        prop_assert!(!error.to_string().contains('\n'), "{error}");
        if let Origin::Text { line, column } = error.origin {
            let found = lines.get(line as usize - 1);
            prop_assert!(found.is_some_and(|text| text.chars().count() + 1 >= column as usize), "{error}");
        }
    }
    Ok(())
}

/// A scenario in which some characters were replaced by others.
fn damaged() -> impl Strategy<Value = String> {
    let edits = prop::collection::vec((any::<prop::sample::Index>(), 0usize..12, "[ -~\n]{0,6}"), 1..4);
    edits.prop_map(|edits| {
        let mut text: Vec<char> = template("x").chars().filter(|c| c.is_ascii()).collect();
        for (place, cut, put) in edits {
            let from = place.index(text.len());
            let to = (from + cut).min(text.len());
            text.splice(from..to, put.chars());
        }
        text.into_iter().collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn any_text(text in ".{0,200}") {
        check(&text, &[])?;
    }

    #[test]
    fn a_damaged_scenario(text in damaged()) {
        check(&text, &[])?;
    }

    #[test]
    fn any_override(path in "[a-z0-9._]{0,20}|(topology|traffic|traffic.0|probes)\\.[a-z]{1,6}", value in ".{0,20}") {
        check(&template("x"), &[(path, value)])?;
    }

    #[test]
    fn any_name(name in ".{1,40}") {
        let files = BTreeMap::<String, Vec<u8>>::new();
        let scenario = compile("x.toml", &template(&name), &[], &files).expect("the template is right");
        prop_assert_eq!(scenario.name, name);
    }
}
