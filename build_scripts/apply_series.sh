#!/usr/bin/env bash
# apply_series.sh TREE [--commits]
#
# Applies cpython_patch/series to a pristine source tree and copies cpython_patch/new into it. A hunk that does not
# match exactly (fuzz) is an error: it might land in the wrong function.
#
# --commits: TREE is a clean git work tree; makes a commit for the new files and one for each patch, which
# export_series.sh turns back into the series. This is how to change a patch, and to move to another 3.13.x.
set -euo pipefail
ROOT=$(CDPATH='' cd -P -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd)
PATCHES=$ROOT/cpython_patch
TREE=${1:?usage: apply_series.sh TREE [--commits]}
COMMITS=${2:-}

fail() {
    printf 'magpy: %s\n' "$@" >&2
    exit 1
}

# The series names each patch once, and no patch lies around that it does not name.
check_series() {
    local listed present
    mapfile -t SERIES < <(sed 's/#.*//; s/[[:space:]]*$//; /^$/d' "$PATCHES/series")
    listed=$(printf '%s\n' "${SERIES[@]}" | sort)
    present=$(cd "$PATCHES/patches" && printf '%s\n' *.patch | sort)
    [[ $listed == "$present" ]] ||
        fail "cpython_patch/series and cpython_patch/patches differ:" "$(diff <(echo "$listed") <(echo "$present"))"
}

copy_new_files() {
    local file
    while IFS= read -r file; do
        [[ ! -e $TREE/$file ]] || fail "cpython_patch/new/$file: upstream has a file of that name; change it by a patch"
        mkdir -p "$TREE/$(dirname "$file")"
        cp -- "$PATCHES/new/$file" "$TREE/$file"
    done < <(cd "$PATCHES/new" && find . -type f ! -name '*.pyc' ! -name '*~' ! -name '*.orig' ! -name '*.rej' | cut -c 3- | sort)
    commit "New files" new
}

apply() {
    local output
    # --force: never ask, never take a patch for one already applied
    if ! output=$(patch -d "$TREE" -p1 --fuzz=0 --force --no-backup-if-mismatch <"$PATCHES/patches/$1"); then
        fail "cpython_patch/patches/$1 does not apply:" "$output" \
            "Rebase the series: cpython_patch/README.md says how. (Fuzz is not allowed.)"
    fi
    echo "applied $1$(grep -c offset <<<"$output" | sed '/^0$/d; s/.*/ (& hunks moved)/')"
    commit "$(sed '/^--- /,$d' "$PATCHES/patches/$1")" "$1"
}

# commit MESSAGE NAME: the trailer tells export_series.sh which file the commit is
commit() {
    [[ $COMMITS == --commits ]] || return 0
    git -C "$TREE" add --all --force
    git -C "$TREE" commit --quiet --allow-empty --cleanup=whitespace -m "$1" -m "Patch-file: $2"
}

check_series
[[ $COMMITS != --commits || -z $(git -C "$TREE" status --porcelain --ignored) ]] || fail "$TREE has uncommitted files"
copy_new_files
for name in "${SERIES[@]}"; do apply "$name"; done
