use alloc::vec::Vec;

use crate::sparse;

/// The numbers from 0 to `count` - 1 in an order that swaps change. A large network has thousands of paths for each connection, and
/// most connections send few packets: only numbers that have moved are stored, until there are many of them.
#[derive(Clone, Debug)]
pub struct Shuffle {
    count: u16,
    /// Moved numbers with their positions, sorted by position; unused once `all` is there.
    moved: Vec<(u16, u16)>,
    /// All numbers; empty as long as `moved` tells them.
    all: List,
}

/// A list of numbers, in bytes where all of them fit.
#[derive(Clone, Debug)]
enum List {
    Bytes(Vec<u8>),
    Words(Vec<u16>),
}

impl List {
    const EMPTY: Self = Self::Bytes(Vec::new());

    /// A list of `numbers`, which are `most` at most.
    fn new(most: u16, numbers: impl Iterator<Item = u16>) -> Self {
        if most <= u8::MAX.into() {
            Self::Bytes(numbers.map(|number| number as u8).collect())
        } else {
            Self::Words(numbers.collect())
        }
    }

    #[inline(always)]
    fn is_empty(&self) -> bool {
        matches!(self, Self::Bytes(list) if list.is_empty())
    }

    #[inline(always)]
    fn get(&self, position: usize) -> Option<u16> {
        match self {
            Self::Bytes(list) => list.get(position).map(|number| (*number).into()),
            Self::Words(list) => list.get(position).copied(),
        }
    }

    /// Swaps two numbers, and returns that which is at `one` now.
    #[inline(always)]
    fn swap(&mut self, one: usize, other: usize) -> u16 {
        match self {
            Self::Bytes(list) => {
                list.swap(one, other);
                list[one].into()
            }
            Self::Words(list) => {
                list.swap(one, other);
                list[one]
            }
        }
    }

    /// Address of the number at `position`.
    #[inline(always)]
    fn place(&self, position: usize) -> *const u8 {
        match self {
            Self::Bytes(list) => list.as_ptr().wrapping_add(position),
            Self::Words(list) => list.as_ptr().wrapping_add(position).cast(),
        }
    }
}

impl Shuffle {
    /// The numbers in their order.
    pub fn new(count: u16) -> Self {
        let all = if sparse::lists(count) { List::new(count - 1, 0..count) } else { List::EMPTY };
        Self { count, moved: Vec::new(), all }
    }

    /// `number` alone.
    pub fn only(number: u16) -> Self {
        Self { count: 1, moved: Vec::new(), all: List::new(number, core::iter::once(number)) }
    }

    /// How many there are.
    #[inline(always)]
    pub fn len(&self) -> usize {
        self.count.into()
    }

    /// The number at `position`, which must be below [`Shuffle::len`].
    #[inline]
    pub fn at(&self, position: usize) -> u16 {
        match self.all.get(position) {
            Some(number) => number,
            None => self.seek(position as u16).map_or(position as u16, |index| self.moved[index].1),
        }
    }

    /// Swaps the numbers at two positions, and returns that which is at `one` now.
    #[inline]
    pub fn swap(&mut self, one: usize, other: usize) -> u16 {
        if self.all.is_empty() {
            return self.swap_moved(one, other);
        }
        self.all.swap(one, other)
    }

    /// [`Shuffle::swap`] as long as there is no list.
    #[inline(never)]
    fn swap_moved(&mut self, one: usize, other: usize) -> u16 {
        let (here, there) = (self.at(one), self.at(other));
        self.set(one as u16, there);
        self.set(other as u16, here);
        if self.moved.len() > sparse::most_entries(self.count) {
            self.all = List::new(self.count - 1, (0..self.len()).map(|position| self.at(position)));
            self.moved = Vec::new();
        }
        there
    }

    /// Where the table has `position`, or where it would have it.
    fn seek(&self, position: u16) -> Result<usize, usize> {
        self.moved.binary_search_by_key(&position, |entry| entry.0)
    }

    fn set(&mut self, position: u16, number: u16) {
        match self.seek(position) {
            Ok(index) => self.moved[index].1 = number,
            Err(_) if number == position => {}
            Err(index) => self.moved.insert(index, (position, number)),
        }
    }

    /// Address of the number at `position`, for a driver that prefetches; any address as long as there is no list.
    #[inline]
    pub fn place(&self, position: usize) -> *const u8 {
        self.all.place(position)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn swaps_as_a_list_does(count in 1u16..2000, swaps in prop::collection::vec(any::<(prop::sample::Index, prop::sample::Index)>(), 0..300)) {
            let (mut shuffle, mut list) = (Shuffle::new(count), Vec::from_iter(0..count));
            for (one, other) in swaps {
                let (one, other) = (one.index(list.len()), other.index(list.len()));
                list.swap(one, other);
                prop_assert_eq!(shuffle.swap(one, other), list[one]);
                prop_assert_eq!(shuffle.at(other), list[other]);
            }
            prop_assert_eq!(shuffle.len(), list.len());
            prop_assert!((0..list.len()).all(|position| shuffle.at(position) == list[position]));
            prop_assert!(shuffle.all.is_empty() || shuffle.moved.is_empty());
        }
    }
}
