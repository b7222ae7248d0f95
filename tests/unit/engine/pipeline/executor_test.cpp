// The executor: whatever the schedule and wherever the stages live, a step leaves the gradients of
// one stage that holds the whole network, to the bit. Threads play the ranks.
#include "runtime/engine/pipeline/executor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <thread>

#include "kernels/philox.h"
#include "runtime/planning/blueprint/blueprint.h"
#include "runtime/planning/schedule/generators/known_schedules.h"
#include "runtime/planning/schedule/proof/window.h"
#include "tests/support/trained.h"
#include "tests/unit/engine/pipeline/memory_links.h"

namespace penstock {
namespace {

using testing::HasSubstr;

constexpr int kMicroBatches = 4;

// Skips over the heads of stages, batch norm with its sums of a step.
Config image_network(const std::string& schedule, int stages, const std::string& recompute) {
  Config config;
  config.model.kind = "unet";
  config.model.layers = 2;
  config.model.filters = 4;
  config.model.image = {3, 8, 12};
  config.model.classes = 3;
  config.pipeline.stages = stages;
  config.pipeline.micro_batches = kMicroBatches;
  config.pipeline.micro_batch_size = 2;
  config.pipeline.schedule = schedule;
  config.pipeline.recompute = recompute;
  return config;
}

using Gradients = std::map<std::string, std::vector<float>>;

// One rank of a pipeline, all of whose ranks live in this process.
class Rank {
 public:
  Rank(const Config& config, int rank, Wires& wires)
      : blueprint_(draw_up(config, built_in_models(), 0, 0)),
        device_(make_cpu_device(1)),
        network_(wires, rank),
        links_(network_, blueprint_.programs.training, message_window(blueprint_.programs.training),
               false, *device_) {
    const Layout& layout = blueprint_.layout;
    std::vector<Stage*> by_index(static_cast<size_t>(layout.stages), nullptr);
    for (int s = 0; s < layout.stages; ++s) {
      if (blueprint_.programs.training.rank_of_stage[static_cast<size_t>(s)] != rank) continue;
      const size_t first_layer = layout.first_layer[static_cast<size_t>(s)];
      const StagePlace place = {.freeze = config.optimizer.freeze,
                                .first = s == 0 || first_layer <= layout.first_trained,
                                .untrained = layout.untrained(s)};
      stages_.push_back(std::make_unique<Stage>(layout.layers_of(blueprint_.model, s),
                                                recompute_mode_named(config.pipeline.recompute),
                                                kMicroBatches, DType::F32, *device_, place));
      stages_.back()->allocate(1);
      by_index[static_cast<size_t>(s)] = stages_.back().get();
    }
    Executor::Parts parts;
    parts.stages = by_index;
    parts.traffic = traffic(blueprint_.model, layout, blueprint_.input,
                            config.pipeline.micro_batch_size, DType::F32);
    parts.inputs = blueprint_.model.inputs;
    parts.links = &links_;
    parts.device = device_.get();
    executor_ = std::make_unique<Executor>(blueprint_.programs.training, rank, std::move(parts));
    make_batches(config);
  }

  void step() {
    for (auto& stage : stages_) stage->begin_step();
    StepInput input;
    input.pass = {.seed = 3, .step = 7, .loss_scale = 0.25F};
    input.batches = batches_;
    input.update = [this] { ++updates_; };
    executor_->run(input);
  }
  void add_gradients(Gradients& all) {
    EXPECT_EQ(updates_, 1);
    for (auto& stage : stages_) {
      for (const StateEntry* parameter : with_gradients(*stage)) {
        const auto values = parameter->gradient.span<float>();
        all[parameter->name].assign(values.begin(), values.end());
      }
    }
  }

