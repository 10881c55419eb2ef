use alloc::vec::Vec;
use core::fmt;
use core::marker::PhantomData;
use core::ops::{Index, IndexMut};

use crate::quantity::Bytes;

/// A typed index into an [`IdVec`]: small, `Copy`, without arithmetic.
pub trait Id: Copy + Eq + Ord + fmt::Debug {
    /// The id of the element at `index`. Panics above 2^32 - 1 elements.
    fn from_index(index: usize) -> Self;
    /// The position in the vector.
    fn index(self) -> usize;
}

macro_rules! number {
    ($(#[$doc:meta])* $name:ident($repr:ty)) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
        pub struct $name($repr);

        impl $name {
            /// The one numbered `number`.
            pub const fn new(number: $repr) -> Self {
                Self(number)
            }

            /// Its number.
            pub const fn get(self) -> $repr {
                self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}({})", stringify!($name), self.0)
            }
        }
    };
}

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        number!($(#[$doc])* $name(u32));

        impl Id for $name {
            fn from_index(index: usize) -> Self {
                Self(u32::try_from(index).expect("fewer than 2^32 elements"))
            }
            fn index(self) -> usize {
                self.0 as usize
            }
        }
    };
}

id!(
    /// A host, counted from 0 in the order that the topology states.
    HostId
);
id!(
    /// A node of a topology: a host or a switch.
    NodeId
);
id!(
    /// The egress port of a switch: one direction of a link.
    PortId
);

id!(
    /// A flow of a run, counted from 0 in the order in which the workload gives flows out: a row of the table `flows`.
    FlowId
);

impl FlowId {
    /// The flow `by` numbers later, such as another part of its session.
    #[must_use]
    pub const fn plus(self, by: u32) -> Self {
        Self(self.0 + by)
    }

    /// The difference between the numbers of this flow and of `first`, an earlier one or the same.
    pub const fn behind(self, first: Self) -> u32 {
        self.0 - first.0
    }
}

number!(
    /// A data packet of a flow, as the header that carries it numbers it.
    PacketSeq(u32)
);

number!(
    /// The label by which switches choose among equal ports: what packets carry for a path. A topology tells the label of a
    /// path between two hosts, whose paths are counted from 0.
    PathLabel(u16)
);
number!(
    /// Bytes of a packet on the wire, header included.
    WireLen(u16)
);

impl WireLen {
    /// A packet of `bytes` on the wire, fewer than 65,536.
    pub const fn of(bytes: u32) -> Self {
        debug_assert!(bytes <= u16::MAX as u32, "a packet longer than 65,535 bytes");
        Self(bytes as u16)
    }

    /// The same as a size.
    pub const fn bytes(self) -> Bytes {
        Bytes(self.0 as u64)
    }
}

macro_rules! widens {
    ($($wide:ty),+) => {$(
        impl From<WireLen> for $wide {
            fn from(wire: WireLen) -> Self {
                wire.0.into()
            }
        }
    )+};
}

widens!(u32, u64, usize);

/// A vector that only its own kind of id can index.
#[derive(Clone, PartialEq, Eq)]
pub struct IdVec<I, T> {
    items: Vec<T>,
    id: PhantomData<fn(I)>,
}

impl<I: Id, T> IdVec<I, T> {
    /// An empty vector.
    pub const fn new() -> Self {
        Self { items: Vec::new(), id: PhantomData }
    }

    /// Appends `item` and returns its id.
    pub fn push(&mut self, item: T) -> I {
        self.items.push(item);
        I::from_index(self.items.len() - 1)
    }

    /// Number of elements.
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Whether there is no element.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// The element of `id`, or `None` beyond the end.
    pub fn get(&self, id: I) -> Option<&T> {
        self.items.get(id.index())
    }

    /// All ids, ascending.
    pub fn ids(&self) -> impl DoubleEndedIterator<Item = I> + ExactSizeIterator + use<I, T> {
        (0..self.items.len()).map(I::from_index)
    }

    /// Elements in order of their ids.
    pub fn iter(&self) -> core::slice::Iter<'_, T> {
        self.items.iter()
    }

    /// Elements in order of their ids, mutable.
    pub fn iter_mut(&mut self) -> core::slice::IterMut<'_, T> {
        self.items.iter_mut()
    }

    /// Ids with their elements, ascending.
    pub fn enumerate(&self) -> impl DoubleEndedIterator<Item = (I, &T)> {
        self.items.iter().enumerate().map(|(index, item)| (I::from_index(index), item))
    }

    /// The elements as a slice.
    pub fn as_slice(&self) -> &[T] {
        &self.items
    }
}

impl<I: Id, T> Default for IdVec<I, T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<I: Id, T: fmt::Debug> fmt::Debug for IdVec<I, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.items.fmt(f)
    }
}

impl<I: Id, T> FromIterator<T> for IdVec<I, T> {
    fn from_iter<S: IntoIterator<Item = T>>(iter: S) -> Self {
        Self { items: iter.into_iter().collect(), id: PhantomData }
    }
}

impl<I: Id, T> Index<I> for IdVec<I, T> {
    type Output = T;
    fn index(&self, id: I) -> &T {
        &self.items[id.index()]
    }
}

impl<I: Id, T> IndexMut<I> for IdVec<I, T> {
    fn index_mut(&mut self, id: I) -> &mut T {
        &mut self.items[id.index()]
    }
}
