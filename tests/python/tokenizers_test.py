#!/usr/bin/env python3
"""Our token ids beside those of the `tokenizers` and `sentencepiece` packages, for each family of vocabularies.

usage: tokenizers_test.py TOKEN_IDS SOURCE_TREE [--lines N] [--only FAMILY] [--keep DIR] [--goldens DIR] [--published]

Trains small vocabularies with the packages themselves, with each family's own expression and normaliser, on the tree's text and, where it lies beside
the tree, on shared/data. Then N lines of prose, code, emoji, odd characters and broken UTF-8, and every character of Unicode, go through both.
Every part that a file may have (tokenizer_forms.py) and what stands beside it in a folder likewise, the latter where transformers is there.
--published compares vocabularies that were published, which pip downloads inside packages of others; they are kept nowhere.
--goldens writes what tests/unit/data/words/ has instead: tiny vocabularies, hard lines and their ids. Skipped (77) where Python has not the packages.
"""
import argparse
import gzip
import io
import json
import random
import re
import struct
import subprocess
import sys
import tempfile
import time
import unicodedata
import zipfile
from pathlib import Path

from command import skip

try:
    import sentencepiece
    import tokenizer_forms
    from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
except ImportError as missing:
    skip(missing, "tokenizers sentencepiece")

try:
    import transformers
    transformers.logging.set_verbosity_error()
except ImportError:
    transformers = None

LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
          r"|\s*[\r\n]+|\s+(?!\S)|\s+")
QWEN = LLAMA3.replace(r"\p{N}{1,3}", r"\p{N}")


def corpus(tree):
    files = sorted(tree.glob("runtime/*/*/*.cpp"))[:80] + sorted(tree.glob("docs/*.md"))
    texts = [path.read_text(encoding="utf-8") for path in files]
    shared = tree.parent / "shared/data"
    for path in [shared / "tinyshakespeare/input.txt", *sorted(shared.glob("multi30k/train.*.gz"))]:
        if path.exists():
            data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
            texts.append(data.decode("utf-8")[:400_000])
    return texts


def trained(kind, texts, size=5256):
    tokenizer = Tokenizer(models.BPE(ignore_merges=kind == "llama3"))
    expression = {"llama3": LLAMA3, "qwen": QWEN}.get(kind)
    if expression is None:
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=kind == "prefixed")
    else:
        tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
            pre_tokenizers.Split(Regex(expression), "isolated"), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    if kind == "qwen":
        tokenizer.normalizer = normalizers.NFC()
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=False)
    tokenizer.train_from_iterator(texts, trainers.BpeTrainer(
        vocab_size=size, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), special_tokens=[], show_progress=False))
    if kind == "llama3":
        tokenizer.add_special_tokens(["<|begin_of_text|>", "<|end_of_text|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"])
        begin = tokenizer.token_to_id("<|begin_of_text|>")
        tokenizer.post_processor = processors.Sequence([
            processors.ByteLevel(trim_offsets=False),
            processors.TemplateProcessing(single="<|begin_of_text|> $A", special_tokens=[("<|begin_of_text|>", begin)])])
    elif kind == "qwen":
        tokenizer.add_special_tokens(["<|endoftext|>", "<|im_start|>", "<|im_end|>"])
        tokenizer.add_tokens(["<tool_call>", AddedToken("cafe\u0301-", normalized=True), AddedToken("word", single_word=True),
                              AddedToken("<mask>", lstrip=True, rstrip=True, normalized=False)])
    else:
        tokenizer.add_special_tokens(["<|endoftext|>"])
    return tokenizer


SPECIALS = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|begin_of_text|>", "<|eot_id|>", "<tool_call>", "<mask>", "caf\u00e9-", "cafe\u0301-",
            " word ", "sword word_", "<|im_", "<s>", "</s>", "<unk>"]
ODD = ["\u017f", "'\u017f", "'RE", "\u00a0", "\u3000", "\u180e", "\u200b", "\u200d", "\u0085", "\r\n", "\r", "\t", "  ", "\n\n \n", "\x00", "\ufffd",
       "\u0301", "\u212b", "\uac00", "\u1100\u1161", "\u0958", "\U0001f468\u200d\U0001f469\u200d\U0001f467", "\U0001f1e9\U0001f1ea", "\u00bd", "\u0665",
       "\u4e2d\u6587", "\u0e01\u0e33", "\u2028", "\U00010348", "1234567", "\u2167", "q\u0301\u0eba\u0323"]
