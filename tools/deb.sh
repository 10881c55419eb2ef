#!/usr/bin/env bash
# Builds a Debian package of the host daemon: tools/deb.sh [FOLDER]. It has pullnetd, pullnet-proxy, the client library for C with
# its header, units for systemd, and pages for man; neither Python nor the command `pullnet`.
#
# The package goes to FOLDER, target/deb unless named. PROFILE=dev takes programs as `cargo build` makes them.
set -euo pipefail
cd "$(dirname "$0")/.."

fail() { echo "deb: $*" >&2; exit 1; }
for tool in cargo cc dpkg-deb dpkg-architecture gzip objdump strip; do
    command -v "$tool" >/dev/null || fail "needs $tool (on Debian: apt-get install gcc binutils dpkg-dev)"
done

out=${1:-target/deb}
profile=${PROFILE:-release}
case "$profile" in
    release) built=target/release ;;
    dev) built=target/debug ;;
    *) fail "PROFILE is $profile: use release or dev" ;;
esac
version=$(sed -n '/^\[workspace.package\]/,/^$/s/^version = "\(.*\)"/\1/p' Cargo.toml)
architecture=$(dpkg-architecture -qDEB_HOST_ARCH)
multiarch=$(dpkg-architecture -qDEB_HOST_MULTIARCH)

cargo build --quiet --profile "$profile" -p pullnet-daemon -p pullnet-apps -p pullnet-capi

root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
chmod 755 "$root"
umask 022
install -D -m 755 "$built/pullnetd" "$root/usr/sbin/pullnetd"
install -D -m 755 "$built/pullnet-proxy" "$root/usr/bin/pullnet-proxy"
library="$root/usr/lib/$multiarch"
install -D -m 644 "$built/libpullnet.so" "$library/libpullnet.so.0"
strip --strip-unneeded "$root/usr/sbin/pullnetd" "$root/usr/bin/pullnet-proxy" "$library/libpullnet.so.0"
# Programs ask for the library by the name of its interface, and compilers by that of its file.
ln -s libpullnet.so.0 "$library/libpullnet.so"
install -D -m 644 crates/linux/capi/include/pullnet.h "$root/usr/include/pullnet.h"
# Where Wireshark looks for plugins of all users.
install -D -m 644 python/pullnet/wireshark/pullnet.lua "$library/wireshark/plugins/pullnet.lua"
install -D -m 644 packaging/host.toml "$root/etc/pullnet/host.toml"
for unit in packaging/*.service; do
    install -D -m 644 "$unit" "$root/lib/systemd/system/$(basename "$unit")"
done
for page in packaging/man/*; do
    section=${page##*.}
    install -D -m 644 "$page" "$root/usr/share/man/man$section/$(basename "$page")"
done
find "$root/usr/share/man" -type f -exec gzip -9n {} +
documents="$root/usr/share/doc/pullnet-host"
install -D -m 644 docs/host.md "$documents/host.md"
install -m 644 docs/security.md docs/wire.md crates/linux/capi/examples/talk.c "$documents"
{
    echo "Files: *" && echo "License: Apache-2.0 or MIT" && echo && cat LICENSE-MIT && echo && cat LICENSE-APACHE
} >"$documents/copyright"

# The newest interface of the C library that the programs use.
glibc=$(objdump -T "$root/usr/sbin/pullnetd" "$root/usr/bin/pullnet-proxy" "$library/libpullnet.so.0" |
    grep -o 'GLIBC_[0-9.]*' | sed 's/GLIBC_//' | sort -V | tail -1)
size=$(du -sk "$root" | cut -f 1)
mkdir "$root/DEBIAN"
install -m 755 packaging/debian/postinst packaging/debian/prerm packaging/debian/postrm "$root/DEBIAN"
echo /etc/pullnet/host.toml >"$root/DEBIAN/conffiles"
echo "libpullnet 0 pullnet-host (>= $version)" >"$root/DEBIAN/shlibs"
echo "activate-noawait ldconfig" >"$root/DEBIAN/triggers"
cat >"$root/DEBIAN/control" <<EOF
Package: pullnet-host
Version: $version
Architecture: $architecture
Maintainer: The pullnet developers <pullnet@localhost>
Installed-Size: $size
Depends: libc6 (>= $glibc), libgcc-s1, adduser
Section: net
Priority: optional
Description: NDP between the hosts of a data centre
 A daemon that owns a network interface and serves NDP streams to the
 applications of its machine, a proxy that carries TCP connections over
 NDP, and a client library for C.
EOF
(cd "$root" && find . -path ./DEBIAN -prune -o -type f -printf '%P\0' | sort -z | xargs -0 md5sum >DEBIAN/md5sums)

mkdir -p "$out"
package="$out/pullnet-host_${version}_$architecture.deb"
dpkg-deb --root-owner-group --build "$root" "$package" >/dev/null
echo "$package"
