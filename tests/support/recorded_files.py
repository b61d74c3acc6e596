"""The same samples in files of every format that can be replayed, written here and not by what reads them."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import numpy as np

from impact_control.recording.messages import message_definition
from impact_control.recording.trials import Quantity, Source, Trial, TrialSet, write_trials
from recording_samples import encoder


def write_sqlite_bag(directory, prefix, types, messages, *, definitions=True):
    """Write messages (topic, content, log time in ns) as rosbag2 does since Iron; without definitions as before."""
    directory.mkdir(parents=True)
    with closing(sqlite3.connect(directory / f"{directory.name}_0.db3")) as database:
        database.executescript(
            "CREATE TABLE topics(id INTEGER PRIMARY KEY, name TEXT NOT NULL, type TEXT NOT NULL,"
            " serialization_format TEXT NOT NULL, offered_qos_profiles TEXT NOT NULL);"
            "CREATE TABLE messages(id INTEGER PRIMARY KEY, topic_id INTEGER NOT NULL, timestamp INTEGER NOT NULL,"
            " data BLOB NOT NULL); CREATE INDEX timestamp_idx ON messages (timestamp ASC);"
        )
        numbers, encoders = {}, {}
        for number, (topic, type_name) in enumerate(types.items(), 1):
            numbers[topic], encoders[topic] = number, encoder(type_name, prefix)
            database.execute("INSERT INTO topics VALUES (?, ?, ?, 'cdr', '')", (number, topic, type_name))
        if definitions:
            database.execute(
                "CREATE TABLE message_definitions(id INTEGER PRIMARY KEY, topic_type TEXT NOT NULL,"
                " encoding TEXT NOT NULL, encoded_message_definition TEXT NOT NULL, type_description_hash TEXT)"
            )
            for type_name in sorted(set(types.values())):
                text = message_definition(type_name, [prefix])
                database.execute(
                    "INSERT INTO message_definitions (topic_type, encoding, encoded_message_definition)"
                    " VALUES (?, 'ros2msg', ?)",
                    (type_name, text),
                )
        for topic, content, stamp in messages:
            database.execute(
                "INSERT INTO messages (topic_id, timestamp, data) VALUES (?, ?, ?)",
                (numbers[topic], stamp, encoders[topic](content)),
            )
        database.commit()


def write_libfranka_log(path, time, position, velocity, torque):
    """Write a log as `franka::logToCSV`: times in ms, other columns between those that count."""
    names = ["time", "success_rate"]
    for name in ("q", "q_d", "dq", "dq_d", "tau_J", "tau_ext_hat_filtered"):
        names += [f"state.{name}[{joint}]" for joint in range(position.shape[1])]
    nothing = np.full_like(position, 7.5)
    columns = [1e3 * time[:, None], np.ones((time.size, 1)), position, nothing, velocity, nothing, torque, nothing]
    rows = np.hstack(columns)
    lines = [",".join(names), *(",".join(repr(float(value)) for value in row) for row in rows)]
    path.write_text("\n".join(lines) + "\n")


def write_trial_file(path, scenario, time, position, velocity, torque, **facts):
    """Write one trial with the joint samples of its arm."""
    signals = {
        "joint_position": Quantity(position, "rad", "measured"),
        "joint_velocity": Quantity(velocity, "rad/s", "measured"),
        "joint_torque": Quantity(torque, "Nm", "measured, with what carries the arm"),
    }
    numbers = {name: Quantity(np.array(value), "s") for name, value in facts.items()}
    write_trials(path, TrialSet(scenario, 1, "1.2.3", (Trial({"arm": Source(time, signals)}, numbers),)))
