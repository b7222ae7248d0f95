// tests/host_cuda/machine.h -- streams as queues of tasks that nobody works on until the host waits
// or asks. Then tasks of any stream run, chosen by the dice, until the host has what it waits for:
// work that nothing orders comes in an order that nobody expects.
#pragma once

#include <cuda_runtime_api.h>

#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "tests/host_cuda/kernel.h"

namespace penstock::host_cuda {

inline constexpr int kProcessors = 132;  // multiprocessors of a device

// Runs a task, or a piece of it: true when it has ended, false when it must be asked again.
using Task = std::function<bool()>;
// Makes the task anew each time: once for a stream, once a replay for a graph.
using Operation = std::function<Task()>;

// A task that runs in one go.
[[nodiscard]] Operation at_once(std::function<void()> run);

// A point in a stream's order.
struct Mark {
  bool passed = false;
  double time_s = 0;  // when it was passed
};

struct Capture {
  CUgraph_st* graph = nullptr;
  unsigned long long id = 0;
  bool broken = false;  // by a call that cannot be captured
  bool whole_thread = true;
};

}  // namespace penstock::host_cuda

struct CUstream_st {
  int device = 0;
  bool blocking = false;   // waits for the legacy default stream and holds it up
  bool destroyed = false;  // goes after its last task; nobody can name it any more
  std::deque<penstock::host_cuda::Task> tasks;
  std::unique_ptr<penstock::host_cuda::Capture> capture;
  std::vector<const cudaGraphNode_t*> unused;
};

struct CUevent_st {
  int device = 0;
  bool timing = true;
  bool captured = false;                            // its last record went into a graph
  std::shared_ptr<penstock::host_cuda::Mark> mark;  // of the last record; null before it
};

struct CUgraphNode_st {
  penstock::host_cuda::Operation operation;
  bool is_kernel = false;
  penstock::host_cuda::KernelRun kernel;  // then `operation` is empty
};

namespace penstock::host_cuda {

// Everything below and every function of the API holds this while it works.
[[nodiscard]] std::recursive_mutex& machine_lock();

// The stream of a handle: the current device's default stream for 0. Null when it is none of ours.
[[nodiscard]] CUstream_st* stream_of(cudaStream_t stream);
[[nodiscard]] cudaStream_t new_stream(int device, bool blocking);
void forget_stream(cudaStream_t stream);  // at once, or after its last task
[[nodiscard]] const std::vector<CUstream_st*>& streams();

// Puts an operation at the end of the stream, or of the graph that it is captured into.
cudaError_t submit(cudaStream_t stream, const Operation& operation);
cudaError_t submit_kernel(cudaStream_t stream, const KernelRun& run);
void append(CUstream_st& stream, Task task);  // not captured
std::shared_ptr<Mark> mark_end(CUstream_st& stream);
void hold_back(CUstream_st& stream, const std::shared_ptr<Mark>& mark);

// Runs tasks until `enough`. Whoever waits outside the machine's lock may come between.
void run_until(const std::function<bool()>& enough);
// Runs a few tasks, or none.
void run_some();

// What a call that waits, or that frees or allocates at once, must ask first: it breaks a capture
// of this thread. cudaSuccess, or the error to return.
[[nodiscard]] cudaError_t refused_in_capture();

int current_device();
[[nodiscard]] double now_s();

// A kernel is about to run: false when the device has failed, or fails now (device.cpp).
[[nodiscard]] bool kernel_may_run();
// Notes an error for cudaGetLastError, and returns it; what a device that has failed returns from
// every call, whatever `status` is.
cudaError_t noted(cudaError_t status);
// The same with a line on stderr that says more than the status.
cudaError_t noted(cudaError_t status, const char* why);

}  // namespace penstock::host_cuda

#define PENSTOCK_HOST_CUDA_LOCK \
  const std::lock_guard penstock_guard(::penstock::host_cuda::machine_lock())
