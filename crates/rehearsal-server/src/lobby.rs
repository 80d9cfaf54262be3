//! The lobby: connections of callers who have not shown yet that they may call.
//!
//! Whoever can reach the port can open connections, and there is room for so many. So those who have shown nothing are
//! few, and they are the first to go: when there are too many of them, the one that came first leaves. One that has
//! something to say is heard before it has to go, so that callers who come in crowds and speak at once do not suffer.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;

/// How many of one address may wait in silence, and how many may be in the middle of their first words.
const MOST_OF_ADDRESS: usize = 256;
/// The same for all addresses together.
const MOST: usize = 2_048;
/// How long one that was asked to leave has to say who it is: callers who come in crowds speak a moment later.
const LAST_CHANCE: Duration = Duration::from_secs(1);

/// Those who wait to be known.
#[derive(Debug, Default)]
pub(crate) struct Lobby {
    arrivals: AtomicU64,
    silent: Bench,
    speaking: Bench,
}

/// A connection, for as long as nobody knows whether it may call.
#[derive(Debug)]
pub(crate) struct Guest {
    lobby: Arc<Lobby>,
    address: IpAddr,
    arrival: u64,
    leave: Arc<Notify>,
    known: AtomicBool,
}

#[derive(Debug, Default)]
struct Bench(Mutex<Seats>);

#[derive(Debug, Default)]
struct Seats {
    by_address: BTreeMap<IpAddr, BTreeMap<u64, Arc<Notify>>>,
    count: usize,
}

impl Lobby {
    /// Somebody comes, and says nothing yet.
    pub(crate) fn enter(self: &Arc<Self>, address: IpAddr) -> Arc<Guest> {
        let arrival = self.arrivals.fetch_add(1, Ordering::Relaxed);
        let guest = Guest {
            lobby: self.clone(),
            address,
            arrival,
            leave: Arc::default(),
            known: AtomicBool::new(false),
        };
        self.silent.sit(&guest);
        Arc::new(guest)
    }

    /// Asks the one that came first to leave. False when there is none.
    pub(crate) fn make_room(&self) -> bool {
        self.silent.dismiss_first() || self.speaking.dismiss_first()
    }
}

impl Guest {
    /// It says something; what, will be known when it has said it.
    pub(crate) fn speaks(&self) {
        self.lobby.silent.rise(self);
        self.lobby.speaking.sit(self);
    }

    /// It may call, and stays as long as it likes.
    pub(crate) fn is_known(&self) {
        if self.known.swap(true, Ordering::Relaxed) {
            return;
        }
        self.lobby.silent.rise(self);
        self.lobby.speaking.rise(self);
    }

    /// Waits until it has to leave.
    pub(crate) async fn has_to_leave(&self) {
        self.leave.notified().await;
        tokio::time::sleep(LAST_CHANCE).await;
        if self.known.load(Ordering::Relaxed) {
            std::future::pending::<()>().await;
        }
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        self.is_known();
    }
}

impl Bench {
    fn sit(&self, guest: &Guest) {
        let mut seats = self.seats();
        let of_address = seats.by_address.entry(guest.address).or_default();
        let replaced = of_address.insert(guest.arrival, guest.leave.clone());
        let many = of_address.len() > MOST_OF_ADDRESS;
        seats.count += usize::from(replaced.is_none());
        if many {
            seats.dismiss(guest.address);
        } else if seats.count > MOST {
            seats.dismiss_first();
        }
    }

    fn rise(&self, guest: &Guest) {
        self.seats().remove(guest.address, guest.arrival);
    }

    fn dismiss_first(&self) -> bool {
        self.seats().dismiss_first()
    }

    fn seats(&self) -> std::sync::MutexGuard<'_, Seats> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Seats {
    fn remove(&mut self, address: IpAddr, arrival: u64) {
        let Some(of_address) = self.by_address.get_mut(&address) else { return };
        self.count -= usize::from(of_address.remove(&arrival).is_some());
        if of_address.is_empty() {
            self.by_address.remove(&address);
        }
    }

    fn dismiss(&mut self, address: IpAddr) -> bool {
        let Some((arrival, leave)) = self.by_address.get(&address).and_then(BTreeMap::first_key_value) else {
            return false;
        };
        leave.notify_one();
        self.remove(address, *arrival);
        true
    }

    fn dismiss_first(&mut self) -> bool {
        let first = |of_address: &BTreeMap<u64, Arc<Notify>>| of_address.keys().next().copied();
        let address = self.by_address.iter().min_by_key(|(_, of_address)| first(of_address));
        address.map(|(address, _)| *address).is_some_and(|address| self.dismiss(address))
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use futures::FutureExt as _;

    use super::*;

    fn of(last: u8) -> IpAddr {
        Ipv4Addr::new(10, 0, 0, last).into()
    }

    fn leaves(guest: &Guest) -> bool {
        guest.leave.notified().now_or_never().is_some()
    }

    #[test]
    fn the_first_of_an_address_leaves_when_there_are_too_many_of_it() {
        let lobby = Arc::new(Lobby::default());
        let (first, other, known) = (lobby.enter(of(1)), lobby.enter(of(2)), lobby.enter(of(1)));
        known.is_known();
        let rest: Vec<_> = (1..MOST_OF_ADDRESS).map(|_| lobby.enter(of(1))).collect();
        assert!(!leaves(&first));
        let last = lobby.enter(of(1));
        assert!(leaves(&first) && !leaves(&other) && !leaves(&known) && !leaves(&last));
        drop((rest, last));
        // Those who left took nobody's place with them.
        let _again = lobby.enter(of(1));
        assert!(!leaves(&other) && lobby.silent.seats().count == 2);
    }

    #[test]
    fn the_first_of_all_leaves_when_there_are_too_many_in_all() {
        let lobby = Arc::new(Lobby::default());
        let guests: Vec<_> =
            (0..=MOST).map(|number| lobby.enter(of(u8::try_from(number % 100).unwrap()))).collect();
        assert!(leaves(&guests[0]) && !guests[1..].iter().any(|guest| leaves(guest)));
        assert!(lobby.make_room() && leaves(&guests[1]));
    }

    #[test]
    fn those_who_speak_are_counted_by_themselves() {
        let lobby = Arc::new(Lobby::default());
        let speaks = lobby.enter(of(1));
        speaks.speaks();
        let silent: Vec<_> = (0..=MOST_OF_ADDRESS).map(|_| lobby.enter(of(1))).collect();
        assert!(!leaves(&speaks) && leaves(&silent[0]));
        for guest in &silent {
            guest.speaks();
        }
        assert!(leaves(&speaks));
        drop((speaks, silent));
        assert!(!lobby.make_room());
    }
}
