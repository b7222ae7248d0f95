#!/usr/bin/env python3
"""The pages that a user reads, held against the program: docs_test.py PROGRAM SOURCE BUILD

Of README.md, docs/ and the examples' page:
  * a link leads to a file, and its anchor to a heading
  * a command of penstock has a name and options that the program knows; a script has its options in its --help
  * a command that starts ranks by mpirun says how they are bound, as docs/cluster.md asks for
  * a block that starts with `$ penstock` shows what that command prints, line by line
  * a block of TOML with a [model] is a run file that `penstock inspect` takes
  * a block of TOML with a [sweep] is a sweep file whose points can be listed
  * docs/run_file.md is what `penstock help run-file` prints
  * README.md has at most 1,300 words and two pictures
  * a picture of docs/pictures/ is what its script draws today, and a page shows it; words of the code in it are in the code
  * docs/output.md names every file of a run directory, and every key of metrics.jsonl and summary.json
  * docs/environment.md has every variable that begins with PENSTOCK_ and is read, and no other

Of docs/architecture.md and docs/one_micro_batch.md, for whoever changes the program:
  * a file or folder, and a type, that is named in back quotes is in the tree
  * so is every file of ours that a comment, an include or a page names with its folder
  * a page that a comment or a message names, with its anchor, is there; nobody cites a design that is not in the tree
  * the arrows between wings are those of runtime/CMakeLists.txt, a wing has at most eight entries, a room twenty files
  * the table of rooms has a row for each room of runtime/ and no other, and names each folder below
"""

import fnmatch
import importlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

PROGRAM, SOURCE, BUILD = (Path(name).resolve() for name in sys.argv[1:])
PAGES = [SOURCE / "README.md", *sorted((SOURCE / "docs").glob("*.md")), SOURCE / "launch/examples/README.md"]
failures = []
checked = {"links": 0, "commands": 0, "outputs": 0, "run files": 0, "places": 0, "pages named": 0, "variables": 0, "results": 0, "pictures": 0}


def fail(page, text):
    failures.append(f"{page.relative_to(SOURCE)}: {text}")


def run(words, folder=None):
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=60, check=False)
    return done.stdout + done.stderr, done.returncode


def blocks(page):
    """Language and text of each fenced block."""
    return re.findall(r"^```(\w*)\n(.*?)^```", page.read_text(encoding="utf-8"), re.M | re.S)


# ---- links


def heading_anchor(title):
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


def anchors(page):
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    titles = re.findall(r"^#+ (.*)$", text, re.M)
    return {heading_anchor(title) for title in titles}


def check_links(page):
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
        if re.match(r"https?:", target):
            continue
        path, _, anchor = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        checked["links"] += 1
        if not file.exists():
            fail(page, f"the link {target} leads to nothing")
        elif anchor and file.suffix == ".md" and anchor not in anchors(file):
            fail(page, f"the link {target} names no heading of that page")


# ---- commands

help_texts = {}


def help_of(words):
    key = tuple(words)
    if key not in help_texts:
        help_texts[key], code = run([*words, "--help"])
        if code != 0:
            help_texts[key] = ""
    return help_texts[key]


def knows(text, option):
    return re.search(rf"(?<![\w-]){re.escape(option)}(?![\w.-])", text) is not None


def check_penstock(page, words, line):
    """`words`: what follows the program's name."""
    if not words or words[0].startswith("-") or words[0] == "help":
        return
    known = help_of([PROGRAM, words[0]])
    if words[0] not in ("schedule",):
        known += help_of([PROGRAM, "train"])  # its keys are options of the others
    if not help_of([PROGRAM, words[0]]):
        return fail(page, f"penstock has no command {words[0]}: {line}")
    checked["commands"] += 1
    for word in words[1:]:
        option = word.split("=")[0]
        if re.match(r"--[a-z]", option) and not knows(known, option):
            fail(page, f"penstock {words[0]} has no option {option}: {line}")


def check_script(page, script, words, line):
    if not script.exists():
        return fail(page, f"{script.relative_to(SOURCE)} does not exist: {line}")
    checked["commands"] += 1
    known = help_of([script])
    if script.name == "quickstart.sh" or script.parent.name == "batch":
        known += help_of([PROGRAM, "train"])
    for word in words:
        if word == "--":
            break
        if re.match(r"--[a-z]", word) and not knows(known, word.split("=")[0]):
            fail(page, f"{script.name} has no option {word}: {line}")