BROKEN = [b"\xff", b"\xc3", b"\xe2\x82", b"\xed\xa0\x80", b"\xf0\x9f\x98", b"\xc0\x80", b"\xf5", b"\x80", b"\xf4\x90\x80\x80", b"\xe0\x80\xaf"]


def known(code):
    """Assigned when Unicode 14 came out: two libraries may know different versions."""
    return not 0xD800 <= code < 0xE000 and unicodedata.category(chr(code)) not in ("Cn", "Co")


def lines(texts, count):
    draw = random.Random(7)
    prose = [line for text in texts for line in text.split("\n") if line]
    characters = [chr(code) for code in range(0x20000) if known(code)]
    for _ in range(count):
        form = draw.random()
        line = draw.choice(prose)
        if form < 0.35:
            line += draw.choice(["", "\n", "  ", "\n\n"]) + draw.choice(prose)
        elif form < 0.6:
            parts = line.split(" ")
            for _ in range(draw.randrange(1, 5)):
                parts.insert(draw.randrange(len(parts) + 1), draw.choice(ODD + SPECIALS))
            line = draw.choice([" ", "", "  "]).join(parts)
        elif form < 0.75:
            line = "".join(draw.choice(characters) for _ in range(draw.randrange(1, 40)))
        elif form < 0.78:
            line = draw.choice(["ab", " ", "\n", "=", "\u00e9", "na"]) * draw.randrange(1, 400)
        data = line.encode("utf-8")
        if form > 0.9:
            for _ in range(draw.randrange(1, 4)):
                at = draw.randrange(len(data) + 1)
                data = data[:at] + draw.choice(BROKEN) + data[at:]
        yield data


def every_character():
    for code in range(0x110000):
        if known(code):
            c = chr(code)
            yield f"q\u0301{c}\u0323a{c}b {c} {c}{c}1{c}'{c}  {c}\n{c}".encode("utf-8")


def ours(program, folder, texts):
    given = b"".join(struct.pack("<i", len(text)) + text for text in texts)
    done = subprocess.run([program, folder], input=given, capture_output=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{program}: {done.returncode}: {done.stderr.decode()}")
    ids, out = [], io.BytesIO(done.stdout)
    while head := out.read(4):
        length = struct.unpack("<i", head)[0]
        ids.append(list(struct.unpack(f"<{length}i", out.read(4 * length))))
    return ids, done.stderr.decode().strip()


def compare(name, program, folder, encode, texts):
    got, speed = ours(program, folder, texts)
    assert len(got) == len(texts)
    start = time.perf_counter()
    wanted = [encode(text.decode("utf-8", errors="replace")) for text in texts]
    theirs = sum(map(len, texts)) / 1e6 / (time.perf_counter() - start)
    wrong = [i for i, (a, b) in enumerate(zip(got, wanted)) if a != b]
    print(f"{name}: {len(texts)} texts, {len(wrong)} differ; ours {speed}, the package {theirs:.1f} MB/s one by one", flush=True)
    for i in wrong[:5]:
        print("  text", texts[i], "\n  ours", got[i], "\n  theirs", wanted[i])
    return not wrong


def write_goldens(place, texts):
    odd = ["".join(draw) for draw in zip(ODD, ODD[1:], ODD[2:])]
    hard = [f"it's I'LL we've {c} 3.14159 x{c}y  z" for c in ODD + odd] + [f"so {s}{s} {t} done" for s in SPECIALS for t in ("", s)]
    hard += ["", " ", "\n", "\n\n\n", "   leading", "trailing   ", "a\n  b\n\n\tc", "for (int i = 0; i < n; ++i) {\n    x[i] += 1;\n}\n",
             "the " * 60, "na" * 90, "=" * 70, "\u00e9" * 40]
    data = [line.encode("utf-8") for line in hard] + [b"good " + broken + b" and " + broken + b"\x41" + broken for broken in BROKEN] + [b"".join(BROKEN)]
    golden = [{"hex": text.hex()} for text in data]
    for kind in ["gpt2", "llama3", "qwen"]:
        tokenizer = trained(kind, texts, 256 + 150)
        (place / kind).mkdir(parents=True, exist_ok=True)
        compact = json.dumps(json.loads(tokenizer.to_str()), ensure_ascii=False, separators=(",", ":"))
        (place / kind / "tokenizer.json").write_text(compact.replace("},", "},\n") + "\n", encoding="utf-8")
        for line, text in zip(golden, data):
            line[kind] = tokenizer.encode(text.decode("utf-8", errors="replace")).ids
    rows = ",\n".join(json.dumps(line, separators=(",", ":")) for line in golden)
    (place / "lines.json").write_text('{"lines":[\n' + rows + "]}\n", encoding="utf-8")


def pieces_of(texts, folder):
    """A vocabulary as Llama 2 has it: byte pairs of SentencePiece, unknown characters as bytes."""
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter([line for text in texts for line in text.split("\n") if line][:20000]), model_prefix=str(folder / "tokenizer"),
        model_type="bpe", vocab_size=2000, byte_fallback=True, normalization_rule_name="identity", remove_extra_whitespaces=False,
        split_digits=True, num_threads=1, minloglevel=2)
    return sentencepiece.SentencePieceProcessor(model_file=str(folder / "tokenizer.model"))