 private:
  void make_batches(const Config& config) {
    const ModelInput& input = blueprint_.input;
    const auto& sample = input.shape;
    const int64_t b = config.pipeline.micro_batch_size;
    for (int m = 0; m < kMicroBatches; ++m) {
      Batch& batch = batches_.emplace_back();
      batch.names = {input.field, "labels"};
      batch.samples = b;
      std::vector<int64_t> extents = {b};
      extents.insert(extents.end(), sample.extents().begin(), sample.extents().end());
      batch.tensors.push_back(device_->empty(Shape(std::span<const int64_t>(extents)), input.dtype,
                                             Purpose::Workspace));
      const auto numbers = batch.tensors[0].span<float>();
      for (size_t i = 0; i < numbers.size(); ++i) {
        numbers[i] = uniform_of(philox(random_stream(9, static_cast<uint64_t>(m)), i)[0]) - 0.5F;
      }
      batch.tensors.push_back(device_->zeros({b}, DType::I32, Purpose::Workspace));
      const auto labels = batch.tensors[1].span<int32_t>();
      for (size_t i = 0; i < labels.size(); ++i)
        labels[i] = static_cast<int32_t>((i + static_cast<size_t>(m)) % 3);
    }
  }

  Blueprint blueprint_;
  std::unique_ptr<Device> device_;
  MemoryNetwork network_;
  Links links_;
  std::vector<std::unique_ptr<Stage>> stages_;
  std::unique_ptr<Executor> executor_;
  std::vector<Batch> batches_;
  int updates_ = 0;
};

Gradients gradients_of(const Config& config, Wires& wires) {
  const int ranks = ranks_per_pipeline(config.pipeline);
  std::vector<Gradients> by_rank(static_cast<size_t>(ranks));
  std::vector<std::thread> threads;
  for (int r = 0; r < ranks; ++r) {
    threads.emplace_back([&, r] {
      try {
        Rank rank(config, r, wires);
        rank.step();
        rank.add_gradients(by_rank[static_cast<size_t>(r)]);
      } catch (const Error& error) {
        ADD_FAILURE() << "rank " << r << ": " << error.what();
        wires.cut();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  Gradients all;
  for (const Gradients& some : by_rank) all.insert(some.begin(), some.end());
  return all;
}

Gradients gradients_of(const Config& config) {
  Wires wires;
  return gradients_of(config, wires);
}

// What trains nothing needs no gradients: a word for each micro-batch comes in their place. (Frozen
// stages once received zeros of the full size.)
TEST(Executors, FrozenStagesAreSentAWordInPlaceOfGradients) {
  Config whole = image_network("1f1b", 1, "stage");
  const Gradients all = gradients_of(whole);
  const std::string frozen = "down.*";
  whole.optimizer.freeze = {frozen};
  const Gradients trained = gradients_of(whole);
  ASSERT_LT(trained.size(), all.size());
  for (const char* schedule : {"1f1b", "zb-h1", "interleaved-1f1b"}) {
    Config cut = image_network(schedule, 4, "stage");
    cut.optimizer.freeze = {frozen};
    Wires wires;
    EXPECT_EQ(gradients_of(cut, wires), trained) << schedule;
    const DirectedEdge back{.from_stage = 1, .to_stage = 0, .direction = Direction::Gradient};
    EXPECT_EQ(wires.of(back).bytes(), kMicroBatches * sizeof(int32_t)) << schedule;
    const DirectedEdge last{.from_stage = 3, .to_stage = 2, .direction = Direction::Gradient};
    EXPECT_GT(wires.of(last).bytes(), 1000U) << schedule;
  }
}

TEST(Executors, LeaveTheGradientsOfOneStageWhateverTheSchedule) {
  const Gradients whole = gradients_of(image_network("gpipe", 1, "none"));
  ASSERT_FALSE(whole.empty());
  for (const std::string& schedule : schedule_names()) {
    for (const char* recompute : {"none", "layer"}) {
      const Gradients cut = gradients_of(image_network(schedule, 4, recompute));
      EXPECT_EQ(cut.size(), whole.size());
      for (const auto& [name, values] : whole) {
        ASSERT_TRUE(cut.contains(name)) << name;
        EXPECT_EQ(std::memcmp(cut.at(name).data(), values.data(), values.size() * sizeof(float)), 0)
            << name << " by " << schedule << ", recompute " << recompute;
      }
    }
  }
}

// A rank whose neighbour is gone says where it was.
TEST(Executors, SayAtWhichInstructionAPeerFailed) {
  Wires wires;
  Rank rank(image_network("1f1b", 2, "stage"), 1, wires);
  wires.cut();
  try {
    rank.step();
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::Peer);
    EXPECT_THAT(error.what(), HasSubstr("the wire is cut (stage 1, micro-batch 0, step 7)"));
  }
}

}  // namespace
}  // namespace penstock
