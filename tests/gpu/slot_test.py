#!/usr/bin/env python3
"""Tests of tests/gpu/run.sh, of what it leaves behind when it is cut off, and of bench/gpu/record.py: a rehearsal over the
emulated GPU, with the build folder that CTest names. SEED chooses when a run is cut off; it is printed, and new each time."""
import io
import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
import unittest
import unittest.mock

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
TREE = os.environ.get("PENSTOCK_TREE", str(ROOT / "build" / "release"))
PARTS = ["smoke", "ops", "kernels", "blocks", "largest", "runs", "sanitizers"]
sys.path[:0] = [str(HERE), str(ROOT / "bench/gpu")]
import pack  # noqa: E402
import parts  # noqa: E402
import run as bench  # noqa: E402
import slot  # noqa: E402


def rehearse(out, *options, seconds=300, **variables):
    """A rehearsal that runs in a process group of its own."""
    environment = dict(os.environ, OUT=str(out), PENSTOCK_SECONDS=str(seconds), **variables)
    return subprocess.Popen([str(HERE / "run.sh"), "--rehearse", "--no-build", "--tree", TREE, *options],
                            env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True)


def names_in(archive):
    with tarfile.open(archive) as tar:
        return sorted(pathlib.PurePath(name).name for name in tar.getnames())


def page(out, part):
    return (pathlib.Path(out) / f"{part}.txt").read_text()


class Several(unittest.TestCase):
    def test_stages_replicas_links_and_schedules_give_the_bits_of_one_stage_and_a_page(self):
        with tempfile.TemporaryDirectory() as folder:
            out = pathlib.Path(folder, "several.md")
            environment = dict(os.environ, PENSTOCK_HOST_CUDA_DEVICES="2")
            done = subprocess.run([str(ROOT / "bench/gpu/several.py"), "--program", f"{TREE}/bin/penstock_host_cuda", "--gpus", "2",
                                   "--toy", "--steps", "2", "--out", str(out)], env=environment, capture_output=True, text=True, check=False)
            text = out.read_text()
            self.assertEqual(done.returncode, 0, text)
            self.assertGreaterEqual(text.count("the same bits"), 9, text)  # ten where MPI reads GPU memory
            self.assertNotIn("OTHER BITS", text)
            self.assertIn("link within a host", text)


class Rehearsal(unittest.TestCase):
    def test_every_part_passes_and_leaves_a_page_and_an_archive(self):
        with tempfile.TemporaryDirectory() as out:
            process = rehearse(out, "--short")
            talk, _ = process.communicate()
            self.assertEqual(process.returncode, 0, talk)
            self.assertEqual(sorted(path.name for path in pathlib.Path(out).iterdir()),
                             sorted([f"{part}.txt" for part in PARTS] + [f"{part}.tar.gz" for part in PARTS]))
            for part in PARTS:
                self.assertTrue(page(out, part).startswith(f"{part}: passed, "), page(out, part))
                self.assertIn("record.json", names_in(f"{out}/{part}.tar.gz"))
            self.assertEqual(page(out, "smoke").count("the same bits"), 8, page(out, "smoke"))
            self.assertIn("layer norm, forward", page(out, "kernels"))
            self.assertIn("what the libraries chose", page(out, "kernels"))
            self.assertIn("kernels.json", names_in(f"{out}/kernels.tar.gz"))
            with tarfile.open(f"{out}/blocks.tar.gz") as tar:
                measured = json.load(tar.extractfile("blocks/bench.json"))["records"]
            self.assertEqual([record["row"] for record in measured if "ms" in record["Penstock"]], [row[0] for row in bench.TOYS])
            # A rehearsal measures nothing.
            results = pathlib.Path(out) / "RESULTS.md"
            done = subprocess.run([str(ROOT / "bench/gpu/record.py"), "--results", str(results), out], capture_output=True,
                                  text=True, check=False)
            self.assertEqual(done.returncode, 2)
            self.assertIn("rehearsal", done.stderr)
            self.assertFalse(results.exists())

    def test_a_run_that_is_killed_leaves_what_it_had(self):
        seed = int(os.environ.get("SEED", random.randrange(10**6)))
        print(f"SEED={seed}", file=sys.stderr)
        dice = random.Random(seed)
        with tempfile.TemporaryDirectory() as out:
            process = rehearse(out, "--short", "--only", "kernels", "--only", "largest", "--only", "runs")
            archive = pathlib.Path(out, "largest.tar.gz")
            while not archive.exists():  # kernels is then complete
                self.assertIsNone(process.poll(), "it ended before it could be killed")
                time.sleep(0.02)
            time.sleep(dice.uniform(0.0, 3.0))
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            self.assertTrue(page(out, "kernels").startswith("kernels: passed"), page(out, "kernels"))
            for path in pathlib.Path(out).glob("*.tar.gz"):
                self.assertIn("page.txt", names_in(path))
                with tarfile.open(path) as tar:
                    for entry in tar.getmembers():
                        self.assertEqual(len(tar.extractfile(entry).read()), entry.size)
            last = sorted(pathlib.Path(out).glob("*.txt"), key=lambda path: path.stat().st_mtime)[-1].read_text()
            self.assertIn("UNFINISHED", last)

    def test_a_part_that_runs_out_of_time_says_so_and_kills_what_it_started(self):
        with tempfile.TemporaryDirectory() as out, tempfile.TemporaryDirectory() as scratch:
            process = rehearse(out, "--only", "runs", "--only", "sanitizers", seconds=6, TMPDIR=scratch)
            talk, _ = process.communicate()
            self.assertEqual(process.returncode, 1, talk)
            self.assertTrue(page(out, "runs").startswith("runs: failed: out of time"), page(out, "runs"))
            self.assertIn("stopped in ", page(out, "runs"))
            self.assertIn("no time left", page(out, "sanitizers"))
            time.sleep(0.2)
            left = subprocess.run(["pgrep", "-fa", scratch], capture_output=True, text=True, check=False)
            self.assertEqual(left.stdout, "")

    def test_the_sanitizers_find_a_test_for_every_new_op(self):
        for program, names in parts.NEW_SINCE_THE_LAST_SLOT.items():
            for name in names.split(":"):
                listed = subprocess.run([f"{TREE}/bin/{program.replace('gpu_', 'host_')}", "--gtest_list_tests",
                                         f"--gtest_filter={name}"], capture_output=True, text=True, check=True)
                self.assertIn("\n  ", listed.stdout, f"{program}: {name}")

    def test_bad_usage_is_said_in_a_line(self):
        with tempfile.TemporaryDirectory() as out:
            process = rehearse(out, "--only", "everything")
            talk, _ = process.communicate()
            self.assertEqual(process.returncode, 2)
            self.assertIn("no part 'everything'", talk)


