// tests/gpu/emulated.h -- whether this program's GPU is the emulated one (tests/host_cuda). Only
// main.cpp is compiled for the one or the other, all else once for both.
#pragma once

namespace penstock {

extern const bool kEmulated;

}  // namespace penstock