def compare_forms(program, place, texts, many, only):
    """Every part that a tokenizer.json may have, on small vocabularies."""
    good = True
    files = tokenizer_forms.vocabularies(texts[:20], 700)
    for name, kind, parts in tokenizer_forms.all_forms(files):
        if only not in (None, "forms", name):
            continue
        file = tokenizer_forms.with_parts(files[kind], parts)
        folder = place / name
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "tokenizer.json").write_text(json.dumps(file), encoding="utf-8")
        good &= compare(name, program, folder, lambda text, t=whole_texts(file): t.encode(text).ids, many)
    return good


def write_folder(folder, file, beside):
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in {"tokenizer": file, **beside}.items():
        if content is not None:
            (folder / f"{name}.json").write_text(json.dumps(content), encoding="utf-8")


def settled(folder):
    """What transformers makes of a folder."""
    loaded = transformers.AutoTokenizer.from_pretrained(folder)
    return lambda text: loaded(text)["input_ids"]


def compare_folders(program, place, texts, many):
    """What stands beside a tokenizer.json, or a tokenizer.model alone, beside transformers."""
    files = tokenizer_forms.vocabularies(texts[:20], 700)
    many = many + [b"a [x]  <t> b", b"in  <t>the [y] the[y]", b"</s>the<s> x</s>  <unk>", b"  [x]  the[x]A-b<|endoftext|>hello 12"]
    good = True
    for name, kind, parts, beside in tokenizer_forms.all_folders(files):
        folder = place / f"folder-{name}"
        write_folder(folder, tokenizer_forms.with_parts(files[kind], parts), beside)
        good &= compare(f"folder {name}", program, folder, settled(folder), many)
        if kind != "pieces" or beside["tokenizer_config"]["tokenizer_class"] != "LlamaTokenizer" or name in ("added", "mistral"):
            continue
        model = place / f"model-{name}"
        write_folder(model, None, beside)
        pieces_of(texts, model)
        good &= compare(f"model alone, {name}", program, model, settled(model), many)
    return good


def published_folders(place):
    """(folder, is it a tokenizer.json) of what is inside packages that pip finds."""
    subprocess.run([sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", str(place), "litellm", "mistral-common"], check=True)
    settings = {"tokenizer_class": "LlamaTokenizer", "bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>", "add_bos_token": True, "legacy": False}
    for wheel in sorted(place.glob("*.whl")):
        archive = zipfile.ZipFile(wheel)
        for name in archive.namelist():
            is_json = name.endswith("_tokenizer.json")
            if not is_json and not re.search(r"\.model\.v\d+$", name):
                continue
            folder = place / Path(name).name.replace(".", "-")
            write_folder(folder, None, {} if is_json else {"tokenizer_config": settings, "config": {"model_type": "llama"}})
            (folder / ("tokenizer.json" if is_json else "tokenizer.model")).write_bytes(archive.read(name))
            yield folder, is_json


def compare_published(program, place, many):
    good = True
    place.mkdir(parents=True, exist_ok=True)
    for folder, is_json in published_folders(place):
        if is_json:
            encode = whole_texts(json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))).encode
            good &= compare(folder.name, program, folder, lambda text, e=encode: e(text).ids, many)
        elif transformers is not None:
            good &= compare(folder.name, program, folder, settled(folder), many)
    return good