class Results(unittest.TestCase):
    def archive(self, folder, part, page_text, date="2026-01-02 03:04 UTC", emulated=False):
        path = pathlib.Path(folder) / f"{part}.tar.gz"
        record = {"part": part, "state": "passed", "seconds": 1, "device": "NVIDIA H200", "date": date, "emulated": emulated}
        with tarfile.open(path, "w:gz") as tar:
            for name, text in (("page.txt", page_text), ("record.json", json.dumps(record))):
                entry = tarfile.TarInfo(f"{part}/{name}")
                entry.size = len(text.encode())
                tar.addfile(entry, io.BytesIO(text.encode()))
        return path

    def record(self, results, *paths):
        return subprocess.run([str(ROOT / "bench/gpu/record.py"), "--results", str(results), *map(str, paths)],
                              capture_output=True, text=True, check=False)

    def test_pages_are_put_in_order_and_replaced(self):
        with tempfile.TemporaryDirectory() as folder:
            results = pathlib.Path(folder) / "RESULTS.md"
            results.write_text("# On a GPU\n\nAbout it.\n")
            self.record(results, self.archive(folder, "kernels", "one\n## two\n"))
            done = self.record(results, self.archive(folder, "smoke", "first"))
            self.assertEqual(done.returncode, 0, done.stderr)
            self.record(results, self.archive(folder, "smoke", "second", "2026-01-02 05:00 UTC"))
            text = results.read_text()
            self.assertTrue(text.startswith("# On a GPU\n\nAbout it.\n\n## NVIDIA H200, 2026-01-02\n"), text)
            self.assertNotIn("first", text)
            self.assertLess(text.index("### smoke"), text.index("### kernels"))
            self.assertEqual(text.count("## two"), 1)

    def test_what_is_damaged_is_refused_and_nothing_lost(self):
        with tempfile.TemporaryDirectory() as folder:
            results = pathlib.Path(folder) / "RESULTS.md"
            good = self.archive(folder, "smoke", "first")
            self.record(results, good)
            before = results.read_text()
            good.write_bytes(good.read_bytes()[:60])
            self.assertEqual(self.record(results, good).returncode, 2)
            self.assertEqual(results.read_text(), before)


class Logs(unittest.TestCase):
    def test_verdicts_are_counted_once(self):
        log = """[ RUN      ] A.Works
[       OK ] A.Works (3 ms)
[ RUN      ] A.Breaks/0
[  FAILED  ] A.Breaks/0, where GetParam() = 7 (12 ms)
[ RUN      ] A.Skips
[  SKIPPED ] A.Skips (0 ms)
[ RUN      ] A.Hangs
"""
        found = parts.results_of(log + "[  FAILED  ] A.Breaks/0, where GetParam() = 7\n")
        self.assertEqual(found, {"OK": 1, "FAILED": ["A.Breaks/0"], "SKIPPED": 1, "open": "A.Hangs"})


