//! A spool: what is written of each case, in whatever order they end, until it is put together in the order of the suite.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// So much is held in memory before it goes to a file.
const HELD: usize = 1 << 20;

/// The parts of something that is written, by the order of their cases.
#[derive(Default)]
pub(super) struct Parts(Mutex<State>);

#[derive(Default)]
struct State {
    /// What is not in the file yet.
    held: Vec<u8>,
    /// A file without a name, which goes with the program.
    file: Option<File>,
    /// How much is in the file.
    written: u64,
    places: BTreeMap<usize, (u64, usize)>,
}

impl Parts {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a part.
    pub(super) fn put(&self, order: usize, part: &[u8]) {
        let mut state = self.state();
        let start = state.written + state.held.len() as u64;
        state.places.insert(order, (start, part.len()));
        state.held.extend_from_slice(part);
        // Where there is no place for a file, memory has to do.
        if state.held.len() > HELD {
            let _as_before = state.spill();
        }
    }

    /// The places of all parts, in order.
    pub(super) fn orders(&self) -> Vec<usize> {
        self.state().places.keys().copied().collect()
    }

    /// The part of this place, if it is there.
    pub(super) fn get(&self, order: usize) -> Option<io::Result<Vec<u8>>> {
        let mut state = self.state();
        let (start, length) = *state.places.get(&order)?;
        Some(state.read(start, length))
    }

    /// The part of this place, which is not asked for again.
    pub(super) fn take(&self, order: usize) -> Option<io::Result<Vec<u8>>> {
        let part = self.get(order)?;
        let mut state = self.state();
        state.places.remove(&order);
        // Where nothing is left, nothing need be held.
        if state.places.is_empty() {
            state.held.clear();
            state.written = 0;
        }
        Some(part)
    }
}

impl State {
    fn spill(&mut self) -> io::Result<()> {
        let file = match &mut self.file {
            Some(file) => file,
            None => self.file.insert(tempfile::tempfile()?),
        };
        file.seek(SeekFrom::Start(self.written))?;
        file.write_all(&self.held)?;
        self.written += self.held.len() as u64;
        self.held.clear();
        Ok(())
    }

    fn read(&mut self, start: u64, length: usize) -> io::Result<Vec<u8>> {
        if start >= self.written {
            let start = usize::try_from(start - self.written).unwrap_or(usize::MAX);
            let held = self.held.get(start..start.saturating_add(length));
            return held.map(<[u8]>::to_vec).ok_or_else(|| io::ErrorKind::UnexpectedEof.into());
        }
        let Some(file) = &mut self.file else { return Err(io::ErrorKind::NotFound.into()) };
        file.seek(SeekFrom::Start(start))?;
        let mut part = vec![0; length];
        file.read_exact(&mut part)?;
        Ok(part)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_come_back_whole_whether_held_or_in_a_file() {
        let parts = Parts::default();
        let part = |order: usize| vec![u8::try_from(order % 251).unwrap(); 1 + order * 1000];
        for order in (0..100).rev() {
            parts.put(order, &part(order));
        }
        assert_eq!(parts.orders(), (0..100).collect::<Vec<_>>());
        for order in 0..100 {
            assert_eq!(parts.get(order).unwrap().unwrap(), part(order));
            assert_eq!(parts.take(order).unwrap().unwrap(), part(order));
            assert!(parts.take(order).is_none());
        }
        parts.put(7, b"again");
        assert_eq!(parts.take(7).unwrap().unwrap(), b"again");
    }
}
