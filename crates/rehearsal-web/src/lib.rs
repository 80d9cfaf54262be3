//! The page: what `web/` builds to, embedded.
//!
//! The build script runs npm when Node.js is there and the sources changed. Where it is not, or building fails, the
//! page says what to install instead, and [`is_built`] says no.
//!
//! ```
//! let page = rehearsal_web::index();
//! assert_eq!(page.mime, "text/html; charset=utf-8");
//! assert!(rehearsal_web::asset("/no/such/file").is_none());
//! ```

/// A file of the page.
#[derive(Clone, Copy, Debug)]
pub struct Asset {
    /// Its path, from the root of the site: `/assets/index-1a2b.js`.
    pub path: &'static str,
    /// Its type.
    pub mime: &'static str,
    /// The file.
    pub bytes: &'static [u8],
    /// The file compressed with gzip, where that is smaller.
    pub gzip: Option<&'static [u8]>,
    /// A word that changes with its bytes.
    pub tag: &'static str,
}

impl Asset {
    /// Whether its name changes with its bytes, so that it can be kept for ever.
    pub fn is_named_by_content(&self) -> bool {
        self.path.starts_with("/assets/")
    }
}

mod built {
    use super::Asset;

    include!(concat!(env!("OUT_DIR"), "/assets.rs"));
}

/// Whether the page was built; otherwise there is one that says what to install.
pub fn is_built() -> bool {
    built::REPORT.is_some()
}

/// The page itself.
///
/// # Panics
/// Never: the build script always leaves one.
pub fn index() -> &'static Asset {
    asset("/index.html").expect("the build script leaves an index.html")
}

/// A file of the page by its path.
pub fn asset(path: &str) -> Option<&'static Asset> {
    built::ASSETS.iter().find(|asset| asset.path == path)
}

/// All files of the page.
pub fn assets() -> &'static [Asset] {
    built::ASSETS
}

/// A page that opens without a server and shows one run: the text of the element [`REPORT_DATA`] is to be replaced by the
/// run. Nothing where the page was not built.
pub fn report() -> Option<&'static str> {
    built::REPORT
}

/// The element of [`report`] that holds the run, as the page is built: with `null` in it.
pub const REPORT_DATA: &str = r#"<script type="application/json" id="rehearsal-report">null</script>"#;
