#!/usr/bin/env bash
# run_cpython_tests.sh [TEST…]
#
# Runs CPython's own tests on the interpreter with the series and on one without, and compares the result of every test
# case. Both are built if need be. Ends with the differences; none: exit status 0.
set -euo pipefail
# shellcheck source=build_scripts/lib/start.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/lib/start.sh"

TESTS=("$@")
if ((${#TESTS[@]} == 0)); then
    TESTS=(test_sys test_dis test_generators test_coroutines test_exceptions test_monitoring test_sys_settrace
        test_capi test_dict test_list test_set test_gc test_descr test_scope test_weakref test_ordered_dict test_heapq
        test_functools test_threading)
fi

build() {
    take_lock
    "$ROOT/build_scripts/check_machine.sh" interpreter
    "$ROOT/build_scripts/fetch_cpython.sh"
    "$ROOT/build_scripts/build_cpython.sh"
    "$ROOT/build_scripts/build_cpython.sh" --stock
}

# run PREFIX NAME: failing tests are for the comparison, not for this script
run() {
    begin_stage "running ${#TESTS[@]} of CPython's tests, $2" "cpython-tests-$2"
    run_child env -C "$RESULTS" "$1/bin/magpy-python" -m test -j "$(nproc)" --timeout 900 \
        --junit-xml "$RESULTS/$2.xml" "${TESTS[@]}" >>"$LOG" 2>&1 </dev/null || :
    [[ -s $RESULTS/$2.xml ]] || fail_stage 1
    end_stage
}

# in a child, so that the tests, which take minutes, run without the lock
(build)
locate
RESULTS=$(mktemp -d)
run "$STOCK_DIR" without
run "$INTERPRETER_DIR" with
"$INTERPRETER_DIR/bin/magpy-python" "$LIB/compare_junit.py" "$RESULTS/without.xml" "$RESULTS/with.xml"
rm -rf "$RESULTS"