def check_command(page, line):
    try:
        words = shlex.split(line, comments=True)
    except ValueError:
        return fail(page, f"no shell reads this: {line}")
    if words and words[0] in ("spack", "module"):
        return None  # to them penstock is the name of a package
    if "mpirun" in words and "penstock" in line and not any(knows(line, option) for option in ("--bind-to", "--map-by")):
        fail(page, f"Open MPI binds these ranks to a core each, as --bind-to is missing: {line}")
    for at, word in enumerate(words):
        name = Path(word).name
        if name in ("penstock", "own_network"):
            rest = words[at + 1 :]
            end = next((i for i, w in enumerate(rest) if w in ("|", "&&", ";", "<", ">")), len(rest))
            return check_penstock(page, rest[:end], line)
        if re.match(r"(launch|tests|bench)/[\w/]+\.sh$", word):
            return check_script(page, SOURCE / word, words[at + 1 :], line)
    return None


def shell_lines(text):
    return [line for line in text.replace("\\\n", " ").splitlines() if line.strip()]


# ---- what commands print


def check_output(page, text, folder):
    """The first line is a command; the others come in this order in what it prints, `...` stands for any number."""
    first, *expected = text.splitlines()
    printed, code = run([PROGRAM, *shlex.split(first[2:])[1:]], folder)
    checked["outputs"] += 1
    if code != 0:
        return fail(page, f"`{first}` fails: {printed}")
    lines, at = printed.splitlines(), 0
    for line in expected:
        if line == "...":
            continue
        if line not in lines[at:]:
            return fail(page, f"`{first}` does not print: {line}\n--- it prints\n{printed}")
        at = lines.index(line, at) + 1
    return None


def check_run_file(page, text, folder):
    file = folder / "block.toml"
    file.write_text(text, encoding="utf-8")
    checked["run files"] += 1
    printed, code = run([PROGRAM, "inspect", file], folder)
    if code != 0:
        fail(page, f"a run file is refused: {printed}")


def check_sweep_file(page, text, folder):
    """Where the examples are, and the job scripts."""
    file = folder / "block.toml"
    file.write_text(text, encoding="utf-8")
    checked["run files"] += 1
    printed, code = run([PROGRAM, "sweep", file, "--dry"], SOURCE)
    if code != 0:
        fail(page, f"a sweep file is refused: {printed}")


# ---- the tree

ROOMS = ["kernels", "runtime", "launch", "tests", "bench"]


def tree():
    """Files and folders below the rooms, as paths that begin with a slash; and the words of the sources."""
    paths, words = [], set()
    for room in ROOMS:
        paths.append("/" + room)
        for path in (SOURCE / room).rglob("*"):
            paths.append("/" + path.relative_to(SOURCE).as_posix())
            if path.suffix in (".h", ".cpp"):
                words.update(re.findall(r"\w+", path.read_text(encoding="utf-8", errors="replace")))
    return paths, words


def check_places(page, paths, words):
    for quoted in re.findall(r"`([^`\n]+)`", re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)):
        word = quoted.split()[0].rstrip("/")
        if re.fullmatch(r"[\w./*-]+\.(h|cpp|cu|py|sh)", word) or quoted.endswith("/"):
            checked["places"] += 1
            if not any(fnmatch.fnmatch(path, "*/" + word) for path in paths):
                fail(page, f"there is no {quoted} in the tree")
        elif name := re.fullmatch(r"([A-Z][a-z]+(?:[A-Z]\w*)*)((?:::|\.)\w+)?", word):
            checked["places"] += 1
            if name.group(1) not in words:
                fail(page, f"no source knows {word}")


