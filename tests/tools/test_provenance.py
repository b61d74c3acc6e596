"""What a measurement and a study say of the code that they were made with."""

from __future__ import annotations

import re
import subprocess

import numpy as np
import pytest

from benchmark import check as machine
from benchmark.check import describe_machine, machine_kind
from impact_studies.frame.provenance import commit_of, provenance

AUTHOR = {f"GIT_{who}_{what}": "nobody" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}


def git(directory, *arguments):
    return subprocess.run(["git", *arguments], cwd=directory, capture_output=True, text=True, check=True).stdout.strip()


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """A repository with a package and a file beside it."""
    for name, value in AUTHOR.items():
        monkeypatch.setenv(name, value)
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "__init__.py").touch()
    (tmp_path / "scenario.yaml").write_text("name: one\n")
    (tmp_path / ".gitignore").write_text("site-packages\n")
    git(tmp_path, "init")
    git(tmp_path, "add", "--all")
    git(tmp_path, "commit", "--message", "First")
    return tmp_path


def test_studies_and_measurements_name_the_commit_alike():
    assert describe_machine()["commit"] == provenance(0, quick=True)["commit"]


@pytest.mark.parametrize("tag", [(), ("tag", "v1.0"), ("tag", "--annotate", "v1.0", "--message", "First")])
def test_a_commit_is_named_by_its_hash_whatever_its_tags(checkout, tag):
    if tag:
        git(checkout, *tag)
    assert re.fullmatch("[0-9a-f]{40}", commit_of(checkout / "package"))
    assert commit_of(checkout / "package") == git(checkout, "rev-parse", "HEAD")


@pytest.mark.parametrize("place", ["package/__init__.py", "package/new.py", "scenario.yaml", "new.yaml"])
def test_what_is_not_committed_is_marked_wherever_it_is(checkout, place):
    (checkout / place).write_text("something else")
    assert commit_of(checkout / "package") == git(checkout, "rev-parse", "HEAD") + "+"


def test_an_installation_inside_another_repository_has_no_commit(checkout):
    installed = checkout / "site-packages" / "package"
    installed.mkdir(parents=True)
    (installed / "__init__.py").touch()
    assert commit_of(installed) == ""


def test_without_repository_or_git_there_is_no_commit(tmp_path, checkout, monkeypatch):
    assert commit_of(tmp_path / "nothing") == ""
    monkeypatch.setenv("PATH", "")
    assert commit_of(checkout / "package") == ""


def test_the_kind_of_a_machine_has_minor_versions(monkeypatch):
    monkeypatch.setattr(machine, "PACKAGES", ("numpy", "no-such-distribution"))
    numpy = ".".join(np.__version__.split(".")[:2])
    assert machine_kind().endswith(f"numpy {numpy}, no-such-distribution none")
