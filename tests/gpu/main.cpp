// The GPU tests' main: where there is no device nothing is run, not even a fixture, and the reason
// is said in the words by which CTest knows a skipped test.
#include <gtest/gtest.h>

#include <cstdio>

#include "kernels/device.h"
#include "tests/gpu/emulated.h"

const bool penstock::kEmulated = PENSTOCK_EMULATED;

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (!GTEST_FLAG_GET(list_tests) && penstock::cuda_devices().empty()) {
    std::printf("[  SKIPPED ] needs a GPU: %s\n", penstock::why_no_cuda().c_str());
    return 77;
  }
  return RUN_ALL_TESTS();
}
