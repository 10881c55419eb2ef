//! Daemons that share keys: what others see and can do, and how keys change while streams run.

use std::fmt::Write;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use pullnet_daemon::DaemonStack;
use pullnet_wire::{Marks, PORT, SEALED_HEADER, is_sealed, switch};
use serde_json::Value;

use super::attacker::Attacker;
use super::common::{Daemon, Installation, WATCHDOG};
use super::site::{Site, address, mac, seen};
use super::{SERVICE, call, daemon, pour, serve, wait_for};

const SERVER: usize = 0;
const CLIENT: usize = 1;
const STRANGER: usize = 2;
/// Bytes in front of the header.
const FRONT: usize = 14 + 20 + 8;

/// The keys of one host, in a file that root alone may read.
struct KeyFile(PathBuf);

impl KeyFile {
    fn new(host: usize, numbers: &[u32]) -> Self {
        static MADE: AtomicU64 = AtomicU64::new(0);
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("pn-keys-{}-{number}.toml", std::process::id()));
        std::fs::write(&path, "").unwrap();
        std::fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
        let file = Self(path);
        file.write(host, numbers);
        file
    }

    /// Server and client share a key under each number.
    fn write(&self, host: usize, numbers: &[u32]) {
        let [a, b, c, d] = address(if host == SERVER { CLIENT } else { SERVER });
        let mut text = String::new();
        for number in numbers {
            let secret = format!("{number:02x}").repeat(31) + "aa";
            write!(text, "[[key]]\npeer = \"{a}.{b}.{c}.{d}\"\nnumber = {number}\nsecret = \"{secret}\"\n")
                .unwrap();
        }
        std::fs::write(&self.0, text).unwrap();
    }

    fn setting(&self) -> String {
        format!("[keys]\nfile = \"{}\"\nplain = \"80\"\n", self.0.display())
    }
}

