"""Replay a bag: detect, classify and predict again, beside what was recorded. Cells (# %%) run in a notebook, too.

Usage: replay_bag.py [BAG] [SCENARIO]; default: the newest run of `make demo`, with the tuning it was recorded with.
"""

# %% Choose the recording
import sys
from pathlib import Path

from impact_control.recording.page import summary_text
from impact_control.replay import replay_file, summarise_replay

given = [word for word in sys.argv[1:] if not word.startswith("-")]
bags = [Path(given[0])] if given else sorted(Path("runs").glob("*/bag"))
if not bags:
    sys.exit("no bag in runs: make one with `make demo`, or give a path")
tuning = given[1] if len(given) > 1 else None

# %% Run observer, detector, classifier and predictor over its samples
runs = replay_file(bags[-1], scenario=tuning)

# %% Compare
for arm, run in runs.items():
    print(summary_text(summarise_replay(run)))
    for event in run.replay.events:
        print(f"{arm or 'arm'}: impact detected at {event.detection_time:.4f} s")
