# A recipe for Spack 1.0 or later that builds the tree it lies in: docs/install.md, "With Spack".
from pathlib import Path

from spack_repo.builtin.build_systems.cmake import CMakePackage, generator
from spack_repo.builtin.build_systems.cuda import CudaPackage

from spack.package import *


class Penstock(CMakePackage, CudaPackage):
    """Trains neural networks that do not fit on one accelerator, in pipeline stages under MPI."""

    git = f"file://{Path(__file__).resolve().parents[7]}"

    version("main", branch="main")

    variant("march", default="native", values=str, multi=True,
            description="Oldest processor to run it, as in -march, and further levels with kernels of their own")
    variant("sentencepiece", default=True, description="Vocabularies of word pieces; translation")
    variant("archive", default=True, description="Compressed text and archives of images")
    variant("jpeg", default=True, description="JPEG images")
    variant("png", default=True, description="PNG images")
    variant("pcre2", default=True, description="Tokenizers of Hugging Face's folders (tokenizer.json)")
    variant("icu", default=True, description="Those that normalise their text (NFC: Qwen)")

    conflicts("cuda_arch=none", when="+cuda", msg="say which GPUs: cuda_arch=80,90")
    conflicts("%gcc@:11", msg="C++20 as it is used here needs GCC 12 or later")
    conflicts("%clang@:13", msg="C++20 as it is used here needs Clang 14 or later")

    generator("ninja")
    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("cmake@3.24:", type="build")
    depends_on("mpi@3.1:")
    depends_on("onednn@2.6: cpu_runtime=omp")
    depends_on("boost+program_options")
    depends_on("fmt@9:")
    depends_on("tomlplusplus@3.3:")
    depends_on("nlohmann-json@3.11:")
    depends_on("xxhash@0.8:")
    depends_on("hwloc@2:")
    # NCCL and cuDNN come with +cuda, as everything of a GPU needs both.
    depends_on("cudnn@9:", when="+cuda")
    depends_on("nccl@2.18:", when="+cuda")
    depends_on("sentencepiece@0.1.97:", when="+sentencepiece")
    depends_on("libarchive@3.6:", when="+archive")
    depends_on("jpeg", when="+jpeg")
    depends_on("libpng@1.6:", when="+png")
    depends_on("pcre2@10.40: +jit", when="+pcre2")
    depends_on("icu4c@60:", when="+icu")

    def cmake_args(self):
        args = [
            self.define("PENSTOCK_TESTS", False),
            self.define("PENSTOCK_ARCH", sorted(self.spec.variants["march"].value)),  # the oldest first
            self.define_from_variant("PENSTOCK_CUDA", "cuda"),
            self.define_from_variant("PENSTOCK_SENTENCEPIECE", "sentencepiece"),
            self.define_from_variant("PENSTOCK_ARCHIVE", "archive"),
            self.define_from_variant("PENSTOCK_JPEG", "jpeg"),
            self.define_from_variant("PENSTOCK_PNG", "png"),
            self.define_from_variant("PENSTOCK_PCRE2", "pcre2"),
            self.define_from_variant("PENSTOCK_ICU", "icu"),
        ]
        if self.spec.satisfies("+cuda"):
            args += [
                self.define("CUDNN_ROOT", self.spec["cudnn"].prefix),
                self.define("NCCL_ROOT", self.spec["nccl"].prefix),
                self.define("CMAKE_CUDA_ARCHITECTURES", self.spec.variants["cuda_arch"].value),
            ]
        return args
