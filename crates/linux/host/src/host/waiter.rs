//! Tasks that wait, while the background thread drives.

use std::sync::Arc;
use std::task::{Context, Poll};

use pullnet_units::Instant;

use super::core::{Interest, Sleeper};
use super::shared::Shared;
use crate::engine::Engine;
use crate::error::StreamError;

/// A task that waits for one condition at a time.
pub(crate) struct Waiter {
    shared: Arc<Shared>,
    ticket: Option<u64>,
}

impl Waiter {
    pub fn new(shared: &Arc<Shared>) -> Self {
        Self { shared: Arc::clone(shared), ticket: None }
    }

    /// Returns the result of `attempt`, or registers the task to be woken when another attempt may succeed.
    pub fn poll<T>(
        &mut self,
        cx: &mut Context<'_>,
        interest: Interest,
        attempt: impl FnOnce(&mut Engine, Instant) -> Option<Result<T, StreamError>>,
    ) -> Poll<Result<T, StreamError>> {
        let mut core = self.shared.enter();
        self.ticket.take().into_iter().for_each(|ticket| core.leave(ticket));
        if let Some(why) = &core.stopped {
            return Poll::Ready(Err(StreamError::Stopped(why.clone())));
        }
        let now = core.now();
        let result = attempt(&mut core.engine, now);
        if result.is_none() {
            self.ticket = Some(core.join(interest, Sleeper::Task(cx.waker().clone())));
        }
        core.send_made();
        result.map_or(Poll::Pending, Poll::Ready)
    }
}

impl Drop for Waiter {
    fn drop(&mut self) {
        if let Some(ticket) = self.ticket {
            self.shared.enter().leave(ticket);
        }
    }
}
