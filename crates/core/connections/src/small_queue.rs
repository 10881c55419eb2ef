use alloc::collections::VecDeque;

/// A queue that is mostly empty or has one item. The first item is stored inline; further items are on the heap.
#[derive(Clone, Debug)]
pub struct SmallQueue<T> {
    first: Option<T>,
    /// Further items; empty if `first` is `None`.
    others: VecDeque<T>,
}

impl<T> Default for SmallQueue<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> SmallQueue<T> {
    /// An empty queue.
    pub const fn new() -> Self {
        Self { first: None, others: VecDeque::new() }
    }

    /// Whether nothing waits.
    #[inline]
    pub const fn is_empty(&self) -> bool {
        self.first.is_none()
    }

    /// Adds at the end.
    #[inline]
    pub fn push(&mut self, item: T) {
        if self.first.is_none() {
            self.first = Some(item);
        } else {
            self.others.push_back(item);
        }
    }

    /// Removes the oldest item.
    #[inline]
    pub fn pop(&mut self) -> Option<T> {
        // For an empty queue no other memory is read.
        self.first.as_ref()?;
        let first = self.first.take();
        if !self.others.is_empty() {
            self.move_up();
        }
        first
    }

    /// Address of the slot for the second item, for a driver that prefetches.
    #[inline]
    pub fn place(&self) -> *const u8 {
        self.others.as_slices().0.as_ptr().cast()
    }

    /// Moves the oldest item from the heap to the inline slot. An empty heap queue starts again at its first slot, to
    /// stay within few cache lines.
    fn move_up(&mut self) {
        self.first = self.others.pop_front();
        if self.others.is_empty() {
            self.others.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn behaves_like_a_queue(steps in prop::collection::vec(prop::option::weighted(0.6, any::<u32>()), 0..200)) {
            let (mut queue, mut model) = (SmallQueue::new(), VecDeque::new());
            for step in steps {
                match step {
                    Some(item) => {
                        queue.push(item);
                        model.push_back(item);
                    }
                    None => prop_assert_eq!(queue.pop(), model.pop_front()),
                }
                prop_assert_eq!(queue.is_empty(), model.is_empty());
            }
            while let Some(item) = model.pop_front() {
                prop_assert_eq!(queue.pop(), Some(item));
            }
            prop_assert_eq!(queue.pop(), None);
        }
    }
}
