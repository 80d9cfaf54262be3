//! Base64 as strict APIs want it.

/// Base64 in the standard alphabet with padding, from the standard or the URL-safe one.
pub(crate) fn standard(data: &str) -> String {
    let mut text: String = data
        .chars()
        .map(|c| match c {
            '-' => '+',
            '_' => '/',
            other => other,
        })
        .collect();
    while !text.len().is_multiple_of(4) {
        text.push('=');
    }
    text
}

/// The type and the data of a `data:` address, if it is one in base64.
pub(crate) fn from_data_url(url: &str) -> Option<(&str, &str)> {
    url.strip_prefix("data:")?.split_once(";base64,")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn url_safe_base64_becomes_standard() {
        assert_eq!(standard("_-8"), "/+8=");
        assert_eq!(standard("aGk="), "aGk=");
    }

    #[test]
    fn data_urls_are_taken_apart() {
        assert_eq!(from_data_url("data:image/png;base64,aGk="), Some(("image/png", "aGk=")));
        assert_eq!(from_data_url("https://example.com/a.png"), None);
    }
}
