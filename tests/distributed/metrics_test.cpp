// tests/distributed/metrics_test.cpp -- losses and targets of a pass, brought together from the
// ranks that have them.
#include "runtime/engine/training/metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "runtime/planning/blueprint/blueprint.h"
#include "tests/distributed/main.h"
#include "tests/distributed/token_network.h"

namespace penstock {
namespace {

constexpr int kMicroBatches = 3;
constexpr int64_t kRows = 2;

class PassMetrics : public testing::TestWithParam<bool> {  // as many replicas as ranks, or stages
 protected:
  PassMetrics() {
    config_.model.kind = "own";
    config_.pipeline.micro_batches = kMicroBatches;
    config_.pipeline.micro_batch_size = kRows;
    (GetParam() ? config_.pipeline.replicas : config_.pipeline.stages) = session_.ranks();
    grid_ = {.positions = config_.pipeline.stages, .replicas = config_.pipeline.replicas};
    network_ = make_mpi_network(session_, grid_);
    const ModelMaker models = compares_with("labels", true);
    blueprint_ = draw_up(config_, models, kVocabulary, 0);
    pipeline_ = std::make_unique<Pipeline>(config_, blueprint_, grid_, *network_, *device_);
    for (int m = 0; m < kMicroBatches; ++m) batches_.push_back(batch(m));
  }

  // The number of leading labels of micro-batch m that count nothing: m, and one more for each
  // replica before.
  [[nodiscard]] int64_t ignored(int m, int replica) const {
    return std::min<int64_t>(m + replica, kRows * kContext);
  }
  Batch batch(int m) {
    Batch batch{.names = {"tokens", "labels"}, .tensors = {}, .samples = kRows};
    const int replica = network_->replicas().rank();
    for (const char* name : {"tokens", "labels"}) {
      Tensor field = device_->empty({kRows, kContext}, DType::I32, Purpose::Workspace);
      for (int64_t i = 0; i < field.elements(); ++i) {
        const bool off = name == std::string("labels") && i < ignored(m, replica);
        field.data<int32_t>()[i] = off ? -1 : static_cast<int32_t>((i * 3 + m) % kVocabulary);
      }
      batch.tensors.push_back(field);
    }
    return batch;
  }
  [[nodiscard]] double targets() const {
    double count = 0.0;
    for (int replica = 0; replica < grid_.replicas; ++replica) {
      for (int m = 0; m < kMicroBatches; ++m) {
        count += static_cast<double>(kRows * kContext - ignored(m, replica));
      }
    }
    return count;
  }

  const Session& session_ = test_session();
  Config config_;
  Grid grid_;
  std::unique_ptr<Device> device_ = make_cpu_device(1);
  std::unique_ptr<Network> network_;
  Blueprint blueprint_;
  std::unique_ptr<Pipeline> pipeline_;
  std::vector<Batch> batches_;
};

TEST_P(PassMetrics, TargetsAreCountedWhereALossIs) {
  const double counted = count_targets(*pipeline_, batches_, network_->replicas());
  bool holds_loss = false;
  const int mine = network_->pipeline().rank();
  for (const auto& layer : blueprint_.layout.layers_of(blueprint_.model, mine)) {
    holds_loss = holds_loss || !layer->targets().empty();
  }
  EXPECT_EQ(counted, holds_loss ? targets() : 0.0);
  EXPECT_EQ(pipeline_->reads().targets, holds_loss ? "labels" : "");
  double ranks_with_loss = holds_loss ? 1.0 : 0.0;
  network_->world().sum({&ranks_with_loss, 1});
  EXPECT_GE(ranks_with_loss, session_.ranks() > 3 && !GetParam() ? 2.0 : 1.0);
}

TEST_P(PassMetrics, LossesAreTheSumOfAllMicroBatchesAndTheSameOnEveryRank) {
  LossSums sums;
  StepInput input;
  input.batches = batches_;
  input.pass.first_micro_batch = int64_t{network_->replicas().rank()} * kMicroBatches;
  input.pass.loss_scale = 0.01F;
  const bool last = session_.rank() + 1 == session_.ranks();
  StepVote vote{.stop = last, .writing = last};
  input.update = [&] { sums = gather_loss(*pipeline_, kMicroBatches, *device_, *network_, &vote); };
  pipeline_->begin_step();
  pipeline_->run(input);
  EXPECT_EQ(sums.targets, targets());
  EXPECT_EQ(sums.auxiliary_targets, targets());
  // A network that knows nothing yet: about as unsure as can be.
  EXPECT_NEAR(sums.mean(), std::log(static_cast<double>(kVocabulary)), 1.0);
  EXPECT_NEAR(*sums.auxiliary_mean(), std::log(static_cast<double>(kVocabulary)), 1.0);
  EXPECT_NE(sums.loss, sums.auxiliary_loss);
  EXPECT_GE(sums.correct, 0.0);
  EXPECT_LE(sums.correct, sums.targets);
  std::vector<double> of_all(static_cast<size_t>(session_.ranks()));
  network_->world().gather_to_all({&sums.loss, 1}, of_all);
  EXPECT_THAT(of_all, testing::Each(sums.loss));
  EXPECT_TRUE(vote.stop) << "one rank's vote is everyone's";
  EXPECT_TRUE(vote.writing);
  EXPECT_FALSE(vote.checkpoint) << "nobody's";

  // An evaluation leaves the head out.
  input.pass.training = false;
  pipeline_->run(input);
  const LossSums evaluated = gather_loss(*pipeline_, kMicroBatches, *device_, *network_);
  EXPECT_EQ(evaluated.targets, targets());
  EXPECT_FALSE(evaluated.auxiliary_mean());
  pipeline_->drain();
}

INSTANTIATE_TEST_SUITE_P(Ranks, PassMetrics, testing::Bool(), [](const auto& test) {
  return std::string(test.param ? "are_replicas" : "are_stages");
});

}  // namespace
}  // namespace penstock
