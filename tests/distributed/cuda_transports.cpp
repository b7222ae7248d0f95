// tests/distributed/cuda_transports.cpp -- what tensors of CUDA devices travel by. Each rank has a
// device of its own, as NCCL wants.
#include "tests/distributed/main.h"
#include "tests/distributed/transports.h"

namespace penstock {
namespace {

std::unique_ptr<Device> cuda_device() {
  return make_cuda_device(test_session().local_rank());
}

}  // namespace

std::vector<TestTransport> test_transports() {
  return {{.name = "MpiStaged", .make_device = cuda_device},
          {.name = "MpiCuda", .links = Transport::MpiCuda, .make_device = cuda_device},
          {.name = "Nccl",
           .links = Transport::Nccl,
           .sums = Transport::Nccl,
           .make_device = cuda_device}};
}

}  // namespace penstock
