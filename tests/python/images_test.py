#!/usr/bin/env python3
"""Our samples of PNG and JPEG files beside Pillow's convert("RGB") and convert("L").

usage: images_test.py PIXELS

Files of noise and of ramps in every form that Pillow writes or that is written here by hand: 1 to 16 bits, palettes, alpha, gamma, interlaced,
JPEG of grey, colours and inks. PNG must be the same to the last bit. So must JPEG, as far as Pillow has the same libjpeg; of another one
samples may differ by 3 and on average by 0.1. Skipped (77) where Python has no Pillow.
"""
import random
import struct
import subprocess
import sys
import tempfile
import zlib
from pathlib import Path

from command import skip

try:
    from PIL import Image
except ImportError as missing:
    skip(missing, "pillow")

SIDE = 16
CHANNELS = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}  # by PNG's colour type
DRAW = random.Random(3)


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(bits, colour_type, extra=b""):
    """Noise in this form."""
    row = (SIDE * bits * CHANNELS[colour_type] + 7) // 8
    raw = b"".join(b"\0" + DRAW.randbytes(row) for _ in range(SIDE))
    head = struct.pack(">IIBBBBB", SIDE, SIDE, bits, colour_type, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + extra + chunk(b"IDAT", zlib.compress(raw)) + chunk(b"IEND", b"")


def write_all(place):
    palette = chunk(b"PLTE", DRAW.randbytes(3 * 256))
    gammas = {"": b"", "-gamma1": chunk(b"gAMA", struct.pack(">I", 100000)), "-gamma22": chunk(b"gAMA", struct.pack(">I", 45455)),
              "-srgb": chunk(b"sRGB", b"\0")}
    for name, gamma in gammas.items():
        for colour_type, depths in {0: (1, 2, 4, 8, 16), 2: (8, 16), 4: (8, 16), 6: (8, 16)}.items():
            for bits in depths:
                (place / f"t{colour_type}-{bits}{name}.png").write_bytes(png(bits, colour_type, gamma))
        for bits in (1, 2, 4, 8):
            few = chunk(b"PLTE", DRAW.randbytes(3 << bits))
            (place / f"t3-{bits}{name}.png").write_bytes(png(bits, 3, gamma + few))
    (place / "t3-8-alpha.png").write_bytes(png(8, 3, palette + chunk(b"tRNS", DRAW.randbytes(200))))
    (place / "t0-8-key.png").write_bytes(png(8, 0, chunk(b"tRNS", b"\0\x40")))
    (place / "t2-8-key.png").write_bytes(png(8, 2, chunk(b"tRNS", b"\0\x40\0\x50\0\x60")))
    noise = Image.frombytes("RGB", (SIDE, SIDE), DRAW.randbytes(3 * SIDE * SIDE))
    ramp = Image.frombytes("RGB", (64, 64), bytes(v for y in range(64) for x in range(64) for v in (4 * x, 4 * y, 255 - 2 * (x + y))))
    exif = Image.Exif()
    exif[0x112] = 6  # rotated: not looked at
    for name, image in {"noise": noise, "ramp": ramp}.items():
        for quality in (30, 75, 95):
            image.save(place / f"{name}{quality}.jpg", quality=quality)
        image.save(place / f"{name}-full.jpg", quality=90, subsampling=0)
        image.save(place / f"{name}-steps.jpg", quality=90, progressive=True)
        image.save(place / f"{name}-turned.jpg", quality=90, exif=exif)
        image.convert("L").save(place / f"{name}-grey.jpg")
        image.convert("CMYK").save(place / f"{name}-inks.jpg")


def wanted(path, mode):
    image = Image.open(path)
    if image.mode.startswith("I"):  # 16 bits of grey, which convert() does not bring to 8
        data = image.tobytes()
        high = data[1::2] if image.mode in ("I;16", "I;16L") else data[::2]
        image = Image.frombytes("L", image.size, high)
    return image.size, image.convert(mode).tobytes()


def main():
    program = sys.argv[1]
    wrong = 0
    with tempfile.TemporaryDirectory() as temporary:
        write_all(Path(temporary))
        paths = sorted(Path(temporary).iterdir())
        for channels, mode in ((3, "RGB"), (1, "L")):
            out = subprocess.run([program, str(channels), *paths], capture_output=True, check=True).stdout
            at = 0
            for path in paths:
                height, width = struct.unpack_from("<ii", out, at)
                ours = out[at + 8: at + 8 + height * width * channels]
                at += 8 + len(ours)
                size, theirs = wanted(path, mode)
                apart = [abs(a - b) for a, b in zip(ours, theirs)]
                same = size == (width, height) and len(ours) == len(theirs)
                near = same and (ours == theirs or (path.suffix == ".jpg" and max(apart) <= 3 and sum(apart) <= 0.1 * len(apart)))
                if not near:
                    wrong += 1
                    print(f"{path.name} {mode}: ours {list(ours[:6])}, Pillow {list(theirs[:6])}, at most {max(apart, default=None)} apart")
        print(f"{2 * len(paths)} images, {wrong} differ")
    return 1 if wrong or at != len(out) else 0


sys.exit(main())
