// tests/host_cuda/machine.h -- the emulated device's streams: queues of tasks that run only when
// the host waits or asks. Then tasks of any stream run, chosen by chance (chance.h), until the host
// has what it waits for: work that nothing orders runs in any order.
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

// Runs a piece of work, or a part of it. Returns true when it has ended, false when it must be
// called again.
using Task = std::function<bool()>;
// Makes a task of an operation: once on a stream, once for each replay of a graph.
using Operation = std::function<Task()>;

// An operation whose task calls `run` once.
[[nodiscard]] Operation at_once(std::function<void()> run);

// A point in a stream's order.
struct Mark {
  bool passed = false;
  double time_s = 0;  // when it was passed
};

// A stream's capture into a graph.
struct Capture {
  CUgraph_st* graph = nullptr;
  unsigned long long id = 0;
  bool broken = false;  // by a call that cannot be captured
  bool whole_thread = true;
};

}  // namespace penstock::host_cuda

struct CUstream_st {
  int device = 0;
  bool blocking = false;   // it and the legacy default stream wait for each other
  bool destroyed = false;  // its handle is no longer valid; it goes after its last task
  std::deque<penstock::host_cuda::Task> tasks;
  std::unique_ptr<penstock::host_cuda::Capture> capture;
  std::vector<const cudaGraphNode_t*> unused;
};

struct CUevent_st {
  int device = 0;
  bool timing = true;
  bool captured = false;                            // its last record went into a graph
  std::shared_ptr<penstock::host_cuda::Mark> mark;  // of its last record; null: not recorded yet
};

struct CUgraphNode_st {
  penstock::host_cuda::Operation operation;
  bool is_kernel = false;
  penstock::host_cuda::KernelRun kernel;  // of a kernel's node, whose `operation` is empty
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
// The next three add to the end of the stream, captured or not: a task; a mark, which is returned;
// a wait until `mark` is passed.
void append(CUstream_st& stream, Task task);
std::shared_ptr<Mark> mark_end(CUstream_st& stream);
void hold_back(CUstream_st& stream, const std::shared_ptr<Mark>& mark);

// Runs tasks until `enough` returns true. Between tasks other threads may take the machine's lock.
void run_until(const std::function<bool()>& enough);
// Runs a few tasks, or none.
void run_some();

// Called first by functions that wait, or free or allocate at once, which break a capture of this
// thread. Returns cudaSuccess, or the error that the function must return.
[[nodiscard]] cudaError_t refused_in_capture();

int current_device();
[[nodiscard]] double now_s();

// Called before a kernel runs. Returns false when the device has failed, or fails now (device.cpp).
[[nodiscard]] bool kernel_may_run();
// Notes an error for cudaGetLastError and returns it. Where the device has failed, returns that
// failure, whatever `status` is.
cudaError_t noted(cudaError_t status);
// Notes an error and prints a line on stderr that says why.
cudaError_t noted(cudaError_t status, const char* why);

}  // namespace penstock::host_cuda

#define PENSTOCK_HOST_CUDA_LOCK \
  const std::lock_guard penstock_guard(::penstock::host_cuda::machine_lock())
