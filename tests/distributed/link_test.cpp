// tests/distributed/link_test.cpp -- what the schedule relies on: sends never wait, an edge is
// FIFO, edges never cross, the steady state makes no requests, and a misfit is refused with a
// sentence.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "kernels/bfloat16.h"
#include "runtime/system/comm/network.h"
#include "tests/distributed/main.h"
#include "tests/distributed/transports.h"

namespace penstock {
namespace {

using testing::HasSubstr;

constexpr int64_t kMega = int64_t{1} << 20;

// Bytes that tell one message from another and any byte from its neighbours. They repeat after 64
// KiB, and are copied from there on: most of the time of these tests went into making them.
std::vector<std::byte> pattern_of(const TensorSpec& spec, int seed) {
  constexpr size_t kPeriod = size_t{1} << 16;
  std::vector<std::byte> bytes(spec.size_bytes());
  const size_t first = std::min(kPeriod, bytes.size());
  for (size_t i = 0; i < first; ++i) {
    bytes[i] =
        static_cast<std::byte>((static_cast<size_t>(seed) * 131 + i * 7 + (i >> 8) * 13) & 0xff);
  }
  for (size_t i = first; i < bytes.size(); i += kPeriod) {
    std::memcpy(&bytes[i], bytes.data(), std::min(kPeriod, bytes.size() - i));
  }
  return bytes;
}

Tensor filled(Device& device, const TensorSpec& spec, int seed) {
  return tensor_of(device, pattern_of(spec, seed), spec.shape, spec.dtype);
}

void expect_filled(Device& device, const Tensor& tensor, const TensorSpec& spec, int seed) {
  ASSERT_EQ(tensor.shape(), spec.shape);
  ASSERT_EQ(tensor.dtype(), spec.dtype);
  ASSERT_TRUE(values_of<std::byte>(device, tensor) == pattern_of(spec, seed)) << "message " << seed;
}

// The edge that leads down from stage s in a pipeline with one stage a rank; the next edge is its
// way back.
size_t edge_down(int stage) {
  return 2 * static_cast<size_t>(stage);
}

std::vector<DirectedEdge> chain(int stages, int window = 2) {
  std::vector<DirectedEdge> edges;
  for (int s = 0; s + 1 < stages; ++s) {
    edges.push_back({s, s + 1, s, s + 1, Direction::Activation, window});
    edges.push_back({s + 1, s, s + 1, s, Direction::Gradient, window});
  }
  return edges;
}

class Links : public testing::TestWithParam<TestTransport> {
 protected:
  void SetUp() override {
    if (session_.ranks() < 2) GTEST_SKIP() << needs_ranks("2 or more");
  }
  void connect(const std::vector<DirectedEdge>& edges) {
    ends_ = network_->connect(edges, device_);
  }
  [[nodiscard]] bool by_mpi() const { return GetParam().links != Transport::Nccl; }
  SendLink& sender(size_t edge) { return *ends_.send.at(edge); }
  ReceiveLink& receiver(size_t edge) { return *ends_.receive.at(edge); }

