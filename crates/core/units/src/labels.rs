use crate::quantity::Instant;

/// What a scenario says of a flow beside its ends and its size. Names are indexes into the lists of the workload and of the
/// record.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Labels {
    /// 0 is ordinary; a flow with a higher number is served first.
    pub priority: u8,
    /// Index of its tag.
    pub tag: u16,
    /// Index of the transport that carries it.
    pub transport: u8,
    /// Time by which all of its data should have arrived.
    pub deadline: Option<Instant>,
    /// Index of its tenant; 0: the flow belongs to no tenant.
    pub tenant: u16,
    /// Number of the coflow that it is part of, from 0 in order of their first flows.
    pub coflow: Option<u32>,
}
