# shellcheck shell=bash disable=SC2034  # sourced; the variables are for the scripts
# The head of every set-up script: finds the checkout and the home, and takes the home's lock.
set -euo pipefail
LIB=$(CDPATH='' cd -P -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
ROOT=${LIB%/*/*}
# shellcheck source=build_scripts/lib/pins.sh
source "$LIB/pins.sh"
# shellcheck source=build_scripts/lib/home.sh
source "$LIB/home.sh"
find_home
# shellcheck source=build_scripts/lib/progress.sh
source "$LIB/progress.sh"

configure_flags "$FLAVOUR" || die "MAGPY_FLAVOUR=$FLAVOUR: it must be release, pgo, debug or asan"
[[ $HOME_DIR != *[[:space:]]* ]] ||
    die "the path '$HOME_DIR' contains white space, which CPython's Makefile cannot take" "Set MAGPY_HOME to another."

# other folders' packages and other people's install targets must not get into what is built here
unset PYTHONHOME PYTHONPATH PIP_TARGET PIP_PREFIX PIP_USER PIP_REQUIRE_VIRTUALENV MAGPY_SOURCE MAGPY_EXTENSIONS
export PYTHONDONTWRITEBYTECODE=1

# take_lock: one set-up at a time in a home. Everything that a set-up starts inherits the lock, so it is free only
# when the last of it has ended, also after a kill -9; and whoever holds it may clear away what a dead set-up left.
take_lock() {
    [[ ${MAGPY_LOCK_HELD:-} != "$HOME_DIR" ]] || return 0
    mkdir -p "$HOME_DIR" 2>/dev/null || :
    [[ -w $HOME_DIR ]] || die "cannot write to $HOME_DIR" "Set MAGPY_HOME to a folder that you can write to."
    exec 9>>"$HOME_DIR/lock"
    if ! flock -n 9; then
        say "another set-up is at work in $HOME_DIR: waiting for it"
        flock 9
    fi
    export MAGPY_LOCK_HELD=$HOME_DIR
    rm -rf "$HOME_DIR/tmp"
    mkdir -p "$HOME_DIR"/{tmp,logs,ready,work,downloads}
    # pip unpacks gigabytes here; /tmp may be a small memory disk
    export TMPDIR=$HOME_DIR/tmp
}

tarball() { echo "$HOME_DIR/downloads/Python-$CPYTHON_VERSION.tar.xz"; }

# locate: sets the folders that the parts of this checkout have, or will have.
locate() {
    hash_parts cpython
    INTERPRETER_DIR=$HOME_DIR/cpython-$KEY
    hash_parts cpython env
    ENV_DIR=$HOME_DIR/env-$(requirements_key)-$KEY
    hash_parts package
    PACKAGE_KEY=$KEY
    # the interpreter without the patches, as build_cpython.sh --stock makes it: only the pins decide it
    STOCK_DIR=$HOME_DIR/cpython-stock-$({ echo "$FLAVOUR" && cat "$LIB/pins.sh"; } | short_hash)
}

# locate_extensions: the compiled modules depend on the interpreter through its headers alone, and on torch.
# Wants the interpreter built.
locate_extensions() {
    EXT_DIR=$HOME_DIR/ext-$({ echo "$PACKAGE_KEY" && cat "$INTERPRETER_DIR/headers.sha256" && requirements_key; } | short_hash)
}

# bench_env INTERPRETER_DIR: the environment that pyperformance_compare makes for that interpreter
bench_env() { echo "$HOME_DIR/pyperformance-$(short_hash <"$ROOT/build_scripts/requirements-bench.txt")-${1##*/}"; }

requirements_key() { short_hash <"$ROOT/build_scripts/requirements.txt"; }
short_hash() { sha256sum | cut -c 1-16; }

is_complete() { [[ -f $1/complete ]]; }
