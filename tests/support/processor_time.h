// tests/support/processor_time.h -- how long something took, for tests of what once took minutes.
#pragma once
#include <ctime>

namespace penstock {

/// Processor time that this process has used, in seconds: a machine that others keep busy does not
/// lengthen it, as it does wall time.
inline double processor_seconds() {
  return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
}

}  // namespace penstock
