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

/// The latest answer of the receiver of a subflow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LastAnswer {
    /// The packet that it answers: of the packets that it acknowledges, the first.
    pub seq: u32,
    /// Whether it still waits for its timer or for another packet.
    pub delayed: bool,
}
