#!/usr/bin/env bash
# Virtual environment, packages and the compiled core in .venv; each step only if what it is made from has changed.
#
# tools/setup.sh environment: an environment without packages; packages: everything but the core.
# tools/setup.sh any: a core that is built as tests are is enough. It shares its libraries with `cargo test`, which saves the
# minutes of optimising, and runs scenarios several times slower; without the word, such a core is replaced.
set -euo pipefail
cd "$(dirname "$0")/.."

fail() { echo "setup: $*" >&2; exit 1; }

# The first Python that is new enough and can make virtual environments.
find_python() {
    local candidate
    for candidate in python3 python3.14 python3.13 python3.12 python3.11; do
        if "$candidate" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            echo "$candidate"
            return
        fi
    done
    fail "needs Python 3.11 or newer with the module venv (on Debian: apt-get install python3-venv)"
}

# Whether step $1 was last done with the inputs whose hash is $2.
done_with() { [ "$(cat ".venv/.$1" 2>/dev/null)" = "$2" ]; }

# One hash of all files named on standard input, names included.
hash_of() { sort | tr '\n' '\0' | xargs -0 sha256sum | sha256sum | cut -d ' ' -f 1; }

command -v cargo >/dev/null || fail "needs Rust 1.95 or newer: the command cargo was not found"
command -v cc >/dev/null || fail "needs a C compiler: the command cc was not found (on Debian: apt-get install gcc)"

packages=$(echo requirements.lock | hash_of)
if ! done_with environment "$packages" || [ ! -x .venv/bin/python ]; then
    "$(find_python)" -m venv --clear .venv # what has left the lock is not to be found any more
    echo "$packages" >.venv/.environment
fi

[ "${1:-}" != environment ] || exit 0

if ! done_with packages "$packages"; then
    echo "setup: installing Python packages"
    # Modules are compiled when they are first imported: most never are.
    .venv/bin/python -m pip install --quiet --disable-pip-version-check --no-compile --require-hashes -r requirements.lock
    echo "$packages" >.venv/.packages
fi

[ "${1:-}" != packages ] || exit 0

core=$({
    echo pyproject.toml && find Cargo.toml Cargo.lock crates -type f ! -path '*/tests/*' ! -path '*/benches/*' ! -name '*.md'
} | hash_of)-$(rustc --version | cut -d ' ' -f 2)
# build KIND [OPTION]: compiles and installs the core, and notes what it is made from.
build() {
    env -u CONDA_PREFIX VIRTUAL_ENV="$PWD/.venv" .venv/bin/maturin develop "${@:2}" >.venv/build.log 2>&1 ||
        { cat .venv/build.log >&2 && fail "the core did not build"; }
    rm -f .venv/.core .venv/.core-for-tests
    echo "$core" >".venv/.$1"
}

if done_with core "$core" && [ -x .venv/bin/pullnet ]; then
    : # the fast core serves everything
elif [ "${1:-}" != any ]; then
    echo "setup: building the core (about four minutes the first time)"
    build core --release
elif ! done_with core-for-tests "$core" || [ ! -x .venv/bin/pullnet ]; then
    echo "setup: building the core for tests; make setup builds the fast one"
    build core-for-tests
fi
