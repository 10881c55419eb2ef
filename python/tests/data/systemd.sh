#!/usr/bin/env bash
# Boots systemd in a container over this machine's files, none of which change, installs a Debian package in it and has systemd
# run the daemon: systemd.sh PACKAGE OUT. OUT gets a line for each fact that the test looks at.
set -euo pipefail
package=$1 out=$2

# The mounts are seen by this script and its container only.
[ "${3:-}" = inside ] || exec unshare --mount --propagation private "$0" "$package" "$out" inside

upper=$(mktemp -d)
mount -t tmpfs tmpfs "$upper"
mkdir "$upper"/{files,work,root}
mount -t overlay overlay -o "lowerdir=/,upperdir=$upper/files,workdir=$upper/work" "$upper/root"
root=$upper/root
# A container of its own name and machine: systemd would take this machine's for a second start of it.
echo 0123456789abcdef0123456789abcdef >"$root/etc/machine-id"
mkdir "$root/srv/trial"
cp "$package" "$root/srv/trial/pullnet-host.deb"

cat >"$root/srv/trial/trial.sh" <<'TRIAL'
fact() { echo "$1=$2"; }
state() { systemctl show --property "$1" --value pullnetd; }
cd /srv/trial
dpkg --force-depends --install pullnet-host.deb >&2
ip link add frames0 type veth peer name frames1
ip address add 10.9.0.1/24 dev frames0
ip link set frames0 up
ip link set frames1 up
printf 'interface = "frames0"\naddress = "10.9.0.1"\nrate = "10 Gbps"\nfarewell = "1 s"\n' >/etc/pullnet/host.toml
systemctl start pullnetd
fact started $?
fact state "$(state ActiveState)"
first=$(state MainPID)
fact user "$(ps --no-headers --format user --pid "$first" | tr -d ' ')"
fact capabilities "$(sed -n 's/^CapEff:\t//p' "/proc/$first/status")"
fact seccomp "$(sed -n 's/^Seccomp:\t//p' "/proc/$first/status")"
fact socket "$(stat --format '%U:%G:%a' /run/pullnet/host.sock)"
systemctl reload pullnetd
fact reloaded $?
fact kept "$([ "$(state MainPID)" = "$first" ] && echo yes)"
kill -KILL "$first"
for _ in $(seq 100); do
    [ "$(state NRestarts)" = 1 ] && [ "$(state ActiveState)" = active ] && break
    sleep 0.1
done
fact restarts "$(state NRestarts)"
fact again "$(state ActiveState)"
systemctl stop pullnetd
fact stopped $?
fact result "$(state Result)"
fact end "$(state ActiveState)"
dpkg --remove pullnet-host >&2
fact removed_alone $?
dpkg --force-depends --install pullnet-host.deb >&2
proxy() { systemctl show --property "$1" --value pullnet-proxy@web; }
echo 'ARGUMENTS=--listen 127.0.0.1:8080 --to 10.9.0.2:80' >/etc/pullnet/proxy-web.env
systemctl enable --now pullnetd pullnet-proxy@web
fact proxy "$(proxy ActiveState)"
fact enabled "$(systemctl is-enabled pullnet-proxy@web)"
dpkg --remove pullnet-host >&2
fact removed $?
fact proxy_end "$(proxy ActiveState)"
fact left "$(find /etc/systemd/system -name 'pullnet*' | wc -l)"
journalctl --no-pager --unit pullnetd >&2
TRIAL

cat >"$root/etc/systemd/system/trial.service" <<'UNIT'
[Service]
Type=oneshot
ExecStart=/bin/bash -c 'bash /srv/trial/trial.sh >/srv/trial/facts 2>/srv/trial/log; systemctl --no-block poweroff'
UNIT
cat >"$root/etc/systemd/system/trial.target" <<'UNIT'
[Unit]
Requires=basic.target
After=basic.target
Wants=trial.service
UNIT
# Its end is told by the facts: without a system that booted with systemd, nspawn fails when it cleans up.
systemd-nspawn --register=no --keep-unit --quiet --console=pipe --private-network --directory="$root" \
    /usr/lib/systemd/systemd --unit=trial.target </dev/null >"$out.console" 2>&1 || true
cp "$root/srv/trial/log" "$out.log"
cp "$root/srv/trial/facts" "$out"