impl Drop for KeyFile {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

fn status(daemon: &Daemon) -> Value {
    let status = DaemonStack::connect(&daemon.socket()).unwrap().status().unwrap();
    serde_json::from_str::<Value>(&status).unwrap()["host"].clone()
}

fn refused(daemon: &Daemon, why: &str) -> u64 {
    status(daemon)["totals"]["refused"][why].as_u64().unwrap()
}

fn hang_up(daemon: &Daemon) {
    let told = Command::new("kill").args(["-HUP", &daemon.child.id().to_string()]).status().unwrap();
    assert!(told.success());
}

/// Whether a frame is UDP to or from a daemon.
fn is_ours(frame: &[u8]) -> bool {
    frame.len() > FRONT && frame[23] == 17 && frame[36..38] == PORT.to_be_bytes()
}

// Long: one story; each step needs the state that the step before leaves.
#[test]
fn keys_change_between_live_daemons_without_a_call_lost() {
    let Some(site) = Site::make(2) else { return };
    let files = [KeyFile::new(SERVER, &[1]), KeyFile::new(CLIENT, &[1])];
    let daemons = [SERVER, CLIENT].map(|host| daemon(&site, host, &files[host].setting()));
    let [server, client] = &daemons;
    let served = serve(server, 100);
    let arrived = pour(client, server, 9);
    let (stop, called) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
    let calls = {
        let (stack, to, stop, called) =
            (client.stack(), server.address, Arc::clone(&stop), Arc::clone(&called));
        thread::spawn(move || {
            while !stop.load(Ordering::SeqCst) {
                let answer =
                    stack.call(to, SERVICE, b"nobody else reads this", Default::default(), Some(WATCHDOG));
                assert_eq!(answer.unwrap().len(), 100);
                called.fetch_add(1, Ordering::SeqCst);
            }
        })
    };
    let mut tap = site.tap(CLIENT);
    let go_on = |many| {
        let before = (called.load(Ordering::SeqCst), arrived.load(Ordering::SeqCst));
        wait_for("further calls", || called.load(Ordering::SeqCst) > before.0 + many);
        wait_for("further bytes", || arrived.load(Ordering::SeqCst) > before.1 + 100_000);
    };
    let standing = |daemon: &Daemon, what: &str| status(daemon)["keys"][0][what].as_u64();
    let steps = [(SERVER, &[1, 2][..]), (CLIENT, &[1, 2]), (SERVER, &[2]), (CLIENT, &[2]), (SERVER, &[2, 3])];
    let mut frames = Vec::new();
    for (host, numbers) in steps {
        go_on(50);
        if numbers == [2] {
            // An old key is removed once neither side sends under it.
            daemons.iter().for_each(|daemon| {
                wait_for("the new key in use", || standing(daemon, "sends") == Some(2));
            });
            go_on(50);
        }
        files[host].write(host, numbers);
        hang_up(&daemons[host]);
        let newest = numbers.iter().max().map(|number| u64::from(*number));
        wait_for("keys that were read", || standing(&daemons[host], "newest") == newest);
        frames.extend(seen(&mut tap));
    }
    go_on(50);
    stop.store(true, Ordering::SeqCst);
    calls.join().unwrap();
    assert_eq!(served.load(Ordering::SeqCst), called.load(Ordering::SeqCst), "a call was doubled or lost");
    for daemon in &daemons {
        let status = status(daemon);
        assert_eq!(status["totals"]["failed"], 0, "{status}");
        assert_eq!(status["totals"]["refused"]["unauthentic"], 0, "{status}");
        assert!(status["streams"].as_array().unwrap().iter().all(|stream| stream["encrypted"] == true));
    }
    let ours: Vec<_> = frames.iter().filter(|frame| is_ours(frame)).collect();
    assert!(ours.len() > 100 && ours.iter().all(|frame| is_sealed(frame)), "{} frames", ours.len());
    let said = b"nobody else reads this";
    assert!(!ours.iter().any(|frame| frame.windows(said.len()).any(|part| part == said)));
    // A file with an error changes nothing.
    std::fs::write(&files[SERVER].0, "[[key]]\n").unwrap();
    hang_up(server);
    thread::sleep(Duration::from_millis(200));
    assert_eq!(standing(server, "newest"), Some(3));
    call(&client.stack(), server, b"still there?");
}

// Long: one story; each step needs the state that the step before leaves.
#[test]
fn who_has_no_key_can_only_be_refused() {
    let Some(site) = Site::make(3) else { return };
    let files = [KeyFile::new(SERVER, &[1]), KeyFile::new(CLIENT, &[1])];
    let place = Installation::at(address(SERVER));
    let settings = format!("backend = \"packet\"\ninterface = \"eth\"\n{}", files[SERVER].setting());
    let mut server = place.start_in(&site.hosts[SERVER], &settings);
    let client = daemon(&site, CLIENT, &files[CLIENT].setting());
    let served = serve(&server, 100);
    let stack = client.stack();
    call(&stack, &server, b"the first");
    let mut tap = site.tap(CLIENT);
    call(&stack, &server, b"pay once");
    let to_server = |frame: &Vec<u8>| is_ours(frame) && frame[..6] == mac(SERVER).0;
    let mut recorded: Vec<_> = seen(&mut tap).into_iter().filter(to_server).collect();
    recorded.retain(|frame| frame.len() > FRONT + SEALED_HEADER);
    assert!(!recorded.is_empty(), "the request was not seen");
    let mut attacker = Attacker::new(&site, STRANGER);
    let mut send = |change: &dyn Fn(&mut Vec<u8>)| {
        for mut frame in recorded.clone() {
            change(&mut frame);
            switch::set_mark(&mut frame, pullnet_wire::Mark::Data, &Marks::default());
            attacker.send(&frame);
        }
        attacker.flush();
    };
    let counted = |why: &str| wait_for(why, || refused(&server, why) >= recorded.len() as u64);
    // Copies; such with another counter, sender, or key; and the rest of a header.
    send(&|_| {});
    counted("replayed");
    send(&|frame| frame[FRONT + 33] ^= 1);
    counted("unauthentic");
    send(&|frame| frame[FRONT + 28] ^= 1);
    send(&|frame| frame[29] = 99);
    counted("no_key");
    send(&|frame| {
        // With the lengths that belong to it: bridges drop what is shorter than its IP header says.
        let long = SEALED_HEADER - 1;
        frame.truncate(FRONT + long);
        frame[16..18].copy_from_slice(&(20 + 8 + long as u16).to_be_bytes());
        frame[38..40].copy_from_slice(&(8 + long as u16).to_be_bytes());
    });
    counted("malformed");
    assert_eq!(served.load(Ordering::SeqCst), 2, "something was carried out");
    // A host without keys is told why it is not served, and may use what is excepted.
    let stranger = daemon(&site, STRANGER, "");
    let plain = pullnet_host::NdpListener::bind(&server.stack(), 80).unwrap();
    let answer = thread::spawn(move || plain.accept().unwrap().0.write_last(b"for everybody").unwrap());
    let ask = |service| {
        stranger.stack().call(server.address, service, b"let me in", Default::default(), Some(WATCHDOG))
    };
    let error = ask(SERVICE).unwrap_err().to_string();
    assert!(error.contains("the service accepts encrypted streams only"), "{error}");
    assert_eq!((refused(&server, "plain"), ask(80).unwrap()), (1, b"for everybody".to_vec()));
    answer.join().unwrap();
    let error = client.stack().call(stranger.address, SERVICE, b"?", Default::default(), Some(WATCHDOG));
    assert!(error.unwrap_err().to_string().contains("there is no key for 10.78.0.3:61199"));
    // A restarted daemon has no counters, but other tokens.
    server.kill();
    let server = place.start_in(&site.hosts[SERVER], &settings);
    let served = serve(&server, 100);
    send(&|_| {});
    wait_for("copies", || refused(&server, "unproven") > 0);
    assert_eq!(served.load(Ordering::SeqCst), 0, "a copy was carried out after a restart");
    // A call that had to be repeated meanwhile may have been carried out before the restart, and is refused; the next one is not.
    if let Err(error) = stack.call(server.address, SERVICE, b"go on", Default::default(), Some(WATCHDOG)) {
        assert!(error.to_string().contains("was restarted"), "{error}");
        call(&stack, &server, b"go on");
    }
}