def check_mentions(paths):
    """`runtime/network/stage/stage.h` in a comment, an include or a script; what CMake writes has a .in."""
    known = set(paths)
    written = {path.rpartition("/")[2][: -len(".in")] for path in paths if path.endswith(".in")}
    sources = [path for path in paths if re.search(r"\.(h|cpp|cu|py|sh|cmake|toml)$|/CMakeLists.txt$", path)]
    for path in [*sources, *("/" + page.relative_to(SOURCE).as_posix() for page in PAGES)]:
        text = (SOURCE / path[1:]).read_text(encoding="utf-8", errors="replace")
        for name in re.findall(rf"(?<![\w/.-])((?:{'|'.join(ROOMS)})/[\w/]+\.(?:h|cpp|cu|py|sh|toml))\b", text):
            checked["places"] += 1
            if "/" + name not in known and name.rpartition("/")[2] not in written:
                fail(SOURCE / path[1:], f"there is no {name} in the tree")


SOURCES = (".h", ".cpp", ".cu", ".cuh", ".sh", ".py", ".cmake", ".toml", ".def", ".in", ".js", "CMakeLists.txt", ".clang-tidy")
WRITTEN_PAGES = {"table.md"}  # by the program


def sources():
    """What is no page: paths and texts. This test has made-up names."""
    for path in [SOURCE / ".clang-tidy", *(path for room in [*ROOMS, "cmake"] for path in (SOURCE / room).rglob("*"))]:
        if path.name.endswith(SOURCES) and path.is_file() and path.name != "docs_test.py":
            yield path, path.read_text(encoding="utf-8", errors="replace")


def comments_and_messages(path, text):
    """Comments, and all that begins with docs/."""
    comment = "//.*" if path.suffix in (".h", ".cpp", ".cu", ".cuh", ".js") else r"(?:^|\s)#.*"
    return "\n".join(re.findall(rf"{comment}|docs/[\w/.#-]+", text, re.M))


def page_named(path, name):
    """As from the folder of `path`, or from one above it."""
    folders = [folder for folder in path.parents if folder.is_relative_to(SOURCE)]
    return next((folder / name for folder in folders if (folder / name).is_file()), None)


def check_named_pages(path, text):
    """`docs/hub.md#tokens` in a comment or a message, `bench/README.md`, and a section of a page in quotes behind its name."""
    for name, anchor in re.findall(r"(?<![\w/.*-])((?:[\w-]+/)*\w+\.md)\b(?:#([\w-]+))?", comments_and_messages(path, text)):
        if name in WRITTEN_PAGES:
            continue
        checked["pages named"] += 1
        page = page_named(path, name)
        if page is None:
            fail(path, f"names {name}, which is not there")
        elif anchor and anchor not in anchors(page):
            fail(path, f"names {name}#{anchor}, which is no heading there")
    for name, title in re.findall(r'\b(README|[\w/]+\.md),? "([A-Z][^"\n]+)"', text):
        page = page_named(path, name if name.endswith(".md") else "README.md")
        if page and heading_anchor(title) not in anchors(page):
            fail(path, f'names the section "{title}" of {name}, which is no heading there')
    if re.search(r"\bDESIGN\b|\bcontract \d", text):
        fail(path, "cites a design that is not in the tree")


# ---- variables of the environment


def variables_read(path, text):
    if path.suffix in (".h", ".cpp"):
        return re.findall(r'(?:getenv\(|kVariable = )"(PENSTOCK_\w+)"', text)
    if path.suffix == ".py":
        return re.findall(r'(?:environ(?:\.get\(|\[)|^INSIDE = )"(PENSTOCK_\w+)"', text, re.M)
    if path.suffix == ".sh":
        return re.findall(r"\$\{?(PENSTOCK_[A-Z_]+)\b", text)
    return []


def check_variables(page):
    told = set(re.findall(r"`(PENSTOCK_\w+)`", page.read_text(encoding="utf-8")))
    texts = dict(sources())
    read = {name: path for path, text in texts.items() for name in variables_read(path, text)}
    checked["variables"] += len(read)
    for name in sorted(read.keys() - told):
        fail(page, f"does not name {name}, which {read[name].relative_to(SOURCE)} reads")
    everything = "\n".join(texts.values())
    for name in sorted(told - read.keys()):
        if not re.search(rf"\b{name}\b", everything):
            fail(page, f"names {name}, which nothing in the tree knows")


# ---- results


