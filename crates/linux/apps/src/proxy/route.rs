//! From where a proxy accepts, and to where it leads.

use std::net::{IpAddr, SocketAddr};

use pullnet_wire::PORT;

use super::Failed;

/// The way of connections through a proxy.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Route {
    /// From TCP to a service of another host.
    ToNdp {
        /// TCP address at which connections are accepted.
        listen: SocketAddr,
        /// The other host.
        to: SocketAddr,
        /// The service there.
        service: u16,
    },
    /// From a service of this host to TCP.
    ToTcp {
        /// The service.
        service: u16,
        /// TCP address to which connections are opened.
        to: SocketAddr,
    },
}

impl Route {
    /// The route of a command line: either `listen` at a TCP address, or `serve` a service, and lead `to` somewhere.
    ///
    /// # Errors
    /// If it is neither, or both, or an address cannot be read.
    pub fn read(listen: Option<&str>, serve: Option<u16>, to: &str) -> Result<Self, Failed> {
        match (listen, serve) {
            (Some(listen), None) => {
                let listen = tcp("--listen", listen)?;
                let (to, service) = host(to)?;
                Ok(Self::ToNdp { listen, to, service })
            }
            (None, Some(service)) => Ok(Self::ToTcp { service, to: tcp("--to", to)? }),
            _ => Err(Failed::Route(
                "use either --listen ADDRESS:PORT --to HOST:SERVICE, or --serve SERVICE --to ADDRESS:PORT"
                    .to_owned(),
            )),
        }
    }
}

impl std::fmt::Display for Route {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::ToNdp { listen, to, service } => write!(f, "TCP {listen} to service {service} of {to}"),
            Self::ToTcp { service, to } => write!(f, "service {service} to TCP {to}"),
        }
    }
}

fn tcp(option: &str, text: &str) -> Result<SocketAddr, Failed> {
    text.parse().map_err(|_| {
        let words =
            "is no TCP address; write an IP address and a port, for instance 127.0.0.1:8080 or [::1]:8080";
        Failed::Route(format!("{option} {text}: {words}"))
    })
}

/// A service of a host: `10.0.0.2:7`, or `10.0.0.2:61200/7` where its home port is not the usual one.
fn host(text: &str) -> Result<(SocketAddr, u16), Failed> {
    let read = || {
        if let Some((host, service)) = text.split_once('/') {
            return Some((host.parse::<SocketAddr>().ok()?, service.parse().ok()?));
        }
        let (host, service) = text.rsplit_once(':')?;
        let inner = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
        let ip: IpAddr = inner.unwrap_or(host).parse().ok()?;
        // Without brackets the end of an IPv6 address would be taken for the service.
        (ip.is_ipv6() == inner.is_some()).then_some(())?;
        Some((SocketAddr::new(ip, PORT), service.parse().ok()?))
    };
    read().ok_or_else(|| {
        let words = "is no service of a host; write for instance 10.0.0.2:7 or [fd00::2]:7, or with the home port of the \
                     host 10.0.0.2:61200/7";
        Failed::Route(format!("--to {text}: {words}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn routes_are_read() {
        let route = |listen, serve, to| Route::read(listen, serve, to).map(|route| route.to_string());
        let to_ndp = |to| route(Some("127.0.0.1:80"), None, to).unwrap();
        assert_eq!(to_ndp("10.0.0.2:7"), "TCP 127.0.0.1:80 to service 7 of 10.0.0.2:61199");
        assert_eq!(to_ndp("10.0.0.2:9/7"), "TCP 127.0.0.1:80 to service 7 of 10.0.0.2:9");
        assert_eq!(to_ndp("[fd00::2]:7"), "TCP 127.0.0.1:80 to service 7 of [fd00::2]:61199");
        assert_eq!(route(None, Some(7), "[::1]:80").unwrap(), "service 7 to TCP [::1]:80");
    }

    #[test]
    fn wrong_routes_are_refused_with_a_remedy() {
        let error = |listen, serve, to| Route::read(listen, serve, to).unwrap_err().to_string();
        for to in ["fd00::2:7", "10.0.0.2", "10.0.0.2:70000", "here:7", "10.0.0.2/7"] {
            let told = error(Some("127.0.0.1:80"), None, to);
            assert!(told.starts_with(&format!("--to {to}: is no service of a host; write")), "{told}");
        }
        assert!(error(Some("80"), None, "10.0.0.2:7").starts_with("--listen 80: is no TCP address; write"));
        assert!(
            error(None, Some(7), "localhost:80").starts_with("--to localhost:80: is no TCP address; write")
        );
        for (listen, serve) in [(None, None), (Some("127.0.0.1:80"), Some(7))] {
            assert!(error(listen, serve, "10.0.0.2:7").starts_with("use either --listen"));
        }
    }
}
