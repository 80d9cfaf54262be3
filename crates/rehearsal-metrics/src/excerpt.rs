//! Long texts made short enough to read.

/// The text, or its beginning and end with a mark between that says how many characters were left out.
///
/// The end is kept too, because that is where tools put totals and errors.
pub(crate) fn excerpt(text: &str, limit: usize) -> String {
    let length = text.chars().count();
    if length <= limit {
        return text.to_owned();
    }
    let tail = limit / 4;
    let head = limit - tail;
    let start = text.char_indices().nth(head).map_or(text.len(), |(at, _)| at);
    let end = text.char_indices().nth(length - tail).map_or(text.len(), |(at, _)| at);
    format!("{} [… {} characters left out …] {}", &text[..start], length - limit, &text[end..])
}

/// How much of a value a line of evidence shows.
pub(crate) const EVIDENCE: usize = 200;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_too_long_is_cut_and_never_inside_a_character() {
        assert_eq!(excerpt("äöü", 3), "äöü");
        assert_eq!(excerpt("äöüäöüäöü", 4), "äöü [… 5 characters left out …] ü");
        assert_eq!(excerpt("ab", 0), " [… 2 characters left out …] ");
    }
}
