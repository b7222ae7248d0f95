// runtime/engine/training/data_source.h -- DataSource: the training and validation data of a run,
// opened only on the ranks that read them.
//
// As a rule, the first stage of a pipeline reads inputs, the last reads labels, and the ranks
// between read nothing. So the constructor lets rank 0 open the data, find out what a network must
// know of them (the size of the vocabulary, numbers of samples), and tell all ranks. Later each
// rank whose stages read batch fields calls open() for itself and makes loaders.
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
  // The number of tokens of texts, and of classes of images; 0: the data have none, or it is
  // unknown.
  int64_t vocabulary = 0, classes = 0;
  int64_t targets_per_sample = 1;  // labels in a sample that the loss may count
  int64_t training_samples = 0, validation_samples = 0;  // how many samples
  int64_t training_content = 0;  // content_sum() of the training text, a checksum; 0: unknown
  // How many texts the network is run on where the validation set is questions (data.questions, for
  // `penstock eval`): one for each question, or one for each of its choices. Else 0.
  int64_t question_texts = 0;
};

class DataSource {
 public:
  // Collective over `world`. An error that rank 0 finds in the data is thrown by every rank.
  // `config` must outlive this.
  DataSource(const Config& config, const ModelMaker& models, Collective& world);

  [[nodiscard]] const DataFacts& facts() const { return facts_; }
  // A line for the user about the data, on rank 0; empty: nothing.
  [[nodiscard]] const std::string& note() const { return note_; }
  // The names of the classes of images, by label, on rank 0; empty elsewhere.
  [[nodiscard]] const std::vector<std::string>& class_names() const { return class_names_; }
  // The progress of a run over these data before its first step.
  [[nodiscard]] Progress begin() const;
  // The samples of a step, over all replicas.
  [[nodiscard]] int64_t mini_batch() const;
  // The positions of a step over all replicas, padding included, where each position has a label
  // (language models); 0 otherwise.
  [[nodiscard]] int64_t mini_batch_tokens() const;
  // The questions of data.questions, on rank 0 and on ranks where the data are open; else null.
  [[nodiscard]] const Questions* questions() const { return questions_.get(); }
  // Opens the data on this rank with these batch fields; closes them where `fields` is empty. May
  // be called again with other fields. Before it, or without fields, the loaders below are null.
  void open(const std::vector<std::string>& fields);
  // The memory in which a loader should put its batches for use by `device`. Lives as long as this.
  [[nodiscard]] Memory& batch_memory(Device& device);
  // New loaders. Their batches are in `host`, which is batch_memory().
  [[nodiscard]] std::unique_ptr<Loader> training_loader(const LoaderConfig& config, Memory& host);
  [[nodiscard]] std::unique_ptr<Loader> validation_loader(const LoaderConfig& config, Memory& host);
  // How many evaluation passes cover the validation data once. A pass is one run through the
  // pipeline, for which each replica takes config.micro_batches micro-batches from its loader.
  [[nodiscard]] int64_t validation_passes(const LoaderConfig& config) const;

 private:
  const Config& config_;
  SampleShape shape_;  // of one sample, from the model
  DataFacts facts_;
  std::string note_;
  std::vector<std::string> class_names_;
  Memory host_;          // for batches where the device reads host memory
  Datasets datasets_;    // empty where open() has opened nothing
  bool has_all_ = true;  // whether these have all fields; false: labels alone
  std::shared_ptr<const Questions> questions_;
};

}  // namespace penstock
