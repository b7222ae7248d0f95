// runtime/engine/training/data_source.h -- DataSource: the run's data, opened only on the ranks
// that read them.
//
// Rank 0 looks at the data first and tells the others what a network must know of them; later those
// ranks whose stages read batch fields open them for themselves.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "kernels/device.h"
#include "runtime/data/datasets/loader.h"
#include "runtime/engine/training/checkpoints/progress.h"
#include "runtime/network/models/models.h"
#include "runtime/planning/blueprint/config.h"
#include "runtime/system/comm/network.h"

namespace penstock {

// What all ranks know of the data.
struct DataFacts {
  int64_t vocabulary = 0, classes = 0;  // of texts, of images; 0: none, or not known
  int64_t targets_per_sample = 1;
  int64_t training_samples = 0, validation_samples = 0;
  int64_t training_content = 0;  // content_sum() of the text that trains; else 0
  int64_t question_texts = 0;    // how many texts data.questions makes
};

class DataSource {
 public:
  // Collective. What rank 0 finds wrong with the data is thrown by every rank.
  DataSource(const Config& config, const ModelMaker& models, Collective& world);

  [[nodiscard]] const DataFacts& facts() const { return facts_; }
  // What a user may want to know of the data, on rank 0; empty: nothing.
  [[nodiscard]] const std::string& note() const { return note_; }
  // The names of the classes of images, by label, on rank 0.
  [[nodiscard]] const std::vector<std::string>& class_names() const { return class_names_; }
  [[nodiscard]] Progress begin() const;      // where a run over these data begins
  [[nodiscard]] int64_t mini_batch() const;  // samples of a step, over all replicas
  // Positions of a step, padding included, where each has a label; else 0.
  [[nodiscard]] int64_t mini_batch_tokens() const;
  // The questions of data.questions, on rank 0 and where the data are open; else null.
  [[nodiscard]] const Questions* questions() const { return questions_.get(); }
  // Opens the data here when `fields` is not empty. Without it there are no loaders (null).
  void open(const std::vector<std::string>& fields);
  // The memory for a loader's batches that suits that device. Lives as long as the source.
  [[nodiscard]] Memory& batch_memory(Device& device);
  // Loaders of the data, whose batches are in `host`, a batch_memory().
  [[nodiscard]] std::unique_ptr<Loader> training_loader(const LoaderConfig& config, Memory& host);
  [[nodiscard]] std::unique_ptr<Loader> validation_loader(const LoaderConfig& config, Memory& host);
  // How many passes of a validation_loader(config) on every replica cover the validation data once.
  [[nodiscard]] int64_t validation_passes(const LoaderConfig& config) const;

 private:
  const Config& config_;
  SampleShape shape_;
  DataFacts facts_;
  std::string note_;
  std::vector<std::string> class_names_;
  Memory host_;        // of the batches, where the device computes in the host's memory
  Datasets datasets_;  // empty where nothing is read
  std::shared_ptr<const Questions> questions_;
};

}  // namespace penstock
