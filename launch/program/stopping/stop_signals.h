// launch/program/stopping/stop_signals.h -- catches the signals that ask a run to stop: SIGTERM,
// SIGUSR1, SIGUSR2 and, unless nohup has it ignored, SIGHUP. Batch systems send the first three
// some time before the end of a job, mpirun forwards SIGUSR1 and SIGUSR2 to every rank, and SIGHUP
// tells that the terminal is gone.
//
// The first signal is noted, and the run ends by itself after its step (stop_requests.h). A signal
// that comes within a second of the first is ignored, since launchers may deliver one request
// twice; one that comes later ends the process at once.
//
// Signals are handled on a thread of their own: the handler of a signal writes to the stack of the
// thread that it interrupts, and some products of oneDNN have their stack pointer in a buffer on
// the heap, so a signal there would overwrite what lies before it. They are the fp32 ones that make
// no copies of their operands and sum over more than 252 numbers, in the code that 2.6 and 3.7
// generate for AVX2; its source has the same for AVX-512, from 85 numbers on
// (jit_avx_gemm_f32.cpp, jit_avx512_common_gemm_f32.cpp). The code of its convolutions and other
// products for AVX2 has no such place; that for AVX-512 and bf16 was not looked at.
#pragma once

#include <string>

namespace penstock {

// Catches the signals from now on, to the end of the process, and forgets a signal that has come
// before. The calling thread, and every thread that it starts later, blocks them, so it is to be
// called before any thread is started that computes. SIGPIPE is ignored: a run whose output nobody
// reads any more goes on, and log.txt has all lines. They stay caught to the very end: a rank may
// be about to exit, since another rank has told it to stop, when its own signal comes, and must not
// die of it.
void catch_stop_signals();
// Catches the signals unless they are caught already; a signal that has come then still counts.
void keep_catching_stop_signals();

// The name of the first signal since they are caught, "SIGUSR1"; empty: none has come.
[[nodiscard]] std::string stop_signal();

// Lets the signals through to the calling thread. A child process calls this between fork() and
// exec(), since programs expect no signal to be blocked. Takes no lock and no memory.
void unblock_stop_signals();

}  // namespace penstock
