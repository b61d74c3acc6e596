"""The library and its command, for colcon (ament_python) and for pip.

Links beside this file lead to directories at the top of the repository, because colcon and setuptools take data files
from inside the package directory only.
"""

from glob import glob
from pathlib import Path
from xml.etree import ElementTree

from setuptools import find_packages, setup

PACKAGE = "impact_control"
MANIFEST = ElementTree.parse("package.xml")
REQUIRED = (
    "daqp",
    "matplotlib",
    "mcap",
    "numba",
    "numpy",
    "pillow",
    "pin",
    "qpsolvers",
    "rich",
    "ruamel.yaml",
    "scipy",
    "typer",
    "zstandard",
)
SHARED = ("package.xml", "config/*.yaml", "config/scenarios/*.yaml", "config/scenarios/scenes/*.yaml", "config/view/*")

setup(
    name=PACKAGE,
    version=MANIFEST.findtext("version"),
    description=MANIFEST.findtext("description"),
    license=MANIFEST.findtext("license"),
    python_requires=">=3.11",
    install_requires=REQUIRED,
    extras_require={"trials": ["h5py"], "view": ["viser"]},
    packages=find_packages(include=[PACKAGE, f"{PACKAGE}.*"]),
    package_data={"": ["py.typed", "data/**/*"]},
    data_files=[
        ("share/ament_index/resource_index/packages", [f"resource/{PACKAGE}"]),
        *((str(Path("share", PACKAGE, pattern).parent), sorted(glob(pattern))) for pattern in SHARED),
    ],
    entry_points={"console_scripts": ["impact-control = impact_control.cli.__main__:main"]},
)
