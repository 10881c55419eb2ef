//! The keys that the hosts of an encrypted soak share. Their contents follow from the addresses: no secret has to be kept.

use std::net::{IpAddr, SocketAddr};

use pullnet_host::seal::{Key, Keys};

/// Number of the only key of each pair.
pub(crate) const NUMBER: u16 = 1;

/// The key of the hosts at `a` and `b`, the same for both.
pub(crate) fn secret(a: IpAddr, b: IpAddr) -> [u8; 32] {
    *blake3::hash(format!("a soak between {} and {}", a.min(b), a.max(b)).as_bytes()).as_bytes()
}

/// The keys of the host at `own` towards `peers`.
pub(crate) fn towards(own: IpAddr, peers: impl IntoIterator<Item = SocketAddr>) -> Keys {
    let mut keys = Keys::default();
    for peer in peers.into_iter().filter(|peer| peer.ip() != own) {
        keys.add(peer, NUMBER, Key::new(secret(own, peer.ip())));
    }
    keys
}
