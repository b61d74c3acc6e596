"""Benchmark and endurance runs, used from a clone: an environment for tests links them, nothing installs them."""

from setuptools import setup

setup(
    name="impact_tools",
    version="0.2.0",
    packages=["benchmark", "endurance"],
    entry_points={
        "impact_control.commands": ["benchmark = benchmark.command:add", "endurance = endurance.command:add"]
    },
)
