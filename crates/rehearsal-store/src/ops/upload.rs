//! Uploads: large values that arrive in chunks.

use bytes::Bytes;

use crate::db::{Cell, Db, Op, first};
use crate::{Change, StoreError};

/// The largest chunk.
const CHUNK: usize = 4 << 20;
/// The largest upload.
const UPLOAD: u64 = 256 << 20;

const BEGIN: &str =
    "INSERT INTO uploads (id, size, updated_at) VALUES ($1, 0, $2) ON CONFLICT (id) DO NOTHING";
const ADD: &str = "INSERT INTO upload_chunks (upload_id, start, bytes) VALUES ($1, $2, $3)";
const GROW: &str = "UPDATE uploads SET size = $1, updated_at = $2 WHERE id = $3";

#[derive(Debug)]
pub(crate) struct PutChunk {
    pub(crate) upload: String,
    pub(crate) offset: u64,
    pub(crate) bytes: Bytes,
    pub(crate) now: i64,
}

impl PutChunk {
    /// A chunk that ends where one begins that is kept, or lies inside, must be one that is kept.
    async fn check_repeat<D: Db>(&self, db: &mut D, size: u64) -> Result<(), StoreError> {
        let sql = "SELECT bytes FROM upload_chunks WHERE upload_id = $1 AND start = $2";
        let kept = first(db, sql, &[self.upload.as_str().into(), self.offset.into()]).await?;
        match kept.map(|mut row| row.bytes()).transpose()? {
            Some(bytes) if bytes == self.bytes => Ok(()),
            Some(_) => Err(StoreError::Refused(format!(
                "upload `{}` has other bytes at {}; begin another upload to change them",
                self.upload, self.offset
            ))),
            None => Err(self.misplaced(size)),
        }
    }

    fn misplaced(&self, size: u64) -> StoreError {
        StoreError::Refused(format!(
            "the next chunk of upload `{}` begins at {size}, not at {}",
            self.upload, self.offset
        ))
    }
}

impl Op for PutChunk {
    type Output = ();

    async fn run<D: Db>(&self, db: &mut D, _: &mut Vec<Change>) -> Result<(), StoreError> {
        let Self { upload, offset, bytes, now } = self;
        if bytes.len() > CHUNK {
            return Err(StoreError::Refused(format!(
                "a chunk has at most {CHUNK} bytes, not {}; send it in smaller ones",
                bytes.len()
            )));
        }
        db.run(BEGIN, &[upload.as_str().into(), (*now).into()]).await?;
        let size = match first(db, D::LOCK_UPLOAD, &[upload.as_str().into()]).await? {
            Some(mut row) => row.count()?,
            None => 0,
        };
        if *offset > size {
            return Err(self.misplaced(size));
        }
        if bytes.is_empty() {
            return Ok(());
        }
        if *offset < size {
            return self.check_repeat(db, size).await;
        }
        let end = size + bytes.len() as u64;
        if end > UPLOAD {
            return Err(StoreError::Refused(format!(
                "upload `{upload}` would have more than {UPLOAD} bytes"
            )));
        }
        db.run(ADD, &[upload.as_str().into(), size.into(), bytes.clone().into()]).await?;
        db.run(GROW, &[end.into(), (*now).into(), upload.as_str().into()]).await?;
        Ok(())
    }
}

#[derive(Debug)]
pub(crate) struct FindUpload(pub(crate) String);

impl Op for FindUpload {
    type Output = Option<Vec<u8>>;

    async fn run<D: Db>(&self, db: &mut D, _: &mut Vec<Change>) -> Result<Self::Output, StoreError> {
        let id: [Cell; 1] = [self.0.as_str().into()];
        let Some(mut row) = first(db, "SELECT size FROM uploads WHERE id = $1", &id).await? else {
            return Ok(None);
        };
        let size = usize::try_from(row.count()?).unwrap_or(0);
        let mut whole = Vec::with_capacity(size);
        // Chunks that came since the size was read belong to it as well: they are contiguous.
        let sql = "SELECT bytes FROM upload_chunks WHERE upload_id = $1 ORDER BY start";
        for mut row in db.rows(sql, &id).await? {
            whole.extend_from_slice(&row.bytes()?);
        }
        Ok(Some(whole))
    }
}

/// Removes uploads that nothing was added to since a moment.
#[derive(Debug)]
pub(crate) struct DeleteUploads {
    pub(crate) before: i64,
}

impl Op for DeleteUploads {
    type Output = u64;

    async fn run<D: Db>(&self, db: &mut D, _: &mut Vec<Change>) -> Result<u64, StoreError> {
        Ok(db.run("DELETE FROM uploads WHERE updated_at < $1", &[self.before.into()]).await?)
    }
}

#[derive(Debug)]
pub(crate) struct DeleteUpload(pub(crate) String);

impl Op for DeleteUpload {
    type Output = ();

    async fn run<D: Db>(&self, db: &mut D, _: &mut Vec<Change>) -> Result<(), StoreError> {
        db.run("DELETE FROM uploads WHERE id = $1", &[self.0.as_str().into()]).await?;
        Ok(())
    }
}
