//! Where a database is, and whether the way there is encrypted.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::StoreError;

/// How long to wait for the server, unless the address says otherwise.
const CONNECT: Duration = Duration::from_secs(10);

/// An address that was read.
#[derive(Clone)]
pub(super) struct Address {
    config: Config,
    tls: Option<MakeRustlsConnect>,
}

impl Address {
    /// Reads an address such as `postgres://ada@db.example/rehearsal?sslmode=require`.
    ///
    /// Certificates are checked whenever the way is encrypted: `require` means what others call `verify-full`. When
    /// nothing is said, the way to another machine is encrypted and the way to this one is not.
    pub(super) fn parse(text: &str) -> Result<Self, StoreError> {
        let Words { address, roots, says_mode } = Words::read(text);
        let mut config: Config = address.parse().map_err(|error| bad(&error))?;
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(CONNECT);
        }
        if config.get_application_name().is_none() {
            config.application_name("rehearse");
        }
        if !says_mode {
            let local = config.get_hosts().iter().all(is_local);
            config.ssl_mode(if local { SslMode::Disable } else { SslMode::Require });
        }
        let tls = match config.get_ssl_mode() {
            SslMode::Disable => None,
            _ => Some(connector(roots.as_deref())?),
        };
        Ok(Self { config, tls })
    }

    pub(super) fn config(&self) -> &Config {
        &self.config
    }

    pub(super) fn tls(&self) -> Option<&MakeRustlsConnect> {
        self.tls.as_ref()
    }

    /// The address for people, without the password.
    pub(super) fn place(&self) -> String {
        let user = self.config.get_user().map(|user| format!("{user}@")).unwrap_or_default();
        let ports = self.config.get_ports();
        let hosts = self.config.get_hosts().iter().enumerate().map(|(at, host)| match host {
            Host::Tcp(name) => match ports.get(at).or(ports.first()) {
                Some(port) if *port != 5432 => format!("{name}:{port}"),
                _ => name.clone(),
            },
            #[cfg(unix)]
            Host::Unix(path) => path.display().to_string(),
        });
        let hosts: Vec<String> = hosts.collect();
        let database = self.config.get_dbname().map(|name| format!("/{name}")).unwrap_or_default();
        format!("postgres://{user}{}{database}", hosts.join(","))
    }

    /// The database cannot be reached.
    pub(super) fn unavailable(&self, error: &dyn std::error::Error) -> StoreError {
        let mut why = error.to_string();
        let mut source = error.source();
        while let Some(cause) = source {
            let cause_text = cause.to_string();
            if !why.contains(&cause_text) {
                why = format!("{why}: {cause_text}");
            }
            source = cause.source();
        }
        if self.tls.is_some() && why.contains("does not support TLS") {
            why += "; add `?sslmode=disable` to the address if you trust the network";
        }
        if why.contains("UnknownIssuer") {
            why += "; add `sslrootcert=FILE` to the address, with the certificate of who signed the server's";
        }
        StoreError::Unavailable {
            place: self.place(),
            why: format!("{why}; see that PostgreSQL runs there and that the address is right"),
        }
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.place())
    }
}

/// What of an address the client library does not know is taken out of it here.
struct Words {
    address: String,
    roots: Option<String>,
    says_mode: bool,
}

impl Words {
    fn read(text: &str) -> Self {
        let (mut roots, mut says_mode) = (None, false);
        let Some((before, query)) = text.split_once('?') else {
            return Self { address: text.to_owned(), roots, says_mode };
        };
        let mut kept = Vec::new();
        for parameter in query.split('&').filter(|parameter| !parameter.is_empty()) {
            match parameter.split_once('=') {
                Some(("sslrootcert", path)) => roots = Some(decoded(path)),
                Some(("sslmode", mode)) => {
                    says_mode = true;
                    let checked = matches!(mode, "verify-ca" | "verify-full");
                    kept.push(if checked { "sslmode=require" } else { parameter });
                }
                _ => kept.push(parameter),
            }
        }
        let query = kept.join("&");
        let address = if query.is_empty() { before.to_owned() } else { format!("{before}?{query}") };
        Self { address, roots, says_mode }
    }
}