def whole_texts(file):
    """The tokenizer of a file, without what transformers does not look at until it is asked to."""
    tokenizer = Tokenizer.from_str(json.dumps(file))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


def write_folders(place, files, hard):
    """folders.json: of each folder its vocabulary, what changes, the files beside it, and the ids of a few lines."""
    folders = []
    for name, kind, parts, beside in tokenizer_forms.all_folders(files):
        with tempfile.TemporaryDirectory() as folder:
            write_folder(Path(folder), tokenizer_forms.with_parts(files[kind], parts), beside)
            beside = {name: content for name, content in beside.items() if content is not None}
            folders.append({"name": name, "vocabulary": kind, "parts": parts, "files": beside, "ids": [settled(folder)(text) for text in hard]})
    (place / "folders.json").write_text(json.dumps({"folders": folders}, separators=(",", ":")).replace('{"name"', '\n{"name"') + "\n", encoding="utf-8")


def write_forms(place, texts):
    """forms.json: three tiny vocabularies, and of each form what changes and the ids of a few lines; folders.json: likewise of settings of folders."""
    files = tokenizer_forms.vocabularies(texts[:20], 290)
    hard = ["It's 12\u00bd e\u0301a Cafe\u0301, an  \u4e2d\u6587! ", "<s> hello_world [x]...\u2028\u0130 \ufb01n</s> the 7", "  \U0001f600\U0001f600 \u0905q\u0323 A-b<|endoftext|>c"]
    forms = []
    for name, kind, parts in tokenizer_forms.all_forms(files):
        encode = whole_texts(tokenizer_forms.with_parts(files[kind], parts)).encode
        forms.append({"name": name, "vocabulary": kind, "parts": parts, "ids": [encode(text).ids for text in hard]})
    write_folders(place, files, hard)
    rows = ",\n".join(json.dumps(form, separators=(",", ":")) for form in forms)
    bases = ",\n".join(f'"{kind}":{json.dumps(file, separators=(",", ":"))}' for kind, file in files.items())
    (place / "forms.json").write_text(f'{{"lines":{json.dumps(hard)},\n"vocabularies":{{\n{bases}}},\n"forms":[\n{rows}]}}\n', encoding="utf-8")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("tree", type=Path)
    parser.add_argument("--lines", type=int, default=3000)
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--only", help="one family")
    parser.add_argument("--goldens", type=Path)
    parser.add_argument("--published", action="store_true")
    options = parser.parse_args()
    texts = corpus(options.tree)
    if options.goldens:
        write_goldens(options.goldens, texts)
        write_forms(options.goldens, texts)
        return 0
    good = True
    with tempfile.TemporaryDirectory() as temporary:
        place = options.keep or Path(temporary)
        many = list(lines(texts, options.lines))
        characters = list(every_character())[:: 1 if options.lines > 100_000 else 29]
        for kind in ["gpt2", "llama3", "qwen", "prefixed"]:
            if options.only not in (None, kind):
                continue
            folder = place / kind
            folder.mkdir(parents=True, exist_ok=True)
            tokenizer = trained(kind, texts)
            tokenizer.save(str(folder / "tokenizer.json"))

            def encode(text, tokenizer=tokenizer):
                return tokenizer.encode(text).ids

            good &= compare(kind, options.program, folder, encode, many)
            good &= compare(kind + ", every character", options.program, folder, encode, characters)
        good &= compare_forms(options.program, place, texts, many[:2000], options.only)
        if options.published:
            good &= compare_published(options.program, place / "published", many[:2000])
        if transformers is None:
            print("folders are not compared: transformers is not there")
        elif options.only in (None, "folders"):
            good &= compare_folders(options.program, place, texts, many[:2000])
        if options.only not in (None, "llama2"):
            return 0 if good else 1
        folder = place / "llama2"
        folder.mkdir(parents=True, exist_ok=True)
        pieces = pieces_of(texts, folder)
        plain = [text for text in many if not any(s in text for s in (b"<s>", b"</s>", b"<unk>"))]
        good &= compare("llama2", options.program, folder, lambda text: [1, *pieces.encode(text)], plain)
    return 0 if good else 1


sys.exit(main())
