#!/usr/bin/env bash
# check_machine.sh [--install-deps] [interpreter]
#
# Is everything there that a set-up compiles with? Names the Debian packages of what is not, and with --install-deps
# installs them, as root. "interpreter": check for what building CPython needs, too.
set -euo pipefail
# shellcheck source=build_scripts/lib/start.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/lib/start.sh"

INSTALL=no WITH_INTERPRETER=no
for arg; do
    case $arg in
        --install-deps) INSTALL=yes ;;
        interpreter) WITH_INTERPRETER=yes ;;
        *) die "check_machine.sh: unknown argument '$arg'" ;;
    esac
done

find_compilers() {
    if [[ -z ${CC:-} ]]; then CC=$(first_of gcc cc clang); fi
    if [[ -z ${CXX:-} ]]; then CXX=$(first_of g++ c++ clang++); fi
}

first_of() {
    local name
    for name; do
        if command -v "$name" >/dev/null; then echo "$name" && return; fi
    done
}

# look: sets MISSING (what a person calls it) and PACKAGES (what Debian calls it).
look() {
    MISSING=() PACKAGES=()
    find_compilers
    need_command "${CC:-gcc}" gcc "a C compiler"
    need_command "${CXX:-g++}" g++ "a C++ compiler"
    [[ $WITH_INTERPRETER == yes ]] || return 0
    need_command make make make
    need_command patch patch patch
    need_command xz xz-utils xz
    need_header zlib.h zlib1g-dev
    need_header openssl/ssl.h libssl-dev
    need_header ffi.h libffi-dev
    need_header bzlib.h libbz2-dev
    need_header lzma.h liblzma-dev
    need_header sqlite3.h libsqlite3-dev
    need_header readline/readline.h libreadline-dev
    need_header curses.h libncurses-dev
    need_header uuid/uuid.h uuid-dev
}

need_command() {
    command -v "${1%% *}" >/dev/null || { MISSING+=("$3") && PACKAGES+=("$2"); }
}

need_header() {
    # shellcheck disable=SC2086  # CC may hold options
    if [[ -z $CC ]] || ! printf '#include <stdio.h>\n#include <%s>\n' "$1" | $CC -E -x c - >/dev/null 2>&1; then
        MISSING+=("$1") && PACKAGES+=("$2")
    fi
}

install_packages() {
    [[ $EUID == 0 ]] || die "--install-deps needs root" "As root: apt-get install ${PACKAGES[*]}"
    command -v apt-get >/dev/null || die "--install-deps needs apt-get" "Install what Debian calls: ${PACKAGES[*]}"
    begin_stage "installing ${PACKAGES[*]}" apt
    STAGE_HINT="apt-get could not install: ${PACKAGES[*]}"
    export DEBIAN_FRONTEND=noninteractive
    logged apt-get update
    logged apt-get install -y --no-install-recommends "${PACKAGES[@]}"
    end_stage
}

# torch's headers are C++20: source_location came with GCC 11, concepts and consteval before it
check_cxx20() {
    local source='#include <concepts>
        #include <source_location>
        #include <span>
        template <std::integral T> consteval T twice(T x) { return 2 * x; }
        static_assert(twice(2) == 4);
        int main() { return std::source_location::current().line() == 0; }'
    # shellcheck disable=SC2086  # CXX may hold options
    if ! printf '%s\n' "$source" | $CXX -std=c++20 -fsyntax-only -x c++ - >/dev/null 2>&1; then
        die "the C++ compiler is too old for torch's headers: $($CXX --version 2>&1 | head -n 1)" \
            "They need C++20, as GCC 11 or Clang 16 and later have it. Set CXX to such a compiler."
    fi
}

look
if ((${#PACKAGES[@]})) && [[ $INSTALL == yes ]]; then
    install_packages
    look
fi
if ((${#PACKAGES[@]})); then
    die "this machine lacks: $(printf '%s, ' "${MISSING[@]}" | sed 's/, $//')" \
        "On Debian, as root: apt-get install ${PACKAGES[*]}" \
        "or: build_scripts/setup --install-deps"
fi
check_cxx20
