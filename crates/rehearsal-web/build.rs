//! Builds the page with npm, in this crate's own output folder, and lists its files for `lib.rs`.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs, io};

/// What of `web/` the page is built from. Tests and notes are not.
const SOURCES: [&str; 8] = [
    "package.json",
    "package-lock.json",
    ".npmrc",
    "index.html",
    "report.html",
    "vite.config.ts",
    "vite.report.config.ts",
    "tsconfig.json",
];
const FOLDERS: [&str; 2] = ["src", "public"];

fn main() {
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo says where to build"));
    let here = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo says where this is"));
    let web = here.join("../../web");
    println!("cargo:rerun-if-changed=build.rs");
    for source in SOURCES.iter().chain(&FOLDERS) {
        println!("cargo:rerun-if-changed={}", web.join(source).display());
    }
    let built = build(&web, &out.join("page"));
    let (files, report) = match built {
        Ok(dist) => (files(&dist), report(&dist)),
        Err(why) => {
            println!("cargo:warning=the page is left out: {why}");
            // What was missing may be there next time: a file that never is makes cargo ask again.
            println!("cargo:rerun-if-changed={}", out.join("never").display());
            let explained = out.join("explained");
            fs::create_dir_all(&explained).expect("the output folder can be written to");
            fs::write(explained.join("index.html"), explanation(&why))
                .expect("the output folder can be written to");
            (files(&explained), None)
        }
    };
    fs::write(out.join("assets.rs"), listing(&files, report.as_ref(), &out))
        .expect("the output folder can be written to");
}

/// Copies the sources and builds them there; gives the folder with what came of it.
fn build(web: &Path, page: &Path) -> Result<PathBuf, String> {
    if !web.join("package.json").is_file() {
        return Err("its sources (web/) are not here".to_owned());
    }
    run("node", &["--version"], web)
        .map_err(|_| "it needs Node.js 20 or later with npm; install it and build again".to_owned())?;
    let cannot = |error: io::Error| format!("{}: {error}", page.display());
    fs::create_dir_all(page).map_err(cannot)?;
    for source in SOURCES {
        if web.join(source).exists() {
            copy_if_new(&web.join(source), &page.join(source)).map_err(cannot)?;
        }
    }
    for folder in FOLDERS {
        drop(fs::remove_dir_all(page.join(folder)));
        copy_folder(&web.join(folder), &page.join(folder)).map_err(cannot)?;
    }
    let lock = fs::read(page.join("package-lock.json")).map_err(cannot)?;
    let installed = page.join("node_modules/.installed-for");
    if fs::read(&installed).ok().as_deref() != Some(&lock[..]) {
        // Not `npm ci`: it refuses a lock file that has not the binaries of every other system.
        run(
            "npm",
            &["install", "--no-save", "--omit=dev", "--no-audit", "--no-fund", "--prefer-offline"],
            page,
        )?;
        fs::write(&installed, &lock).map_err(cannot)?;
    }
    drop(fs::remove_dir_all(page.join("dist")));
    run("npm", &["run", "--silent", "build"], page)?;
    Ok(page.join("dist"))
}

fn run(program: &str, args: &[&str], folder: &Path) -> Result<(), String> {
    let output = Command::new(program)
        .args(args)
        .current_dir(folder)
        // Cargo's own settings are none of npm's business.
        .env_remove("NODE_ENV")
        .output()
        .map_err(|error| format!("`{program}` cannot be started: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let said = said.lines().rev().take(12).collect::<Vec<_>>();
    let said = said.into_iter().rev().collect::<Vec<_>>().join(" | ");
    Err(format!("`{program} {}` failed: {said}", args.join(" ")))
}

fn copy_if_new(from: &Path, to: &Path) -> io::Result<()> {
    let bytes = fs::read(from)?;
    if fs::read(to).ok().as_deref() == Some(&bytes[..]) {
        return Ok(());
    }
    fs::write(to, bytes)
}

fn copy_folder(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy_folder(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), &target)?;
        }
    }
    Ok(())
}

/// The page's files by their path on the site. What reports are made of is no part of it.
fn files(dist: &Path) -> Vec<(String, PathBuf)> {
    let mut found = Vec::new();
    let mut folders = vec![dist.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                if path != dist.join("report") {
                    folders.push(path);
                }
                continue;
            }
            let on_site = path.strip_prefix(dist).expect("it was found below");
            found.push((format!("/{}", on_site.to_string_lossy().replace('\\', "/")), path));
        }
    }
    found.sort();
    found
}

/// The file that reports are made from.
fn report(dist: &Path) -> Option<PathBuf> {
    let file = dist.join("report/report.html");
    file.is_file().then_some(file)
}

fn listing(files: &[(String, PathBuf)], report: Option<&PathBuf>, out: &Path) -> String {
    let packed = out.join("packed");
    fs::create_dir_all(&packed).expect("the output folder can be written to");
    let mut text = "pub(super) static ASSETS: &[Asset] = &[\n".to_owned();
    for (number, (path, file)) in files.iter().enumerate() {
        let bytes = fs::read(file).expect("it was just built");
        let small = gzip(&bytes);
        let gzip = if small.len() < bytes.len() {
            let place = packed.join(format!("{number}.gz"));
            fs::write(&place, &small).expect("the output folder can be written to");
            format!("Some(include_bytes!({:?}))", place.display().to_string())
        } else {
            "None".to_owned()
        };
        let _ = writeln!(
            text,
            "    Asset {{ path: {path:?}, mime: {:?}, bytes: include_bytes!({:?}), gzip: {gzip}, tag: {:?} }},",
            mime(path),
            file.display().to_string(),
            tag(&bytes)
        );
    }
    text.push_str("];\n");
    let report = report
        .map_or("None".to_owned(), |file| format!("Some(include_str!({:?}))", file.display().to_string()));
    let _ = writeln!(text, "pub(super) static REPORT: Option<&str> = {report};");
    text
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(bytes).expect("memory takes it");
    encoder.finish().expect("memory takes it")
}

/// FNV-1a: enough to tell one build's file from another's.
fn tag(bytes: &[u8]) -> String {
    let hash = bytes.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("{hash:016x}")
}

fn mime(path: &str) -> &'static str {
    match path.rsplit_once('.').map(|(_, ending)| ending) {
        Some("html") => "text/html; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("svg") => "image/svg+xml",
        Some("json") => "application/json",
        Some("png") => "image/png",
        Some("woff2") => "font/woff2",
        _ => "application/octet-stream",
    }
}

fn explanation(why: &str) -> String {
    let why = why.replace('&', "&amp;").replace('<', "&lt;");
    format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>Rehearsal</title></head><body>\
         <h1>Rehearsal is running, without its page</h1>\
         <p>The page was left out when this program was built: {why}.</p>\
         <p>Install Node.js 20 or later with npm (on Debian and Ubuntu: <code>apt install nodejs npm</code>), then build \
         again: <code>cargo build --release</code>.</p>\
         <p>Everything the page does can be done with the HTTP API: <a href=\"/openapi.json\">/openapi.json</a>.</p>\
         </body></html>"
    )
}
