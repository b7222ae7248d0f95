// tests/distributed/cuda_link_test.cpp -- what links of CUDA devices promise
// beyond all links: the order of streams, memory that is taken and returned at
// points of the program, and a host that never waits for the device.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <vector>

#include "kernels/cuda/cuda_device.h"
#include "runtime/system/comm/network.h"
#include "tests/distributed/main.h"
#include "tests/distributed/transports.h"

namespace penstock {
namespace {

using Values = std::vector<float>;

constexpr int64_t kElements = 100000;
const TensorSpec kSpec{{kElements}, DType::F32};

Values all(float value) {
  return Values(static_cast<size_t>(kElements), value);
}

class CudaLinks : public testing::TestWithParam<TestTransport> {
 protected:
  void SetUp() override {
    if (session_.ranks() < 2) GTEST_SKIP() << needs_ranks("2 or more");
    ends_ = network_->connect(std::vector<DirectedEdge>{{0, 1, 0, 1, Direction::Activation},
                                                        {1, 0, 1, 0, Direction::Gradient}},
                              device_);
  }
  void TearDown() override { network_->world().barrier(); }

  SendLink& out() { return *ends_.send.at(static_cast<size_t>(rank_)); }
  ReceiveLink& in() { return *ends_.receive.at(static_cast<size_t>(1 - rank_)); }

  // The queue's next commands, without waiting for them.
  void copy(const Tensor& to, const Tensor& from) {
    PENSTOCK_CUDA(cudaMemcpyAsync(to.raw(), from.raw(), from.size_bytes(), cudaMemcpyDeviceToDevice,
                                  device_.queue().stream()));
  }
  Tensor uploaded(const Tensor& from) {
    Tensor tensor = device_.empty(kSpec.shape, kSpec.dtype, Purpose::Activations);
    device_.upload(tensor, from);
    return tensor;
  }
  Tensor in_host_memory(float value) {
    Tensor tensor(device_.host_memory().take(kSpec.size_bytes(), Purpose::Activations), kSpec.shape,
                  kSpec.dtype);
    std::fill_n(tensor.data<float>(), kElements, value);
    return tensor;
  }