/// The text with `%2F` and the like read.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let escaped = (first == b'%').then(|| after.get(..2)).flatten();
        let escaped = escaped.and_then(|digits| std::str::from_utf8(digits).ok());
        match escaped.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[2..];
            }
            None => {
                bytes.push(first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn is_local(host: &Host) -> bool {
    match host {
        Host::Tcp(name) => name == "localhost" || name.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback()),
        #[cfg(unix)]
        Host::Unix(_) => true,
    }
}

/// The error of the client library may quote the address, and with it the password, so its cause stays out.
fn bad(error: &tokio_postgres::Error) -> StoreError {
    let why = std::error::Error::source(error).map_or_else(|| error.to_string(), ToString::to_string);
    StoreError::Unavailable {
        place: "postgres://…".to_owned(),
        why: format!(
            "the address cannot be read ({why}); it looks like postgres://user:password@host/database"
        ),
    }
}

fn connector(roots: Option<&str>) -> Result<MakeRustlsConnect, StoreError> {
    let refused = |why: String| StoreError::Unavailable { place: "postgres://…".to_owned(), why };
    let mut store = RootCertStore::empty();
    match roots {
        Some(path) => {
            let read = |error: &dyn fmt::Display| refused(format!("sslrootcert `{path}`: {error}"));
            let certificates = CertificateDer::pem_file_iter(path).map_err(|error| read(&error))?;
            for certificate in certificates {
                let certificate = certificate.map_err(|error| read(&error))?;
                store.add(certificate).map_err(|error| read(&error))?;
            }
        }
        None => {
            store.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        }
    }
    if store.is_empty() {
        return Err(refused(
            "no certificates to check the server with; name a file of them with sslrootcert=FILE".to_owned(),
        ));
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| refused(error.to_string()))?
        .with_root_certificates(store)
        .with_no_client_auth();
    Ok(MakeRustlsConnect::new(config))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, place: &str, mode: SslMode) {
        let address = Address::parse(text).unwrap();
        assert_eq!(address.place(), place);
        assert_eq!(address.config().get_ssl_mode(), mode);
        assert!(!format!("{address:?}").contains("secret"));
    }

    #[test]
    fn the_way_to_other_machines_is_encrypted_unless_the_address_says_otherwise() {
        check("postgres://ada:secret@127.0.0.1/db", "postgres://ada@127.0.0.1/db", SslMode::Disable);
        check(
            "postgres://ada:secret@localhost:5433/db",
            "postgres://ada@localhost:5433/db",
            SslMode::Disable,
        );
        check("postgresql:///db?host=/run/pg&user=ada", "postgres://ada@/run/pg/db", SslMode::Disable);
        check("postgres://ada@db.example/db", "postgres://ada@db.example/db", SslMode::Require);
        check("postgres://db.example/db?sslmode=disable", "postgres://db.example/db", SslMode::Disable);
        check("postgres://db.example/db?sslmode=prefer", "postgres://db.example/db", SslMode::Prefer);
        check("postgres://localhost/db?sslmode=verify-full", "postgres://localhost/db", SslMode::Require);
    }

    #[test]
    fn an_address_that_cannot_be_read_does_not_show_its_password() {
        let error = Address::parse("postgres://ada:secret@host:port/db").unwrap_err().to_string();
        assert!(!error.contains("secret"), "{error}");
        assert!(error.contains("the address cannot be read"), "{error}");
    }

    #[test]
    fn certificates_that_are_not_there_are_named() {
        let error = Address::parse("postgres://db.example/db?sslrootcert=%2Fno%2Fsuch.pem").unwrap_err();
        assert!(error.to_string().contains("`/no/such.pem`"), "{error}");
    }
}
