// Messages, sums and meetings move a rank's clock by what a simulator reckons.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>

#include "kernels/counting/counting_device.h"
#include "runtime/engine/training/dry_run/virtual_collective.h"
#include "runtime/engine/training/dry_run/virtual_links.h"
#include "runtime/engine/training/dry_run/virtual_network.h"
#include "runtime/engine/training/dry_run/virtual_sums.h"

namespace penstock {
namespace {

using testing::ElementsAre;

// Two members, of which the other one is always half a second later. What one gives, it takes.
class LaterOther final : public Collective {
 public:
  [[nodiscard]] int rank() const override { return 0; }
  [[nodiscard]] int size() const override { return 2; }
  void barrier() override {}
  void sum(std::span<double> /*values*/) override {}
  void gather(std::span<const double> /*mine*/, std::span<const int> /*counts*/,
              std::span<double> /*all*/) override {}
  void gather_to_all(std::span<const double> mine, std::span<double> all) override {
    std::ranges::copy(mine, all.begin());
    std::ranges::transform(mine, all.begin() + std::ssize(mine), [](double t) { return t + 0.5; });
  }
  [[nodiscard]] std::vector<int64_t> gather_to_all(int64_t mine) override { return {mine, 1}; }
  [[nodiscard]] std::vector<std::string> gather_text(const std::string& /*mine*/) override {
    return {};
  }
  [[nodiscard]] std::string broadcast(const std::string& text, int /*root*/) override {
    return text;
  }
  void broadcast(std::span<double> /*values*/, int /*root*/) override {}
  void give(std::span<const std::byte> bytes, int /*to*/) override {
    given_.emplace_back(bytes.begin(), bytes.end());
  }
  void take(std::span<std::byte> bytes, int /*from*/) override {
    std::ranges::copy(given_.at(0), bytes.begin());
    given_.pop_front();
  }

 private:
  std::deque<std::vector<std::byte>> given_;
};

class NoSend final : public SendLink {
 public:
  void send(std::span<const Tensor> /*message*/) override {}
  void progress() override {}
  void hand_over() override {}
  void drain() override {}
  void reserve(std::span<const TensorSpec> /*message*/, int /*count*/) override {}
};

class NoReceive final : public ReceiveLink {
 public:
  void expect(std::span<const TensorSpec> /*specs*/) override {}
  [[nodiscard]] int expected() const override { return 0; }
  void receive(std::span<Tensor> /*message*/) override {}
  void progress() override {}
};

class NoSums final : public ReduceGroup {
 public:
  [[nodiscard]] int size() const override { return 2; }
  void start(const Tensor& /*buffer*/) override {}
  void scatter(const Tensor& /*buffer*/, std::span<const int64_t> /*cuts*/) override {}
  void gather(const Tensor& /*buffer*/, std::span<const int64_t> /*cuts*/) override {}
  void progress() override {}
  void finish() override {}
};

// A buffer of 1000 bytes holds a link for one second.
class VirtualTime : public testing::Test {
 protected:
  [[nodiscard]] Tensor kilobyte() {
    return device_->empty({250}, DType::F32, Purpose::Activations);
  }
  LinkTimes link_{.latency = 0.5, .seconds_per_byte = 1e-3, .overhead = 0.25};
  LaterOther others_;
  VirtualMail mail_{others_};
  VirtualClock clock_, far_;
  std::unique_ptr<CountingDevice> device_ = make_counting_device(device_model_named("p100"));
};

class VirtualLinks : public VirtualTime {
 protected:
  void connect(int window) {
    const auto edge = [&](VirtualClock& clock) {
      return VirtualEdge{.clock = clock, .mail = mail_, .times = link_, .window = window};
    };
    send_ = make_virtual_send(std::make_unique<NoSend>(), edge(clock_));
    receive_ = make_virtual_receive(std::make_unique<NoReceive>(), edge(far_));
  }
  // The two clocks afterwards.
  [[nodiscard]] std::vector<double> pass() {
    send_->send({&message_, 1});
    receive_->receive({&message_, 1});
    return {clock_.now(), far_.now()};
  }
  std::unique_ptr<SendLink> send_;
  std::unique_ptr<ReceiveLink> receive_;
  Tensor message_ = kilobyte();
};

TEST_F(VirtualLinks, AMessageGoesBehindTheOneBefore) {
  connect(0);
  EXPECT_THAT(pass(), ElementsAre(0.25, 0.25 + 1 + 0.5 + 0.25));
  EXPECT_THAT(pass(), ElementsAre(0.5, 1.25 + 1 + 0.5 + 0.25));
}

TEST_F(VirtualLinks, AReceiverThatCopiesDoesNothingElseMeanwhile) {
  link_.receiver_copies = true;
  connect(0);
  EXPECT_THAT(pass(), ElementsAre(0.25, 0.75 + 0.25 + 1));
  EXPECT_THAT(pass(), ElementsAre(0.5, 2 + 0.25 + 1));
}

TEST_F(VirtualLinks, ASendWaitsWhileItsWindowIsFull) {
  connect(1);
  EXPECT_THAT(pass(), ElementsAre(0.25, 2));
  EXPECT_THAT(pass(), ElementsAre(2.25, 2.25 + 1 + 0.5 + 0.25));
}

class VirtualSums : public VirtualTime {
 protected:
  [[nodiscard]] std::unique_ptr<ReduceGroup> sums(bool late_weights) {
    clock_.wait_until(1.0);
    return make_virtual_sums(std::make_unique<NoSums>(), others_, link_, late_weights, clock_);
  }
  const Tensor first_ = kilobyte(), second_ = kilobyte();
  const std::vector<int64_t> cuts_{0, 125, 250};
};

// Each of the two members sends half a buffer in each half of a sum; the last is ready at 1.5.
TEST_F(VirtualSums, FollowOneAnotherFromTheLastMemberOn) {
  const auto group = sums(true);
  group->start(first_);
  group->scatter(second_, cuts_);
  EXPECT_EQ(clock_.now(), 1.0);
  group->finish();
  EXPECT_DOUBLE_EQ(clock_.now(), 1.5 + (2 * 0.5 + 1) + (0.5 + 0.5));
}

TEST_F(VirtualSums, AReceiverThatCopiesIsBusyAtTheLatestWhenItWaits) {
  link_.receiver_copies = true;
  const auto group = sums(true);
  group->start(first_);
  clock_.advance(3.0);
  group->finish();
  EXPECT_DOUBLE_EQ(clock_.now(), 5.0);
}

TEST_F(VirtualSums, LateWeightsComeOneBehindTheOther) {
  const auto group = sums(true);
  group->gather(first_, cuts_);
  group->gather(second_, cuts_);
  group->wait(first_);
  EXPECT_DOUBLE_EQ(clock_.now(), 1.5 + 0.5 + 0.5);
  group->finish();
  EXPECT_DOUBLE_EQ(clock_.now(), 1.5 + 2 * 0.5 + 0.5);
}

TEST_F(VirtualSums, OtherWeightsComeAtOnce) {
  const auto group = sums(false);
  group->gather(first_, cuts_);
  EXPECT_DOUBLE_EQ(clock_.now(), 1.0 + 0.5 + 0.5);
  group->gather(second_, cuts_);
  EXPECT_DOUBLE_EQ(clock_.now(), 1.0 + 2 * 0.5 + 0.5);
}

TEST_F(VirtualTime, AGroupIsAsLateAsItsLastMember) {
  VirtualCollective group(others_, clock_);
  double value = 0;
  group.sum({&value, 1});
  EXPECT_DOUBLE_EQ(clock_.now(), 0.5);
  group.barrier();
  EXPECT_DOUBLE_EQ(clock_.now(), 1.0);
}

// The other member brings one number, 9, at the time 4.
class Numbers final : public LateGather {
 public:
  void start(std::span<const double> mine) override {
    all_.assign(mine.begin(), mine.end());
    all_.insert(all_.end(), {9, 4});
  }
  [[nodiscard]] std::span<const double> finish() override { return all_; }

