// tests/host_cuda/stop.h -- stop(): ends a test that did something undefined on a GPU.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <string>

namespace penstock::host_cuda {

// Prints one line on stderr that says what was wrong, and aborts.
[[noreturn]] inline void stop(const std::string& what) {
  std::fprintf(stderr, "host CUDA: %s\n", what.c_str());
  std::abort();
}

}  // namespace penstock::host_cuda
