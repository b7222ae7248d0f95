// launch/program/stopping/stop_signals.h -- signals that ask a run to stop: SIGTERM, SIGUSR1,
// SIGUSR2.
//
// mpirun forwards SIGUSR1 and SIGUSR2 to every rank; batch systems send them some time before the
// job's end. The first signal is noted, and the run ends by itself after its step. One that comes a
// second later or more ends the process at once, as it would if signals were not caught; one that
// comes sooner is ignored, since launchers may deliver one request twice.
#pragma once

#include <string>

namespace penstock {

// Catches the signals from now on, to the end of the process: a rank that another rank has told to
// stop may be about to exit when its own signal comes, and must not die of it. Forgets a signal
// that has come before.
void catch_stop_signals();
// Catches the signals unless they are caught already; then a signal that has come still counts.
void keep_catching_stop_signals();

// The first signal that has come since they are caught, "SIGUSR1"; empty: none has.
[[nodiscard]] std::string stop_signal();

}  // namespace penstock
