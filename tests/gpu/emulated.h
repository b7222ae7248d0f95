// tests/gpu/emulated.h -- whether this program's GPU is the emulated one (tests/host_cuda). Only
// main.cpp is compiled once for each kind of GPU; all other files are compiled once for both.
#pragma once

namespace penstock {

extern const bool kEmulated;
// Why tests are skipped on a real GPU: only the emulated one fails on demand.
inline constexpr const char* kNeedsEmulation =
    "needs the emulated GPU, which fails on demand: where there is a CUDA toolkit "
    "(launch/setup.sh --cuda) CTest's host_cuda tests have it";

}  // namespace penstock
