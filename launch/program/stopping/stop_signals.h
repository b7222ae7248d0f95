// launch/program/stopping/stop_signals.h -- signals that ask a run to stop: SIGTERM, SIGUSR1,
// SIGUSR2.
//
// mpirun forwards SIGUSR1 and SIGUSR2 to every rank, batch systems send them some time before the
// end. The first one is noted, and the run ends by itself after its step. A second one, a second
// later or more, ends the process at once, as it would without this: launchers deliver one request
// twice.
#pragma once

#include <array>
#include <csignal>
#include <string>

namespace penstock {

// One at a time. While it lives the signals are caught.
class StopSignals {
 public:
  StopSignals();
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  // "SIGUSR1"; empty: none has come.
  [[nodiscard]] static std::string received();

 private:
  std::array<struct sigaction, 3> before_{};
};

}  // namespace penstock
