// kernels/cuda/queue/stream.h -- Stream and Event own CUDA streams and events: moved, never
// copied, freed once.
#pragma once

#include <cstdint>
#include <utility>

#include "kernels/cuda/status.h"

namespace penstock {

class Stream {
 public:
  // Blocks of an Urgent stream's kernels get the next free multiprocessors: for small kernels that
  // others wait for.
  enum class Priority : uint8_t { Normal, Urgent };
  // The stream is on the current device; it does not synchronise with the legacy default stream.
  explicit Stream(Priority priority = Priority::Normal) {
    int least = 0;
    int greatest = 0;  // a smaller number is a higher priority
    PENSTOCK_CUDA(cudaDeviceGetStreamPriorityRange(&least, &greatest));
    PENSTOCK_CUDA(cudaStreamCreateWithPriority(&stream_, cudaStreamNonBlocking,
                                               priority == Priority::Urgent ? greatest : least));
  }
  Stream(Stream&& other) noexcept : stream_(std::exchange(other.stream_, nullptr)) {}
  Stream& operator=(Stream&& other) noexcept {
    std::swap(stream_, other.stream_);
    return *this;
  }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  ~Stream() {
    if (stream_ != nullptr) (void)cudaStreamDestroy(stream_);  // nothing can be thrown here
  }
  [[nodiscard]] cudaStream_t get() const { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
};

// A point in a stream. The device passes it when everything that was issued to the stream before
// record() has ended.
class Event {
 public:
  enum Kind : unsigned { Plain = cudaEventDisableTiming, Timed = cudaEventDefault };
  explicit Event(Kind kind = Plain) { PENSTOCK_CUDA(cudaEventCreateWithFlags(&event_, kind)); }
  Event(Event&& other) noexcept : event_(std::exchange(other.event_, nullptr)) {}
  Event& operator=(Event&& other) noexcept {
    std::swap(event_, other.event_);
    return *this;
  }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  ~Event() {
    if (event_ != nullptr) (void)cudaEventDestroy(event_);
  }

  // Makes the event that point of `stream` which has been reached now, in place of an earlier one.
  void record(cudaStream_t stream) { PENSTOCK_CUDA(cudaEventRecord(event_, stream)); }
  // True when the last recorded point has been passed (or none was recorded).
  [[nodiscard]] bool passed() const {
    const cudaError_t status = cudaEventQuery(event_);
    if (status == cudaErrorNotReady) return false;
    check_status("cudaEventQuery", status);
    return true;
  }
  // The host waits, inside the driver, until the device has passed the recorded point.
  void wait_on_host() const { PENSTOCK_CUDA(cudaEventSynchronize(event_)); }
  // Makes work that is issued to `stream` from here on start after the recorded point has been
  // passed. The host does not wait.
  void hold_back(cudaStream_t stream) const {
    PENSTOCK_CUDA(cudaStreamWaitEvent(stream, event_, 0));
  }
  // Seconds between two Timed events, both passed.
  [[nodiscard]] static double seconds_between(const Event& first, const Event& second) {
    float milliseconds = 0.0F;
    PENSTOCK_CUDA(cudaEventElapsedTime(&milliseconds, first.event_, second.event_));
    return 1e-3 * static_cast<double>(milliseconds);
  }

 private:
  cudaEvent_t event_ = nullptr;
};

}  // namespace penstock
