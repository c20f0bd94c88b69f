//! The connections of a port. If all places are taken, the connection that has been silent for
//! longest makes room for a new one.

use super::liveliness::Liveliness;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::{AbortHandle, Id, JoinError, JoinSet};
use tokio::time::{Instant, sleep_until};

/// A viewer that neither sent nor took a byte for this long can lose its place. An honest one that
/// loses it dials again.
const SILENCE_MIN: Duration = Duration::from_secs(1);

/// The tasks that serve viewers. Dropping it ends them.
pub(crate) struct ViewerPlaces {
    most: usize,
    silence_min: Duration,
    tasks: JoinSet<()>,
    known: HashMap<Id, (AbortHandle, Arc<Liveliness>)>,
}

impl ViewerPlaces {
    pub(crate) fn new(most: usize) -> ViewerPlaces {
        ViewerPlaces {
            most,
            silence_min: SILENCE_MIN,
            tasks: JoinSet::new(),
            known: HashMap::new(),
        }
    }

    /// Serves one more viewer; to be called after [`ViewerPlaces::make_room`].
    pub(crate) fn add(
        &mut self,
        liveliness: Arc<Liveliness>,
        serve: impl Future<Output = ()> + Send + 'static,
    ) {
        let task = self.tasks.spawn(serve);
        self.known.insert(task.id(), (task, liveliness));
    }

    /// Waits for a place: until a viewer leaves, or the one that was silent for longest has to.
    pub(crate) async fn make_room(&mut self) {
        while let Some(ended) = self.tasks.try_join_next_with_id() {
            self.forget(ended);
        }
        while self.known.len() >= self.most {
            let again = self.end_silent();
            tokio::select! {
                Some(ended) = self.tasks.join_next_with_id() => self.forget(ended),
                () = sleep_until(again) => {}
            }
        }
    }

    /// Ends the viewer that has been silent for longest, if that is long enough. Returns when to
    /// look again.
    fn end_silent(&self) -> Instant {
        let now = Instant::now();
        let silent = self
            .known
            .values()
            .filter_map(|(task, liveliness)| Some((liveliness.silent_since()?, task)));
        let Some((since, task)) = silent.min_by_key(|(since, _)| *since) else {
            return now + self.silence_min;
        };
        if since + self.silence_min > now {
            return since + self.silence_min;
        }
        task.abort();
        now + self.silence_min
    }

    fn forget(&mut self, ended: Result<(Id, ()), JoinError>) {
        let id = ended.map_or_else(|error| error.id(), |(id, ())| id);
        self.known.remove(&id);
    }
}

#[cfg(test)]
mod tests {
    use super::{Liveliness, ViewerPlaces};
    use std::future::pending;
    use std::sync::Arc;
    use std::time::Duration;
    use tokio::sync::oneshot::{self, Receiver, error::TryRecvError};

    /// Adds a viewer that stays until it is ended; the receiver notices the end.
    fn add(viewers: &mut ViewerPlaces) -> (Arc<Liveliness>, Receiver<()>) {
        let liveliness = Liveliness::new();
        let (until_it_ends, ended) = oneshot::channel::<()>();
        viewers.add(Arc::clone(&liveliness), async move {
            let _until_it_ends = until_it_ends;
            pending().await
        });
        (liveliness, ended)
    }

    #[tokio::test]
    async fn newcomer_takes_the_place_of_the_one_that_was_silent_for_longest() {
        let mut viewers = ViewerPlaces {
            silence_min: Duration::ZERO,
            ..ViewerPlaces::new(3)
        };
        let (first, mut first_ends) = add(&mut viewers);
        let (_second, mut second_ends) = add(&mut viewers);
        let (third, mut third_ends) = add(&mut viewers);
        // The first takes an answer, and the third waits for one.
        drop(first.answering());
        let _answering = third.answering();
        viewers.make_room().await;
        assert_eq!(second_ends.try_recv(), Err(TryRecvError::Closed));
        let (_fourth, _fourth_ends) = add(&mut viewers);
        viewers.make_room().await;
        assert_eq!(first_ends.try_recv(), Err(TryRecvError::Closed));
        assert_eq!(third_ends.try_recv(), Err(TryRecvError::Empty));
    }

    #[tokio::test]
    async fn viewer_that_took_something_lately_keeps_its_place() {
        let mut viewers = ViewerPlaces {
            silence_min: Duration::from_secs(3600),
            ..ViewerPlaces::new(1)
        };
        let (liveliness, mut ends) = add(&mut viewers);
        let since = liveliness.silent_since().unwrap();
        assert_eq!(viewers.end_silent(), since + Duration::from_secs(3600));
        tokio::task::yield_now().await;
        assert_eq!(ends.try_recv(), Err(TryRecvError::Empty));
    }
}
