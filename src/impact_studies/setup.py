"""The studies, for colcon (ament_python) and for pip."""

from xml.etree import ElementTree

from setuptools import find_packages, setup

PACKAGE = "impact_studies"
MANIFEST = ElementTree.parse("package.xml")
REQUIRED = ("impact_control", "matplotlib", "numpy", "pin", "rich", "ruamel.yaml", "scipy", "typer")

setup(
    name=PACKAGE,
    version=MANIFEST.findtext("version"),
    description=MANIFEST.findtext("description"),
    license=MANIFEST.findtext("license"),
    python_requires=">=3.11",
    install_requires=REQUIRED,
    packages=find_packages(include=[PACKAGE, f"{PACKAGE}.*"]),
    package_data={"": ["py.typed", "data/**/*"]},
    data_files=[
        ("share/ament_index/resource_index/packages", [f"resource/{PACKAGE}"]),
        (f"share/{PACKAGE}", ["package.xml"]),
    ],
    entry_points={"impact_control.commands": ["studies = impact_studies.frame.command:add"]},
)
