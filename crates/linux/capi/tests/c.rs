//! The header matches the code, and a C program communicates through two daemons.

#[path = "../../daemon/tests/common/running.rs"]
mod running;

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use running::Running;

fn crate_folder() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn the_header_is_that_of_the_code() {
    let sources = "cat cbindgen.toml src/abi.rs src/failure.rs | sha256sum | cut -c 1-64";
    let hash = Command::new("sh").args(["-c", sources]).current_dir(crate_folder()).output().unwrap();
    let line = format!("/* made from {} */\n", String::from_utf8(hash.stdout).unwrap().trim());
    let header = std::fs::read_to_string(crate_folder().join("include/pullnet.h")).unwrap();
    assert!(header.ends_with(&line), "tools/header.sh writes the header anew");
}

/// The folder with `libpullnet.so`.
fn library() -> PathBuf {
    let program = std::env::current_exe().unwrap();
    let found = program.ancestors().skip(1).take(2).find(|folder| folder.join("libpullnet.so").exists());
    found.expect("cargo has made the library").to_path_buf()
}

/// Compiles the example with strict warnings.
fn compile(into: &Path) -> PathBuf {
    let (program, library) = (into.join("talk"), library());
    // The name of the interface, as a package installs it.
    let named = into.join("libpullnet.so.0");
    if !named.exists() {
        std::os::unix::fs::symlink(library.join("libpullnet.so"), named).unwrap();
    }
    let status = Command::new("cc")
        .args(["-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-o"])
        .arg(&program)
        .arg(crate_folder().join("examples/talk.c"))
        .arg("-I")
        .arg(crate_folder().join("include"))
        .arg("-L")
        .arg(&library)
        .arg("-lpullnet")
        .arg(format!("-Wl,-rpath,{}", into.display()))
        .status()
        .unwrap();
    assert!(status.success());
    program
}

#[test]
fn a_program_in_c_asks_and_answers() {
    let (here, there) = (Running::start(0), Running::start(1));
    let program = compile(&here.folder);
    let mut server = Command::new(&program)
        .arg(there.socket())
        .args(["serve", "7", "2"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = BufReader::new(server.stdout.take().unwrap()).lines();
    assert_eq!(said.next().unwrap().unwrap(), "serves");
    let ask = |service: &str, text: &str| {
        let mut command = Command::new(&program);
        command.arg(here.socket()).args(["ask", &there.address, service, text]).output().unwrap()
    };
    let long = "every byte of it ".repeat(5000);
    for text in ["hello", long.as_str()] {
        let answer = ask("7", text);
        assert!(answer.status.success(), "{}", String::from_utf8_lossy(&answer.stderr));
        assert_eq!(String::from_utf8(answer.stdout).unwrap().trim_end_matches('\n'), text.to_uppercase());
    }
    assert!(server.wait().unwrap().success());
    let refused = ask("8", "anybody?");
    assert_eq!(refused.status.code(), Some(1));
    assert_eq!(
        String::from_utf8(refused.stderr).unwrap(),
        "call: refused: no application listens at the service\n"
    );
}

#[test]
fn wrong_arguments_are_told() {
    let daemon = Running::start(2);
    let nowhere = Command::new(compile(&daemon.folder)).args(["/nowhere", "ask", "x", "7", "y"]).output();
    let nowhere = nowhere.unwrap();
    let told = String::from_utf8(nowhere.stderr).unwrap();
    assert!(told.starts_with("open: the host is not running: /nowhere: "), "{told}");
}
