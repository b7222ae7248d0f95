// tests/support/processor_time.h -- processor time, for tests that something is fast which once
// took minutes.
#pragma once
#include <ctime>

namespace penstock {

// Processor time that this process has used, in seconds. Unlike wall time it does not grow when
// other processes keep the machine busy.
inline double processor_seconds() {
  return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
}

}  // namespace penstock
