use pullnet_units::Picos;

/// State of the sender of a subflow.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Subflow {
    /// The oldest unacknowledged packet.
    pub first: u32,
    /// Number of the next new packet.
    pub next: u32,
    /// Congestion window, packets.
    pub window: f64,
    /// Smoothed round-trip time; `None` before the first sample.
    pub round_trip: Option<Picos>,
}
