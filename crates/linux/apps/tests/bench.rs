//! The benchmark between two live daemons, over the kernel's UDP on loopback addresses, and over TCP beside it.

#[path = "../../daemon/tests/common/running.rs"]
mod running;

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use pullnet_apps::bench::{Amount, Bench, Calls, Direction, Failed, Part, Plan, Server, Streams, Transport};
use pullnet_daemon::DaemonStack;
use running::Running;

const SERVICE: u16 = 5201;

fn stack(daemon: &Running) -> Arc<DaemonStack> {
    Arc::new(DaemonStack::connect(&daemon.socket()).unwrap())
}

fn plan(to: &Running) -> Plan {
    Plan {
        to: to.address.parse().unwrap(),
        service: SERVICE,
        streams: 2,
        direction: Direction::Out,
        amount: Amount::Bytes(1_000_000),
        callers: 2,
        calls: Some(50),
        time: Duration::from_millis(200),
        request: 1000,
        answer: 2000,
        kept: false,
        tcp: false,
        rounds: 1,
    }
}

fn measure(from: &Running, plan: Plan) -> Vec<Part> {
    Bench::new(&stack(from), plan)
        .unwrap()
        .map(|part| part.unwrap_or_else(|error| panic!("{error}")))
        .collect()
}

fn streams(part: &Part) -> &Streams {
    let Part::Streams(streams) = part else { panic!("{part:?}") };
    streams
}

fn calls(part: &Part) -> &Calls {
    let Part::Calls(calls) = part else { panic!("{part:?}") };
    calls
}

#[test]
fn streams_and_calls_are_measured_by_turns_over_both_transports() {
    let (here, there) = (Running::start(0), Running::start(1));
    let _server = Server::start(&stack(&there), SERVICE, true).unwrap();
    let parts = measure(&here, Plan { tcp: true, rounds: 2, ..plan(&there) });
    let order: Vec<_> = parts
        .iter()
        .map(|part| match part {
            Part::Streams(one) => (one.round, one.transport, one.out_bytes),
            Part::Calls(one) => (one.round, one.transport, one.calls),
        })
        .collect();
    let (ndp, tcp) = (Transport::Ndp, Transport::Tcp);
    let round =
        |round| [(round, ndp, 2_000_000), (round, tcp, 2_000_000), (round, ndp, 100), (round, tcp, 100)];
    assert_eq!(order, [round(1), round(2)].concat());
    for part in &parts {
        match part {
            Part::Streams(one) => {
                assert_eq!((one.in_bytes, one.each.len()), (0, 2));
                assert!((one.out_bits_per_second * one.seconds - 16e6).abs() < 1.0, "{one:?}");
                assert!(one.each.iter().all(|each| each.out_bytes == 1_000_000), "{one:?}");
            }
            Part::Calls(one) => {
                let latency = one.latency_us;
                let rising = [latency.min, latency.p50, latency.p90, latency.p99, latency.p99_9, latency.max];
                assert!(rising.is_sorted() && latency.min > 0.0, "{latency:?}");
                assert!((one.calls_per_second * one.seconds - 100.0).abs() < 1e-6, "{one:?}");
                assert!(one.cpu.there.daemon_s.is_some(), "{one:?}");
            }
        }
    }
}

#[test]
fn streams_go_back_and_both_ways_and_for_a_time() {
    let (here, there) = (Running::start(2), Running::start(3));
    let _server = Server::start(&stack(&there), SERVICE, true).unwrap();
    let only = Plan { callers: 0, tcp: true, ..plan(&there) };
    for (direction, bytes) in [(Direction::In, (0, 2_000_000)), (Direction::Both, (2_000_000, 2_000_000))] {
        for part in measure(&here, Plan { direction, ..only.clone() }) {
            assert_eq!((streams(&part).out_bytes, streams(&part).in_bytes), bytes, "{part:?}");
        }
    }
    let time = Duration::from_millis(300);
    let timed = Plan { direction: Direction::Both, amount: Amount::Time(time), time, ..only };
    for part in measure(&here, timed) {
        let one = streams(&part);
        assert!(one.seconds >= 0.3 && one.out_bytes > 0 && one.in_bytes > 0, "{one:?}");
    }
}

