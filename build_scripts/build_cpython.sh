#!/usr/bin/env bash
# build_cpython.sh [--stock]
#
# Builds the patched interpreter of this checkout into the home, as a complete prefix whose binary is magpy-python.
# MAGPY_FLAVOUR=release|pgo|debug|asan chooses how. --stock: without the series and the new files, to compare with.
# Wants the tarball fetched.
set -euo pipefail
# shellcheck source=build_scripts/lib/start.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/lib/start.sh"
take_lock

STOCK=${1:-}
locate
TARGET=$INTERPRETER_DIR
if [[ $STOCK == --stock ]]; then TARGET=$STOCK_DIR; fi
if is_complete "$TARGET"; then exit; fi

WORK=$(mktemp -d "$HOME_DIR/tmp/cpython.XXXXXX")
TREE=$WORK/Python-$CPYTHON_VERSION
STAGED=$WORK/installed$TARGET
PYTHON=$STAGED/bin/magpy-python
# the sanitizer sees what CPython leaves to the end of the process as leaks, and would fail the build's own scripts
export ASAN_OPTIONS=detect_leaks=0

# The folder's name says what it was built from, and somebody may be editing that.
patch_tree() {
    logged "$ROOT/build_scripts/apply_series.sh" "$TREE"
    locate
    [[ $TARGET == "$INTERPRETER_DIR" ]] || die "cpython_patch changed while it was applied: run the set-up again"
}

name_binary() {
    mv "$STAGED/bin/python${CPYTHON_VERSION%.*}" "$PYTHON"
    ln -s magpy-python "$STAGED/bin/python${CPYTHON_VERSION%.*}"
}

# configure leaves out, without an error, every module whose library it does not find
check_modules() {
    logged "$PYTHON" -P -c 'import bz2, ctypes, curses, lzma, pip, readline, sqlite3, ssl, uuid, zlib'
    [[ $STOCK == --stock ]] || logged "$PYTHON" -P -c 'import sys; print(sys.magpy_info)'
}

hash_headers() {
    (cd "$STAGED/include" && find . -type f -print0 | LC_ALL=C sort -z | xargs -0 sha256sum | sha256sum) \
        >"$STAGED/headers.sha256"
}

# configure and make log 2200 lines; the install logs more, but takes a fifth of the time
begin_stage "building CPython $CPYTHON_VERSION${STOCK:+ without the patches}, $FLAVOUR" cpython 2600
logged tar -xf "$(tarball)" -C "$WORK"
[[ $STOCK == --stock ]] || patch_tree
logged env -C "$TREE" ./configure --prefix="$TARGET" "${CONFIGURE_FLAGS[@]}"
logged make -C "$TREE" -j "$(nproc)"
logged make -C "$TREE" install DESTDIR="$WORK/installed" COMPILEALL_OPTS="-j0 -q"
name_binary
check_modules
hash_headers
touch "$STAGED/complete"
rm -rf "$TARGET"
mv "$STAGED" "$TARGET"  # from here on it counts
rm -rf "$WORK"
end_stage