  const Session& session_ = test_session();
  const int rank_ = session_.rank();
  std::unique_ptr<Device> owned_ = GetParam().make_device();
  CudaDevice& device_ = as_cuda(*owned_);
  std::unique_ptr<Network> network_ = make_mpi_network(session_, {.positions = session_.ranks()},
                                                       GetParam().plan(), sleeping_waits());
  Network::Ends ends_;
};

// The memory of what is expected was a moment ago another tensor's, which the
// device still reads.
TEST_P(CudaLinks, AMessageDoesNotOverwriteWhatIsStillRead) {
  if (rank_ > 1) return;
  const Tensor mine = in_host_memory(static_cast<float>(rank_ + 1));
  const Tensor other = in_host_memory(-1.0F);
  const Tensor kept = device_.empty(kSpec.shape, kSpec.dtype, Purpose::Activations);
  for (int round = 0; round < 20; ++round) {
    Tensor early = uploaded(other);
    const void* address = early.raw();
    const Tensor message = uploaded(mine);
    out().send({&message, 1});
    copy(kept, early);
    early.reset();
    in().expect({&kSpec, 1});
    Tensor arrived;
    in().receive({&arrived, 1});
    EXPECT_EQ(arrived.raw(), address);  // else the test tests nothing
    ASSERT_EQ(values_of<float>(device_, kept), all(-1.0F));
    ASSERT_EQ(values_of<float>(device_, arrived), all(static_cast<float>(2 - rank_)));
  }
  out().drain();
}

// The host sends before the device has computed, and computes at once into what
// the link gives back.
TEST_P(CudaLinks, AMessageHasWhatWasComputedBeforeItWasSentAndNothingLater) {
  constexpr int kMessages = 8;
  std::vector<Tensor> sources;
  for (int m = 0; m < kMessages; ++m) sources.push_back(in_host_memory(static_cast<float>(m)));
  for (int round = 0; round < 10; ++round) {
    if (rank_ == 0) {
      for (const Tensor& source : sources) {
        const Tensor message = uploaded(source);
        out().send({&message, 1});
      }
      out().drain();
    } else if (rank_ == 1) {
      std::vector<Tensor> arrived(kMessages);
      for (Tensor& tensor : arrived) {
        in().expect({&kSpec, 1});
        in().receive({&tensor, 1});
      }
      for (int m = 0; m < kMessages; ++m) {
        const auto values = values_of<float>(device_, arrived[static_cast<size_t>(m)]);
        ASSERT_EQ(values, all(static_cast<float>(m)));
      }
    }
    network_->world().barrier();
  }
}

// One step of a stage that sends and receives; returns the addresses it met.
// `chance` decides how often the links are polled in between.
std::vector<const void*> step(CudaDevice& device, SendLink& out, ReceiveLink& in,
                              const Tensor& from, std::mt19937& chance) {
  std::vector<const void*> met;
  std::vector<Tensor> stash;
  device.memory().order_cache();
  in.expect({&kSpec, 1});
  for (int m = 0; m < 6; ++m) {
    Tensor message = device.empty(kSpec.shape, kSpec.dtype, Purpose::Activations);
    device.upload(message, from);
    met.push_back(message.raw());
    out.send({&message, 1});
    message.reset();
    for (auto polls = chance() % 50; polls > 0; --polls) {
      out.progress();
      in.progress();
    }
    Tensor arrived;
    in.receive({&arrived, 1});
    met.push_back(arrived.raw());
    if (m % 2 == 0) stash.push_back(arrived);
    if (m < 5) in.expect({&kSpec, 1});
  }
  out.hand_over();
  return met;
}

TEST_P(CudaLinks, AStepMeetsTheSameAddressesWhateverTheTiming) {
  if (rank_ > 1) return;
  const Tensor source = in_host_memory(1.0F);
  std::mt19937 chance(static_cast<unsigned>(rank_ + 1));
  (void)step(device_, out(), in(), source, chance);  // memory is made
  (void)step(device_, out(), in(), source,
             chance);  // the first held messages are there
  const std::vector<const void*> usual = step(device_, out(), in(), source, chance);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(step(device_, out(), in(), source, chance), usual);
  out().drain();
}

// However many messages nobody has taken yet, sending returns; and each arrives as it was sent.
TEST_P(CudaLinks, SendingNeverWaitsForTheDevice) {
  if (GetParam().links == Transport::Nccl) {
    GTEST_SKIP() << "does not apply to NCCL links, where a send waits while the window is full";
  }
  if (rank_ > 1) return;
  constexpr int kMessages = 20;
  const auto value_of = [](int rank, int m) { return static_cast<float>(100 * rank + m); };
  std::vector<Tensor> sources;  // until they are uploaded
  for (int m = 0; m < kMessages; ++m) {
    sources.push_back(in_host_memory(value_of(rank_, m)));
    const Tensor message = uploaded(sources.back());
    out().send({&message, 1});
  }
  for (int m = 0; m < kMessages; ++m) {
    in().expect({&kSpec, 1});
    Tensor arrived;
    in().receive({&arrived, 1});
    ASSERT_EQ(values_of<float>(device_, arrived), all(value_of(1 - rank_, m))) << "message " << m;
  }
  out().drain();
  device_.synchronize();
}

class CudaSums : public testing::TestWithParam<TestTransport> {};

// A bucket is started before the device has computed it, and used as soon as finish() returns.
TEST_P(CudaSums, HaveWhatWasComputedBeforeTheStart) {
  const Session& session = test_session();
  const std::unique_ptr<Device> device = GetParam().make_device();
  const auto network = make_mpi_network(session, {.positions = 1, .replicas = session.ranks()},
                                        GetParam().plan(), sleeping_waits());
  const std::unique_ptr<ReduceGroup> group = network->reduce_group(*device);
  std::vector<Tensor> buckets(4);
  for (Tensor& bucket : buckets)
    bucket = device->zeros(kSpec.shape, kSpec.dtype, Purpose::Gradients);
  for (int step = 1; step <= 5; ++step) {
    Tensor source(device->host_memory().take(kSpec.size_bytes(), Purpose::Activations), kSpec.shape,
                  kSpec.dtype);
    std::fill_n(source.data<float>(), kElements, static_cast<float>(step));
    for (Tensor& bucket : buckets) {
      device->upload(bucket, source);
      group->start(bucket);
    }
    group->finish();
    for (const Tensor& bucket : buckets) {
      ASSERT_EQ(values_of<float>(*device, bucket), all(static_cast<float>(step * session.ranks())));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(By, CudaSums, testing::ValuesIn(test_transports()), name_of_instance);
INSTANTIATE_TEST_SUITE_P(By, CudaLinks, testing::ValuesIn(test_transports()), name_of_instance);

}  // namespace
}  // namespace penstock
