"""The exchange of impact_sim_hardware in C++, in a process that does as it is told: `test/manager.cpp`."""

from __future__ import annotations

import subprocess
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2] / "src" / "impact_sim_hardware"


def compiled(directory):
    """Compile the stand-in, complaining of every doubt; return the program."""
    program = directory / "manager"
    warnings = ["-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Werror"]
    options = ["-std=c++17", "-O1", *warnings, "-I", str(SOURCE / "include")]
    subprocess.run(["c++", *options, str(SOURCE / "test" / "manager.cpp"), "-o", str(program)], check=True)
    return program


class Manager:
    """A running stand-in; ends with its block."""

    def __init__(self, program, name, joints):
        command = [str(program), name, *joints]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.kill()

    def order(self, *words):
        """Give an order without waiting for the answer."""
        self.process.stdin.write(" ".join(str(word) for word in words) + "\n")

    def answer(self):
        """The answer to the oldest order without one."""
        return self.process.stdout.readline().rstrip("\n")

    def ask(self, *words):
        self.order(*words)
        return self.answer()

    def kill(self):
        self.process.kill()
        self.process.wait()
