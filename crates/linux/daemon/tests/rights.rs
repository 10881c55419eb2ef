//! Users that may use a daemon, and rights of the daemon itself. Needs root, which can switch to other users.

mod common;

use std::os::unix::process::CommandExt;
use std::process::Command;

use common::{Daemon, is_root};
use pullnet_daemon::DaemonStack;

/// Users of every Debian: not the daemon's own.
const GAMES: (u32, u32) = (5, 60);

/// Runs in a process of its own: connects, and prints the answer.
#[test]
fn client() {
    let Ok(socket) = std::env::var("PULLNET_TEST_SOCKET") else { return };
    match DaemonStack::connect(socket.as_ref()) {
        Ok(stack) => println!("connected to {}", stack.address()),
        Err(error) => println!("{error}"),
    }
}

/// Runs `client` as a user and group, and returns its output.
fn visit(daemon: &Daemon, (uid, gid): (u32, u32)) -> String {
    // The test program itself may lie where only root can read. Another process copies it: a program that a thread of this
    // one still writes to could not be started.
    let program = std::env::temp_dir().join(format!("pullnet-client-{}-{gid}", daemon.child.id()));
    let copied = Command::new("cp").arg(std::env::current_exe().unwrap()).arg(&program).status().unwrap();
    assert!(copied.success());
    let mut command = Command::new(&program);
    command.args(["--exact", "client", "--nocapture"]).env("PULLNET_TEST_SOCKET", daemon.socket());
    let output = command.current_dir("/").uid(uid).gid(gid).output().unwrap();
    std::fs::remove_file(program).unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn a_daemon_keeps_no_privilege() {
    if !is_root() {
        return;
    }
    let daemon = Daemon::start("");
    for capabilities in ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"] {
        assert_eq!(daemon.kernel_says(capabilities), "0000000000000000", "{capabilities}");
    }
    assert_eq!((daemon.kernel_says("NoNewPrivs"), daemon.kernel_says("Groups")), ("1".into(), String::new()));
    let nobody = daemon.kernel_says("Uid");
    let ids: Vec<_> = nobody.split_whitespace().collect();
    assert!(ids.iter().all(|id| *id == ids[0] && *id != "0"), "{nobody}");
}

#[test]
fn strangers_are_not_let_in() {
    if !is_root() {
        return;
    }
    let daemon = Daemon::start("");
    let told = visit(&daemon, GAMES);
    assert!(told.contains("only members of the socket's group may use the daemon"), "{told}");
    DaemonStack::connect(&daemon.socket()).unwrap();
}

#[test]
fn members_of_the_group_are_let_in() {
    if !is_root() {
        return;
    }
    let daemon = Daemon::start("[socket]\ngroup = \"games\"\n");
    let told = visit(&daemon, (1, GAMES.1));
    assert!(told.contains("connected to 127."), "{told}");
    assert!(visit(&daemon, (1, 1)).contains("only members"));
}

#[test]
fn named_users_connect_and_others_are_refused() {
    if !is_root() {
        return;
    }
    let daemon = Daemon::start("[socket]\nusers = \"games\"\n");
    assert!(visit(&daemon, GAMES).contains("connected to 127."));
    let told = visit(&daemon, (1, 1));
    assert!(told.contains("lets nobody else in, or not you"), "{told}");
}
