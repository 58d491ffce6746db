#!/usr/bin/env bash
# Runs commands in a bare Debian 12, to see that nothing is needed but what the
# scripts install. Needs root, debootstrap and git, on a Debian 12 whose package
# archives it takes over.
#
#   scripts/bare-debian.sh DIR [--copy PATH]... [COMMAND...]
#
# In DIR a minimal system is made unless it is there, and a fresh clone of this
# checkout's last commit in it, in DIR/opt/fastk. Each COMMAND (one string) runs
# there as root, with an empty environment and no terminal input. Without one, both
# commands of the README run: scripts/demo.sh, then scripts/test.sh.
# --copy PATH brings a file or folder of this machine to the same place, such as the
# settings of a package mirror. DIR is kept; remove it when done.
set -o errexit -o nounset -o pipefail

usage() { sed -n '2,14s/^# \{0,1\}//p' "$0"; }
die() { echo "bare-debian: $*" >&2; exit 1; }

copies=() commands=() root=
while [ $# != 0 ]; do
  case "$1" in
    -h | --help) usage; exit 0 ;;
    --copy) [ $# -ge 2 ] || die "--copy needs a path"; copies+=("$2"); shift ;;
    -*) die "unknown argument '$1'; see --help" ;;
    *) if [ -z "$root" ]; then root=$1; else commands+=("$1"); fi ;;
  esac
  shift
done
[ -n "$root" ] || { usage >&2; exit 1; }
[ ${#commands[@]} != 0 ] || commands=(scripts/demo.sh scripts/test.sh)
[ "$(id -u)" = 0 ] || die "making a system needs root"
grep -q '^VERSION_CODENAME=bookworm' /etc/os-release || die "this machine is no Debian 12"
command -v debootstrap >/dev/null || die "install debootstrap first: apt-get install debootstrap"
root=$(realpath -m "$root")
source=$(realpath "$(dirname "$0")/..")

if [ ! -e "$root/.complete" ]; then
  # A system that was cut short is of no use.
  [ ! -e "$root" ] || [ -e "$root/debootstrap" ] || [ -z "$(ls -A "$root")" ] ||
    die "$root is in use: name a new folder, or an unfinished one of this script"
  debootstrap --variant=minbase bookworm "$root"
  rm -f "$root/etc/apt/sources.list"
  for archives in /etc/apt/sources.list /etc/apt/sources.list.d/*.{list,sources}; do
    [ ! -f "$archives" ] || cp --parents "$archives" "$root"
  done
  touch "$root/.complete"
fi
for path in ${copies[@]+"${copies[@]}"}; do
  path=$(realpath -s "$path")
  mkdir -p "$root$(dirname "$path")"
  cp -a "$path" "$root$(dirname "$path")/"
done
rm -rf "$root/opt/fastk"
git clone -q --no-local "$source" "$root/opt/fastk"

# Own mounts and processes: nothing is left mounted or running, however it ends.
for command in "${commands[@]}"; do
  printf '\n== bare-debian: %s\n' "$command"
  start=$SECONDS code=0
  unshare --mount --pid --fork bash -c '
    set -o errexit
    mount --make-rprivate /
    mount -t proc proc "$1/proc"
    mount -t tmpfs -o mode=755 dev "$1/dev"
    mkdir "$1/dev/shm" "$1/dev/pts"
    mount -t tmpfs shm "$1/dev/shm"
    for name in null zero full random urandom tty; do
      touch "$1/dev/$name"
      mount --bind "/dev/$name" "$1/dev/$name"
    done
    ln -s /proc/self/fd "$1/dev/fd"
    ln -s fd/0 "$1/dev/stdin"; ln -s fd/1 "$1/dev/stdout"; ln -s fd/2 "$1/dev/stderr"
    cp /etc/resolv.conf "$1/etc/resolv.conf"
    exec chroot "$1" /usr/bin/env -i HOME=/root \
      PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
      bash -c "cd /opt/fastk && $2"
  ' - "$root" "$command" </dev/null || code=$?
  printf '== bare-debian: %s: exit %d after %d s\n' "$command" "$code" $((SECONDS - start))
  [ "$code" = 0 ] || exit "$code"
done
