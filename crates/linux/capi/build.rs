//! Names the interface of the library: programs that are linked with it load `libpullnet.so.0`, so that another release with
//! another interface can be installed beside it.

fn main() {
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libpullnet.so.0");
    println!("cargo:rerun-if-changed=build.rs");
}
