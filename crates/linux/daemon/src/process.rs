//! System calls about this process: its user, its rights, its core.

use std::ffi::CString;
use std::mem::{size_of, zeroed};

use crate::error::Error;
use crate::sys::checked;

/// A user of this machine.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Account {
    pub uid: u32,
    pub gid: u32,
}

/// Buffer for an entry of the user or the group database. Bytes; a group with many members is long.
const ENTRY: usize = 1 << 20;

fn no_account(kind: &'static str, name: &str) -> Error {
    Error::NoAccount { kind, name: name.to_owned() }
}

/// The user `name`.
pub(crate) fn user(name: &str) -> Result<Account, Error> {
    let text = CString::new(name).map_err(|_| no_account("user", name))?;
    // SAFETY: `passwd` is integers and pointers that may be null.
    let mut entry: libc::passwd = unsafe { zeroed() };
    let (mut buffer, mut found) = (vec![0; ENTRY], std::ptr::null_mut());
    // SAFETY: the name ends with 0; the call writes to `entry`, to at most `ENTRY` bytes of `buffer`, and to `found`.
    unsafe { libc::getpwnam_r(text.as_ptr(), &mut entry, buffer.as_mut_ptr(), ENTRY, &mut found) };
    let known = !found.is_null();
    known.then_some(Account { uid: entry.pw_uid, gid: entry.pw_gid }).ok_or_else(|| no_account("user", name))
}

/// The number of the group `name`.
pub(crate) fn group(name: &str) -> Result<u32, Error> {
    let text = CString::new(name).map_err(|_| no_account("group", name))?;
    // SAFETY: `group` is integers and pointers that may be null.
    let mut entry: libc::group = unsafe { zeroed() };
    let (mut buffer, mut found) = (vec![0; ENTRY], std::ptr::null_mut());
    // SAFETY: as above.
    unsafe { libc::getgrnam_r(text.as_ptr(), &mut entry, buffer.as_mut_ptr(), ENTRY, &mut found) };
    (!found.is_null()).then_some(entry.gr_gid).ok_or_else(|| no_account("group", name))
}

/// The user that this process acts as, and its group.
pub(crate) fn own() -> Account {
    // SAFETY: takes no memory, and cannot fail.
    unsafe { Account { uid: libc::geteuid(), gid: libc::getegid() } }
}

/// Switches to `account` for good, without supplementary groups.
pub(crate) fn become_user(account: &Account) -> Result<(), Error> {
    let Account { uid, gid } = *account;
    let what = "cannot become another user";
    // SAFETY: no group is passed.
    checked(unsafe { libc::setgroups(0, std::ptr::null()) }, what)?;
    // SAFETY: takes no memory.
    checked(unsafe { libc::setresgid(gid, gid, gid) }, what)?;
    // SAFETY: takes no memory.
    checked(unsafe { libc::setresuid(uid, uid, uid) }, what)?;
    Ok(())
}

fn control(option: libc::c_int, argument: libc::c_ulong, what: &'static str) -> Result<i32, Error> {
    // SAFETY: the options that are used here take numbers.
    checked(unsafe { libc::prctl(option, argument, 0, 0, 0) }, what)
}

/// Sets `no_new_privs`: programs that this process starts gain no rights, even through setuid bits or file capabilities.
pub(crate) fn no_new_privileges() -> Result<(), Error> {
    control(libc::PR_SET_NO_NEW_PRIVS, 1, "cannot give up new privileges").map(|_| ())
}

/// Empties the bounding set: no program that this process starts can be given a capability. Needs CAP_SETPCAP; a process
/// without it can gain nothing anyway.
pub(crate) fn empty_bounding_set() {
    // An error of the kernel marks the end of its list.
    let _ = (0..64).try_for_each(|capability| control(libc::PR_CAPBSET_DROP, capability, "").map(|_| ()));
}

/// Gives up every capability.
pub(crate) fn drop_capabilities() -> Result<(), Error> {
    #[repr(C)]
    struct Header {
        version: u32,
        pid: i32,
    }
    #[repr(C)]
    #[derive(Clone, Copy)]
    struct Data {
        effective: u32,
        permitted: u32,
        inheritable: u32,
    }
    const VERSION_3: u32 = 0x2008_0522;
    let mut header = Header { version: VERSION_3, pid: 0 };
    let none = [Data { effective: 0, permitted: 0, inheritable: 0 }; 2];
    // SAFETY: version 3 reads a header and two elements of data, and writes the version into the header.
    let result = unsafe { libc::syscall(libc::SYS_capset, &raw mut header, none.as_ptr()) };
    checked(result as libc::c_int, "cannot give up capabilities").map(|_| ())
}

/// Whether this machine has the core.
pub(crate) fn check_core(core: u16) -> Result<(), Error> {
    let known = std::path::Path::new("/sys/devices/system/cpu").join(format!("cpu{core}")).exists();
    known.then_some(()).ok_or(Error::NoCore(core))
}

/// Lets the calling thread run on one core only.
pub(crate) fn run_on(core: u16) -> Result<(), Error> {
    // SAFETY: a set of cores is integers.
    let mut set: libc::cpu_set_t = unsafe { zeroed() };
    if usize::from(core) < 8 * size_of::<libc::cpu_set_t>() {
        // SAFETY: the core is within the set.
        unsafe { libc::CPU_SET(core.into(), &mut set) };
    }
    // SAFETY: the kernel reads the size of the set.
    let result = unsafe { libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &set) };
    checked(result, "cannot run on the core that \"core\" names").map(|_| ())
}

/// Raises the limit of file descriptors to the maximum that the process may have.
pub fn raise_descriptors() {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the kernel writes, and then reads, one `rlimit`. Where that fails the limit stays as it is.
    unsafe {
        if libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) == 0 {
            limit.rlim_cur = limit.rlim_max;
            libc::setrlimit(libc::RLIMIT_NOFILE, &limit);
        }
    }
}
