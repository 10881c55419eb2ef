use alloc::boxed::Box;
use alloc::collections::VecDeque;

/// A queue whose first `N` items lie in the ring itself; `N` is a power of two. What is more waits behind them in
/// memory of its own.
///
/// A port has three of them, and nearly all of them stay short: a port with its packets is one piece of memory, which
/// can be asked for at once.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Ring<T, const N: usize = 8> {
    /// Items behind the first `N`.
    #[allow(clippy::box_collection, reason = "nearly always absent: 8 bytes in every ring instead of 32")]
    more: Option<Box<VecDeque<T>>>,
    head: u32,
    /// Items in all.
    len: u32,
    items: [T; N],
}

impl<T: Copy + Default, const N: usize> Default for Ring<T, N> {
    fn default() -> Self {
        const { assert!(N.is_power_of_two()) };
        Self { more: None, head: 0, len: 0, items: [T::default(); N] }
    }
}

impl<T: Copy, const N: usize> Ring<T, N> {
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

    /// Where item number `index` lies, one of the first `N`.
    #[inline(always)]
    fn place(&self, index: u32) -> usize {
        self.head.wrapping_add(index) as usize % N
    }

    /// The oldest item.
    #[inline(always)]
    pub fn front(&self) -> Option<&T> {
        if self.len == 0 { None } else { Some(&self.items[self.place(0)]) }
    }

    /// Item number `index`; 0 is the oldest.
    #[inline(always)]
    pub fn get(&self, index: u32) -> Option<&T> {
        match index {
            _ if index >= self.len => None,
            _ if index < N as u32 => Some(&self.items[self.place(index)]),
            _ => self.get_far(index),
        }
    }

    /// The same for one that is not among the first `N`.
    #[cold]
    #[inline(never)]
    fn get_far(&self, index: u32) -> Option<&T> {
        self.more.as_ref()?.get(index as usize - N)
    }

    /// The newest item.
    #[inline]
    pub fn back_mut(&mut self) -> Option<&mut T> {
        match self.len.checked_sub(1)? {
            last if last < N as u32 => {
                let place = self.place(last);
                Some(&mut self.items[place])
            }
            _ => self.more.as_mut()?.back_mut(),
        }
    }

    /// Adds at the end.
    #[inline(always)]
    pub fn push(&mut self, item: T) {
        if self.len >= N as u32 {
            self.more.get_or_insert_default().push_back(item);
        } else {
            let place = self.place(self.len);
            self.items[place] = item;
        }
        self.len += 1;
    }

    /// Where item number `index` is, or will be, if it is one of the first `N`; 0 is the oldest.
    #[inline]
    pub fn near(&self, index: u32) -> *const T {
        &raw const self.items[self.place(index)]
    }

    /// Where the next item will be added, if it is one of the first `N`.
    #[inline]
    pub fn end(&self) -> *const T {
        &raw const self.items[self.place(self.len)]
    }

    /// Where the newest item is, if it is one of the first `N`.
    #[inline]
    pub fn latest(&self) -> *const T {
        &raw const self.items[self.place(self.len.wrapping_sub(1))]
    }

    /// Takes the oldest. A ring that is empty starts again at its beginning, to stay within few cache lines.
    #[inline(always)]
    pub fn pop(&mut self) -> Option<T> {
        if self.len == 0 {
            return None;
        }
        let item = self.items[self.place(0)];
        self.len -= 1;
        self.head = if self.len == 0 { 0 } else { self.head.wrapping_add(1) };
        if self.len >= N as u32 {
            self.refill();
        }
        Some(item)
    }

    /// The oldest of those behind becomes one of the first `N`.
    #[cold]
    #[inline(never)]
    fn refill(&mut self) {
        let place = self.place(N as u32 - 1);
        self.items[place] = self.more.as_mut().and_then(|more| more.pop_front()).unwrap_or(self.items[place]);
    }

    /// Adds `item` in front of the first item that it goes before, of a ring that is in such an order.
    #[inline(always)]
    pub fn insert_sorted(&mut self, item: T, before: impl Fn(&T, &T) -> bool) {
        if self.len >= N as u32 {
            return self.insert_far(item, before);
        }
        let end = self.len;
        self.len += 1;
        let passes = |ring: &Self, index: u32| {
            (index > 0) & before(&item, &ring.items[ring.place(index.wrapping_sub(1))])
        };
        // Whether it passes the newest item cannot be foreseen. So that one is copied whatever comes of it.
        let mut index = end - u32::from(passes(self, end));
        self.items[self.place(end)] = self.items[self.place(end.wrapping_sub(1))];
        while passes(self, index) {
            self.items[self.place(index)] = self.items[self.place(index - 1)];
            index -= 1;
        }
        self.items[self.place(index)] = item;
    }

    /// The same for a ring with at least `N` items.
    #[cold]
    #[inline(never)]
    fn insert_far(&mut self, item: T, before: impl Fn(&T, &T) -> bool) {
        let (last, more) = (self.place(N as u32 - 1), self.more.get_or_insert_default());
        if !before(&item, &self.items[last]) {
            let at = more.partition_point(|other| !before(&item, other));
            more.insert(at, item);
            self.len += 1;
            return;
        }
        more.push_front(self.items[last]);
        let all = core::mem::replace(&mut self.len, N as u32 - 1) + 1;
        self.insert_sorted(item, before);
        self.len = all;
    }

    /// Items from the oldest to the newest.
    #[inline]
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        let near = (0..self.len.min(N as u32)).map(|index| &self.items[self.place(index)]);
        // What is empty is not looked at: it lies elsewhere.
        let more = self.more.as_ref().filter(|_| self.len > N as u32);
        near.chain(more.into_iter().flat_map(|more| more.iter()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn behaves_like_a_sorted_queue(steps in prop::collection::vec(prop::option::weighted(0.6, 0u32..50), 0..300)) {
            let mut ring = Ring::<_, 4>::default();
            let mut model: VecDeque<(u32, usize)> = VecDeque::new();
            for (nth, step) in steps.into_iter().enumerate() {
                match step {
                    Some(key) => {
                        ring.insert_sorted((key, nth), |item, other| item.0 < other.0);
                        let at = model.iter().position(|item| item.0 > key).unwrap_or(model.len());
                        model.insert(at, (key, nth));
                    }
                    None => prop_assert_eq!(ring.pop(), model.pop_front()),
                }
                prop_assert_eq!(ring.iter().copied().collect::<Vec<_>>(), Vec::from(model.clone()));
                for index in 0..=model.len() {
                    prop_assert_eq!(ring.get(index as u32), model.get(index));
                }
                prop_assert_eq!(ring.front(), model.front());
                prop_assert_eq!(ring.back_mut().copied(), model.back().copied());
            }
        }
    }
}
