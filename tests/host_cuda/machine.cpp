#include "tests/host_cuda/machine.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <map>
#include <thread>

#include "tests/host_cuda/capture.h"
#include "tests/host_cuda/chance.h"
#include "tests/host_cuda/stop.h"

namespace penstock::host_cuda {
namespace {

std::vector<CUstream_st*> all_streams;
std::map<int, CUstream_st*> default_streams;

// False when no task of the stream could go on.
bool run_first(CUstream_st& stream) {
  if (stream.tasks.empty()) return false;
  if (!stream.tasks.front()()) return false;
  stream.tasks.pop_front();
  return true;
}

void delete_what_has_ended() {
  std::erase_if(all_streams, [](CUstream_st* stream) {
    if (!stream->destroyed || !stream->tasks.empty()) return false;
    delete stream;
    return true;
  });
}

// One stream, one task or many: false when nothing anywhere could go on.
bool run_any() {
  delete_what_has_ended();
  std::vector<CUstream_st*> candidates = all_streams;
  while (!candidates.empty()) {
    const size_t which = chance(static_cast<uint32_t>(candidates.size()));
    CUstream_st* stream = candidates[which];
    if (run_first(*stream)) {
      for (uint32_t more = chance(4) == 0 ? chance(64) : 0; more > 0; --more) {
        if (!run_first(*stream)) break;
      }
      return true;
    }
    candidates.erase(candidates.begin() + static_cast<std::ptrdiff_t>(which));
  }
  return false;
}

// A stream that blocks and the legacy default stream wait for what was put into the other before.
void join_default(CUstream_st& stream) {
  CUstream_st* standard = stream_of(nullptr);
  if (&stream == standard) {
    for (CUstream_st* other : all_streams) {
      const bool joins = other != standard && other->blocking && other->device == stream.device;
      if (joins && !other->tasks.empty()) hold_back(stream, mark_end(*other));
    }
  } else if (stream.blocking && !standard->tasks.empty()) {
    hold_back(stream, mark_end(*standard));
  }
}

}  // namespace

Operation at_once(std::function<void()> run) {
  return [run = std::move(run)]() -> Task {
    return [run] {
      run();
      return true;
    };
  };
}

std::recursive_mutex& machine_lock() {
  static auto* lock = new std::recursive_mutex;  // outlives every static object
  return *lock;
}

CUstream_st* stream_of(cudaStream_t stream) {
  if (stream == nullptr || stream == cudaStreamLegacy) {
    CUstream_st*& standard = default_streams[current_device()];
    if (standard == nullptr) standard = new_stream(current_device(), false);
    return standard;
  }
  const bool known = std::find(all_streams.begin(), all_streams.end(), stream) != all_streams.end();
  return known && !stream->destroyed ? stream : nullptr;
}

cudaStream_t new_stream(int device, bool blocking) {
  auto* stream = new CUstream_st;
  stream->device = device;
  stream->blocking = blocking;
  all_streams.push_back(stream);
  return stream;
}

void forget_stream(cudaStream_t stream) {
  stream->destroyed = true;
  delete_what_has_ended();
}

const std::vector<CUstream_st*>& streams() {
  return all_streams;
}

cudaError_t submit(cudaStream_t handle, const Operation& operation) {
  CUstream_st* stream = stream_of(handle);
  if (stream == nullptr) return cudaErrorInvalidResourceHandle;
  if (stream->capture != nullptr) return capture_operation(*stream, operation);
  join_default(*stream);
  append(*stream, operation());
  return cudaSuccess;
}

cudaError_t submit_kernel(cudaStream_t handle, const KernelRun& run) {
  CUstream_st* stream = stream_of(handle);
  if (stream == nullptr) return cudaErrorInvalidResourceHandle;
  if (stream->capture != nullptr) return capture_kernel(*stream, run);
  return submit(handle, at_once(run));
}

void append(CUstream_st& stream, Task task) {
  stream.tasks.push_back(std::move(task));
}

std::shared_ptr<Mark> mark_end(CUstream_st& stream) {
  auto mark = std::make_shared<Mark>();
  append(stream, [mark] {
    mark->passed = true;
    mark->time_s = now_s();
    return true;
  });
  return mark;
}

void hold_back(CUstream_st& stream, const std::shared_ptr<Mark>& mark) {
  append(stream, [mark] { return mark->passed; });
}

void run_until(const std::function<bool()>& enough) {
  while (!enough()) {
    if (run_any()) continue;
    const bool empty = std::all_of(all_streams.begin(), all_streams.end(),
                                   [](const CUstream_st* s) { return s->tasks.empty(); });
    if (empty) stop("the host waits for work that was never issued");
    // Another process is waited for, and other threads may work.
    machine_lock().unlock();
    std::this_thread::sleep_for(std::chrono::microseconds(20));
    machine_lock().lock();
  }
}

void run_some() {
  for (uint32_t count = chance(4); count > 0; --count) {
    if (!run_any()) return;
  }
}

double now_s() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double>(now).count();
}

}  // namespace penstock::host_cuda
