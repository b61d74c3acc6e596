"""The ROS 2 side, for colcon (ament_python) and for pip.

Links beside this file lead to directories at the top of the repository, because colcon and setuptools take data files
from inside the package directory only.
"""

from glob import glob
from pathlib import Path
from xml.etree import ElementTree

from setuptools import find_packages, setup

PACKAGE = "impact_control_ros"
MANIFEST = ElementTree.parse("package.xml")
CONFIGURATION = ("controllers", "dds", "rviz", "security")
SHARED = ("package.xml", "launch/*.launch.py", "urdf/*", *(f"config/{part}/*" for part in CONFIGURATION))
NODES = (
    "simulator",
    "loop",
    "detector",
    "classifier",
    "controller",
    "predictor",
    "recorder",
    "supervisor",
    "viewer",
    "collision_behavior",
    "robot_check",
)

setup(
    name=PACKAGE,
    version=MANIFEST.findtext("version"),
    description=MANIFEST.findtext("description"),
    license=MANIFEST.findtext("license"),
    python_requires=">=3.11",
    packages=find_packages(include=[PACKAGE, f"{PACKAGE}.*"]),
    package_data={"": ["py.typed", "data/**/*"]},
    data_files=[
        ("share/ament_index/resource_index/packages", [f"resource/{PACKAGE}"]),
        *((str(Path("share", PACKAGE, pattern).parent), sorted(glob(pattern))) for pattern in SHARED),
    ],
    entry_points={
        "console_scripts": [f"{node} = impact_control_ros.nodes.{node}:main" for node in NODES],
        "impact_control.commands": ["ros = impact_control_ros.session.commands:add"],
    },
)