#[test]
fn calls_share_a_stream_if_asked_to_and_are_counted_by_time() {
    let (here, there) = (Running::start(4), Running::start(5));
    let _server = Server::start(&stack(&there), SERVICE, true).unwrap();
    let only = Plan { streams: 0, kept: true, request: 1, answer: 200_000, tcp: true, ..plan(&there) };
    let opened = || {
        let status: serde_json::Value = serde_json::from_str(&stack(&here).status().unwrap()).unwrap();
        status["host"]["totals"]["opened"].as_u64().unwrap()
    };
    let before = opened();
    for part in measure(&here, only.clone()) {
        assert_eq!(calls(&part).calls, 100);
    }
    // Two callers, and the two questions how much processor time was used.
    assert_eq!(opened() - before, 4);
    for part in measure(&here, Plan { calls: None, ..only }) {
        let one = calls(&part);
        assert!(one.seconds >= 0.2 && one.calls > 0, "{one:?}");
    }
}

/// The error of the first part.
fn error(from: &Running, plan: Plan) -> String {
    Bench::new(&stack(from), plan).unwrap().next().unwrap().unwrap_err().to_string()
}

#[test]
fn errors_name_the_place_and_a_remedy() {
    let (here, there) = (Running::start(6), Running::start(7));
    let to = &there.address;
    assert_eq!(
        error(&here, plan(&there)),
        format!(
            "service 5201 of {to} over NDP: refused: no application listens at the service; start the other side, or name its \
             service"
        )
    );
    let server = Server::start(&stack(&there), SERVICE, false).unwrap();
    let mut bench = Bench::new(&stack(&here), Plan { tcp: true, callers: 0, ..plan(&there) }).unwrap();
    bench.next().unwrap().unwrap();
    let refused = bench.next().unwrap().unwrap_err().to_string();
    assert!(refused.contains("5201 over TCP: Connection refused"), "{refused}");
    assert!(refused.ends_with("; start the other side for TCP too, or name its port"), "{refused}");
    let taken = Server::start(&stack(&there), SERVICE, false).unwrap_err().to_string();
    assert!(
        taken.starts_with("cannot listen at service 5201: service 5201 has a listener already"),
        "{taken}"
    );
    assert_eq!(server.problem(), None);
    drop(there);
    let problem = (0..).find_map(|_| server.problem()).unwrap();
    assert!(problem.contains("the daemon"), "{problem}");
    let wrong = Plan { streams: 0, request: 8, answer: 0, rounds: 0, ..plan(&here) };
    let Err(Failed::Plan(wrong)) = Bench::new(&stack(&here), wrong) else { panic!("an impossible plan") };
    assert_eq!(wrong.len(), 3, "{wrong:?}");
}

#[test]
fn what_is_no_server_is_noticed_and_what_is_no_client_is_reset() {
    let (here, there) = (Running::start(8), Running::start(9));
    let _server = Server::start(&stack(&there), SERVICE, true).unwrap();
    let to: SocketAddr = there.address.parse().unwrap();
    use pullnet_host::Stack;
    let strange =
        stack(&here).call(to, SERVICE, &[7; 100], Default::default(), Some(Duration::from_secs(60)));
    assert_eq!(strange.unwrap_err().to_string(), "reset: the other application dropped the connection");
    let listener = std::net::TcpListener::bind((to.ip(), SERVICE + 1)).unwrap();
    std::thread::spawn(move || {
        use std::io::{Read, Write};
        while let Ok((mut stream, _)) = listener.accept() {
            let _ = stream.read(&mut [0; 64]);
            let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n");
        }
    });
    let second = Server::start(&stack(&there), SERVICE + 1, false).unwrap();
    let plan = Plan { service: SERVICE + 1, tcp: true, callers: 0, ..plan(&there) };
    let mut bench = Bench::new(&stack(&here), plan).unwrap();
    bench.next().unwrap().unwrap();
    let error = bench.next().unwrap().unwrap_err().to_string();
    assert!(error.contains("who answers is no server of this benchmark"), "{error}");
    drop(second);
}

#[test]
fn a_benchmark_that_is_told_to_stop_ends() {
    let (here, there) = (Running::start(10), Running::start(11));
    let _server = Server::start(&stack(&there), SERVICE, false).unwrap();
    let hour = Duration::from_secs(3600);
    let plan = Plan { amount: Amount::Time(hour), time: hour, calls: None, ..plan(&there) };
    let mut bench = Bench::new(&stack(&here), plan).unwrap();
    let stop = bench.stop();
    let stopping = std::thread::spawn(move || {
        // Bytes flow by the time that the daemon has seen them.
        let looker = stack(&here);
        while !looker.status().unwrap().contains("\"acknowledged_bytes\":1") {}
        stop.store(true, Ordering::Relaxed);
        here
    });
    assert!(streams(&bench.next().unwrap().unwrap()).out_bytes > 0);
    assert!(bench.next().is_none());
    drop(stopping.join().unwrap());
}
