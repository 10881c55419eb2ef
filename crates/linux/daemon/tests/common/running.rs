//! Daemons in threads of the test's process, over the kernel's UDP on loopback addresses: for tests of other crates.

use std::io::Write;
use std::net::IpAddr;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::thread::{self, JoinHandle};

use pullnet_daemon::Daemon;
use pullnet_daemon::config::HostFile;

/// A daemon in a thread of this process. It ends with this value.
pub struct Running {
    thread: Option<JoinHandle<()>>,
    stop: UnixStream,
    pub folder: PathBuf,
    pub address: String,
}

impl Running {
    /// `number` tells the daemons of a test program apart.
    pub fn start(number: u8) -> Self {
        let pid = std::process::id();
        let folder = std::env::temp_dir().join(format!("pullnet-running-{pid}-{number}"));
        let ip = IpAddr::from([127, 1 + (pid >> 8) as u8 % 250, pid as u8, 180 + number]);
        let text = format!(
            "backend = \"udp\"\naddress = \"{ip}\"\nrate = \"1 Gbps\"\nfarewell = \"0 s\"\n[socket]\npath = \"{}\"\n\
             [ndp]\ngive_up = \"120 s\"\n",
            folder.join("host.sock").display()
        );
        let file = HostFile::read("test", &text).unwrap_or_else(|errors| panic!("{errors:#?}"));
        let daemon = Daemon::open(&file).unwrap();
        let (stop, stopped) = UnixStream::pair().unwrap();
        let thread = Some(thread::spawn(move || daemon.run(stopped.as_fd()).unwrap()));
        Self { thread, stop, folder, address: format!("{ip}:{}", file.port) }
    }

    pub fn socket(&self) -> PathBuf {
        self.folder.join("host.sock")
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It fails if the daemon has ended by itself.
        let _ = self.stop.write_all(&[1]);
        drop(self.thread.take().map(JoinHandle::join));
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}
