#!/usr/bin/env python3
"""The recipes of launch/packaging against the tree: recipes_test.py SOURCE BUILD

No Spack and no Apptainer is asked, only what can drift: options of CMake that a recipe sets are the build's, each optional part has a
variant and a dependency, what a definition copies is there, and the module file leads to the prefix it lies in.
"""

import re
import shutil
import subprocess
import sys
import tempfile
import types
from pathlib import Path

SOURCE, BUILD = Path(sys.argv[1]), Path(sys.argv[2])
PACKAGING = SOURCE / "launch/packaging"
RECIPE = PACKAGING / "spack/spack_repo/penstock/packages/penstock/package.py"


def expect(holds, text):
    if not holds:
        sys.exit(f"FAILED {text}")


class Recorder:
    """Stands for Spack: records what directives of a recipe say."""

    def __init__(self):
        self.said = []

    def directive(self, name):
        return lambda *words, **options: self.said.append((name, words, options))

    def modules(self):
        names = ("version", "variant", "depends_on", "conflicts", "generator")
        package = types.ModuleType("spack.package")
        package.__dict__.update({name: self.directive(name) for name in names})
        cmake = types.ModuleType("cmake")
        cmake.CMakePackage = type("CMakePackage", (), {})
        cmake.generator = package.generator
        cuda = types.ModuleType("cuda")
        cuda.CudaPackage = type("CudaPackage", (), {})
        systems = "spack_repo.builtin.build_systems"
        found = {f"{systems}.cmake": cmake, f"{systems}.cuda": cuda, "spack.package": package}
        for parent in ("spack", "spack_repo", "spack_repo.builtin", systems):
            found[parent] = types.ModuleType(parent)
        return found

    def of(self, name):
        return [(words, options) for said, words, options in self.said if said == name]


class Spec:
    """One with every variant on."""

    variants = {"cuda_arch": types.SimpleNamespace(value=("90",)), "march": types.SimpleNamespace(value=("x86-64-v3", "x86-64-v4"))}

    def satisfies(self, _):
        return True

    def __getitem__(self, name):
        return types.SimpleNamespace(prefix=f"/opt/{name}")


def check_spack(cached):
    recorder = Recorder()
    sys.modules.update(recorder.modules())
    space = {"__file__": str(RECIPE)}
    exec(compile(RECIPE.read_text(encoding="utf-8"), str(RECIPE), "exec"), space)
    package = space["Penstock"]()
    expect(Path(package.git.removeprefix("file://")).samefile(SOURCE), f"the recipe builds {package.git}")
    variants = {words[0] for words, _ in recorder.of("variant")} | {"cuda", "cuda_arch"}
    set_by_recipe = set()

    def define(option, _):
        set_by_recipe.add(option)

    def define_from_variant(option, variant):
        expect(variant in variants, f"the recipe has no variant {variant}")
        set_by_recipe.add(option)

    package.spec, package.define, package.define_from_variant = Spec(), define, define_from_variant
    package.cmake_args()
    ours = {option for option in set_by_recipe if option.startswith("PENSTOCK_")}
    expect(ours <= cached, f"the build has no option {ours - cached}")
    parts = set(re.findall(r"^penstock_part\((\w+)", (SOURCE / "cmake/PenstockParts.cmake").read_text(encoding="utf-8"), re.M))
    missing = {f"PENSTOCK_{part}" for part in parts} - set_by_recipe
    expect(not missing, f"the recipe leaves {missing} to chance")
    wanted = {options.get("when", "").removeprefix("+") for _, options in recorder.of("depends_on")}
    expect({part.lower() for part in parts} <= wanted, f"of {parts} not each has a dependency: {wanted}")


def check_apptainer(definition):
    text = definition.read_text(encoding="utf-8")
    copied = re.findall(r"^  (\S+) /opt/source/(\S+)$", text, re.M)
    for path, into in copied:
        expect(path == into and (SOURCE / path).exists(), f"{definition.name} copies {path}")
    for line in re.findall(r"^ *(?:add_subdirectory|include)\((\w+)\)", (SOURCE / "CMakeLists.txt").read_text(encoding="utf-8"), re.M):
        needed = line if (SOURCE / line).is_dir() else "cmake"
        expect(needed == "tests" or needed in dict(copied), f"{definition.name} does not copy {needed}")
    expect("/opt/source/launch/packaging/container.sh build /opt/penstock" in text, f"{definition.name} builds by another script")


def check_module():
    """Read by Tcl with stand-ins for the commands of a module system, from a prefix and by a link to its folder."""
    with tempfile.TemporaryDirectory() as name:
        prefix = Path(name).resolve() / "prefix"
        place = prefix / "share/penstock/modulefiles/penstock"
        place.mkdir(parents=True)
        shutil.copy(BUILD / "generated/modulefile", place / "1")
        (prefix.parent / "site").symlink_to(place)
        for file in (place / "1", prefix.parent / "site/1"):
            script = "proc unknown {args} { puts $args }\nset ModulesCurrentModulefile {%s}\nsource {%s}\n" % (file, file)
            done = subprocess.run(["tclsh"], input=script, capture_output=True, text=True, check=True)
            expect(f"prepend-path PATH {prefix}/bin\n" in done.stdout, f"{file} says {done.stdout}")
            expect(f"setenv PENSTOCK {prefix}/bin/penstock\n" in done.stdout, f"{file} says {done.stdout}")


cache = (BUILD / "CMakeCache.txt").read_text(encoding="utf-8")
check_spack(set(re.findall(r"^(\w+):\w+=", cache, re.M)))
for one in sorted((PACKAGING / "apptainer").glob("*.def")):
    check_apptainer(one)
if shutil.which("tclsh"):
    check_module()
else:
    print("no tclsh here: the module file was not read")
print("passed")