def check_results(page):
    """By the sources that name the files and write the keys."""
    told = set(re.findall(r"`([^`\n]+)`", page.read_text(encoding="utf-8")))
    told |= {part for name in told for part in name.split("/")}  # `checkpoints/latest`
    files = (SOURCE / "runtime/records/run_directory/names.h").read_text(encoding="utf-8")
    keys = (SOURCE / "runtime/records/telemetry/json_records.cpp").read_text(encoding="utf-8")
    names = set(re.findall(r'"([a-z]+(?:\.[a-z]+)?)"', files)) | set(re.findall(r'(?:\{|json\[)"(\w+)"', keys))
    checked["results"] += len(names)
    for name in sorted(names - told):
        fail(page, f"does not name {name}, which a run writes")


# ---- pictures


def check_readme(page):
    text = page.read_text(encoding="utf-8")
    if (words := len(text.split())) > 1300:
        fail(page, f"{words} words, more than 1,300")
    if (pictures := len(re.findall(r"!\[", text))) > 2:
        fail(page, f"{pictures} pictures, more than two")


PICTURES = SOURCE / "docs" / "pictures"


def check_pictures():
    shown = set()
    for page in PAGES:
        shown |= {(page.parent / target).resolve() for target in re.findall(r"!\[[^\]]+\]\(([^)\s]+)\)", page.read_text(encoding="utf-8"))}
    for picture in sorted(PICTURES.glob("*.svg")):
        checked["pictures"] += 1
        if picture not in shown:
            fail(picture, "is shown in no page, or without a text that says what it shows")
        if not picture.with_suffix(".py").exists():
            fail(picture, "has no script that draws it")
        elif picture.stem != "results":  # that is drawn from a sweep of nine trainings, with memory as it was measured
            check_picture(picture)


def check_picture(picture):
    script = [sys.executable, "-B", picture.with_suffix(".py"), PROGRAM]
    drawn = subprocess.run(script, capture_output=True, text=True, encoding="utf-8", timeout=60, check=False)
    if drawn.stdout != picture.read_text(encoding="utf-8"):
        fail(picture, f"is not what {picture.stem}.py draws: {drawn.stderr}")


def check_words_of_checkpoints(picture):
    sources = [path.read_text(encoding="utf-8") for path in (SOURCE / "runtime/records/checkpoint").rglob("*.*")]
    known = set(re.findall(r"[A-Za-z]\w*", "\n".join(sources)))
    named = " ".join(re.findall(r'class="[^"]*\bcode\b[^"]*"[^>]*>([^<]+)<', picture.read_text(encoding="utf-8")))
    checked["pictures"] += 1
    for word in sorted(set(re.findall(r"[A-Za-z]\w*", named)) - known):
        fail(picture, f"names {word}, which runtime/records/checkpoint does not know")


def check_shares(script):
    """Its formula is a copy: held against a cut of shares_test.cpp, and against what the program cuts by."""
    sys.dont_write_bytecode = True
    sys.path.insert(0, str(script.parent))
    shares = importlib.import_module(script.stem)
    test = (SOURCE / "tests/unit/network/stage/shares_test.cpp").read_text(encoding="utf-8")
    first, second, size = map(int, re.search(r"ElementsAre\(0, (\d+) \* kShareGranule, (\d+) \* kShareGranule, (\d+)\)", test).groups())
    cuts = [at for at, _ in shares.Cutter(3).cut([size])]
    if cuts != [0, first * shares.GRANULE, second * shares.GRANULE, size]:
        fail(script, f"cuts {size} elements at {cuts}, not where shares_test.cpp has it")
    granule = re.search(r"kSquaresBlock = (\d+);", (SOURCE / "kernels/ops/update.h").read_text(encoding="utf-8"))
    bucket = re.search(r"kBucketBytes = size_t\{(\d+)\} << 20;", (SOURCE / "runtime/network/stage/gradient_buckets.h").read_text(encoding="utf-8"))
    if (int(granule[1]), int(bucket[1]) << 20) != (shares.GRANULE, shares.BUCKET_BYTES):
        fail(script, "has other granules or buckets than the program")


