# shellcheck shell=bash
# Sourced by the other scripts: where the project is, how they speak, and how they get what they need.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
target=${CARGO_TARGET_DIR:-$root/target}
cd "$root" || exit

if [ -t 1 ]; then bold=$'\e[1m' plain=$'\e[0m'; else bold='' plain=''; fi

heading() { printf '\n%s== %s%s\n' "$bold" "$*" "$plain"; }
warn() { printf 'warning: %s\n' "$*" >&2; }
fail() {
    printf 'error: %s\n' "$*" >&2
    exit 1
}
has() { command -v "$1" >/dev/null 2>&1; }

# need COMMAND:PACKAGE ... : installs the packages whose command is missing. Says which, and returns 1, if it may not.
need() {
    local pair missing=()
    for pair in "$@"; do
        has "${pair%%:*}" || missing+=("${pair#*:}")
    done
    [ ${#missing[@]} -gt 0 ] || return 0
    install_packages "${missing[@]}"
}

install_packages() {
    local elevate=()
    if ! has apt-get; then
        warn "missing, and there is no apt-get to install it with: $*"
        return 1
    fi
    if [ "$(id -u)" != 0 ]; then
        if ! has sudo || { [ ! -t 0 ] && ! sudo -n true 2>/dev/null; }; then
            warn "missing, and only root may install it: $*"
            return 1
        fi
        elevate=(sudo)
    fi
    printf 'installing: %s\n' "$*"
    if ! "${elevate[@]}" apt-get update -qq </dev/null ||
        ! "${elevate[@]}" env DEBIAN_FRONTEND=noninteractive \
            apt-get install -y -qq --no-install-recommends "$@" </dev/null >/dev/null; then
        warn "could not be installed: $*"
        return 1
    fi
}

need_cargo() {
    has cargo || fail "there is no Rust here; install it with rustup (rust-toolchain.toml names the version)"
}

# What compiling the server takes beside Rust: a C compiler for SQLite and the crypto library.
need_build() {
    need_cargo
    need cc:gcc make:make || fail "a C compiler and make are needed to build the server"
}

# build_disk FILE : the disk that forgets and fails, to lay under a server.
build_disk() { cc -O1 -Wall -Wextra -Werror -shared -fPIC -o "$1" "$root/crates/testkit/disk/disk.c"; }

# Returns 0 if Node.js and npm are new enough for the web build.
web_tools() {
    has node && has npm && node -e '
        const [major, minor] = process.versions.node.split(".").map(Number);
        process.exit(major > 22 || (major === 22 && minor >= 12) || (major === 20 && minor >= 19) ? 0 : 1)'
}

# Builds the API reference page if it is not built or older than its source. Without Node.js the server is built all
# the same; its /docs then says how to build the page.
build_web() {
    web_tools || need node:nodejs npm:npm || true
    if ! web_tools; then
        warn "the API reference page is not built: it needs Node.js 20.19 or newer, found $(node --version 2>/dev/null || echo none)"
        return 0
    fi
    local built=web/dist/docs/index.html
    if [ -e "$built" ] && [ -z "$(find web/docs web/*.json web/*.ts -newer "$built")" ]; then
        echo "the API reference page is up to date"
        return 0
    fi
    install_web && npm run build --prefix web --loglevel=error </dev/null
}

install_web() {
    if [ -e web/node_modules/.package-lock.json ] && [ ! web/package-lock.json -nt web/node_modules/.package-lock.json ]; then
        return 0
    fi
    npm ci --prefix web --loglevel=error </dev/null
}

# install_cargo_tool NAME : installs a cargo subcommand if it is missing; takes minutes.
install_cargo_tool() {
    has "cargo-$1" && return 0
    echo "installing cargo-$1, which takes minutes"
    cargo install "cargo-$1" --locked --quiet </dev/null
}

# install_venv FOLDER REQUIREMENTS : makes a Python environment with what the file names, unless it is there already.
install_venv() {
    cmp -s "$2" "$1/requirements.txt" && return 0
    echo "installing what ${2#"$root"/} names"
    # Debian's Python may come without venv's own tools.
    python3 -m venv --clear "$1" || { need :python3-venv && python3 -m venv --clear "$1"; }
    "$1/bin/pip" install --quiet --disable-pip-version-check -r "$2"
    cp "$2" "$1/requirements.txt"
}

# stop_all : ends the processes in `started`, and removes the folder `work`; for a trap.
stop_all() {
    [ ${#started[@]} = 0 ] || kill "${started[@]}" 2>/dev/null || true
    wait 2>/dev/null || true
    rm -rf "$work"
}

# free_port FROM : prints the first port from FROM on that nobody listens on.
free_port() {
    local port=$1
    while (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; do port=$((port + 1)); done
    echo "$port"
}

# wait_ready URL PID LOG : waits until the server answers, or says why it does not.
wait_ready() {
    local url=$1 pid=$2 log=$3 tries
    for tries in $(seq 300); do
        curl -fsS -o /dev/null "$url/readyz" 2>/dev/null && return 0
        if ! kill -0 "$pid" 2>/dev/null; then break; fi
        sleep 0.1
    done
    tail -n 20 "$log" >&2
    fail "the server did not become ready in ${tries} tries; its log is $log"
}
