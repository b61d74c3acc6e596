"""Resolve requirements/<name>.in into requirements/<name>.txt: every package, exact versions, one file for all Pythons.

`test`, `extras`, `view`, `cluster`, `coverage`, `fuzz` and `lock` are resolved under the versions of `run` and hold
only what they add to it, all but the first under those of `test`, too, which are in the same environment; `peers` and
`compat` are environments of their own. What a requirement with the comment "files only" needs is left out.

The first line of a file names the Pythons for which all its packages have wheels; the set-up takes no other one.
Run by `make lock`.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

from packaging.requirements import Requirement

REQUIREMENTS = Path(__file__).resolve().parent.parent / "requirements"

PYTHONS = ("3.11", "3.12", "3.13", "3.14")
"""Versions of Python that the lock files cover, from the oldest with wheels of numpy 2.4, scipy 1.17, h5py 3.16 on."""

FOR_ALL = ("run", "test", "cluster")
"""Lock files that `make demo` and `make test` install, needed for each of PYTHONS."""

SOURCE_ONLY = "empy"
"""Has no wheel of the version that the message generators need: plain Python, built by the set-up."""

PLATFORM = "x86_64-manylinux_2_34"
"""glibc of Ubuntu 22.04, Debian 12 and whatever is newer."""

FILES_ONLY = "# files only"


def uv(*arguments: str, **options: object) -> subprocess.CompletedProcess[str]:
    """Run uv, which can resolve for Pythons that are not on this machine."""
    cache = ("--quiet", "--no-config", "--cache-dir", str(Path(sys.prefix) / "cache" / "uv"))
    return subprocess.run([sys.executable, "-m", "uv", "pip", *arguments, *cache], text=True, **options)


def served(pin: str) -> list[str]:
    """Return which of PYTHONS a pin is for, on a machine like this one."""
    marker = Requirement(pin).marker
    return [
        python
        for python in PYTHONS
        if marker is None or marker.evaluate({"python_version": python, "python_full_version": f"{python}.0"})
    ]


def resolve(name: str, *options: str) -> set[str]:
    """Return the pins for requirements/<name>.in, with a marker where they differ between PYTHONS."""
    lines = (REQUIREMENTS / f"{name}.in").read_text().splitlines()
    alone = {line.removesuffix(FILES_ONLY).strip() for line in lines if line.endswith(FILES_ONLY)}
    wanted = "\n".join(line for line in lines if not line.endswith(FILES_ONLY))
    # The fewest versions of a package that serve all Pythons, not the newest for each.
    how = ["--universal", "--fork-strategy", "fewest", "--python-version", PYTHONS[0], "--no-annotate", "--no-header"]
    found = uv("compile", *how, *options, "-", input=wanted, check=True, stdout=subprocess.PIPE).stdout.splitlines()
    pins = {pin: served(pin) for pin in found}
    everywhere = {pin.split(";")[0].strip() for pin, pythons in pins.items() if pythons == list(PYTHONS)}
    return alone | everywhere | {pin for pin, pythons in pins.items() if pythons and pythons != list(PYTHONS)}


def installable(lock: Path, python: str) -> bool:
    """Return whether every package of a lock file has a wheel for a Python; where not, uv says which."""
    with tempfile.TemporaryDirectory() as nowhere:
        where = ["--python-version", python, "--python-platform", PLATFORM, "--target", nowhere]
        kinds = ["--only-binary", ":all:", "--no-binary", SOURCE_ONLY]
        tried = uv("install", "--dry-run", "--no-deps", *where, *kinds, "--requirements", str(lock))
    if tried.returncode == 1:
        print(f"So {lock.name} is not for Python {python}.\n", file=sys.stderr)
        return False
    tried.check_returncode()
    return True


def write(name: str, pins: set[str]) -> None:
    """Write the lock file of `name`. Raises SystemExit where it does not serve the Pythons it has to."""
    lock = REQUIREMENTS / f"{name}.txt"
    lock.write_text("\n".join(sorted(pins)))
    pythons = [python for python in PYTHONS if installable(lock, python)]
    if name in FOR_ALL and pythons != list(PYTHONS):
        raise SystemExit(f"{lock.name} has to be installable with Python {', '.join(PYTHONS)}")
    header = f"# Resolved from {name}.in by `make lock`, for Python {', '.join(pythons)} on Linux x86_64."
    lock.write_text("\n".join([header, *sorted(pins), ""]))


def main() -> None:
    """Resolve all lists."""
    run = resolve("run")
    write("run", run)
    under = ["--constraints", str(REQUIREMENTS / "run.txt")]
    write("test", resolve("test", *under) - run)
    under += ["--constraints", str(REQUIREMENTS / "test.txt")]
    for name in ("extras", "view", "cluster", "coverage", "fuzz", "lock"):
        write(name, resolve(name, *under) - run)
    write("peers", resolve("peers"))
    write("compat", resolve("compat", "--overrides", str(REQUIREMENTS / "compat_overrides.in")))


if __name__ == "__main__":
    main()
