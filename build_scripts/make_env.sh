#!/usr/bin/env bash
# make_env.sh [--test-extras]
#
# Makes the environment: a venv of the interpreter, with requirements.txt installed. --test-extras adds
# requirements-test.txt to it.
#
# pip changes the environment in place, and is not atomic: so "complete" is taken away before and put back after, and
# an environment found without it is thrown away and made again. (From pip's cache this takes minutes.)
set -euo pipefail
# shellcheck source=build_scripts/lib/start.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/lib/start.sh"
take_lock

locate
SITE=lib/python${CPYTHON_VERSION%.*}/site-packages
EXTRAS=$ROOT/build_scripts/requirements-test.txt
EXTRAS_DONE=$ENV_DIR/extras-$(short_hash <"$EXTRAS")

# An interpreter with another patch runs the same wheels: hard links to an environment with the same requirements save
# gigabytes and minutes, and carry over what the user installed. pip replaces files, it never writes into them.
seed() {
    local old script
    old=$(newest_sibling)
    [[ -n $old ]] || return 0
    logged echo "starting from $old"
    if ! cp -al "$old/$SITE" "$ENV_DIR/seed" >>"$LOG" 2>&1; then
        rm -rf "$ENV_DIR/seed"  # a file system without hard links
        return 0
    fi
    rm -rf "${ENV_DIR:?}/$SITE"
    mv "$ENV_DIR/seed" "$ENV_DIR/$SITE"
    for script in "$old"/bin/*; do
        if [[ -f $script && ! -L $script && ! -e $ENV_DIR/bin/${script##*/} ]]; then
            sed "1s|^#!$old/bin/|#!$ENV_DIR/bin/|" "$script" >"$ENV_DIR/bin/${script##*/}"
            chmod +x "$ENV_DIR/bin/${script##*/}"
        fi
    done
    cp -p "$old"/extras-* "$ENV_DIR/" 2>/dev/null || :
}

newest_sibling() {
    local dir newest=
    for dir in "$HOME_DIR/env-$(requirements_key)"-*; do
        if is_complete "$dir" && [[ -z $newest || $dir/complete -nt $newest/complete ]]; then newest=$dir; fi
    done
    echo "$newest"
}

pip_install() {
    STAGE_HINT="pip could not install $1. With no network, pip needs the wheels from elsewhere: PIP_FIND_LINKS=folder."
    logged "$ENV_DIR/bin/magpy-python" -P -m pip install --disable-pip-version-check --no-input -r "$1"
    STAGE_HINT=
}

# removed first: the seed's files are also another environment's
install_finder() {
    rm -f "$ENV_DIR/$SITE"/_magpy_checkout.*
    cp "$LIB/checkout_finder.py" "$ENV_DIR/$SITE/_magpy_checkout.py"
    echo "import _magpy_checkout" >"$ENV_DIR/$SITE/_magpy_checkout.pth"
}

make_env() {
    begin_stage "making the environment (torch and what it needs: gigabytes)" env
    rm -rf "$ENV_DIR"
    logged "$INTERPRETER_DIR/bin/magpy-python" -P -m venv "$ENV_DIR"
    seed
    pip_install "$ROOT/build_scripts/requirements.txt"
    logged "$ENV_DIR/bin/magpy-python" -P -c 'import Cython, numpy, pytest, setuptools, sklearn, torch'
    install_finder
    touch "$ENV_DIR/complete"
    end_stage
}

add_extras() {
    begin_stage "adding what the tests use" test-extras
    rm "$ENV_DIR/complete"
    pip_install "$EXTRAS"
    touch "$EXTRAS_DONE" "$ENV_DIR/complete"
    end_stage
}

is_complete "$ENV_DIR" || make_env
if [[ ${1:-} == --test-extras && ! -f $EXTRAS_DONE ]]; then add_extras; fi
