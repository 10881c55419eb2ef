//! Suggestions for misspelt names: "did you mean ...?"

/// Most names listed in a message.
const LISTED: usize = 12;

/// The name that `written` was probably meant to be.
pub(crate) fn nearest<'a>(written: &str, names: &[&'a str]) -> Option<&'a str> {
    let plain = written.to_lowercase().replace('-', "_");
    let distance = |name: &str| strsim::damerau_levenshtein(&plain, &name.replace('-', "_"));
    let best = names.iter().copied().min_by_key(|name| distance(name))?;
    let within = 1 + plain.chars().count() / 4;
    let part = |name: &&str| name.split(['_', '-']).any(|word| word == plain) && plain.len() > 2;
    if distance(best) <= within { Some(best) } else { names.iter().copied().find(part) }
}

/// "did you mean ...?", or a list of the names.
pub fn remedy(written: &str, names: &[&str]) -> String {
    match nearest(written, names) {
        Some(name) => format!("did you mean \"{name}\"?"),
        None => format!("there is {}", listed(names)),
    }
}

/// Names for a sentence; long lists are shortened.
pub fn listed(names: &[&str]) -> String {
    let shown = names.iter().take(LISTED).map(|name| format!("\"{name}\"")).collect::<Vec<_>>().join(", ");
    if names.len() > LISTED { format!("{shown}, ...") } else { shown }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_find_their_name_and_nonsense_none() {
        let names = ["duration", "seed", "fat-tree", "initial_window", "pull_rate"];
        assert_eq!(nearest("duratoin", &names), Some("duration"));
        assert_eq!(nearest("fat_tree", &names), Some("fat-tree"));
        assert_eq!(nearest("initial-window", &names), Some("initial_window"));
        assert_eq!(nearest("window", &names), Some("initial_window"));
        assert_eq!(nearest("colour", &names), None);
        assert_eq!(remedy("colour", &names[..2]), "there is \"duration\", \"seed\"");
    }
}
