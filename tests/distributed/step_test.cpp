// tests/distributed/step_test.cpp -- one training step by itself: what its gradients are divided
// by.
#include "runtime/engine/training/step.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "runtime/engine/training/batches.h"
#include "runtime/engine/training/evaluation/evaluation.h"
#include "runtime/planning/blueprint/blueprint.h"
#include "tests/distributed/main.h"
#include "tests/distributed/token_network.h"

namespace penstock {
namespace {

// Parameters: the field, and whether there are as many replicas as ranks instead of as many stages.
class StepOf : public testing::TestWithParam<std::tuple<const char*, bool>> {
 protected:
  StepOf() {
    config_.model.kind = "own";
    config_.model.vocabulary = kVocabulary;
    config_.data.kind = "synthetic";
    config_.data.samples = 64;
    config_.data.validation = "0.25";
    config_.optimizer.learning_rate = 1e-3;
    config_.pipeline.micro_batches = 2;
    config_.pipeline.micro_batch_size = 2;
    (replicated_ ? config_.pipeline.replicas : config_.pipeline.stages) = session_.ranks();
    grid_ = {.positions = config_.pipeline.stages, .replicas = config_.pipeline.replicas};
  }

  const Session& session_ = test_session();
  const bool replicated_ = std::get<1>(GetParam());
  Config config_;
  Grid grid_;
};

TEST_P(StepOf, DividesTheLossByItsTargets) {
  const ModelMaker models = compares_with(std::get<0>(GetParam()));
  const std::unique_ptr<Device> device = make_cpu_device(1);
  const std::unique_ptr<Network> network = make_mpi_network(session_, grid_);
  const Station station{session_, *network, grid_, *device};
  DataSource source(config_, models, network->world());
  const Blueprint blueprint = draw_up(config_, models, kVocabulary, 0);
  Pipeline pipeline(config_, blueprint, grid_, *network, *device);
  source.open(pipeline.reads().fields);
  Batches batches(DataPart::Training, config_, source, pipeline, station);
  const std::span<const Batch> first = batches.next();
  const double targets = static_cast<double>(source.mini_batch() * kContext);

  // The sum over all targets, as it is without a scale.
  GradientNorm norm(pipeline, network->pipeline(), network->replicas(), *device);
  StepInput undivided;
  undivided.pass.seed = config_.run.seed;
  undivided.pass.step = 1;
  undivided.batches = first;
  double of_sum = 0.0;
  undivided.update = [&] {
    of_sum = norm.compute();
    pipeline.end_step();
  };
  pipeline.begin_step();
  pipeline.run(undivided);
  EXPECT_GT(of_sum, 1.0);

  Step step(config_, pipeline, station);
  step.begin(1, first);
  const StepRecord record = step.run();
  EXPECT_EQ(record.loss_tokens, static_cast<int64_t>(targets));
  EXPECT_NEAR(record.grad_norm, of_sum / targets, 1e-5 * of_sum / targets);
  pipeline.drain();
}

// What fills up the last pass must count nothing, which only targets can say that are nobody's
// input.
TEST_P(StepOf, AsksForWholePassesWhereTargetsAreInputs) {
  const ModelMaker models = compares_with(std::get<0>(GetParam()));
  const std::unique_ptr<Network> network = make_mpi_network(session_, grid_);
  const DataSource source(config_, models, network->world());
  const Blueprint blueprint = draw_up(config_, models, kVocabulary, 0);
  ASSERT_EQ(source.facts().validation_samples, 16);
  EXPECT_NO_THROW(check_validation(config_, source, blueprint.targets));
  config_.run.eval_batch = 3;
  if (std::string(std::get<0>(GetParam())) == "labels") {
    EXPECT_NO_THROW(check_validation(config_, source, blueprint.targets));
    return;
  }
  try {
    check_validation(config_, source, blueprint.targets);
    ADD_FAILURE() << "nothing was refused";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::Input);
    EXPECT_THAT(error.what(), testing::HasSubstr("('tokens')"));
    EXPECT_THAT(error.what(), testing::HasSubstr("run.eval_batch"));
  }
}

INSTANTIATE_TEST_SUITE_P(Fields, StepOf,
                         testing::Combine(testing::Values("labels", "tokens"), testing::Bool()),
                         [](const auto& test) {
                           return std::string(std::get<0>(test.param)) +
                                  (std::get<1>(test.param) ? "_over_replicas" : "_over_stages");
                         });

}  // namespace
}  // namespace penstock
