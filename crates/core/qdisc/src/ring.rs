use alloc::boxed::Box;
use alloc::collections::VecDeque;
use core::hint::select_unpredictable;

/// `K` queues, selected by index without a branch. The first `N` items of each queue are stored inline; `N` is a power
/// of two. Further items wait on the heap.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Rings<T, const K: usize, const N: usize = 8> {
    /// Items behind the first `N`; `None` if there are none.
    #[allow(clippy::box_collection, reason = "nearly always absent: 8 bytes in every ring instead of 32")]
    more: [Option<Box<VecDeque<T>>>; K],
    head: [u32; K],
    /// Number of items.
    len: [u32; K],
    items: [[T; N]; K],
}

impl<T: Copy + Default, const K: usize, const N: usize> Default for Rings<T, K, N> {
    fn default() -> Self {
        const { assert!(N.is_power_of_two()) };
        Self { more: [const { None }; K], head: [0; K], len: [0; K], items: [[T::default(); N]; K] }
    }
}

impl<T: Copy, const K: usize, const N: usize> Rings<T, K, N> {
    /// Offset of the items. Bytes.
    pub const ITEMS: usize = core::mem::offset_of!(Self, items);

    /// Number of items in queue `which`.
    #[inline]
    pub fn len(&self, which: usize) -> u32 {
        self.len[which]
    }

    /// Slot of item number `index`, which must be one of the first `N`.
    #[inline(always)]
    fn place(&self, which: usize, index: u32) -> usize {
        self.head[which].wrapping_add(index) as usize % N
    }

    /// Item number `index`; 0 is the oldest.
    #[inline(always)]
    pub fn get(&self, which: usize, index: u32) -> Option<&T> {
        match index {
            _ if index >= self.len[which] => None,
            _ if index < N as u32 => Some(&self.items[which][self.place(which, index)]),
            _ => self.get_far(which, index),
        }
    }

    /// The same for an item behind the first `N`.
    #[cold]
    #[inline(never)]
    fn get_far(&self, which: usize, index: u32) -> Option<&T> {
        self.more[which].as_ref()?.get(index as usize - N)
    }

    /// The newest item.
    #[inline]
    pub fn back(&self, which: usize) -> Option<&T> {
        match self.len[which].checked_sub(1)? {
            last if last < N as u32 => Some(&self.items[which][self.place(which, last)]),
            _ => self.more[which].as_ref()?.back(),
        }
    }

    /// The newest item, mutable.
    #[inline]
    pub fn back_mut(&mut self, which: usize) -> Option<&mut T> {
        match self.len[which].checked_sub(1)? {
            last if last < N as u32 => {
                let place = self.place(which, last);
                Some(&mut self.items[which][place])
            }
            _ => self.more[which].as_mut()?.back_mut(),
        }
    }

    /// Adds at the end.
    #[inline(always)]
    pub fn push(&mut self, which: usize, item: &T) {
        let len = self.len[which];
        if len < N as u32 {
            let place = self.place(which, len);
            self.items[which][place] = *item;
        } else {
            self.push_far(which, *item);
        }
        self.len[which] = len + 1;
    }

    /// Adds behind the first `N`.
    #[cold]
    #[inline(never)]
    fn push_far(&mut self, which: usize, item: T) {
        self.more[which].get_or_insert_default().push_back(item);
    }

    /// Address of the slot of item number `index`, occupied or not, if it is one of the first `N`; 0 is the oldest.
    #[inline]
    pub fn near(&self, which: usize, index: u32) -> *const T {
        &raw const self.items[which][self.place(which, index)]
    }

    /// Removes the oldest item. An empty queue starts again at its first slot, to stay within few cache lines.
    #[inline(always)]
    pub fn pop(&mut self, which: usize) -> Option<T> {
        let left = self.len[which].checked_sub(1)?;
        let (item, next) = (self.items[which][self.place(which, 0)], self.head[which].wrapping_add(1));
        self.len[which] = left;
        // Whether this is the last item is unpredictable.
        self.head[which] = select_unpredictable(left == 0, 0, next);
        if left >= N as u32 {
            self.refill(which);
        }
        Some(item)
    }