def check_wings(page):
    """The arrows that are drawn, beside those that CMake holds the rooms to; and how large wings and rooms are."""
    drawn = set()
    for line in re.findall(r"^  (\w+ --> .*)$", page.read_text(encoding="utf-8"), re.M):
        wing, others = line.split(" --> ")
        drawn |= {(wing, other) for other in others.split(" & ")}
    for line in (BUILD / "wings.txt").read_text(encoding="utf-8").splitlines():
        wing, others = line.split(":")
        for arrow in {(wing, other) for other in others.split()} ^ {one for one in drawn if one[0] == wing}:
            fail(page, f"the arrow from {arrow[0]} to {arrow[1]} is {'not' if arrow not in drawn else 'only'} drawn")
    for wing in [SOURCE / "runtime", *(SOURCE / "runtime").iterdir()]:
        if wing.is_dir() and len(list(wing.iterdir())) > 8:
            fail(wing, "has more than eight entries")
        for folder in wing.rglob("*/"):
            if folder.is_dir() and sum(path.is_file() for path in folder.iterdir()) > 20:
                fail(folder, "has more than twenty files")


def check_rooms(page):
    text = page.read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| `runtime/(\w+/\w+)/`(.*)$", text, re.M))
    for both in re.findall(r"^\| `runtime/(\w+/\w+)/`, `runtime/(\w+/\w+)/`(.*)$", text, re.M):
        rows[both[1]] = rows[both[0]]
    rooms = {f"{path.parent.name}/{path.name}" for path in (SOURCE / "runtime").glob("*/*") if path.is_dir()}
    for room in sorted(rooms ^ rows.keys()):
        fail(page, f"runtime/{room} is {'not in the table of rooms' if room in rooms else 'no room'}")
    for room in sorted(rooms & rows.keys()):
        for folder in (SOURCE / "runtime" / room).iterdir():
            if folder.is_dir() and not re.search(rf"[`/]{folder.name}/", rows[room]):
                fail(page, f"the row of runtime/{room} does not name {folder.name}/")


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        toml = [text for language, text in blocks(SOURCE / "docs/first_run.md") if language == "toml"]
        (folder / "run.toml").write_text(toml[0], encoding="utf-8")
        (folder / "text.txt").write_text("what walkthrough.md learns\n" * 1000, encoding="utf-8")
        shutil.copy(SOURCE / "launch/examples/mlp.toml", folder)
        (folder / "qwen").mkdir()  # what hub.md downloads, but for the weights
        shutil.copy(SOURCE / "tests/docs/qwen_config.json", folder / "qwen/config.json")
        shutil.copy(SOURCE / "tests/unit/data/words/qwen/tokenizer.json", folder / "qwen")
        for page in PAGES:
            check_links(page)
            for language, text in blocks(page):
                if named := re.match(r"# ([\w.]+\.toml)\n", text):  # for the blocks after it
                    (folder / named[1]).write_text(text, encoding="utf-8")
                if text.startswith("$ penstock"):
                    check_output(page, text, folder)
                elif language == "sh":
                    for line in shell_lines(text):
                        check_command(page, line)
                elif language == "toml" and "[model]" in text:
                    check_run_file(page, text, folder)
                elif language == "toml" and "[sweep]" in text:
                    check_sweep_file(page, text, folder)
    paths, words = tree()
    for page in ("architecture.md", "one_micro_batch.md"):
        check_places(SOURCE / "docs" / page, paths, words)
    check_mentions(paths)
    check_wings(SOURCE / "docs" / "architecture.md")
    check_rooms(SOURCE / "docs" / "architecture.md")
    reference = SOURCE / "docs" / "run_file.md"
    if reference.read_text(encoding="utf-8") != run([PROGRAM, "help", "run-file"])[0]:
        fail(reference, "is not what the program says: penstock help run-file > docs/run_file.md")
    for path, text in sources():
        check_named_pages(path, text)
    check_variables(SOURCE / "docs" / "environment.md")
    check_results(SOURCE / "docs" / "output.md")
    check_readme(SOURCE / "README.md")
    check_pictures()
    check_words_of_checkpoints(PICTURES / "checkpoint.svg")
    check_shares(PICTURES / "shares.py")
    for failure in failures:
        print("FAILED", failure)
    print(", ".join(f"{count} {what}" for what, count in checked.items()))
    return 1 if failures or not all(checked.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
