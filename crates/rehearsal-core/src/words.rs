//! Words that were probably meant.

/// How many letters have to be put in, taken out or changed to make one word of the other.
///
/// ```
/// assert_eq!(rehearsal_core::edit_distance("judgement", "judgment"), 1);
/// ```
pub fn edit_distance(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    // One row of the table at a time is all that is needed.
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (i, a) in one.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, b) in other.iter().enumerate() {
            let changed = diagonal + usize::from(a != *b);
            diagonal = row[j + 1];
            row[j + 1] = changed.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[other.len()]
}
