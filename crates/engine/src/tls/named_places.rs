//! Places, in a list, of what belongs to a number and a server name.

use rustls::pki_types::ServerName;
use std::collections::HashMap;

/// Most pairs of a number and a name that a worker keeps anything for. A pair with nginx's two
/// tickets takes 2.5 kB (10,000 names against nginx 1.22.1 took 24 MB), and it can have four. The
/// first ones stay, since a plan that goes through more names than this in turn would otherwise
/// never find one again.
const MOST: usize = 65_536;

/// Numbers pairs of a number and a name, in the order in which they come.
#[derive(Default)]
pub(super) struct NamedPlaces(HashMap<(u32, ServerName<'static>), usize>);

impl NamedPlaces {
    /// The place of a pair; `None` if it has none.
    pub(super) fn find(&self, number: u32, name: &ServerName<'_>) -> Option<usize> {
        let name = match name {
            ServerName::DnsName(name) => ServerName::DnsName(name.borrow()),
            other => other.to_owned(), // an address, which is no allocation
        };
        self.0.get(&(number, name)).copied()
    }

    /// The place of a pair, a new one if it has none yet; `None` if there are too many.
    pub(super) fn place(&mut self, number: u32, name: &ServerName<'_>) -> Option<usize> {
        if let Some(place) = self.find(number, name) {
            return Some(place);
        }
        let place = self.0.len();
        (place < MOST).then(|| {
            self.0.insert((number, name.to_owned()), place);
            place
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(text: &str) -> ServerName<'_> {
        ServerName::try_from(text).expect("a name")
    }

    #[test]
    fn each_pair_has_a_place_of_its_own_and_keeps_it() {
        let mut places = NamedPlaces::default();
        let pairs = [(0, "a.test"), (0, "b.test"), (1, "a.test"), (0, "A.test")];
        let taken = pairs.map(|(number, text)| places.place(number, &name(text)));
        assert_eq!(taken, [Some(0), Some(1), Some(2), Some(0)]);
        assert_eq!(places.find(1, &name("b.test")), None);
        assert_eq!(places.find(1, &name("a.test")), Some(2));
    }

    #[test]
    fn pairs_without_end_leave_the_first_ones_in_place() {
        let mut places = NamedPlaces::default();
        let name = |number: usize| ServerName::try_from(format!("n{number}.test")).expect("a name");
        for number in 0..MOST + 10 {
            let place = places.place(7, &name(number));
            assert_eq!(place, (number < MOST).then_some(number), "{number}");
        }
        assert_eq!(places.place(7, &name(3)), Some(3));
        assert_eq!(places.0.len(), MOST);
    }
}
