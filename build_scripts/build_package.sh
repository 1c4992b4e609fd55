#!/usr/bin/env bash
# Compiles the modules of the magpy package into the home. Wants the environment made.
#
# The checkout may be read-only, and may change while this runs: its sources are copied to a work folder first. That
# folder is kept, with its objects, so that a changed module is all that is compiled the next time.
set -euo pipefail
# shellcheck source=build_scripts/lib/start.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/lib/start.sh"
take_lock

locate
PYTHON=$ENV_DIR/bin/magpy-python
# objects are good as long as the headers, torch and the flags are what they were
WORK=$HOME_DIR/work/ext-$({ cat "$INTERPRETER_DIR/headers.sha256" "$ROOT/setup.py" && requirements_key; } | short_hash)

# Copies what differs, so that the time stamps of what does not differ stay older than its objects.
# Once more if a source changed meanwhile: the copy must be what the folder's name says.
copy_sources() {
    local before=
    until [[ $before == "$PACKAGE_KEY" ]]; do
        before=$PACKAGE_KEY
        # __init__.py makes a folder a package to Cython, whatever is in it; pyproject.toml names the other two
        (cd "$ROOT" && list_parts package && printf '%s\0' "${FILES[@]}" magpy/**/__init__.py LICENSE README.md) |
            "$PYTHON" "$LIB/mirror_files.py" "$ROOT" "$WORK"
        hash_parts package
        PACKAGE_KEY=$KEY
    done
    locate_extensions
}

# An interrupted compiler leaves a file that make-like tools take for finished: throw away all that is newer than the
# interrupted build's start.
drop_unfinished() {
    mkdir -p "$WORK/build"
    if [[ -f $WORK/build/started ]]; then find "$WORK/build" -type f -newer "$WORK/build/started" -delete; fi
    touch "$WORK/build/started"
}

compile() {
    logged env -C "$WORK" "$PYTHON" setup.py build_ext --build-lib build/lib --build-temp build/temp \
        --parallel "${MAX_JOBS:-$(nproc)}"
}

# Only what this checkout has sources of: the work folder may hold modules of others.
collect() {
    local staged=$HOME_DIR/tmp/ext source module built
    mkdir "$staged"
    while IFS= read -r source; do
        module=${source%.pyx}
        built=("$WORK/build/lib/$module".*.so)
        [[ -f ${built[0]} ]] || die "the build left no compiled module for $source"
        mkdir -p "$staged/${module%/*}"
        cp "${built[0]}" "$staged/${module%/*}/"
    done < <(cd "$WORK" && find magpy -name '*.pyx')
    touch "$staged/complete"
    rm -rf "$EXT_DIR"
    mv "$staged" "$EXT_DIR"
}

# What bin/magpy-python of the environment imports when no launcher started it.
remember_newest() {
    printf '%s\n' "$EXT_DIR" "$ROOT" >"$HOME_DIR/tmp/newest"
    mv "$HOME_DIR/tmp/newest" "$ENV_DIR/newest"
}

mkdir -p "$WORK"
copy_sources
if ! is_complete "$EXT_DIR"; then
    begin_stage "compiling magpy's modules" package
    STAGE_HINT="magpy's modules do not compile"
    drop_unfinished
    compile
    collect
    rm "$WORK/build/started"
    end_stage
fi
remember_newest