class Archives(unittest.TestCase):
    def test_a_file_is_replaced_whole_or_not_at_all(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "smoke.tar.gz"
            slot.write_whole(path, b"the one before")

            def killed_half_way(self, content):
                with open(self, "wb") as file:
                    file.write(content[:3])
                raise KeyboardInterrupt

            with unittest.mock.patch.object(pathlib.Path, "write_bytes", killed_half_way), self.assertRaises(KeyboardInterrupt):
                slot.write_whole(path, b"the one after")
            self.assertEqual(path.read_bytes(), b"the one before")


class Libraries(unittest.TestCase):
    """Once `has` was always false, and python3's packages hid the toolkit's libraries."""

    def links(self, headers):
        """The headers that libraries.sh links from python3's packages, where the toolkit has `headers`."""
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            for path in ("toolkit/bin", "toolkit/include", "site/nvidia/cudnn/include", "site/nvidia/cudnn/lib", "tree", "bin"):
                (folder / path).mkdir(parents=True)
            (folder / "toolkit/bin/nvcc").touch(0o755)
            for header in headers:
                (folder / "toolkit/include" / header).touch()
            (folder / "site/nvidia/cudnn/include/cudnn.h").touch()
            (folder / "site/nvidia/cudnn/lib/libcudnn.so.9").touch()
            (folder / "bin/python3").write_text(f"#!/bin/sh\necho {folder}/site\n")
            (folder / "bin/python3").chmod(0o755)
            script = f"root={folder} tree={folder}/tree; . {HERE}/libraries.sh; ls {folder}/tree/nvidia/* 2>/dev/null || true"
            environment = {"PATH": f"{folder}/bin:{folder}/toolkit/bin:/usr/bin:/bin"}
            done = subprocess.run(["bash", "-euo", "pipefail", "-c", script], capture_output=True, text=True, check=False,
                                  env=environment)
            self.assertEqual(done.returncode, 0, done.stderr)
            return [line for line in done.stdout.splitlines() if line.endswith((".h", ".so"))]

    @unittest.skipIf(list(pathlib.Path("/usr/include").glob("**/cudnn.h")), "cuDNN is installed in the system")
    def test_packages_serve_where_the_toolkit_has_none(self):
        self.assertEqual(self.links([]), ["cudnn.h", "libcudnn.so"])

    def test_the_toolkit_comes_first(self):
        self.assertEqual(self.links(["cudnn.h", "nccl.h", "cublasLt.h"]), [])


class Pack(unittest.TestCase):
    """What tests/gpu/pack.py takes along, and that nothing else is wanted where it is unpacked."""

    def program(self):
        for name in ("penstock_real_cuda", "penstock"):  # that of nvcc where there is a toolkit
            if (pathlib.Path(TREE) / "bin" / name).exists():
                return pathlib.Path(TREE) / "bin" / name
        self.skipTest(f"{TREE}/bin has no penstock: build it first")

    def test_programs_and_ranks_start_from_a_pack_alone(self):
        with tempfile.TemporaryDirectory() as folder:
            there = pathlib.Path(folder) / "there"
            pack.gather([self.program()], pathlib.Path(TREE) / "ranks.sh", there)
            program = there / "bin" / self.program().name
            script = f". {there}/activate.sh; ldd {program}; command -v mpirun"
            # The program itself may want the driver of a GPU to start.
            script += f"; {there}/ranks.sh -n 2 /bin/echo a rank of the pack"
            environment = {"PATH": "/usr/bin:/bin", "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
            done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=False, env=environment)
            self.assertIn(f"{there}/usr/bin/mpirun", done.stdout, done.stderr)
            self.assertEqual(done.stdout.count("a rank of the pack"), 2, done.stderr)
            self.assertIn("\nexec mpirun ", (there / "ranks.sh").read_text())
            image = pack.image_libraries()
            for line in done.stdout.splitlines():
                name, arrow, path = line.strip().partition(" => ")
                if arrow and name not in image:
                    self.assertTrue(path.startswith(f"{there}/"), line)
            self.assertFalse([path for path in there.rglob("*") if path.name in image])

    def test_a_library_that_is_nowhere_is_named(self):
        with self.assertRaises(pack.Missing) as missing:
            pack.closure([self.program()], {"libc.so.6"}, {})
        self.assertIn("libmpi.so", str(missing.exception))
        self.assertIn(self.program().name, str(missing.exception))


if __name__ == "__main__":
    unittest.main(verbosity=2)
