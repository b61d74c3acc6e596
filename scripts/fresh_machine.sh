#!/bin/sh
# What a newcomer does, on a machine that has only what README.md asks for: a Debian that debootstrap makes in memory,
# with a copy of this clone as it stands, where an ordinary user runs make.
#   fresh_machine.sh <suite> <arguments of make> [<arguments of make>]...
# Says why where it cannot be done. Leaves nothing behind but the bare Debian, kept for 30 days in
# ~/.cache/impact_control: files, mounts and processes lie in namespaces that end with this script, however it ends.
set -eu

packages=git,make,g++,cmake,python3,python3-dev,python3-venv
mirror=${MIRROR:-http://deb.debian.org/debian}
kept=${XDG_CACHE_HOME:-$HOME/.cache}/impact_control/machines

say() {
    printf 'fresh machine: %s\n' "$1"
}

# Make the bare machine $2 of the suite $1, or unpack the one that is kept. One at a time: the second finds what the
# first has kept.
make_machine() {
    mkdir -p "$kept"
    exec 9>"$kept/lock"
    flock 9
    archive=$kept/$1-$(echo "$packages" | cksum | cut -d ' ' -f 1).tar
    if [ -n "$(find "$archive" -mtime -30 2>/dev/null)" ]; then
        tar --extract --file "$archive" --directory "$2"
    else
        debootstrap --variant=minbase "--include=$packages" "$1" "$2" "$mirror" >"$2/log" 2>&1 || {
            tail -n 5 "$2/log"
            say "debootstrap cannot make a Debian $1 from $mirror"
            return 1
        }
        chroot "$2" apt-get clean
        tar --create --file "$archive.part" --directory "$2" .
        mv "$archive.part" "$archive"
    fi
    exec 9>&-
}

# Let the machine $1 reach the package index the way this one does.
give_network() {
    for file in /etc/resolv.conf /etc/hosts /etc/pip.conf /etc/ssl/certs/ca-certificates.crt; do
        [ ! -f "$file" ] || install -D -m 644 "$file" "$1$file"
    done
}

# Copy the clone to $1: its last commit, and on top what has changed since.
copy_clone() {
    git clone --quiet --depth 1 "file://$PWD" "$1"
    git ls-files -z --deleted | (cd "$1" && xargs -0 -r rm -f)
    git ls-files -z --cached --others --exclude-standard | tar --create --null --files-from - --ignore-failed-read 2>/dev/null |
        tar --extract --directory "$1"
}

# Run `make $2` on the machine $1 as its user, who knows of this one only how it reaches the package index.
run_make() {
    reach=$(env | grep -E '^(PIP_|SSL_CERT_|REQUESTS_CA_BUNDLE=|[A-Za-z]+_(proxy|PROXY)=)' | grep -v "[ '\"]" || :)
    chroot --userspec=newcomer:newcomer "$1" /usr/bin/env -i HOME=/home/newcomer LANG=C.UTF-8 \
        PATH=/usr/local/bin:/usr/bin:/bin $reach sh -c "cd ~/clone && make $2"
}

# The same; up to twice more where a task says that the machine stood still, as tests/support/machine.py has it.
try_make() {
    for attempt in 1 2 3; do
        { run_make "$1" "$2" 2>&1 && code=0 || code=$?; echo "$code" >"$1/code"; } | tee "$1/said"
        read -r code <"$1/code"
        [ "$code" != 0 ] && grep -qE 'STATE_STALE: [0-9.]+ ms between the stamps|SUPERVISOR_STOP: no' "$1/said" || break
        say "this machine stood still in the task, attempt $attempt of 3"
    done
    return "$code"
}

inside() {
    temporary=$1 suite=$2
    shift 2
    machine=$temporary/machine
    mkdir "$machine"
    mount -t tmpfs -o mode=755 tmpfs "$machine"
    started=$(date +%s)
    make_machine "$suite" "$machine"
    give_network "$machine"
    chroot "$machine" useradd --create-home newcomer
    copy_clone "$machine/home/newcomer/clone"
    chroot "$machine" chown -R newcomer:newcomer /home/newcomer
    mount -t proc proc "$machine/proc"
    mount -t tmpfs -o mode=1777 tmpfs "$machine/dev/shm"
    say "Debian $suite with $(chroot "$machine" python3 --version) after $(($(date +%s) - started)) s"
    for line in "$@"; do
        started=$(date +%s)
        say "make $line"
        try_make "$machine" "$line"
        say "make $line took $(($(date +%s) - started)) s"
    done
}

if [ "$1" = --inside ]; then
    shift
    inside "$@"
    exit
fi

skip() {
    say "skipped, $1"
    exit 0
}

command -v debootstrap >/dev/null || skip "debootstrap is not installed (Debian: apt-get install debootstrap)"
[ "$(id -u)" = 0 ] || skip "only root may make one"
unshare --mount --pid --fork true 2>/dev/null || skip "mounts are not allowed here"
memory=$(awk '$1 == "MemAvailable:" { print int($2 / 1e6) }' /proc/meminfo)
[ "$memory" -ge 6 ] || skip "it takes up to 6 GB of memory, of which $memory are free"

temporary=$(mktemp -d) all=
trap 'rm -rf --one-file-system "$temporary"' EXIT
trap 'kill -KILL $all && wait $all || :; exit 130' HUP INT TERM
# It ends with this script, also where that is killed, and everything inside ends with it.
setpriv --pdeathsig=KILL unshare --mount --mount-proc --pid --fork --kill-child=KILL "$0" --inside "$temporary" "$@" &
all=$!
wait $all
