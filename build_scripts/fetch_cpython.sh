#!/usr/bin/env bash
# Gets CPython's source tarball into the home's downloads. Whatever it came from, its SHA-256 must be the pinned one.
#
# In this order: the file named by MAGPY_CPYTHON_TARBALL, the one in the home's downloads, python.org, the source
# package of the Debian mirror that apt uses here.
set -euo pipefail
# shellcheck source=build_scripts/lib/start.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/lib/start.sh"
take_lock

KEPT=$(tarball)
NAME=${KEPT##*/}
DOWNLOAD=$HOME_DIR/tmp/$NAME

# verify FILE ORIGIN: says what is wrong with a file that is not the one
verify() {
    local sum
    sum=$(sha256sum <"$1")
    [[ ${sum%% *} == "$CPYTHON_SHA256" ]] && return
    say "refused: $2 gives a file with SHA-256 ${sum%% *}; $NAME has $CPYTHON_SHA256"
    return 1
}

from_variable() {
    [[ -r $MAGPY_CPYTHON_TARBALL ]] || die "MAGPY_CPYTHON_TARBALL=$MAGPY_CPYTHON_TARBALL: there is no such readable file"
    verify "$MAGPY_CPYTHON_TARBALL" "MAGPY_CPYTHON_TARBALL" ||
        die "MAGPY_CPYTHON_TARBALL=$MAGPY_CPYTHON_TARBALL is not the pristine $NAME" "Unset it to have it downloaded."
    keep "$MAGPY_CPYTHON_TARBALL"
}

# keep FILE: the rename is what makes it count
keep() {
    [[ $1 -ef $DOWNLOAD ]] || cp -- "$1" "$DOWNLOAD"
    mv -- "$DOWNLOAD" "$KEPT"
}

# Short time-outs for the connection: a machine without this route must not wait for it.
from_python_org() {
    if command -v curl >/dev/null; then
        run_child curl -fsSL --connect-timeout 5 --speed-limit 1000 --speed-time 30 -o "$DOWNLOAD" "$CPYTHON_URL"
    elif command -v wget >/dev/null; then
        run_child wget -q --tries=1 --connect-timeout=5 --dns-timeout=5 --read-timeout=30 -O "$DOWNLOAD" "$CPYTHON_URL"
    elif command -v python3 >/dev/null; then
        run_child python3 -c 'import shutil, sys, urllib.request
with urllib.request.urlopen(sys.argv[1], timeout=10) as source, open(sys.argv[2], "wb") as target:
    shutil.copyfileobj(source, target)' "$CPYTHON_URL" "$DOWNLOAD"
    else
        echo "none of curl, wget and python3 is there"
        return 1
    fi
}

# apt with lists, caches and sources of its own: the machine's are left alone, and root is not needed.
private_apt() {
    run_child env -C "$APT/files" apt-get -q -o Dir::Etc::SourceList="$APT/sources.list" -o Dir::Etc::SourceParts=- \
        -o Dir::State::Lists="$APT/lists" -o Dir::Cache="$APT/cache" -o APT::Sandbox::User=root \
        -o Acquire::Retries=1 -o Acquire::http::Timeout=20 -o Acquire::https::Timeout=20 "$@"
}

from_debian() {
    command -v apt-get >/dev/null || { echo "there is no apt-get" && return 1; }
    local mirror
    for mirror in $(debian_mirrors); do
        if from_mirror "$mirror"; then return; fi
    done
    echo "none of the mirrors that apt uses here gave the source package $CPYTHON_DEBIAN_SOURCE"
    return 1
}

# The archives that the machine's own apt is set up for. --print-uris works before any apt-get update, too.
debian_mirrors() {
    apt-get --print-uris update 2>/dev/null | sed -n "s|^'\(.*\)/dists/.*|\1|p" | grep -v security | sort -u
}

from_mirror() {
    APT=$HOME_DIR/tmp/apt
    rm -rf "$APT"
    mkdir -p "$APT/lists/partial" "$APT/cache/archives/partial" "$APT/files"
    echo "deb-src $(signed_by)$1 $CPYTHON_DEBIAN_SUITE main" >"$APT/sources.list"
    private_apt update || return
    private_apt source --download-only "$CPYTHON_DEBIAN_SOURCE" || return
    mv "$APT/files/$CPYTHON_DEBIAN_SOURCE"_*.orig.tar.xz "$DOWNLOAD"
}

# Named outright, because other releases' apt may not trust this suite's key by default.
signed_by() {
    local keyring
    for keyring in /usr/share/keyrings/debian-archive-keyring.{gpg,pgp}; do
        if [[ -r $keyring ]]; then echo "[signed-by=$keyring] " && return; fi
    done
}

# try ROUTE NAME: the route's messages are shown only if no route works
try() {
    say "    trying $2"
    rm -f "$DOWNLOAD"
    if ! "$1" >"$HOME_DIR/tmp/route.log" 2>&1; then
        FAILURES+=("$2: $(tail -n 1 "$HOME_DIR/tmp/route.log")")
    elif ! verify "$DOWNLOAD" "$2"; then
        FAILURES+=("$2: it gave another file (wrong SHA-256)")
    else
        keep "$DOWNLOAD"
    fi
}

download() {
    FAILURES=()
    try from_python_org python.org
    [[ -f $KEPT ]] || try from_debian "the Debian mirror that apt uses"
    [[ -f $KEPT ]] || die "$NAME is missing, and could not be downloaded" "${FAILURES[@]}" \
        "Get that file (SHA-256 $CPYTHON_SHA256)" "on another machine, and set MAGPY_CPYTHON_TARBALL to its path."
}

if [[ -n ${MAGPY_CPYTHON_TARBALL:-} ]]; then
    from_variable
elif [[ -f $KEPT ]] && ! verify "$KEPT" "$KEPT"; then
    rm -f "$KEPT"  # a damaged disk: fetch it again
fi
if [[ ! -f $KEPT ]]; then
    say "[${MAGPY_STAGE:-1/1}] fetching CPython $CPYTHON_VERSION"
    download
fi
