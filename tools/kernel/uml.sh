#!/usr/bin/env bash
# Records scripts on the kernel of Debian's package user-mode-linux, which runs as a process and has DCTCP:
#   apt-get download user-mode-linux && dpkg-deb -x user-mode-linux_*.deb uml
#   tools/kernel/uml.sh uml vectors/kernel/linux-6.1.json [SCRIPT...]
# Needs root: it sees the files of this machine as they are, and its namespaces are its own.
set -euo pipefail
package=$(realpath "$1") out=$(realpath "$2")
shift 2
root=$(realpath "$(dirname "$0")/../..")
python=$(command -v python3)
modules=$(echo "$package"/usr/lib/uml/modules/*/kernel)
init=$(mktemp)
trap 'rm -f "$init"' EXIT
cat > "$init" <<END
#!/bin/sh
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root PYTHONDONTWRITEBYTECODE=1
mount -t proc proc /proc
mount -t sysfs sys /sys
# finit_module: the package's modules need no others, and insmod may not be installed.
for module in drivers/net/veth net/ipv4/tcp_dctcp; do
    "$python" -c 'import ctypes, os, sys; ctypes.CDLL(None).syscall(313, os.open(sys.argv[1], os.O_RDONLY), b"", 0)' \\
        "$modules/\$module.ko"
done
"$python" "$root/tools/kernel/windows.py" "$root/vectors/kernel/scripts.toml" "$out" $*
sync
poweroff -f
END
chmod +x "$init"
"$package/usr/bin/linux.uml" mem=1G rootfstype=hostfs rw "init=$init" con=null con0=fd:0,fd:1 quiet < /dev/null
