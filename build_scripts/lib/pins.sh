# shellcheck shell=bash disable=SC2034  # sourced; the variables are for the scripts
# What CPython is built from and how. This file is part of the interpreter's key: a change here builds a new one.

CPYTHON_VERSION=3.13.5
CPYTHON_SHA256=93e583f243454e6e9e4588ca2c2662206ad961659863277afcdb96801647d640
CPYTHON_URL=https://www.python.org/ftp/python/$CPYTHON_VERSION/Python-$CPYTHON_VERSION.tar.xz

# The Debian source package whose .orig.tar.xz is that very file, for machines that reach only a Debian mirror.
CPYTHON_DEBIAN_SUITE=trixie
CPYTHON_DEBIAN_SOURCE=python3.13

# configure_flags FLAVOUR: sets CONFIGURE_FLAGS. "release" leaves PGO out: it would make the first set-up four times as long.
configure_flags() {
    CONFIGURE_FLAGS=(--with-ensurepip=install --without-static-libpython)
    case $1 in
        release) ;;
        pgo) CONFIGURE_FLAGS+=(--enable-optimizations) ;;
        debug) CONFIGURE_FLAGS+=(--with-pydebug) ;;
        # pymalloc hides out-of-bounds accesses from the sanitizer
        asan) CONFIGURE_FLAGS+=(--with-address-sanitizer --without-pymalloc) ;;
        *) return 1 ;;
    esac
}
