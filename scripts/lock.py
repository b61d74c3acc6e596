"""Resolve requirements/<name>.in into requirements/<name>.txt: every package, exact versions.

`test`, `extras`, `view`, `cluster` and `fuzz` are resolved under the versions of `run` and hold only what they add to
it, the last four under those of `test`, too, which are in the same environment; `peers` and `compat` are environments
of their own. What a requirement with the comment "files only" needs is left out, and of what Pinocchio 3 asks for in
`compat` its numpy.
Run by `make lock` with Python 3.11, so that a newcomer installs what was tried.
"""

import json
import subprocess
import sys
from pathlib import Path

REQUIREMENTS = Path(__file__).resolve().parent.parent / "requirements"


FILES_ONLY = "# files only"


def resolve(name: str, constraints: list[str]) -> set[str]:
    """Return the pins `package==version` that pip chooses for requirements/<name>.in."""
    lines = (REQUIREMENTS / f"{name}.in").read_text().splitlines()
    alone = {line.removesuffix(FILES_ONLY).strip() for line in lines if line.endswith(FILES_ONLY)}
    wanted = [line for line in lines if line and not line.startswith("#") and not line.endswith(FILES_ONLY)]
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-cache-dir", "--disable-pip-version-check"]
    what = ["--dry-run", "--ignore-installed", "--report", "-", *wanted]
    report = subprocess.run([*pip, *what, *constraints], check=True, stdout=subprocess.PIPE).stdout
    packages = (item["metadata"] for item in json.loads(report)["install"])
    return alone | {f"{package['name'].lower().replace('_', '-')}=={package['version']}" for package in packages}


def write(name: str, pins: set[str]) -> None:
    """Write the lock file of `name`."""
    header = f"# Resolved from {name}.in by `make lock`, for Python 3.11 on Linux x86_64."
    (REQUIREMENTS / f"{name}.txt").write_text("\n".join([header, *sorted(pins), ""]))


def main() -> None:
    """Resolve all lists."""
    run = resolve("run", [])
    write("run", run)
    under = ["-c", str(REQUIREMENTS / "run.txt")]
    write("test", resolve("test", under) - run)
    under += ["-c", str(REQUIREMENTS / "test.txt")]
    for name in ("extras", "view", "cluster", "fuzz"):
        write(name, resolve(name, under) - run)
    write("peers", resolve("peers", []))
    older = resolve("compat_pinocchio", [])
    write("compat", resolve("compat", []) | {pin for pin in older if not pin.startswith("numpy==")})


if __name__ == "__main__":
    main()
