# shellcheck shell=bash
# What the user sees of a set-up, and how it ends: one line a stage, the commands' output in a log, errors in full.
# Sourced after home.sh, by scripts for which HOME_DIR is set.

say() { printf '%s\n' "$*" >&2; }

# die SENTENCE [WHAT-TO-DO…]
die() {
    printf '\nmagpy: %s\n' "$1" >&2
    shift
    [[ $# == 0 ]] || printf '       %s\n' "$@" >&2
    exit 1
}

# run_child COMMAND…: runs it in its own process group, so that a signal to this script ends it and all that it
# started. (A command in the foreground would make bash put the signal off until the command is done.)
CHILD=
run_child() {
    local status=0
    set -m
    "$@" &
    CHILD=$!
    set +m
    wait "$CHILD" || status=$?
    CHILD=
    return "$status"
}

REPORTER=
clean_up() {
    [[ -z $CHILD ]] || kill -TERM -- "-$CHILD" 2>/dev/null || :
    [[ -z $REPORTER ]] || kill -TERM -- "-$REPORTER" 2>/dev/null || :
}
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
trap 'exit 129' HUP

# begin_stage TITLE LOGNAME [LINES]: LINES is about how many lines the stage logs, for the percentage.
begin_stage() {
    STAGE="[${MAGPY_STAGE:-1/1}] $1"
    LOG=$HOME_DIR/logs/$(date +%Y%m%d-%H%M%S)-$2.log
    mkdir -p "$HOME_DIR/logs" "$HOME_DIR/tmp"
    : >"$LOG"
    STAGE_START=$SECONDS
    set -m  # a process group, to end its sleep too: that would keep our standard error open
    if [[ -t 2 ]]; then
        report_to_terminal "${3:-0}" $$ 9>&- &
    else
        say "$STAGE (log: $LOG)"
        report_to_file $$ 9>&- &
    fi
    REPORTER=$!
    set +m
}

# logged COMMAND…: one command of the stage
logged() {
    run_child "$@" >>"$LOG" 2>&1 </dev/null || fail_stage $?
}

end_stage() {
    stop_reporter
    say "$STAGE: done in $((SECONDS - STAGE_START)) s"
}

stop_reporter() {
    kill -TERM -- "-$REPORTER" 2>/dev/null || :
    wait "$REPORTER" 2>/dev/null || :
    REPORTER=
    [[ ! -t 2 ]] || printf '\r\033[K' >&2
}

fail_stage() {
    stop_reporter
    say "$STAGE: failed after $((SECONDS - STAGE_START)) s. The end of its log:"
    tail -n 25 "$LOG" | sed 's/^/    /' >&2
    if grep -qi 'no space left on device' "$LOG"; then
        die "the disk that holds $HOME_DIR, or the one that holds ${TMPDIR:-/tmp}, is full" \
            "Make room, or set MAGPY_HOME to a folder on a larger disk. What was half built is not used."
    fi
    if [[ -n ${STAGE_HINT:-} ]]; then die "$STAGE_HINT" "Log: $LOG"; fi
    die "the stage failed with exit status $1" "Log: $LOG"
}

report_to_terminal() {
    local lines=$1 parent=$2 bar percent seen last text
    while kill -0 "$parent" 2>/dev/null; do
        text="$STAGE  $((SECONDS - STAGE_START)) s"
        if ((lines)); then
            seen=$(wc -l <"$LOG")
            percent=$((seen < lines ? seen * 100 / lines : 99))
            printf -v bar '%*s' $((percent / 5)) ''
            printf -v text '%s  [%-20s] %2d %%' "$text" "${bar// /#}" "$percent"
        else
            last=$(tail -c 400 "$LOG" | tr -d '\r' | tail -n 1)
            text="$text  $last"
        fi
        printf '\r\033[K%s' "${text:0:${COLUMNS:-80}-1}" >&2
        sleep 1
    done
}

report_to_file() {
    while sleep 60 && kill -0 "$1" 2>/dev/null; do
        say "    … $((SECONDS - STAGE_START)) s: $(tail -n 1 "$LOG" | cut -c 1-120)"
    done
}
