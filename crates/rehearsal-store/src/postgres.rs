//! A store in a PostgreSQL database, which many servers can share.
//!
//! A write is one transaction that holds the session's row. Whatever changes is told by `NOTIFY`, and one connection
//! listens ([`listen`]).

mod address;
mod db;
mod listen;

use std::fmt;
use std::time::Duration;

use deadpool_postgres::{
    Manager, ManagerConfig, Object, Pool, PoolError, RecyclingMethod, Runtime, Timeouts,
};
use tokio::sync::broadcast;
use tokio_postgres::NoTls;

use crate::db::{Engine, Op};
use crate::{Change, StoreError};
use address::Address;
use db::{Failure, PostgresDb, meaning};
use listen::Listener;

/// What brings a database from each version to the next.
const MIGRATIONS: &[&str] = &[
    include_str!("postgres/schema.sql"),
    include_str!("postgres/schema-2.sql"),
    include_str!("postgres/schema-3.sql"),
    include_str!("postgres/schema-4.sql"),
    include_str!("postgres/schema-5.sql"),
    include_str!("postgres/schema-6.sql"),
    include_str!("postgres/schema-7.sql"),
];
/// Keeps two servers that start at the same time from migrating together: "rehearse" in hexadecimal.
const MIGRATION_LOCK: i64 = 0x7265_6865_6172_7365;

/// How many connections there are at most, besides the one that listens.
const CONNECTIONS: usize = 16;
/// How long to wait for one of them, and for the server.
const WAIT: Duration = Duration::from_secs(10);
/// How often something is tried that surely had no effect.
const TRIES: u32 = 5;
/// How many changes a receiver may be behind before it has to look at everything.
const CHANGES: usize = 4096;

/// The engine of a PostgreSQL database.
pub(crate) struct Postgres {
    address: Address,
    pool: Pool,
    changes: broadcast::Sender<Change>,
    _listener: Listener,
}

impl fmt::Debug for Postgres {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Postgres").field("place", &self.address.place()).finish_non_exhaustive()
    }
}

impl Postgres {
    /// Connects, and brings the database to this version.
    pub(crate) async fn open(place: &str) -> Result<Self, StoreError> {
        let address = Address::parse(place)?;
        let config = ManagerConfig { recycling_method: RecyclingMethod::Fast };
        let manager = match address.tls() {
            Some(tls) => Manager::from_config(address.config().clone(), tls.clone(), config),
            None => Manager::from_config(address.config().clone(), NoTls, config),
        };
        let timeouts = Timeouts { wait: Some(WAIT), create: Some(WAIT), recycle: Some(WAIT) };
        let pool = Pool::builder(manager)
            .max_size(CONNECTIONS)
            .runtime(Runtime::Tokio1)
            .timeouts(timeouts)
            .build()
            .map_err(|error| address.unavailable(&error))?;
        let (changes, _) = broadcast::channel(CHANGES);
        let mut connection = connect(&pool, &address).await?;
        migrate(&mut connection, &address).await?;
        drop(connection);
        let listener = Listener::start(address.clone(), changes.clone()).await?;
        Ok(Self { address, pool, changes, _listener: listener })
    }

    /// Does all of it in one transaction, once.
    async fn attempt<O: Op>(&self, op: &O) -> Result<Result<O::Output, StoreError>, Failure> {
        let mut connection = connect(&self.pool, &self.address).await.map_err(Failure::Final)?;
        let failure = |error: &tokio_postgres::Error| Failure::of(error, &self.address);
        let transaction = connection.transaction().await.map_err(|error| failure(&error))?;
        let mut told = Vec::new();
        let mut db = PostgresDb::new(&transaction, &self.address);
        let output = match op.run(&mut db, &mut told).await {
            Ok(output) => output,
            Err(error) => match db.failure() {
                // A rule is broken, or the database was lost: nothing of it was committed in either case.
                Some(failure) => return Err(failure),
                None => return Ok(Err(error)),
            },
        };
        for change in &told {
            let payload = listen::payload(change);
            let told = transaction.execute("SELECT pg_notify($1, $2)", &[&listen::CHANNEL, &payload]).await;
            told.map_err(|error| failure(&error))?;
        }
        transaction.commit().await.map_err(|error| Failure::of_commit(&error, &self.address))?;
        Ok(Ok(output))
    }
}

impl Engine for Postgres {
    async fn change<O: Op>(&self, op: O) -> Result<O::Output, StoreError> {
        let mut tries = 1;
        loop {
            match self.attempt(&op).await {
                Ok(output) => return output,
                Err(Failure::Again(_)) if tries < TRIES => tries += 1,
                Err(Failure::Again(error) | Failure::Final(error)) => return Err(error),
            }
        }
    }

    async fn look<O: Op>(&self, op: O) -> Result<O::Output, StoreError> {
        let mut tries = 1;
        loop {
            let connection = connect(&self.pool, &self.address).await?;
            let mut db = PostgresDb::new(&connection, &self.address);
            let result = op.run(&mut db, &mut Vec::new()).await;
            match db.failure() {
                Some(Failure::Again(_)) if tries < TRIES => tries += 1,
                _ => return result,
            }
        }
    }

    fn changes(&self) -> broadcast::Receiver<Change> {
        self.changes.subscribe()
    }

    fn place(&self) -> String {
        self.address.place()
    }
}

async fn connect(pool: &Pool, address: &Address) -> Result<Object, StoreError> {
    pool.get().await.map_err(|error| match error {
        PoolError::Backend(error) => address.unavailable(&error),
        other => address.unavailable(&other),
    })
}

async fn migrate(connection: &mut Object, address: &Address) -> Result<(), StoreError> {
    let failed = |error: tokio_postgres::Error| StoreError::from(meaning(&error, address));
    let transaction = connection.transaction().await.map_err(failed)?;
    transaction.execute("SELECT pg_advisory_xact_lock($1)", &[&MIGRATION_LOCK]).await.map_err(failed)?;
    transaction
        .batch_execute("CREATE TABLE IF NOT EXISTS rehearsal_version (version BIGINT NOT NULL)")
        .await
        .map_err(failed)?;
    let row = transaction.query_opt("SELECT version FROM rehearsal_version", &[]).await.map_err(failed)?;
    let found: i64 = row.map_or(Ok(0), |row| row.try_get(0)).map_err(failed)?;
    let known = MIGRATIONS.len();
    let version = usize::try_from(found).ok().filter(|version| *version <= known);
    let Some(version) = version else {
        return Err(StoreError::Unavailable {
            place: address.place(),
            why: format!(
                "it has version {found}, this program knows up to {known}; update the program or use another \
                 --store"
            ),
        });
    };
    if version == known {
        return Ok(());
    }
    for migration in &MIGRATIONS[version..] {
        transaction.batch_execute(migration).await.map_err(failed)?;
    }
    transaction.execute("DELETE FROM rehearsal_version", &[]).await.map_err(failed)?;
    let version = i64::try_from(known).unwrap_or(i64::MAX);
    transaction
        .execute("INSERT INTO rehearsal_version (version) VALUES ($1)", &[&version])
        .await
        .map_err(failed)?;
    transaction.commit().await.map_err(failed)
}
