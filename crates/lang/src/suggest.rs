//! Stand-in.
pub(crate) fn nearest<'a>(
    name: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    candidates.into_iter().find(|c| {
        c.len() == name.len() && c.chars().zip(name.chars()).filter(|(a, b)| a != b).count() == 1
    })
}
