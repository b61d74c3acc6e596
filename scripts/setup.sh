#!/bin/sh
# One step of the set-up; the Makefile says which steps are due and in which order.
#   setup.sh <step> <environment> <packages>, of them:
#   python    virtual environment <environment> with the packages of requirements/<packages>.txt
#   messages  impact_msgs, built with CMake and installed into the environment, which is its ROS prefix
#   package   impact_control and impact_control_ros, editable
#   warm      caches of byte code, fonts and compiled kernels
#   test      tools of requirements/test.txt; studies and benchmark, editable
#   extras    packages of requirements/extras.txt
#   view      packages of requirements/view.txt
#   cluster   packages of requirements/cluster.txt
#   fuzz      packages of requirements/fuzz.txt
#   lock      packages of requirements/lock.txt
#   browser   a headless Chromium in .venv/browser, from npm
#   peers     virtual environment <environment>/peers with the packages of requirements/peers.txt
# Progress goes to standard error, everything else to <environment>/log/<step>.log. A step that fails
# writes the reason, one line, to standard output.
set -eu

step=$1
environment=$2
packages=$3
venv=$PWD/$environment
log=$environment/log/$step.log
started=$(date +%s)
in_line=

exec 3>&1 4>&2

begin() {
    printf 'setup %s ... ' "$1" >&4
    in_line=yes
    mkdir -p "$environment/log" "$environment/stamps"
    exec >"$log" 2>&1
}

end() {
    seconds=$(($(date +%s) - started))
    printf '%s s\n' "$seconds" >&4
    in_line=
    echo "$seconds" >>"$environment/log/seconds"
}

fail() {
    [ -z "$in_line" ] || printf 'failed\n' >&4
    printf 'setup: %s\n' "$1" >&3
    trap - EXIT
    exit 1
}

# Any command that fails without a reason of its own.
trap '[ $? -eq 0 ] || fail "step $step failed, see $log"' EXIT
trap 'fail "interrupted, run make again"' INT TERM

# What went wrong: the first match in the log with the rest of its line, cut to a length that can be read.
cause() {
    line=$(grep -m 1 -ioE "($1).*" "$log") && printf '%.200s' "$line"
}

. scripts/machine.sh

# Exactly what the lock file says: no resolving, no building in environments of pip's own. Byte code is left to the
# first import, which most modules never see.
install() {
    "${installed_into:-$environment}/bin/python" -m pip install --disable-pip-version-check --no-input --no-cache-dir --progress-bar off \
        --retries 3 --no-deps --no-compile --use-pep517 --no-build-isolation "$@" && return
    if grep -qE 'connection broken|ConnectionError|ReadTimeout|ProxyError' "$log"; then
        fail "the Python package index cannot be reached: check network, proxy and certificates, then run make again (details: $log)"
    fi
    fail "pip: $(grep ERROR "$log" | tail -n 1 | cut -c -200) (details: $log)"
}

# The packages of a list, where it has them for the environment's Python.
check_list() {
    version=$("$environment/bin/python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
    case ", $(pythons_of "$step")," in
    *", $version,"*) ;;
    *) fail "requirements/$step.txt has packages for Python $(pythons_of "$step"), $environment has $version: name one of them, make PYTHON=/path/to/python" ;;
    esac
}

add() {
    check_list
    begin "$1"
    install -r "requirements/$step.txt"
    end
}

case $step in
python)
    check_machine
    # An environment is a function of the lock file: never patched, always made anew.
    rm -rf "$environment"
    begin "1/4 python $version environment (downloads 280 MB)"
    "$python" -m venv "$environment"
    install "$(grep '^setuptools==' "requirements/$packages.txt")"
    install -r "requirements/$packages.txt"
    "$environment/bin/python" scripts/slim.py
    cp scripts/environment.pth "$environment/lib/python$version/site-packages/impact_control_environment.pth"
    end
    printf '%s' "$PWD" >"$environment/stamps/python"
    ;;
messages)
    check_machine
    begin '2/4 messages'
    AMENT_PREFIX_PATH=$venv
    CMAKE_PREFIX_PATH=$venv
    export AMENT_PREFIX_PATH CMAKE_PREFIX_PATH
    { cmake -S src/impact_msgs -B "$environment/build/impact_msgs" -Wno-dev -DCMAKE_BUILD_TYPE=Release -DBUILD_TESTING=OFF \
        -DWITHOUT_CPP=ON -DCMAKE_INSTALL_PREFIX="$venv" -DPython3_EXECUTABLE="$venv/bin/python" &&
        cmake --build "$environment/build/impact_msgs" --parallel "$(nproc)" &&
        cmake --install "$environment/build/impact_msgs"; } ||
        fail "impact_msgs does not build: $(cause 'parser\.invalid|[^ ]*: error:' || cause error || echo 'no reason given') (details: $log)"
    end
    ;;
package)
    begin '3/4 package'
    install --editable src/impact_control --editable src/impact_control_ros
    end
    ;;
warm)
    begin '4/4 caches'
    "$environment/bin/python" scripts/warm_up.py ||
        fail "impact_control does not start: $(tail -n 1 "$log" | cut -c -200) (details: $log)"
    end
    printf 'setup done in %s s, %s takes %s MB\n' \
        "$(awk '{ sum += $1 } END { print sum }' "$environment/log/seconds")" "$environment" \
        "$(du -s --block-size=1MB "$environment" | cut -f 1)" >&4
    ;;
test)
    check_list
    begin 'test tools, studies, benchmark'
    install -r requirements/test.txt
    install --editable src/impact_studies --editable tools
    end
    ;;
extras) add 'extras (downloads several 100 MB)' ;;
view) add 'live view (downloads 30 MB)' ;;
cluster) add 'Dask (downloads 7 MB)' ;;
coverage) add 'coverage (downloads 1 MB)' ;;
fuzz) add 'fuzzer (downloads 35 MB)' ;;
lock) add 'uv (downloads 20 MB)' ;;
browser)
    command -v npm >/dev/null ||
        fail "no npm found, which brings a headless browser: install it (Debian: apt-get install npm), or name a Chromium: make browser BROWSER=/path/to/chromium"
    begin 'headless browser (downloads 70 MB)'
    scripts/browser.sh || fail "the headless browser cannot be had from npm: $(tail -n 1 "$log" | cut -c -200) (details: $log)"
    end
    ;;
peers)
    check_list
    begin 'peers for the benchmark (downloads 150 MB)'
    rm -rf "$environment/peers"
    "$environment/bin/python" -m venv "$environment/peers"
    installed_into=$environment/peers
    install -r requirements/peers.txt
    end
    ;;
*)
    fail "unknown step $step"
    ;;
esac
