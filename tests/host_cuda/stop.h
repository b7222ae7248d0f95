// tests/host_cuda/stop.h -- the end of a test that did what no GPU forgives.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <string>

namespace penstock::host_cuda {

// One line on stderr that says what was wrong, and no way on: on a GPU the outcome is undefined.
[[noreturn]] inline void stop(const std::string& what) {
  std::fprintf(stderr, "host CUDA: %s\n", what.c_str());
  std::abort();
}

}  // namespace penstock::host_cuda