 private:
  std::vector<double> all_;
};

TEST_F(VirtualTime, ALateGatherKeepsItsTimesToItself) {
  VirtualLateGather gather(std::make_unique<Numbers>(), 2, others_, clock_);
  const std::vector<double> mine{7, 8};
  gather.start(mine);
  clock_.advance(1.0);
  EXPECT_THAT(gather.finish(), ElementsAre(7, 8, 9));
  EXPECT_DOUBLE_EQ(clock_.now(), 4.0);
}

// One of four ranks, which sends on every edge.
class NoNetwork final : public Network {
 public:
  [[nodiscard]] Ends connect(std::span<const DirectedEdge> edges, Device& /*device*/) override {
    Ends ends;
    ends.receive.resize(edges.size());
    for (size_t e = 0; e < edges.size(); ++e) ends.send.push_back(std::make_unique<NoSend>());
    return ends;
  }
  [[nodiscard]] std::unique_ptr<ReduceGroup> reduce_group(Device& /*device*/) override {
    return std::make_unique<NoSums>();
  }
  Collective& world() override { return two_; }
  Collective& pipeline() override { return two_; }
  Collective& replicas() override { return two_; }
  [[nodiscard]] int64_t requests_made() const override { return 0; }
  [[nodiscard]] std::string description() const override { return "none"; }

 private:
  LaterOther two_;
};

// A node has two ranks: those of a pipeline, or those of a stage.
TEST_F(VirtualTime, LinksAreThoseOfTheNodesOnWhichRanksAre) {
  const Cluster cluster{
      .within_node = link_, .between_nodes = {.overhead = 8}, .ranks_per_node = 2};
  const std::vector<DirectedEdge> edges{{.from_position = 0, .to_position = 1}};
  const Tensor message = kilobyte();
  for (const Placement placement : {Placement::Stages, Placement::Replicas}) {
    const bool stays = placement == Placement::Stages;
    NoNetwork real;
    VirtualClock clock;
    VirtualNetwork network(real, {.positions = 2, .replicas = 2, .placement = placement}, cluster,
                           clock);
    const Network::Ends ends = network.connect(edges, *device_);
    ends.send[0]->send({&message, 1});
    EXPECT_EQ(clock.now(), stays ? 0.25 : 8);
    const auto group = network.reduce_group(*device_);
    group->start(message);
    group->finish();
    // The other replica begins half a second later, and within a node the sum takes two.
    EXPECT_DOUBLE_EQ(clock.now(), stays ? 0.25 + 0.5 : 8 + 0.5 + 2);
  }
}

}  // namespace
}  // namespace penstock
