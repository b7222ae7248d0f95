// tests/gpu/emulated.h -- whether this program's GPU is the emulated one (tests/host_cuda). Only
// main.cpp is compiled for the one or the other, all else once for both.
#pragma once

namespace penstock {

extern const bool kEmulated;
// The reason of tests that are skipped on a GPU because only the emulated one fails on demand.
inline constexpr const char* kNeedsEmulation =
    "needs the emulated GPU, which fails on demand: where there is a CUDA toolkit "
    "(launch/setup.sh --cuda) CTest's host_cuda tests have it";

}  // namespace penstock
