//! Tasks on tokio over UDP sockets on the loopback interface.

use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use pullnet_host::tokio::{NdpListener, NdpStream, call};
use pullnet_host::{EngineOptions, Host, HostOptions, StreamError};
use pullnet_netio::{UdpOptions, UdpSockets};
use pullnet_units::{Packets, Picos};
use pullnet_wire::Reason;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

const SERVICE: u16 = 7;
const ADDRESS: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
/// Nothing here takes this long: a longer wait would never end.
const WATCHDOG: Duration = Duration::from_secs(300);

fn host() -> Host {
    let sockets = UdpSockets::open(&UdpOptions { port: 0, ..UdpOptions::new(ADDRESS) }).unwrap();
    let mut engine = EngineOptions { port: sockets.local().port(), ..EngineOptions::new(ADDRESS) };
    engine.limits.send_buffer = 20_000;
    // The first windows of all streams fit into the least receive buffer that a kernel gives: in its first seconds a host
    // does not take packets that were sent again for the beginning of a stream.
    engine.transport.initial_window = Packets(4);
    // A host that the machine has no time for is not given up.
    engine.transport.give_up = Picos::from_secs(120);
    Host::start(sockets, HostOptions::new(engine)).unwrap()
}

async fn echo(mut stream: NdpStream) {
    let mut piece = [0; 5000];
    loop {
        match stream.read(&mut piece).await.unwrap() {
            0 => break,
            long => stream.write_all(&piece[..long]).await.unwrap(),
        }
    }
    stream.shutdown().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_tasks_echo() {
    let (here, there) = (host(), host());
    let listener = NdpListener::bind(&there, SERVICE).unwrap();
    let server = tokio::spawn(async move {
        for _ in 0..20 {
            tokio::spawn(echo(listener.accept().await.unwrap().0));
        }
    });
    let mut clients = Vec::new();
    for at in 0..20u32 {
        let stream = NdpStream::connect(&here, there.local(), SERVICE).unwrap();
        let (mut reader, mut writer) = tokio::io::split(stream);
        let bytes: Vec<u8> = (0..100_000 + at).map(|byte| (byte * 7 + byte / 251) as u8).collect();
        clients.push(tokio::spawn(async move {
            let mut back = Vec::new();
            let writes = async {
                writer.write_all(&bytes).await.unwrap();
                writer.shutdown().await.unwrap();
            };
            let (_, read) = tokio::join!(writes, reader.read_to_end(&mut back));
            read.unwrap();
            assert!(back == bytes, "{} of {} bytes", back.len(), bytes.len());
        }));
    }
    for client in clients {
        tokio::time::timeout(WATCHDOG, client).await.unwrap().unwrap();
    }
    server.await.unwrap();
}

#[tokio::test]
async fn errors_reach_tasks_and_waiting_can_be_given_up() {
    let (here, there) = (host(), host());
    let refused = tokio::time::timeout(WATCHDOG, call(&here, there.local(), SERVICE, b"?")).await.unwrap();
    assert_eq!(refused, Err(StreamError::Refused(Reason::NO_LISTENER)));
    let listener = NdpListener::bind(&there, SERVICE).unwrap();
    assert!(tokio::time::timeout(Duration::from_millis(10), listener.accept()).await.is_err());
    let answer = async { echo(listener.accept().await.unwrap().0).await };
    let (response, ()) = tokio::join!(call(&here, there.local(), SERVICE, b"hello"), answer);
    assert_eq!(response.unwrap(), b"hello");
    here.shutdown(WATCHDOG);
    let stopped = call(&here, there.local(), SERVICE, b"?").await.unwrap_err();
    assert!(matches!(stopped, StreamError::Stopped(_)), "{stopped}");
}
