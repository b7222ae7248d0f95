#!/usr/bin/env python3
"""What --tensorboard writes, read by a decoder of its own: framing, checksums, fields, and beside metrics.jsonl the values.

usage: event_file_test.py PENSTOCK
"""

import json
import pathlib
import struct
import subprocess
import sys
import tempfile

RUN_FILE = """[model]
kind = "mlp"
hidden_layers = [8]
image = [1, 4, 4]
[data]
kind = "synthetic"
[checkpoint]
every = 3
[run]
threads = 1
tensorboard = true
"""


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def masked(data):
    crc = crc32c(data)
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def records(data):
    """The TFRecords of a file, whose checksums must be right."""
    at = 0
    while at < len(data):
        length, check = struct.unpack_from("<QI", data, at)
        assert check == masked(data[at:at + 8]), f"checksum of the length at byte {at}"
        record = data[at + 12:at + 12 + length]
        (check,) = struct.unpack_from("<I", data, at + 12 + length)
        assert len(record) == length and check == masked(record), f"checksum of the record at byte {at}"
        yield record
        at += 16 + length


def varint(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if data[at - 1] < 0x80:
            return value, at


def fields(data):
    """(number, value) of a message in protocol buffers' wire format."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        if key & 7 == 0:
            value, at = varint(data, at)
        elif key & 7 == 2:
            length, at = varint(data, at)
            value, at = data[at:at + length], at + length
        else:
            form, size = {1: ("<d", 8), 5: ("<f", 4)}[key & 7]
            (value,), at = struct.unpack_from(form, data, at), at + size
        yield key >> 3, value


def scalars(path):
    """{(step, tag): value}, and the first step if the file says that the run went on."""
    found, restart = {}, None
    for number, record in enumerate(records(path.read_bytes())):
        event = dict(fields(record))
        assert 1.5e9 < event[1] < 4e9, f"wall time {event[1]}"
        if number == 0:
            assert event[3] == b"brain.Event:2", event
        if 7 in event:
            assert dict(fields(event[7])) == {1: 1}
            restart = event[2]
        for _, value in fields(event.get(5, b"")):
            value = dict(fields(value))
            found[event[2], value[1].decode()] = value[2]
    return found, restart


def near(a, b):
    return abs(a - b) <= 1e-6 * abs(b)


def main():
    (penstock,) = sys.argv[1:]
    assert crc32c(b"123456789") == 0xE3069283
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        (folder / "run.toml").write_text(RUN_FILE)
        out = folder / "run"

        def train(steps, *options):
            subprocess.run([penstock, "train", folder / "run.toml", "--out", out, "--steps", str(steps), *options],
                           check=True, stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL)

        train(5)
        train(7, "--resume", "auto")
        files = sorted((out / "tensorboard").iterdir())
        assert len(files) == 2, files
        (first, restart), (second, again) = scalars(files[0]), scalars(files[1])
        assert restart is None and again == 6, (restart, again)
        lines = [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]
        for line in lines:
            if line.get("eval"):
                continue
            found = (first if line["attempt"] == 1 else second)
            for tag, key in [("loss", "loss"), ("gradient_norm", "grad_norm"), ("learning_rate", "learning_rate"),
                             ("samples_per_s", "throughput"), ("step_ms", "step_ms"), ("accuracy", "accuracy")]:
                assert near(found[line["step"], f"train/{tag}"], line[key]), (tag, line)
        assert {step for step, _ in first} == {1, 2, 3, 4, 5} and {step for step, _ in second} == {6, 7}
        train(2, "--overwrite", "--run.tensorboard", "false")
        assert not (out / "tensorboard").exists(), "another run's event files are still there"
        print(f"{len(first)} and {len(second)} scalars, as in metrics.jsonl")


if __name__ == "__main__":
    main()
