"""The library and its command, for colcon (ament_python) and for pip.

Links beside this file lead to directories at the top of the repository, because colcon and setuptools take data files
from inside the package directory only.
"""

from collections import defaultdict
from pathlib import Path
from xml.etree import ElementTree

from setuptools import find_packages, setup

PACKAGE = "impact_control"
MANIFEST = ElementTree.parse("package.xml")


def shared(*paths: str) -> list[tuple[str, list[str]]]:
    """Map files, and every file below directories, to their places below share."""
    files = defaultdict(list)
    for path in map(Path, paths):
        for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
            if file.is_file() and "__pycache__" not in file.parts:
                files[f"share/{PACKAGE}/{file.parent}"].append(str(file))
    return list(files.items())


setup(
    name=PACKAGE,
    version=MANIFEST.findtext("version"),
    description=MANIFEST.findtext("description"),
    license=MANIFEST.findtext("license"),
    python_requires=">=3.10",
    packages=find_packages(include=[PACKAGE, f"{PACKAGE}.*"]),
    package_data={"": ["py.typed", "data/**/*"]},
    data_files=[
        ("share/ament_index/resource_index/packages", [f"resource/{PACKAGE}"]),
        *shared("package.xml", "config/scenarios", "config/view", "config/operating_envelope.yaml"),
    ],
    entry_points={"console_scripts": ["impact-control = impact_control.cli.__main__:main"]},
)