    /// Moves the oldest item behind the first `N` into the ring. The memory behind is returned with its last item: in a large
    /// network most queues overflow once in a while, and few at the same time.
    #[cold]
    #[inline(never)]
    fn refill(&mut self, which: usize) {
        let place = self.place(which, N as u32 - 1);
        let last = &mut self.items[which][place];
        let Some(more) = &mut self.more[which] else { return };
        *last = more.pop_front().unwrap_or(*last);
        if more.is_empty() {
            self.more[which] = None;
        }
    }

    /// Items from the oldest to the newest.
    #[inline]
    pub fn iter(&self, which: usize) -> impl Iterator<Item = &T> {
        let len = self.len[which];
        let near = (0..len.min(N as u32)).map(move |index| &self.items[which][self.place(which, index)]);
        near.chain(self.more[which].iter().flat_map(|more| more.iter()))
    }
}

/// One queue whose first `N` items lie in the ring itself.
///
/// A port has three queues, and nearly all of them stay short: a port with its packets is one piece of memory, which
/// can be prefetched at once.
#[derive(Clone, Debug)]
pub struct Ring<T, const N: usize = 8>(Rings<T, 1, N>);

impl<T: Copy + Default, const N: usize> Default for Ring<T, N> {
    fn default() -> Self {
        Self(Rings::default())
    }
}

impl<T: Copy, const N: usize> Ring<T, N> {
    /// Number of items.
    #[inline]
    pub fn len(&self) -> usize {
        self.0.len(0) as usize
    }

    /// Whether the queue is empty.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The oldest item.
    #[inline(always)]
    pub fn front(&self) -> Option<&T> {
        self.get(0)
    }

    /// Item number `index`; 0 is the oldest.
    #[inline(always)]
    pub fn get(&self, index: u32) -> Option<&T> {
        self.0.get(0, index)
    }

    /// Adds at the end.
    #[inline(always)]
    pub fn push(&mut self, item: &T) {
        self.0.push(0, item);
    }

    /// Address of the slot of item number `index`, occupied or not, if it is one of the first `N`; 0 is the oldest.
    #[inline]
    pub fn near(&self, index: u32) -> *const T {
        self.0.near(0, index)
    }

    /// Address of the slot for the next item, if it is one of the first `N`.
    #[inline]
    pub fn end(&self) -> *const T {
        self.near(self.0.len(0))
    }

    /// Address of the newest item, if it is one of the first `N`.
    #[inline]
    pub fn latest(&self) -> *const T {
        self.near(self.0.len(0).wrapping_sub(1))
    }

    /// Removes the oldest item.
    #[inline(always)]
    pub fn pop(&mut self) -> Option<T> {
        self.0.pop(0)
    }

    /// Items from the oldest to the newest.
    #[inline]
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.0.iter(0)
    }

    /// Inserts `item` into a sorted ring, in front of the first item that it precedes.
    #[inline(always)]
    pub fn insert_sorted(&mut self, item: T, before: impl Fn(&T, &T) -> bool) {
        let Rings { head: [head], len: [len], items: [items], .. } = &mut self.0;
        if *len >= N as u32 {
            return self.insert_far(item, before);
        }
        let end = *len;
        *len += 1;
        let place = |index: u32| head.wrapping_add(index) as usize % N;
        let passes =
            |items: &[T; N], index: u32| (index > 0) & before(&item, &items[place(index.wrapping_sub(1))]);
        // Whether the new item passes the newest one is unpredictable, so the newest item is always copied.
        let mut index = end - u32::from(passes(items, end));
        items[place(end)] = items[place(end.wrapping_sub(1))];
        while passes(items, index) {
            items[place(index)] = items[place(index - 1)];
            index -= 1;
        }
        items[place(index)] = item;
    }

    /// The same for a ring with at least `N` items.
    #[cold]
    #[inline(never)]
    fn insert_far(&mut self, item: T, before: impl Fn(&T, &T) -> bool) {
        let last = self.0.items[0][self.0.place(0, N as u32 - 1)];
        let more = self.0.more[0].get_or_insert_default();
        if !before(&item, &last) {
            let at = more.partition_point(|other| !before(&item, other));
            more.insert(at, item);
            self.0.len[0] += 1;
            return;
        }
        more.push_front(last);
        let all = core::mem::replace(&mut self.0.len[0], N as u32 - 1) + 1;
        self.insert_sorted(item, before);
        self.0.len[0] = all;
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
                prop_assert_eq!(ring.0.back_mut(0).copied(), model.back().copied());
                prop_assert_eq!(ring.0.more[0].is_some(), model.len() > 4);
            }
        }
    }
}
