// tests/host_cuda/stream.cpp -- streams and events.
#include "tests/host_cuda/machine.h"

using namespace penstock::host_cuda;  // NOLINT(google-build-using-namespace): the API is below

namespace {

constexpr int kGreatestPriority = -5;

bool idle(const CUstream_st& stream) {
  return stream.tasks.empty();
}

// A wait or a question about this stream: not while it, or anything of this thread, is captured.
cudaError_t refused(const CUstream_st* stream) {
  if (stream == nullptr) return cudaErrorInvalidResourceHandle;
  if (stream->capture != nullptr) {
    stream->capture->broken = true;
    return cudaErrorStreamCaptureUnsupported;
  }
  return refused_in_capture();
}

cudaError_t refused(const CUevent_st& event) {
  if (event.captured) return cudaErrorCapturedEvent;
  return refused_in_capture();
}

}  // namespace

extern "C" {

cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  *least = 0;
  *greatest = kGreatestPriority;
  return cudaSuccess;
}

// Order is the dice's: a priority only has to be one.
cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int priority) {
  PENSTOCK_HOST_CUDA_LOCK;
  if (priority > 0 || priority < kGreatestPriority) return noted(cudaErrorInvalidValue);
  *stream = new_stream(current_device(), flags != cudaStreamNonBlocking);
  return cudaSuccess;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  return cudaStreamCreateWithPriority(stream, flags, 0);
}

cudaError_t cudaStreamCreate(cudaStream_t* stream) {
  return cudaStreamCreateWithFlags(stream, cudaStreamDefault);
}

// Returns at once; what is in the stream still runs.
cudaError_t cudaStreamDestroy(cudaStream_t handle) {
  PENSTOCK_HOST_CUDA_LOCK;
  CUstream_st* stream = stream_of(handle);
  if (stream == nullptr || handle == nullptr) return noted(cudaErrorInvalidResourceHandle);
  forget_stream(stream);
  return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t handle) {
  PENSTOCK_HOST_CUDA_LOCK;
  CUstream_st* stream = stream_of(handle);
  if (const cudaError_t status = refused(stream); status != cudaSuccess) return noted(status);
  run_until([stream] { return idle(*stream); });
  return noted(cudaSuccess);
}

cudaError_t cudaStreamQuery(cudaStream_t handle) {
  PENSTOCK_HOST_CUDA_LOCK;
  CUstream_st* stream = stream_of(handle);
  if (const cudaError_t status = refused(stream); status != cudaSuccess) return noted(status);
  run_some();
  return noted(idle(*stream) ? cudaSuccess : cudaErrorNotReady);
}

cudaError_t cudaStreamGetDevice(cudaStream_t handle, int* device) {
  PENSTOCK_HOST_CUDA_LOCK;
  const CUstream_st* stream = stream_of(handle);
  if (stream == nullptr) return noted(cudaErrorInvalidResourceHandle);
  *device = stream->device;
  return cudaSuccess;
}

cudaError_t cudaDeviceSynchronize() {
  PENSTOCK_HOST_CUDA_LOCK;
  if (const cudaError_t status = refused_in_capture(); status != cudaSuccess) return noted(status);
  run_until([] {
    for (const CUstream_st* stream : streams()) {
      if (stream->device == current_device() && !idle(*stream)) return false;
    }
    return true;
  });
  return noted(cudaSuccess);
}

cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* data) {
  PENSTOCK_HOST_CUDA_LOCK;
  return noted(submit(stream, at_once([=] { function(data); })));
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
  PENSTOCK_HOST_CUDA_LOCK;
  *event = new CUevent_st;
  (*event)->device = current_device();
  (*event)->timing = (flags & cudaEventDisableTiming) == 0;
  return cudaSuccess;
}

cudaError_t cudaEventCreate(cudaEvent_t* event) {
  return cudaEventCreateWithFlags(event, cudaEventDefault);
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  PENSTOCK_HOST_CUDA_LOCK;
  delete event;
  return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t handle) {
  PENSTOCK_HOST_CUDA_LOCK;
  CUstream_st* stream = stream_of(handle);
  if (stream == nullptr || stream->device != event->device) {
    return noted(cudaErrorInvalidResourceHandle);
  }
  event->captured = stream->capture != nullptr;
  if (!event->captured) event->mark = mark_end(*stream);
  return noted(cudaSuccess);
}

cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned /*flags*/) {
  return cudaEventRecord(event, stream);
}

cudaError_t cudaStreamWaitEvent(cudaStream_t handle, cudaEvent_t event, unsigned /*flags*/) {
  PENSTOCK_HOST_CUDA_LOCK;
  CUstream_st* stream = stream_of(handle);
  if (stream == nullptr) return noted(cudaErrorInvalidResourceHandle);
  if (event->captured) return noted(cudaErrorNotSupported, "a wait for a captured event");
  if (stream->capture != nullptr) {
    stream->capture->broken = true;
    return noted(cudaErrorStreamCaptureIsolation);
  }
  if (event->mark != nullptr) hold_back(*stream, event->mark);
  return noted(cudaSuccess);
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
  PENSTOCK_HOST_CUDA_LOCK;
  if (const cudaError_t status = refused(*event); status != cudaSuccess) return noted(status);
  run_some();
  return noted(event->mark == nullptr || event->mark->passed ? cudaSuccess : cudaErrorNotReady);
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  PENSTOCK_HOST_CUDA_LOCK;
  if (const cudaError_t status = refused(*event); status != cudaSuccess) return noted(status);
  if (event->mark != nullptr) run_until([mark = event->mark] { return mark->passed; });
  return noted(cudaSuccess);
}

cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t first, cudaEvent_t last) {
  PENSTOCK_HOST_CUDA_LOCK;
  for (const CUevent_st* event : {first, last}) {
    if (!event->timing || event->mark == nullptr) return noted(cudaErrorInvalidResourceHandle);
    if (!event->mark->passed) return noted(cudaErrorNotReady);
  }
  *milliseconds = static_cast<float>((last->mark->time_s - first->mark->time_s) * 1e3);
  return cudaSuccess;
}

}  // extern "C"
