// tests/distributed/mpi_link_test.cpp -- what only the plain MPI ends have: pieces of large
// tensors.
#include "runtime/system/comm/mpi/mpi_link.h"

#include <gtest/gtest.h>
#include <mpi.h>

#include <numeric>

#include "tests/distributed/main.h"
#include "tests/distributed/transports.h"
#include "tests/support/host_device.h"

namespace penstock {
namespace {

// Both ends cut a tensor larger than an MPI count in the same pieces; 1000 bytes stand for 2^30.
TEST(MpiLinks, LargeTensorsTravelInPieces) {
  const Session& session = test_session();
  if (session.ranks() < 2) GTEST_SKIP() << needs_ranks("2 or more");
  HostDevice device;
  CommHandle comm;
  ASSERT_EQ(MPI_Comm_dup(MPI_COMM_WORLD, comm.address()), MPI_SUCCESS);
  const MpiEdge edge{comm.get(), 1 - session.rank(), 3, "pieces"};
  int64_t made = 0;
  Pollers pollers;
  const std::vector<TensorSpec> specs = {
      {{750}, DType::F32}, {{625}, DType::F32}, {{1}, DType::F32}, {{0}, DType::F32}};
  std::vector<std::vector<float>> values;
  for (const TensorSpec& spec : specs) {
    std::vector<float>& numbers = values.emplace_back(static_cast<size_t>(spec.shape.elements()));
    std::iota(numbers.begin(), numbers.end(), 1.0F);
  }
  std::vector<Tensor> message(specs.size());
  if (session.rank() == 0) {
    MpiSendLink link(edge, device.memory(), pollers, made, 1000);
    for (size_t i = 0; i < specs.size(); ++i) {
      message[i] = tensor_of(device, values[i], specs[i].shape, DType::F32);
    }
    link.send(message);
    link.drain();
    EXPECT_EQ(made, 3 + 3 + 1 + 1);
  } else if (session.rank() == 1) {
    MpiReceiveLink link(edge, device.memory(), Purpose::Activations, pollers, made, 1000);
    link.expect(specs);
    EXPECT_EQ(link.expected(), 1);
    while (!link.arrived()) link.progress();
    link.receive(message);
    for (size_t i = 0; i < specs.size(); ++i) {
      EXPECT_EQ(values_of<float>(device, message[i]), values[i]);
    }
  }
  (void)MPI_Barrier(MPI_COMM_WORLD);
}

}  // namespace
}  // namespace penstock
