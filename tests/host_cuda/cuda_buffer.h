// tests/host_cuda/cuda_buffer.h -- Buffer: device memory for a test, written and read as vectors.
#pragma once

#include <vector>

#include "kernels/cuda/queue/stream.h"

namespace penstock::host_cuda {

template <class T>
class Buffer {
 public:
  explicit Buffer(size_t count) : count_(count) {
    void* data = nullptr;
    PENSTOCK_CUDA(cudaMalloc(&data, count * sizeof(T)));
    data_ = static_cast<T*>(data);
  }
  explicit Buffer(const std::vector<T>& values) : Buffer(values.size()) { set(values); }
  ~Buffer() { (void)cudaFree(data_); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  [[nodiscard]] T* get() const { return data_; }
  void set(const std::vector<T>& values) {
    PENSTOCK_CUDA(cudaMemcpy(data_, values.data(), count_ * sizeof(T), cudaMemcpyHostToDevice));
  }
  // The values after all work of the device has ended.
  [[nodiscard]] std::vector<T> values() const {
    PENSTOCK_CUDA(cudaDeviceSynchronize());
    std::vector<T> values(count_);
    PENSTOCK_CUDA(cudaMemcpy(values.data(), data_, count_ * sizeof(T), cudaMemcpyDeviceToHost));
    return values;
  }

 private:
  T* data_ = nullptr;
  size_t count_;
};

}  // namespace penstock::host_cuda
