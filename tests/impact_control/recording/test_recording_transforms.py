"""Messages of `/tf` against an independent encoder, and their way through a bag."""

from __future__ import annotations

import numpy as np
from mcap_ros2._dynamic import serialize_dynamic

from impact_control.recording.bag import BagWriter
from impact_control.recording.messages import message_definition
from impact_control.recording.series import read_bag
from impact_control.recording.transforms import TRANSFORMS_TYPE, TransformEncoder
from recording_samples import EPOCH_NS, time_message, vector_message

LINKS = (("world", "base"), ("base", "a_link"), ("a_link", "tip"))


def told(stamp, poses):
    """The same message as nested dictionaries."""
    return {
        "transforms": [
            {
                "header": {"stamp": time_message(stamp), "frame_id": parent},
                "child_frame_id": child,
                "transform": {
                    "translation": vector_message(pose[:3]),
                    "rotation": dict(zip("xyzw", pose[3:].tolist(), strict=True)),
                },
            }
            for (parent, child), pose in zip(LINKS, poses, strict=True)
        ]
    }


def test_the_bytes_are_those_of_an_independent_encoder(prefix):
    encode = serialize_dynamic(TRANSFORMS_TYPE, message_definition(TRANSFORMS_TYPE, [prefix]))[TRANSFORMS_TYPE]
    encoder = TransformEncoder(LINKS)
    random = np.random.default_rng(3)
    for stamp in (0, EPOCH_NS, EPOCH_NS + 20_000_000):
        poses = random.normal(size=(len(LINKS), 7))
        assert encoder.encode(stamp, poses) == bytes(encode(told(stamp, poses)))


def test_an_installed_definition_comes_first(tmp_path, prefix):
    file = tmp_path / "share" / "tf2_msgs" / "msg" / "TFMessage.msg"
    file.parent.mkdir(parents=True)
    file.write_text("# of the distribution\ngeometry_msgs/TransformStamped[] transforms\n")
    assert message_definition(TRANSFORMS_TYPE, [tmp_path, prefix]).startswith("# of the distribution")


def test_a_bag_with_frames_reads_as_any_other(tmp_path, prefix):
    encoder, poses = TransformEncoder(LINKS), np.arange(21.0).reshape(3, 7)
    with BagWriter(tmp_path / "bag", search_paths=[prefix]) as bag:
        for stamp in (EPOCH_NS, EPOCH_NS + 20_000_000):
            bag.write("/tf", TRANSFORMS_TYPE, encoder.encode(stamp, poses), stamp + 1_000)
    recording = read_bag(tmp_path / "bag")
    assert recording.notes == ()
    series = recording.series("tf")
    assert series["transforms.2.child_frame_id"] == ["tip", "tip"]
    np.testing.assert_array_equal(series["transforms.1.transform.rotation"], [poses[1, 3:]] * 2)
