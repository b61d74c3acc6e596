# What a machine must have before anything can be set up: compilers, CMake, a Python with all its parts. Read by
# setup.sh, which has `fail`, `step` and `packages`. All that is missing is told at once, with the packages of the
# distribution that bring it.

# Prints the version of a Python and what it lacks: "3.13", "3.13 venv headers". Wheels are for CPython with glibc and
# the global lock; another build shows as what it is, "cpython-314t-x86_64-linux-gnu".
probe='
import os, sys, sysconfig
build = sysconfig.get_config_var("SOABI")
known = build in (None, "cpython-%d%d-x86_64-linux-gnu" % sys.version_info[:2])
print("%d.%d" % sys.version_info[:2] if known else build)
try:
    import ensurepip, venv
except ImportError:
    print("venv")
if not os.path.exists(os.path.join(sysconfig.get_path("include"), "Python.h")):
    print("headers")
'

# The Pythons that a lock file has packages for: "3.11, 3.12".
pythons_of() {
    sed -n '1s/.* for Python \(.*\) on Linux .*/\1/p' "requirements/$1.txt"
}

# The same, newest first, without commas.
newest_first() {
    reversed=
    for one in $(pythons_of "$1" | sed 's/,//g'); do
        reversed="$one${reversed:+ $reversed}"
    done
    echo "$reversed"
}

# Of the commands "$@" the first that is a Python of $accepted with all its parts becomes `python`, empty without one;
# `incomplete` is then the first that only lacks parts, and `unfit` says what the others are.
choose_python() {
    python= version= incomplete= unfit=
    for candidate in "$@"; do
        found=$(echo $("$candidate" -c "$probe" 2>/dev/null))
        version=${found%% *}
        [ -n "$version" ] || continue
        case " $accepted " in
        *" $found "*) python=$candidate && return ;;
        *" $version "*) [ -n "$incomplete" ] || { incomplete=$candidate && lacks=$found; } ;;
        *) unfit="$unfit${unfit:+, }$candidate is $version" ;;
        esac
    done
}

# How the distribution installs, and what it calls compilers, a Python that is new enough (empty: it has none) and what
# belongs to that. OS_RELEASE: another file to know it by, for the tests.
know_distribution() {
    known_by=${OS_RELEASE:-/etc/os-release}
    families= release=
    if [ -r "$known_by" ]; then
        families=$(. "$known_by" && echo "${ID:-} ${ID_LIKE:-}")
        release=$(. "$known_by" && echo "${ID:-}-${VERSION_ID:-}")
    fi
    installer= for_c=gcc for_cpp=g++ packaged=python3 with_venv= with_headers=
    for family in $families; do
        case $family in
        debian | ubuntu) installer='apt-get install' with_venv=-venv with_headers=-dev ;;
        fedora | rhel | centos) installer='dnf install' for_cpp=gcc-c++ with_headers=-devel ;;
        suse | opensuse*) installer='zypper install' for_cpp=gcc-c++ with_headers=-devel ;;
        arch) installer='pacman -S' for_cpp=gcc packaged=python ;;
        *) continue ;;
        esac
        break
    done
    case $release in
    ubuntu-22.04) packaged=python3.11 ;;
    rhel-[89]* | centos-[89]* | rocky-[89]* | almalinux-[89]* | ol-[89]*) packaged=python3.12 ;;
    opensuse-leap-15*) packaged=python311 ;;
    debian-1[01] | ubuntu-20.04) packaged= ;;
    esac
}

missing= bring= elsewhere=

# Note what is missing, and the packages that bring it.
lack() {
    missing="$missing${missing:+, }$1"
    shift
    for package in "$@"; do
        case " $bring " in *" $package "*) ;; *) bring="$bring${bring:+ }$package" ;; esac
    done
}

look_for_tools() {
    command -v "${CC:-cc}" >/dev/null || command -v gcc >/dev/null || command -v clang >/dev/null ||
        lack 'a C compiler (gcc or clang)' "$for_c"
    command -v "${CXX:-c++}" >/dev/null || command -v g++ >/dev/null || command -v clang++ >/dev/null ||
        lack 'a C++ compiler (g++ or clang++)' "$for_cpp"
    command -v cmake >/dev/null || lack 'CMake 3.22 or newer' cmake
}

# PYTHON if it is given. Otherwise python3 first: it is what the distribution, or who set up this shell, means by
# Python, and its header files are the ones that are installed most often; then the newest. To look like a ROS
# installation, the newest first: that is the Python of the installation.
look_for_python() {
    accepted=$(newest_first "$packages")
    set -- $(printf 'python%s ' $accepted)
    case $packages in compat) set -- "$@" python3 ;; *) set -- python3 "$@" ;; esac
    [ -z "${PYTHON:-}" ] || set -- "$PYTHON"
    choose_python "$@"
    if [ -n "$python" ]; then
        [ "$packages" != compat ] || [ "$version" = "${accepted%% *}" ] ||
            printf 'setup: no Python %s found as %s: the tests run on %s instead\n' "${accepted%% *}" "$1" "$version" >&4
        return
    fi
    if [ -n "$incomplete" ]; then
        version=${lacks%% *}
        case $installer:${incomplete##*/} in
        pacman* | *:python | *:python3) ;;
        zypper*) packaged=python${version%.*}${version#*.} ;;
        *) packaged=python$version ;;
        esac
        for part in ${lacks#* }; do
            case $part in
            venv) lack "the modules venv and ensurepip of $incomplete ($version)" "$packaged$with_venv" ;;
            headers) lack "the header files (Python.h) of $incomplete ($version)" "$packaged$with_headers" ;;
            esac
        done
        return
    fi
    # No package helps where one of that name is there and another version, or where PYTHON names what is none. Which
    # Pythons a distribution has beside its own is not known here.
    case ", $unfit" in *", $packaged is "*) packaged= ;; esac
    [ -z "${PYTHON:-}" ] && [ "$packages" != compat ] || packaged=
    lack "Python $(pythons_of "$packages" | sed 's/\(.*\), /\1 or /') (${unfit:-none as $(echo "$@" | sed 's/ / or /g')})" \
        ${packaged:+"$packaged" "$packaged$with_venv" "$packaged$with_headers"}
    elsewhere=" (a Python that lies elsewhere: make PYTHON=/path/to/python${accepted%% *})"
}

tell_what_is_missing() {
    [ -n "$missing" ] || return 0
    if [ -z "$installer" ]; then
        advice='install it with the package manager of this system'
    elif [ -n "$bring" ]; then
        advice="$installer $bring"
    else
        advice='no package of this system is known to bring it'
    fi
    fail "missing: $missing: $advice$elsewhere"
}

# For the step `python`, too, which chooses one: `python`, `version`.
check_machine() {
    [ "$(uname -sm)" = "Linux x86_64" ] ||
        fail "the ROS 2 packages exist for Linux on x86_64 only, this is $(uname -sm): use a machine of that kind"
    know_distribution
    look_for_tools
    [ "$step" != python ] || look_for_python
    tell_what_is_missing
}
