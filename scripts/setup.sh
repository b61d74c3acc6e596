#!/bin/sh
# One step of the set-up; the Makefile says which steps are due and in which order.
#   setup.sh <step> <environment> <packages>, of them:
#   python    virtual environment <environment> with the packages of requirements/<packages>.txt
#   messages  impact_msgs, built with CMake and installed into the environment, which is its ROS prefix
#   package   impact_control, editable
#   warm      caches of byte code, fonts and compiled kernels
#   test      tools of requirements/test.txt
#   extras    packages of requirements/extras.txt
#   view      packages of requirements/view.txt
#   cluster   packages of requirements/cluster.txt
#   fuzz      packages of requirements/fuzz.txt
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

check_tools() {
    [ "$(uname -sm)" = "Linux x86_64" ] ||
        fail "the ROS 2 packages exist for Linux on x86_64 only, this is $(uname -sm): use a machine of that kind"
    command -v "${CC:-cc}" >/dev/null || command -v gcc >/dev/null || command -v clang >/dev/null ||
        fail "no C compiler found: install gcc or clang (Debian: apt-get install build-essential)"
    command -v "${CXX:-c++}" >/dev/null || command -v g++ >/dev/null || command -v clang++ >/dev/null ||
        fail "no C++ compiler found: install g++ or clang (Debian: apt-get install build-essential)"
    command -v cmake >/dev/null ||
        fail "no CMake found: install version 3.22 or newer (Debian: apt-get install cmake)"
}

# A ROS 2 Jazzy installation has Python 3.12; most of what differs there shows with 3.11, too.
find_python() {
    case $packages in compat) accepted='3.12 3.11' ;; *) accepted=3.11 ;; esac
    if [ -n "${PYTHON:-}" ]; then set -- "$PYTHON"; else set -- $(printf 'python%s ' $accepted) python3; fi
    for python in "$@"; do
        version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null) || version=none
        case " $accepted " in *" $version "*) break ;; esac
        python=
    done
    [ -n "$python" ] ||
        fail "no Python $(echo "$accepted" | sed 's/ / or /g') found as $(echo "$@" | sed 's/ / or /g'): install it (Debian: apt-get install python3.11-venv python3.11-dev) or name it: make PYTHON=/path/to/python3.11"
    [ "$version" = "${accepted%% *}" ] ||
        printf 'setup: no Python %s found as %s: the tests run on %s instead\n' "${accepted%% *}" "$1" "$version" >&4
    "$python" -c 'import ensurepip, venv' 2>/dev/null ||
        fail "$python has no module venv or ensurepip: install them (Debian: apt-get install python3.11-venv)"
    "$python" -c 'import os, sysconfig; os.stat(sysconfig.get_path("include") + "/Python.h")' 2>/dev/null ||
        fail "$python has no header files: install them (Debian: apt-get install python3.11-dev)"
}

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

case $step in
python)
    check_tools
    find_python
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
    check_tools
    begin '2/4 messages'
    AMENT_PREFIX_PATH=$venv
    CMAKE_PREFIX_PATH=$venv
    export AMENT_PREFIX_PATH CMAKE_PREFIX_PATH
    { cmake -S src/impact_msgs -B "$environment/build/impact_msgs" -Wno-dev -DCMAKE_BUILD_TYPE=Release -DBUILD_TESTING=OFF \
        -DCMAKE_INSTALL_PREFIX="$venv" -DPython3_EXECUTABLE="$venv/bin/python" &&
        cmake --build "$environment/build/impact_msgs" --parallel "$(nproc)" &&
        cmake --install "$environment/build/impact_msgs"; } ||
        fail "impact_msgs does not build: $(cause 'parser\.invalid|[^ ]*: error:' || cause error || echo 'no reason given') (details: $log)"
    end
    ;;
package)
    begin '3/4 package'
    install --editable src/impact_control
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
    begin 'test tools'
    install -r requirements/test.txt
    end
    ;;
extras)
    begin 'extras (downloads several 100 MB)'
    install -r requirements/extras.txt
    end
    ;;
view)
    begin 'live view (downloads 30 MB)'
    install -r requirements/view.txt
    end
    ;;
cluster)
    begin 'Dask (downloads 7 MB)'
    install -r requirements/cluster.txt
    end
    ;;
fuzz)
    begin 'fuzzer (downloads 35 MB)'
    install -r requirements/fuzz.txt
    end
    ;;
browser)
    command -v npm >/dev/null ||
        fail "no npm found, which brings a headless browser: install it (Debian: apt-get install npm), or name a Chromium: make browser BROWSER=/path/to/chromium"
    begin 'headless browser (downloads 70 MB)'
    scripts/browser.sh || fail "the headless browser cannot be had from npm: $(tail -n 1 "$log" | cut -c -200) (details: $log)"
    end
    ;;
peers)
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
