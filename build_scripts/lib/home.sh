# shellcheck shell=bash disable=SC2034  # sourced; the variables are for the scripts
# Where things are kept, and under which key.
#
#   downloads/            the CPython tarball, verified
#   cpython-KEY/          an interpreter: a complete prefix, bin/magpy-python
#   env-REQ-KEY/          a venv of it with torch and the build tools; REQ names the requirements
#   ext-KEY/              the compiled modules of the magpy package
#   pyperformance-REQ-…   the environments of pyperformance_compare, one for each interpreter that it compares
#   ready/KEY             which env and ext a checkout in that state runs on: all that the launcher reads
#   work/ tmp/ logs/      objects for incremental builds; half-built things; what the stages printed
#
# Keys are hashes of contents, so checkouts in the same state share everything. A folder counts only once its file
# "complete" is there. The launcher sources this file on every start: it may define, but not run anything.
#
# The package's .py files are not copied: lib/checkout_finder.py imports them from the checkout, so an edit needs no
# set-up and tracebacks name the file that was edited.

# find_home: sets HOME_DIR and FLAVOUR. ROOT, the checkout, is set by whoever sources this.
find_home() {
    if [[ -z ${MAGPY_HOME:-}${XDG_CACHE_HOME:-}${HOME:-} ]]; then
        echo "magpy: HOME is not set: set MAGPY_HOME to a folder for the interpreter and its environment" >&2
        exit 1
    fi
    HOME_DIR=${MAGPY_HOME:-${XDG_CACHE_HOME:-${HOME:-}/.cache}/magpy}
    [[ $HOME_DIR == /* ]] || HOME_DIR=$PWD/$HOME_DIR
    HOME_DIR=${HOME_DIR%/}
    FLAVOUR=${MAGPY_FLAVOUR:-release}
}

# hash_parts PART…: sets KEY, made of the files of those parts of the checkout and of what else decides the build: the
# flavour, the machine, and the home, which is compiled into the interpreter as its prefix.
# This is nearly all the time that the launcher takes: one subshell, one sha256sum for all files.
hash_parts() {
    # LC_ALL: one order of the file names, whatever the user's language
    # /dev/null: without a file name, sha256sum would read the standard input
    KEY=$(cd -- "$ROOT" && LC_ALL=C && list_parts "$@" &&
        { printf '%s\n' "$FLAVOUR" "$MACHTYPE" "$HOME_DIR" && sha256sum -- "${FILES[@]:-/dev/null}"; } | sha256sum) || return
    KEY=${KEY:0:16}
}

# list_parts PART…: sets FILES, relative to the checkout, which must be the current folder.
list_parts() {
    local part found=() file
    shopt -s nullglob globstar
    for part; do
        case $part in
            cpython) found+=(build_scripts/lib/pins.sh cpython_patch/{series,patches/**,new/**}) ;;
            env) found+=(build_scripts/requirements.txt build_scripts/lib/checkout_finder.py) ;;
            package) found+=(setup.py pyproject.toml magpy/**/*.*) ;;
        esac
    done
    FILES=()
    for file in "${found[@]}"; do
        case $file in
            *.pyc | *.orig | *.rej | *'~') continue ;;
            magpy/native/* | magpy/*.pyx | magpy/*.pxd | magpy/*.pxi | magpy/*.h) ;;
            magpy/*) continue ;;  # not compiled
        esac
        [[ ! -f $file ]] || FILES+=("$file")
    done
}

# read_state: sets ENV_DIR and EXT_DIR, if everything that this checkout needs is there.
read_state() {
    hash_parts cpython env package || return
    local file=$HOME_DIR/ready/$KEY
    [[ -f $file ]] && { read -r ENV_DIR && read -r EXT_DIR; } <"$file" &&
        [[ -f $ENV_DIR/complete && -x $ENV_DIR/bin/magpy-python && -f $EXT_DIR/complete ]]
}
