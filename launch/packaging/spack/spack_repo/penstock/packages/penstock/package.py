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
    variant("tokenizers", default=True, description="Vocabularies of word pieces, tokenizers of Hugging Face's folders")
    variant("images", default=True, description="JPEG, PNG, archives of images, compressed text")

    conflicts("cuda_arch=none", when="+cuda", msg="say which GPUs: cuda_arch=80,90")
    conflicts("%gcc@:11", msg="C++20 as it is used here needs GCC 12 or later")
    conflicts("%clang@:13", msg="C++20 as it is used here needs Clang 14 or later")

    generator("ninja")
    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("cmake@3.24:", type="build")
    depends_on("mpi@3.1:")
    depends_on("onednn@2.6: cpu_runtime=omp")
    depends_on("llvm-openmp", when="%gcc")  # cmake/PenstockOpenMP.cmake
    depends_on("boost+program_options")
    depends_on("fmt@9:")
    depends_on("tomlplusplus@3.3:")
    depends_on("nlohmann-json@3.11:")
    depends_on("xxhash@0.8:")
    depends_on("hwloc@2:")
    # NCCL and cuDNN come with +cuda, as everything of a GPU needs both.
    depends_on("cudnn@9:", when="+cuda")
    depends_on("nccl@2.18:", when="+cuda")
    depends_on("sentencepiece@0.1.97:", when="+tokenizers")
    depends_on("libarchive@3.6:", when="+images")
    depends_on("jpeg", when="+images")
    depends_on("libpng@1.6:", when="+images")
    depends_on("pcre2@10.40: +jit", when="+tokenizers")
    depends_on("icu4c@60:", when="+tokenizers")

    def cmake_args(self):
        args = [
            self.define("PENSTOCK_TESTS", False),
            self.define("PENSTOCK_ARCH", sorted(self.spec.variants["march"].value)),  # the oldest first
            self.define_from_variant("PENSTOCK_CUDA", "cuda"),
            self.define_from_variant("PENSTOCK_TOKENIZERS", "tokenizers"),
            self.define_from_variant("PENSTOCK_IMAGES", "images"),
        ]
        if self.spec.satisfies("+cuda"):
            args += [
                self.define("CUDNN_ROOT", self.spec["cudnn"].prefix),
                self.define("NCCL_ROOT", self.spec["nccl"].prefix),
                self.define("CMAKE_CUDA_ARCHITECTURES", self.spec.variants["cuda_arch"].value),
            ]
        return args
