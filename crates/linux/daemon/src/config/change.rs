//! Differences between two host files that a daemon cannot carry out while it runs.

use super::HostFile;

/// The settings that differ between `old` and `new` and that only a new daemon can take over, by name.
pub(crate) fn fixed(old: &HostFile, new: &HostFile) -> Vec<&'static str> {
    let differ = [
        ("backend, interface, device or dpdk", old.link != new.link),
        ("address", old.address != new.address),
        ("port", old.port != new.port),
        ("rate", old.rate != new.rate),
        ("mtu", old.mtu != new.mtu),
        ("paths", old.paths != new.paths),
        ("bursts", old.bursts != new.bursts),
        ("core", old.core != new.core),
        ("log_form", old.log_form != new.log_form),
        ("metrics", old.metrics != new.metrics),
        ("user", old.user != new.user),
        ("socket.path", old.access.path != new.access.path),
        ("socket.group", old.access.group != new.access.group),
        ("limits.ring", old.access.limits.ring != new.access.limits.ring),
        ("ndp", old.ndp != new.ndp || old.usual != new.usual),
        ("marks", old.marks != new.marks),
        ("capture", old.capture != new.capture),
        ("keys", old.keys.is_some() != new.keys.is_some()),
        ("neighbour", old.neighbours != new.neighbours),
    ];
    differ.into_iter().filter_map(|(name, differs)| differs.then_some(name)).collect()
}

impl HostFile {
    /// This file with the settings of `new` that can change while a daemon runs.
    pub(crate) fn with_changes_of(&self, new: &Self) -> Self {
        let Self { wait, idle, farewell, log, limits, .. } = *new;
        let mut access = new.access.clone();
        (access.path, access.group, access.limits.ring) =
            (self.access.path.clone(), self.access.group.clone(), self.access.limits.ring);
        let keys =
            if self.keys.is_some() && new.keys.is_some() { new.keys.clone() } else { self.keys.clone() };
        Self { wait, idle, farewell, log, limits, access, keys, ..self.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(further: &str) -> HostFile {
        let (top, tables) = further.split_at(further.find('[').unwrap_or(further.len()));
        let text = format!("backend = \"udp\"\naddress = \"127.0.0.1\"\n{top}\n{tables}");
        HostFile::read("host.toml", &text).unwrap_or_else(|errors| panic!("{errors:#?}"))
    }

    #[test]
    fn what_cannot_change_is_named_and_stays() {
        let old = file("rate = \"1 Gbps\"\n");
        let new = file(
            "rate = \"2 Gbps\"\nport = 7\nfarewell = \"9 s\"\nlog = \"debug\"\n[limits]\nstreams = 5\nring = \"4096 B\"\n\
             backlog = 4\n[socket]\nusers = \"games\"\n[ndp]\ngive_up = \"7 s\"\n",
        );
        assert_eq!(fixed(&old, &new), ["port", "rate", "limits.ring", "ndp"]);
        let now = old.with_changes_of(&new);
        assert_eq!(
            (now.port, now.rate, now.access.limits.ring),
            (old.port, old.rate, old.access.limits.ring)
        );
        assert_eq!((now.farewell, now.log, now.limits.connections), (new.farewell, new.log, 5));
        assert_eq!((now.access.limits.backlog, now.access.users.len()), (4, 1));
        assert_eq!(fixed(&old, &now), [""; 0]);
    }
}
