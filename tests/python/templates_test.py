#!/usr/bin/env python3
"""Constructs of chat templates as we run them beside jinja2, set up as transformers sets it up.

usage: templates_test.py CHAT_TEXT CONSTRUCTS.json [--goldens] [--published [FOLDER]]

CONSTRUCTS.json holds templates and what jinja2 makes of them (null: it refuses); --goldens writes the latter anew. --published compares published chat
templates as well: *.jinja of FOLDER, or those in the source package of llama-cpp-python, which is downloaded and thrown away. At least 95 % of them must be
the same, the rest be refused. Skipped (77) where Python has not the packages.
"""
import argparse
import datetime
import json
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

from command import skip

try:
    from tokenizers import Tokenizer, models
    from transformers import PreTrainedTokenizerFast
    from transformers.utils import chat_template_utils
except ImportError as missing:
    skip(missing, "transformers tokenizers")

DATE = datetime.datetime(2024, 7, 26)
SPECIALS = {"bos_token": "<s>", "eos_token": "</s>"}
CONTENTS = ["Be", "<Hi> 'you' & me", "  yes\n", "more?", "\u00e9\U0001f600 ok <think>\nw\n</think>\n\nSo"]
ROLES = {"s": "system", "u": "user", "a": "assistant"}
PARAMETERS = {"type": "object", "properties": {"city": {"type": "string", "description": "where"}, "days": {"type": "array", "items": {"type": "integer"}}}}
TOOLS = [{"type": "function", "function": {"name": "weather", "description": "the weather", "parameters": {**PARAMETERS, "required": ["city"]}}}]


class Today(datetime.datetime):
    @classmethod
    def now(cls, tz=None):
        return DATE


def messages(form):
    return [{"role": ROLES[c], "content": CONTENTS[i % len(CONTENTS)]} for i, c in enumerate(form)]


def conversations():
    for form in ("u", "ua", "sua", "uaua", "suaua", "suauau"):
        for prompt in (False, True):
            yield {"messages": messages(form), "prompt": prompt}
    yield {"messages": messages("su"), "prompt": True, "tools": TOOLS}
    yield {"messages": messages("su"), "prompt": True, "keywords": {"enable_thinking": False}}


def theirs(template, chat):
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=Tokenizer(models.BPE()), **SPECIALS)
    tokenizer.chat_template = template
    try:
        return tokenizer.apply_chat_template(chat["messages"], tools=chat.get("tools"), tokenize=False, add_generation_prompt=chat["prompt"], **chat.get("keywords", {}))
    except Exception:  # pylint: disable=broad-except  # Jinja's own, of several kinds
        return None


def ours(program, template, chats):
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "tokenizer_config.json").write_text(json.dumps(SPECIALS), encoding="utf-8")
        Path(folder, "chat_template.jinja").write_bytes(template.encode())
        done = subprocess.run([program, folder, DATE.strftime("%Y-%m-%d")], input=json.dumps({"conversations": chats}).encode(), capture_output=True, check=False)
    if done.returncode == 1:
        return [{"error": done.stderr.decode()}] * len(chats)
    return [json.loads(line) for line in done.stdout.decode().split("\n") if line]


def compare(program, name, template, chats):
    """same, refused or different, and what jinja2 made of the first conversation"""
    verdicts = set()
    wanted = [theirs(template, chat) for chat in chats]
    for own, text, chat in zip(ours(program, template, chats), wanted, chats):
        verdict = "same" if own.get("text") == text else "refused" if "text" not in own else "different"
        verdicts.add(verdict)
        if verdict == "different":
            print(name, chat, "\n  ours", own, "\n  theirs", text)
    return next(v for v in ("different", "refused", "same") if v in verdicts), wanted[0]


def published(folder):
    if folder != "download":
        yield from sorted(Path(folder).glob("*.jinja"))
        return
    with tempfile.TemporaryDirectory() as place:
        subprocess.run([sys.executable, "-m", "pip", "download", "-q", "--no-binary", ":all:", "--no-deps", "--no-build-isolation", "-d", place, "llama-cpp-python"], check=False)
        for package in Path(place).glob("*.tar.gz"):
            with tarfile.open(package) as archive:
                for member in archive:
                    if "/models/templates/" in member.name and member.name.endswith(".jinja"):
                        path = Path(place, Path(member.name).name)
                        path.write_bytes(archive.extractfile(member).read())
                        yield path


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("constructs", type=Path)
    parser.add_argument("--goldens", action="store_true")
    parser.add_argument("--published", nargs="?", const="download")
    options = parser.parse_args()
    chat_template_utils.datetime = Today
    constructs = json.loads(options.constructs.read_text(encoding="utf-8"))
    chats = [{"messages": messages("sua"), "prompt": False}]
    good = True
    for one in constructs:
        verdict, text = compare(options.program, one["name"], one["template"], chats)
        good &= verdict == ("refused" if one.get("refused") else "same")
        if verdict == "refused" and not one.get("refused"):
            print(one["name"], ours(options.program, one["template"], chats)[0])
        good &= options.goldens or text == one["text"]
        one["text"] = text
    print(f"{len(constructs)} constructs: {'as jinja2' if good else 'some differ'}")
    if options.goldens:
        options.constructs.write_text("[\n" + ",\n".join(json.dumps(one) for one in constructs) + "\n]\n", encoding="utf-8")
    if options.published:
        verdicts = {path.name: compare(options.program, path.name, path.read_bytes().decode(), list(conversations()))[0] for path in published(options.published)}
        same = sum(verdict == "same" for verdict in verdicts.values())
        print(f"{len(verdicts)} published templates: {same} the same, others: {[name for name, verdict in verdicts.items() if verdict != 'same']}")
        good &= len(verdicts) > 0 and "different" not in verdicts.values() and same >= 0.95 * len(verdicts)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
