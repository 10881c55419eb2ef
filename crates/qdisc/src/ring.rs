use alloc::boxed::Box;

/// A queue in a ring of a power of two that doubles when full and never shrinks.
///
/// `VecDeque` with a header of 16 bytes instead of 32: a port has three of them, and a network a million ports.
#[derive(Clone, Debug)]
pub struct Ring<T> {
    items: Box<[T]>,
    head: u32,
    len: u32,
}

/// Capacity after the first push.
const FIRST: usize = 4;

impl<T> Default for Ring<T> {
    fn default() -> Self {
        Self { items: Box::default(), head: 0, len: 0 }
    }
}

impl<T: Copy> Ring<T> {
    /// Number of items.
    #[inline]
    pub fn len(&self) -> usize {
        self.len as usize
    }

    /// Whether there is none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    #[inline]
    fn position(&self, index: usize) -> usize {
        (self.head as usize + index) & (self.items.len().wrapping_sub(1))
    }

    /// The oldest item.
    #[inline]
    pub fn front(&self) -> Option<&T> {
        if self.len == 0 { None } else { self.items.get(self.head as usize) }
    }

    /// The newest item.
    #[inline]
    pub fn back_mut(&mut self) -> Option<&mut T> {
        let last = self.position((self.len as usize).wrapping_sub(1));
        if self.len == 0 { None } else { self.items.get_mut(last) }
    }

    /// Adds at the end.
    #[inline(always)]
    pub fn push(&mut self, item: T) {
        if self.len() == self.items.len() {
            self.grow(item);
        }
        let at = self.position(self.len());
        self.items[at] = item;
        self.len += 1;
    }

    /// Where the oldest item is, or will be; dangling if there is no room yet.
    #[inline]
    pub fn begin(&self) -> *const T {
        self.items.as_ptr().wrapping_add(self.head as usize)
    }

    /// Where the next item will be added; dangling if there is no room.
    #[inline]
    pub fn end(&self) -> *const T {
        self.items.as_ptr().wrapping_add(self.position(self.len()))
    }

    /// Takes the oldest. A ring that is empty starts again at its beginning, to stay within few cache lines.
    #[inline(always)]
    pub fn pop(&mut self) -> Option<T> {
        let item = *self.front()?;
        self.len -= 1;
        self.head = if self.len == 0 { 0 } else { self.position(1) as u32 };
        Some(item)
    }

    /// Adds `item` behind every item whose `key` is not greater: the order of equal keys is that of insertion.
    #[inline(always)]
    pub fn insert_sorted<K: Ord>(&mut self, item: T, key: impl Fn(&T) -> K) {
        if self.len() == self.items.len() {
            self.grow(item);
        }
        let wanted = key(&item);
        let mut index = self.len();
        while index > 0 {
            let before = self.items[self.position(index - 1)];
            if key(&before) <= wanted {
                break;
            }
            let at = self.position(index);
            self.items[at] = before;
            index -= 1;
        }
        let at = self.position(index);
        self.items[at] = item;
        self.len += 1;
    }

    /// Items from the oldest to the newest.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        (0..self.len()).map(|index| &self.items[self.position(index)])
    }

    /// Twice the room; `filler` stands where nothing is yet.
    #[cold]
    #[inline(never)]
    fn grow(&mut self, filler: T) {
        let room = (self.items.len() * 2).max(FIRST);
        let items = self.iter().copied().chain(core::iter::repeat_n(filler, room - self.len())).collect();
        self.items = items;
        self.head = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::VecDeque;
    use alloc::vec::Vec;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn behaves_like_a_sorted_queue(steps in prop::collection::vec(prop::option::weighted(0.6, 0u32..50), 0..300)) {
            let mut ring = Ring::default();
            let mut model: VecDeque<(u32, usize)> = VecDeque::new();
            for (nth, step) in steps.into_iter().enumerate() {
                match step {
                    Some(key) => {
                        ring.insert_sorted((key, nth), |item| item.0);
                        let at = model.iter().position(|item| item.0 > key).unwrap_or(model.len());
                        model.insert(at, (key, nth));
                    }
                    None => prop_assert_eq!(ring.pop(), model.pop_front()),
                }
                prop_assert_eq!(ring.iter().copied().collect::<Vec<_>>(), Vec::from(model.clone()));
                prop_assert_eq!(ring.front(), model.front());
            }
        }
    }
}
