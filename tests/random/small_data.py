"""Data sets of a few KiB, made from dice: a [data] section for each kind that a network can read."""

import array
import io
import json
import pathlib
import struct
import tarfile
import zlib

# A small Hugging Face folder with a tokenizer and lines of JSON (tests/python/answers_test.py made it).
TUNED = pathlib.Path(__file__).resolve().parent.parent / "distributed" / "tuned"
WORDS = "water falls down the penstock and turns a wheel until evening comes over hills where rivers begin to rise".split()


def sentence(dice, longest):
    return " ".join(dice.choice(WORDS) for _ in range(dice.randint(1, longest)))


def png(dice, height, width, colour):
    """Noise around a colour."""
    rows = b"".join(b"\0" + bytes((value + dice.randrange(40)) % 256 for _ in range(width) for value in colour)
                    for _ in range(height))

    def chunk(kind, body):
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def synthetic(dice, _folder):
    return {"kind": "synthetic", "samples": dice.choice([40, 97, 200]), "validation": "0.3"}


def text(dice, folder):
    (folder / "text.txt").write_text("\n".join(sentence(dice, 12) for _ in range(150)))
    return {"kind": "text", "train": "text.txt", "validation": "0.2"}


def pieces(dice, folder):
    return {**text(dice, folder), "tokenizer": "sentencepiece", "vocabulary_size": 290}  # 256 of them are bytes


def tokens(dice, folder):
    """Of a vocabulary of 20, as numpy.save() writes them."""
    numbers = array.array("H", (dice.randrange(20) for _ in range(dice.choice([700, 1500]))))
    head = f"{{'descr': '<u2', 'fortran_order': False, 'shape': ({len(numbers)},), }}"
    head += " " * (-(len(head) + 11) % 64) + "\n"
    (folder / "tokens.npy").write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + numbers.tobytes())
    return {"kind": "tokens", "train": "tokens.npy", "validation": "0.2"}


def lines_of_json(dice, folder):
    """Texts, and prompts with completions, in the words of the small folder's tokenizer."""
    lines = []
    for _ in range(dice.choice([30, 60])):
        if dice.random() < 0.5:
            lines.append({"text": sentence(dice, 6)})
        else:
            lines.append({"prompt": sentence(dice, 3) + " ", "completion": sentence(dice, 2)})
    (folder / "lines.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return {"kind": "jsonl", "train": "lines.jsonl", "validation": "0.3", "vocabulary": str(TUNED),
            "too_long": dice.choice(["cut", "leave-out"])}


def parallel(dice, folder):
    for language in ("xx", "yy"):
        (folder / f"train.{language}").write_text("".join(sentence(dice, 4) + f" {i}\n" for i in range(80)))
    return {"kind": "parallel", "train": "train.{language}", "pairs": dice.choice([["xx-yy"], ["xx-yy", "yy-xx"]]),
            "vocabulary_size": 45, "validation": "0.2", "temperature": dice.choice([1.0, 5.0])}


def put_images(dice, path, each):
    """Five classes of PNG files of unequal sizes, in a folder or, where it is called so, in an archive."""
    files = {f"class{kind}/{i}.png": png(dice, dice.randint(8, 14), dice.randint(8, 14), (50 * kind, 200 - 40 * kind, 90))
             for kind in range(5) for i in range(dice.randint(1, each))}
    if path.suffix == ".tar":
        with tarfile.open(path, "w") as archive:
            for name, content in files.items():
                entry = tarfile.TarInfo(name)
                entry.size = len(content)
                archive.addfile(entry, io.BytesIO(content))
    else:
        for name, content in files.items():
            (path / name).parent.mkdir(parents=True, exist_ok=True)
            (path / name).write_bytes(content)
    return path.name


def images(dice, folder):
    return {"kind": "images", "train": put_images(dice, folder / dice.choice(["set", "set.tar"]), 8),
            "validation": put_images(dice, folder / dice.choice(["held", "held.tar"]), 3),
            "flip": dice.random() < 0.5, "crop_padding": dice.choice([0, 2]), "cutout": dice.choice([0, 0, 3])}
