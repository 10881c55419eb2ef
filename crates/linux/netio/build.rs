//! Compiles the C shim over DPDK if the feature `dpdk` is enabled.

fn main() {
    #[cfg(feature = "dpdk")]
    if let Err(why) = dpdk::build() {
        println!("cargo::error={why}");
    }
}

#[cfg(feature = "dpdk")]
mod dpdk {
    use std::process::Command;

    /// Compiles the shim with the flags from `pkg-config` and links DPDK. The error names the missing piece.
    pub fn build() -> Result<(), String> {
        println!("cargo::rerun-if-changed=src/dpdk/shim.c");
        println!("cargo::rerun-if-changed=src/dpdk/shim.h");
        let (compiling, linking) = (pkg_config("--cflags")?, pkg_config("--libs")?);
        let mut shim = cc::Build::new();
        shim.file("src/dpdk/shim.c").flags(&compiling);
        shim.try_compile("pullnet_dpdk")
            .map_err(|error| format!("cannot compile src/dpdk/shim.c: {error}"))?;
        for word in &linking {
            if let Some(library) = word.strip_prefix("-l") {
                println!("cargo::rustc-link-lib=dylib={library}");
            } else if let Some(folder) = word.strip_prefix("-L") {
                println!("cargo::rustc-link-search=native={folder}");
            }
        }
        Ok(())
    }

    fn pkg_config(what: &str) -> Result<Vec<String>, String> {
        let output = Command::new("pkg-config").args([what, "libdpdk >= 22.11"]).output();
        let output = output.map_err(|error| format!("the feature dpdk needs pkg-config: {error}"))?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr).trim().replace('\n', " ");
            return Err(format!(
                "the feature dpdk needs DPDK 22.11 with its headers (on Debian: apt-get install libdpdk-dev): {said}"
            ));
        }
        let text = String::from_utf8_lossy(&output.stdout);
        Ok(text.split_whitespace().map(str::to_owned).collect())
    }
}
