"""The package, for colcon (ament_python) and for pip.

`launch/` and `config/` lie at the top of the repository. Links beside this file lead to them, because colcon
and setuptools take data files from inside the package directory only.
"""

from collections import defaultdict
from pathlib import Path
from xml.etree import ElementTree

from setuptools import find_packages, setup

PACKAGE = "impact_control"
MANIFEST = ElementTree.parse("package.xml")
NODES = (
    "simulator", "loop", "detector", "classifier", "controller", "predictor", "recorder", "supervisor", "viewer",
    "collision_behavior", "robot_check",
)  # fmt: skip


def shared(*directories: str) -> list[tuple[str, list[str]]]:
    """Map every file below `directories` to its place below share/impact_control."""
    files = defaultdict(list)
    for directory in directories:
        for file in sorted(Path(directory).rglob("*")):
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
        (f"share/{PACKAGE}", ["package.xml"]),
        *shared("launch", "config", "urdf"),
    ],
    entry_points={
        "console_scripts": [
            "impact-control = impact_control.cli:main",
            *(f"{node} = impact_control.nodes.{node}:main" for node in NODES),
        ]
    },
)
