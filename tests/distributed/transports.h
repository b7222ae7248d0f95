// tests/distributed/transports.h -- TestTransport: the kinds of devices and links that
// link_test.cpp and reduce_test.cpp run over. The linked source file decides: those of the host, or
// of CUDA devices.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "kernels/device.h"
#include "runtime/system/comm/link_plan.h"
#include "runtime/system/comm/network.h"

namespace penstock {

struct TestTransport {
  std::string name;  // of the test's instance
  Transport links = Transport::Mpi;
  Transport sums = Transport::Mpi;
  std::unique_ptr<Device> (*make_device)() = nullptr;

  [[nodiscard]] LinkPlan plan() const { return {links, {sums}, {}}; }
};
[[nodiscard]] std::vector<TestTransport> test_transports();

inline std::string name_of_instance(const testing::TestParamInfo<TestTransport>& instance) {
  return instance.param.name;
}

// Waits that sleep, as in runs where ranks share cores.
inline Waits sleeping_waits() {
  return {.nap = std::chrono::microseconds(50)};
}

// Tensors whose bytes come from, and are read on, the host.
template <class T>
Tensor tensor_of(Device& device, const std::vector<T>& values, const Shape& shape, DType dtype) {
  Tensor tensor = device.empty(shape, dtype, Purpose::Activations);
  device.copy_from_host(tensor, values.data(), tensor.size_bytes());
  return tensor;
}

template <class T>
std::vector<T> values_of(Device& device, const Tensor& tensor) {
  std::vector<T> values(tensor.size_bytes() / sizeof(T));
  device.copy_to_host(values.data(), tensor, tensor.size_bytes());
  return values;
}

}  // namespace penstock
