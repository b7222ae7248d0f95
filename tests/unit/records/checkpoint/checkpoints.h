// tests/unit/records/checkpoint/checkpoints.h -- what the tests of checkpoints share: some layers,
// saved by ranks that are threads into a directory that is removed with the test.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "runtime/records/checkpoint/layout.h"
#include "runtime/records/checkpoint/reader.h"
#include "runtime/records/checkpoint/writer/checkpoint_writer.h"
#include "tests/unit/network/optimizer/update_device.h"
#include "tests/unit/records/checkpoint/bytes.h"
#include "tests/unit/records/checkpoint/thread_world.h"

namespace penstock {

inline constexpr int kLayers = 6;
inline constexpr int64_t kWidth = 5;

inline std::string name_of_layer(int layer) {
  return "blocks." + std::to_string(layer) + ".weight";
}
// Element i of a layer's tensor after `step`: exact in fp32, so that it has the same bits however
// it is computed.
inline float value_at(int layer, int64_t i, int64_t step) {
  return static_cast<float>(1024 * layer + i) + 0.125F * static_cast<float>(step);
}

class Checkpoints : public testing::Test {
 protected:
  [[nodiscard]] Tensor layer(int layer, int64_t step) {
    Tensor tensor = device_.empty({kWidth, layer + 1}, DType::F32, Purpose::Parameters);
    for (int64_t i = 0; i < tensor.elements(); ++i) {
      tensor.data<float>()[i] = value_at(layer, i, step);
    }
    return tensor;
  }

  // What `rank` saves: the layers are spread evenly over the `positions` ranks of a pipeline; ranks
  // after those are further replicas.
  CheckpointRequest request(int64_t step, int rank, int positions, int replicas = 1) {
    CheckpointRequest request;
    request.root = root_;
    request.retention = retention_;
    request.state = {step, 1ULL << 63, step * 32, 32, "0.1.0", "[run]\nsteps = \"\xC3\xA9\"\n",
                     run_};
    for (int i = 0; i < kLayers; ++i) {
      if (i * positions / kLayers != rank % positions) continue;
      request.model.push_back({{name_of_layer(i), layer(i, step)}, i});
      request.optimizer.push_back({{name_of_layer(i) + ".exp_avg", layer(i, -step)}, i});
    }
    request.replica = rank / positions;
    request.replicas = replicas;
    return request;
  }

  // Saves a checkpoint; returns what each rank threw, "" where it threw nothing.
  std::vector<std::string> save(int64_t step, int positions = 1, int replicas = 1) {
    return on_ranks(positions * replicas, [&](Collective& world) {
      const CheckpointResult result =
          CheckpointWriter(world, device_).save(request(step, world.rank(), positions, replicas));
      EXPECT_EQ(result.path, step_path(step));
      EXPECT_EQ(result.warning, "");
      EXPECT_GT(result.size_bytes, 0U);
    });
  }

  // Expects that the checkpoint is whole and has the tensors and the state of `step`.
  void expect_reads_back(int64_t step) { expect_reads_back(step_path(step), step); }
  void expect_reads_back(const std::string& path, int64_t step) {
    CheckpointReader reader(path);
    reader.verify();
    EXPECT_EQ(reader.state(), request(step, 0, 1).state);
    for (int i = 0; i < kLayers; ++i) {
      for (const bool optimizer : {false, true}) {
        const Tensor expected = layer(i, optimizer ? -step : step);
        Tensor found = device_.empty(expected.shape(), DType::F32, Purpose::Parameters);
        reader.read(name_of_layer(i) + (optimizer ? ".exp_avg" : ""), found, device_);
        EXPECT_EQ(std::memcmp(found.raw(), expected.raw(), found.size_bytes()), 0);
      }
    }
  }

  [[nodiscard]] std::string step_path(int64_t step) const { return root_ + "/" + step_name(step); }
  [[nodiscard]] std::vector<int64_t> steps() const {
    std::vector<int64_t> steps;
    for (const StepDirectory& found : list_checkpoints(root_)) steps.push_back(found.step);
    return steps;
  }
  [[nodiscard]] std::vector<std::string> names(const std::string& directory) const {
    std::vector<std::string> all;
    for (const auto& entry : std::filesystem::directory_iterator(directory)) {
      all.push_back(entry.path().filename().string());
    }
    std::sort(all.begin(), all.end());
    return all;
  }

  TemporaryFolder here_;
  std::string root_ = here_ / "run/checkpoints";
  Retention retention_;
  std::string run_ = "7f3a";
  UpdateDevice device_;
};

}  // namespace penstock
