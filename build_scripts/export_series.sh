#!/usr/bin/env bash
# export_series.sh TREE BASE
#
# The inverse of `apply_series.sh TREE --commits`: writes cpython_patch/patches, series and new from the commits after
# BASE on TREE's current branch. A commit is the patch that its "Patch-file:" trailer names, and its message is the
# patch's head; several commits with one name become one patch, under the first one's message. Files that BASE does
# not have are new files, whichever commit made them.
set -euo pipefail
ROOT=$(CDPATH='' cd -P -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd)
PATCHES=$ROOT/cpython_patch
usage="usage: export_series.sh TREE BASE"
TREE=${1:?$usage}
BASE=$(git -C "$TREE" rev-parse --verify --quiet "${2:?$usage}^{commit}") ||
    { echo "magpy: $TREE has no commit '$2'" >&2 && exit 1; }
OUT=$(mktemp -d)
trap 'rm -rf "$OUT"' EXIT

fail() {
    printf 'magpy: %s\n' "$@" >&2
    exit 1
}

in_tree() { git -C "$TREE" -c core.quotePath=off -c diff.noprefix=false -c diff.algorithm=myers "$@"; }

patch_name() { in_tree show --no-patch --format='%(trailers:key=Patch-file,valueonly)' "$1" | sed '/^$/d'; }

# The message without its trailer, then the diff of upstream's files without what only git reads.
write_patch() {
    local first=$1 from=$2 to=$3
    in_tree show --no-patch --format=%B "$first" | sed '/^Patch-file: /d' | sed -e :a -e '/^\n*$/{$d;N;ba' -e '}'
    in_tree diff --no-color --no-ext-diff --no-renames "$from" "$to" -- . "${NOT_NEW[@]}" | sed '/^diff --git /d; /^index /d'
}

export_new_files() {
    local file
    NOT_NEW=()
    while IFS= read -r file; do
        NOT_NEW+=(":(exclude,literal)$file")
        mkdir -p "$OUT/new/$(dirname "$file")"
        in_tree show "HEAD:$file" >"$OUT/new/$file"
    done < <(in_tree diff --name-only --no-renames --diff-filter=A "$BASE" HEAD)
}

# Each patch is the change from one group of commits to the next, so the groups must not be interleaved.
export_patches() {
    local commit name previous=$BASE
    declare -A first=() from=() to=()
    local order=()
    for commit in $(in_tree rev-list --reverse --no-merges "$BASE..HEAD"); do
        name=$(patch_name "$commit")
        [[ -n $name ]] || fail "commit $(in_tree show --no-patch --format='%h %s' "$commit") has no trailer 'Patch-file: NAME.patch'"
        if [[ -z ${first[$name]:-} ]]; then
            order+=("$name") first[$name]=$commit from[$name]=$previous
        elif [[ ${to[$name]} != "$previous" ]]; then
            fail "the commits of $name are not next to each other: reorder them (git rebase -i)"
        fi
        to[$name]=$commit previous=$commit
    done
    for name in "${order[@]}"; do
        [[ $name != new ]] || continue
        write_patch "${first[$name]}" "${from[$name]}" "${to[$name]}" >"$OUT/patches/$name"
        echo "$name" >>"$OUT/series"
    done
}

# Other people's files in these folders are only those that the series made: replace the folders as a whole.
install_series() {
    rm -rf "$PATCHES/patches" "$PATCHES/new"
    mv "$OUT/patches" "$OUT/new" "$PATCHES/"
    mv "$OUT/series" "$PATCHES/series"
}

mkdir "$OUT/patches" "$OUT/new"
: >"$OUT/series"
export_new_files
export_patches
install_series
git -C "$ROOT" status --short cpython_patch 2>/dev/null || :
