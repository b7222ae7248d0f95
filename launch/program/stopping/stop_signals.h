// launch/program/stopping/stop_signals.h -- signals that ask a run to stop: SIGTERM, SIGUSR1,
// SIGUSR2.
//
// mpirun forwards SIGUSR1 and SIGUSR2 to every rank, batch systems send them some time before the
// end. The first one is noted, and the run ends by itself after its step. A second one, a second
// later or more, ends the process at once, as it would without this: launchers deliver one request
// twice.
#pragma once

#include <string>

namespace penstock {

// Catches the signals from now on, to the end of the process: a rank that another rank has told to
// stop may be about to exit when its own signal comes, and must not die of it. A signal that has
// come before is forgotten.
void catch_stop_signals();
// Catches the signals unless they are caught already; a signal that has come since then counts.
void keep_catching_stop_signals();

// "SIGUSR1"; empty: none has come since they are caught.
[[nodiscard]] std::string stop_signal();

}  // namespace penstock
