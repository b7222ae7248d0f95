// The entry of libFuzzer (Clang's): a program for each target, which it is told by PENSTOCK_TARGET.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <exception>

#include "check.h"

namespace {

const penstock::fuzz::FuzzTarget& target() {
  for (const penstock::fuzz::FuzzTarget& candidate : penstock::fuzz::fuzz_targets()) {
    if (candidate.name == PENSTOCK_TARGET) return candidate;
  }
  std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const penstock::fuzz::FuzzTarget& kTarget = target();
  static const std::string kPath = "/dev/shm/penstock-fuzz-" + std::to_string(getpid());
  std::string bytes(reinterpret_cast<const char*>(data), size);
  if (kTarget.repair != nullptr) kTarget.repair(bytes);
  try {
    (void)penstock::fuzz::check_input(kTarget, bytes, kPath);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", kTarget.name.c_str(), error.what());
    std::abort();
  }
  return 0;
}
