/// A connection as its opener numbers it; unique together with the opener's address while it is remembered.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct ConnId(u32);

impl ConnId {
    /// The connection that its opener numbers `number`.
    pub const fn new(number: u32) -> Self {
        Self(number)
    }

    /// Its number.
    pub const fn get(self) -> u32 {
        self.0
    }
}