  const Session& session_ = test_session();
  const int rank_ = session_.rank();
  std::unique_ptr<Device> owned_ = GetParam().make_device();
  Device& device_ = *owned_;
  std::unique_ptr<Network> network_ =
      make_mpi_network(session_, {.positions = session_.ranks(), .replicas = 1}, GetParam().plan(),
                       sleeping_waits());
  Network::Ends ends_;
};

TEST_P(Links, EachRankHoldsItsOwnEndsOnly) {
  connect(chain(session_.ranks()));
  for (int s = 0; s + 1 < session_.ranks(); ++s) {
    const size_t there = edge_down(s);
    EXPECT_EQ(ends_.send[there] != nullptr, rank_ == s);
    EXPECT_EQ(ends_.receive[there] != nullptr, rank_ == s + 1);
    EXPECT_EQ(ends_.send[there + 1] != nullptr, rank_ == s + 1);
    EXPECT_EQ(ends_.receive[there + 1] != nullptr, rank_ == s);
  }
}

// Down the whole pipeline, each rank passing on what it got, and the last one checks.
void carry_down_the_pipeline(Device& device, Network& network, int rank, int ranks) {
  const std::vector<TensorSpec> specs = {{{0, 3}, DType::F32},       {{1}, DType::F32},
                                         {{2}, DType::BF16},         {{kMega / 4}, DType::F32},
                                         {{kMega / 2}, DType::BF16}, {{4, kMega}, DType::F32},
                                         {{8, kMega}, DType::BF16},  {{7}, DType::I32}};
  const auto ends = network.connect(chain(ranks), device);
  std::vector<Tensor> message(specs.size());
  if (rank > 0) {
    ReceiveLink& link = *ends.receive[edge_down(rank - 1)];
    link.expect(specs);
    EXPECT_EQ(link.expected(), 1);
    link.progress();
    link.receive(message);
    EXPECT_EQ(link.expected(), 0);
  }
  for (size_t i = 0; i < specs.size(); ++i) {
    const int seed = static_cast<int>(i) + 1;
    if (rank == 0) message[i] = filled(device, specs[i], seed);
    expect_filled(device, message[i], specs[i], seed);
  }
  if (rank + 1 < ranks) {
    SendLink& link = *ends.send[edge_down(rank)];
    link.send(message);
    message.clear();
    link.drain();
  }
}

TEST_P(Links, CarryTuplesOfEverySize) {
  carry_down_the_pipeline(device_, *network_, rank_, session_.ranks());
}

// Rendezvous-sized, so that a send that waited for its receive would wait for ever: both ranks send
// all before either receives any.
TEST_P(Links, ManyMessagesInFlightKeepTheirOrder) {
  constexpr int kMessages = 40;
  const TensorSpec spec{{kMega / 8}, DType::F32};
  connect(chain(2, kMessages));
  if (rank_ < 2) {
    const auto out = static_cast<size_t>(rank_);
    for (int m = 0; m < kMessages; ++m) {
      const Tensor tensor = filled(device_, spec, m);
      sender(out).send({&tensor, 1});
    }
    for (int m = 0; m < kMessages; ++m) {
      receiver(1 - out).expect({&spec, 1});
      Tensor tensor;
      receiver(1 - out).receive({&tensor, 1});
      expect_filled(device_, tensor, spec, m);
    }
    sender(out).drain();
  }
  network_->world().barrier();
}

// Two stages a rank in the looped placement: edges 0 -> 1 and 2 -> 3 both go from rank 0 to rank 1.
// Messages of the same size, sent in one order and received in another.
TEST_P(Links, EdgesBetweenTheSameRanksNeverCross) {
  const TensorSpec spec{{1000}, DType::F32};
  connect({{0, 1, 0, 1, Direction::Activation},
           {2, 3, 0, 1, Direction::Activation},
           {1, 0, 1, 0, Direction::Gradient},
           {1, 2, 1, 0, Direction::Activation}});
  const auto send = [&](size_t edge, int seed) {
    const Tensor tensor = filled(device_, spec, seed);
    sender(edge).send({&tensor, 1});
  };
  const auto receive = [&](size_t edge, int seed) {
    if (receiver(edge).expected() == 0) receiver(edge).expect({&spec, 1});
    Tensor tensor;
    receiver(edge).receive({&tensor, 1});
    expect_filled(device_, tensor, spec, seed);
  };
  if (rank_ == 0) {
    receiver(3).expect({&spec, 1});
    send(1, 11);
    send(0, 1);
    send(1, 12);
    send(0, 2);
    receive(2, 21);
    receive(3, 31);
    for (size_t edge : {0, 1}) sender(edge).drain();
  } else if (rank_ == 1) {
    send(3, 31);
    send(2, 21);
    receive(0, 1);
    receive(0, 2);
    receive(1, 11);
    receive(1, 12);
    for (size_t edge : {2, 3}) sender(edge).drain();
  }
  network_->world().barrier();
}

TEST_P(Links, TheSameTensorMayBeSentAgainWhileInFlight) {
  const TensorSpec spec{{kMega}, DType::F32};
  connect(chain(2));
  if (rank_ == 0) {
    const Tensor tensor = filled(device_, spec, 5);
    for (int i = 0; i < 3; ++i) sender(0).send({&tensor, 1});
    sender(0).drain();
  } else if (rank_ == 1) {
    for (int i = 0; i < 3; ++i) receiver(0).expect({&spec, 1});
    EXPECT_EQ(receiver(0).expected(), 3);
    for (int i = 0; i < 3; ++i) {
      Tensor tensor;
      receiver(0).receive({&tensor, 1});
      expect_filled(device_, tensor, spec, 5);
    }
  }
  network_->world().barrier();
}

TEST_P(Links, HoldWhatTheySendUntilItHasLeft) {
  const TensorSpec spec{{4 * kMega}, DType::F32};
  connect(chain(2));
  if (rank_ == 0) {
    const Tensor tensor = filled(device_, spec, 3);
    sender(0).send({&tensor, 1});
    EXPECT_FALSE(tensor.unique());
    network_->world().barrier();
    sender(0).drain();
    EXPECT_TRUE(tensor.unique());
  } else {
    network_->world().barrier();  // nothing is received before the check
    if (rank_ != 1) return;
    receiver(0).expect({&spec, 1});
    Tensor tensor;
    receiver(0).receive({&tensor, 1});
  }
}

// The timing of the first steps decides which of the allocator's blocks meets which link, but the
// blocks are few: at most the 4 x 2 tensors sent and the 4 x 2 received at a time, each of which
// may meet both links.
TEST_P(Links, SteadyStateMakesNoRequestsAndNoMemory) {
  constexpr int kMicroBatches = 4;
  // Copies in host memory: as many, and those of up to 4 x 2 tensors received before.
  constexpr int64_t kStagedBlocks = 24;
  const std::vector<TensorSpec> specs = {{{kMega / 4}, DType::F32}, {{100}, DType::BF16}};
  connect(chain(2, kMicroBatches));
  const int64_t before = device_.memory().use().system_allocations;
  const auto step = [&] {
    const auto out = static_cast<size_t>(rank_);
    for (int m = 0; m < kMicroBatches; ++m) {
      receiver(1 - out).expect(specs);
      sender(out).send(std::vector{filled(device_, specs[0], m), filled(device_, specs[1], m)});
    }
    std::vector<Tensor> message(specs.size());
    for (int m = 0; m < kMicroBatches; ++m) {
      receiver(1 - out).receive(message);
      expect_filled(device_, message[1], specs[1], m);
    }
    sender(out).drain();
  };
  if (rank_ < 2) {
    for (int i = 0; i < 50; ++i) step();
    const int64_t blocks = device_.host_addressable() ? 16 : kStagedBlocks;
    EXPECT_LE(device_.memory().use().system_allocations - before, 16);
    EXPECT_LE(device_.host_memory().use().system_allocations, blocks);
    EXPECT_LE(network_->requests_made(), 2 * blocks);
    EXPECT_GE(network_->requests_made(), by_mpi() ? 2 * 2 : 0);
  }
  network_->world().barrier();
}

// The message of the error when `sent` elements meet a receive of `expected`; empty without one.
std::string refusal(SendLink* out, ReceiveLink* in, Device& device, int64_t sent,
                    int64_t expected) {
  std::string words;
  if (out != nullptr) {
    const Tensor tensor = filled(device, {{sent}, DType::F32}, 1);
    out->send({&tensor, 1});
    out->drain();
  }
  if (in != nullptr) {
    const TensorSpec spec{{expected}, DType::F32};
    in->expect({&spec, 1});
    Tensor tensor;
    try {
      in->receive({&tensor, 1});
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::Peer);
      words = error.what();
    }
  }
  return words;
}

// No longer message above the eager limit: see mpi_link.h.
TEST_P(Links, AMessageOfAnotherSizeIsRefused) {
  if (!by_mpi()) {
    GTEST_SKIP() << "does not apply to NCCL, whose messages tell no size; MPI links are tested";
  }
  for (const auto& [sent, expected] :
       std::vector<std::pair<int64_t, int64_t>>{{10, 12}, {12, 10}, {0, 1}, {kMega, 2 * kMega}}) {
    connect(chain(2));  // an end that has failed is not used again
    const std::string words =
        refusal(ends_.send[0].get(), ends_.receive[0].get(), device_, sent, expected);
    if (rank_ == 1) {
      EXPECT_THAT(words,
                  HasSubstr("receiving activations of stage 0 to stage 1 (rank 0 to rank 1)"));
      EXPECT_THAT(words, HasSubstr("expected " + std::to_string(4 * expected) + " bytes"));
      EXPECT_THAT(words, HasSubstr("is the model section the same on all ranks?"));
      (void)ends_.receive[0].release();  // it would report the rest as unfinished; a run ends here
    }
    network_->world().barrier();
  }
}

TEST_P(Links, AMessageOfAnotherLengthIsABug) {
  connect(chain(2));
  if (rank_ != 1) return;
  std::vector<Tensor> message(2);
  EXPECT_THROW(receiver(0).receive(message), Error);
}

TEST_P(Links, AnEdgeOutsideThePipelineIsABug) {
  const int last = session_.ranks() - 1;
  EXPECT_THROW(connect({{0, 1, 0, session_.ranks(), Direction::Activation}}), Error);
  EXPECT_THROW(connect({{0, 1, last, last, Direction::Activation}}), Error);
  EXPECT_THROW(connect({{0, 1, -1, 0, Direction::Activation}}), Error);
}

// Replicas have edges of their own under both placements.
TEST_P(Links, OfReplicasAreTheirOwn) {
  if (session_.ranks() != 4) GTEST_SKIP() << needs_ranks("4");
  const TensorSpec spec{{100}, DType::F32};
  for (const Placement placement : {Placement::Stages, Placement::Replicas}) {
    const Grid grid{2, 2, placement};
    const auto network = make_mpi_network(session_, grid, {GetParam().links, {}, {}});
    const auto ends = network->connect(chain(2), device_);
    const int replica = grid.replica_of(session_.rank());
    if (ends.send[0] != nullptr) {
      const Tensor tensor = filled(device_, spec, 40 + replica);
      ends.send[0]->send({&tensor, 1});
      ends.send[0]->drain();
    } else {
      ends.receive[0]->expect({&spec, 1});
      Tensor tensor;
      ends.receive[0]->receive({&tensor, 1});
      expect_filled(device_, tensor, spec, 40 + replica);
    }
  }
}

// What a rank does before it waits in a collective: the other one then gets the message although
// nobody here calls progress().
TEST_P(Links, WhatIsHandedOverArrivesWhileTheSenderWaitsElsewhere) {
  const TensorSpec spec{{kMega / 4}, DType::F32};
  connect(chain(2));
  if (rank_ == 0) {
    const Tensor tensor = filled(device_, spec, 8);
    sender(0).send({&tensor, 1});
    sender(0).hand_over();
  } else if (rank_ == 1) {
    receiver(0).expect({&spec, 1});
    Tensor tensor;
    receiver(0).receive({&tensor, 1});
    expect_filled(device_, tensor, spec, 8);
  }
  network_->world().barrier();
  if (rank_ == 0) sender(0).drain();
}

// Each rank waits for the other's message while its own has only been sent.
TEST_P(Links, WaitingForAMessageMovesTheOthers) {
  const TensorSpec spec{{kMega / 4}, DType::F32};
  connect(chain(2));
  if (rank_ < 2) {
    const auto out = static_cast<size_t>(rank_);
    for (int step = 0; step < 5; ++step) {
      receiver(1 - out).expect({&spec, 1});
      const Tensor tensor = filled(device_, spec, step);
      sender(out).send({&tensor, 1});
      Tensor arrived;
      receiver(1 - out).receive({&arrived, 1});
      expect_filled(device_, arrived, spec, step);
    }
    sender(out).drain();
  }
  network_->world().barrier();
}

INSTANTIATE_TEST_SUITE_P(By, Links, testing::ValuesIn(test_transports()), name_of_instance);

}  // namespace
}  // namespace penstock
