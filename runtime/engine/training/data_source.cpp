#include "runtime/engine/training/data_source.h"

#include <algorithm>
#include <cstdio>

#include "kernels/error.h"
#include "runtime/data/datasets/images/folder_note.h"
#include "runtime/data/datasets/tuning/questions.h"
#include "runtime/data/tokenizer/hub/hub_tokenizer.h"
#include "runtime/data/tokenizer/vocabulary.h"
#include "runtime/network/layers/library/loss.h"
#include "runtime/system/comm/agreement.h"

namespace penstock {
namespace {

SampleShape sample_shape(const ModelConfig& model, const ModelInput& input) {
  SampleShape shape;
  shape.context = input.label_per_position ? input.shape[0] : 0;
  if (input.shape.rank() == 3) shape.image = input.shape;
  shape.input = input.shape;
  shape.classes = input.label_per_position ? model.vocabulary : model.classes;
  shape.input_field = input.field;
  shape.label_field = "labels";
  shape.label_per_position = input.label_per_position;
  shape.label_per_pixel = input.label_per_pixel;
  shape.parallel = input.field == "source_tokens";
  return shape;
}

DataFacts facts_of(const Datasets& datasets) {
  DataFacts facts;
  facts.vocabulary = datasets.vocabulary;
  facts.classes = datasets.classes;
  facts.targets_per_sample = datasets.train->targets_per_sample();
  facts.training_samples = datasets.train->size();
  facts.validation_samples = datasets.validation ? datasets.validation->size() : 0;
  facts.training_content = datasets.content;
  if (datasets.questions) facts.question_texts = std::ssize(datasets.questions->lengths);
  return facts;
}

// Refuses a tokenizer that makes tokens for which the network's embedding has no row. Bytes and
// files of ids may have fewer tokens than their vocabulary, so these are looked at one by one.
void check_vocabulary(const Config& config, int64_t of_data) {
  const int64_t of_model = config.model.vocabulary;
  if (of_model == 0 || of_data <= of_model) return;
  if (uses_folder(config.data)) check_rows(config.data.vocabulary, of_model);
  if (!uses_pieces(config.data)) return;
  fail_input(config.data.vocabulary + " has " + std::to_string(of_data) +
             " pieces, and the network is made for model.vocabulary = " + std::to_string(of_model) +
             ": leave model.vocabulary out, which takes the number of pieces");
}

// Returns a line for the user about token files whose vocabulary is not the network's. The text is
// empty if there is nothing to say.
std::string vocabulary_note(const Config& config, int64_t of_data) {
  const int64_t of_model = config.model.vocabulary;
  if (config.data.kind != "tokens" || of_data == 0 || of_model == 0 || of_data == of_model) {
    return {};
  }
  return "note: " + config.data.train + " says a vocabulary of " + std::to_string(of_data) +
         ", and model.vocabulary is " + std::to_string(of_model) +
         (of_data < of_model ? ": the rows from there on are never learnt"
                             : ": a token from there on is refused");
}

// Refuses data that have another number of classes than the network. If the data have fewer, the
// network would be measured among classes that never occur; if they have more, some labels would
// have no output.
void check_classes(const Config& config, const Datasets& datasets) {
  const int64_t of_model = config.model.classes;
  if (datasets.labels.empty() || of_model == 0 || of_model == datasets.classes) return;
  fail_input(config.data.train + " has " + std::to_string(datasets.classes) + " classes (" +
             class_list(datasets.labels) +
             "), and the network is made for model.classes = " + std::to_string(of_model) +
             ": give model.classes = " + std::to_string(datasets.classes) +
             " or 0, which takes those of the data");
}

// Refuses data with other labels than the last layer of the network tells apart, whose number need
// not be the one in the [model] section: a layer list and a network of one's own give their own.
// Tokens may be fewer than that, since tables are often padded. A last layer that is no classifier
// of the labels is left alone.
void check_last_layer(const Config& config, const ModelMaker& models, const SampleShape& shape,
                      const Datasets& datasets) {
  const Sequential model = models.build(config.model, datasets.vocabulary, datasets.classes);
  if (model.layers.empty()) return;
  const auto* last = dynamic_cast<const ClassifierLoss*>(model.layers.back().get());
  if (last == nullptr || last->targets() != shape.label_field) return;
  const bool text = shape.label_per_position;
  // Where the section gives a vocabulary, its readers look at each token themselves.
  const int64_t tokens = shape.classes > 0 ? shape.classes : datasets.vocabulary;
  const int64_t of_data = text ? tokens : datasets.classes;
  const int64_t told = last->classes();
  if (of_data == 0 || told == of_data || (text && told > of_data)) return;
  const std::string key = text ? "vocabulary" : "classes";
  const bool is_fixed = !datasets.labels.empty();
  const std::string& path = config.data.train;
  fail_input((path.empty() ? "data.kind = \"" + config.data.kind + "\"" : path) + " has " +
             std::to_string(of_data) + (text ? " tokens" : " classes") +
             (is_fixed ? " (" + class_list(datasets.labels) + ")" : "") +
             ", and the network is made for " + std::to_string(told) + ", which its last layer '" +
             last->name() + "' tells apart: make it as many (in a layer list leave `classes` out)" +
             (is_fixed ? "" : ", or give model." + key + " = " + std::to_string(told)));
}

// Writes a warning to stderr. Any rank that reads data calls it, from its reading thread; a single
// write keeps the line whole among the lines of other ranks.
void warn_of_damage(const std::string& line) {
  const std::string text = "penstock: warning: " + one_line(line) + "\n";
  std::fwrite(text.data(), 1, text.size(), stderr);
}

}  // namespace

DataSource::DataSource(const Config& config, const ModelMaker& models, Collective& world)
    : config_(config),
      shape_(on_every_rank([&] { return sample_shape(config.model, models.input(config.model)); })),
      host_(host_memory_source()) {
  if (packs_rows(config.data) && config.model.kind != "decoder") {
    on_every_rank([&] {
      fail_input("model.kind = \"" + config.model.kind +
                 "\" does not keep apart the samples of a row: give data.packed = false, or "
                 "model.kind = \"decoder\"");
    });
  }
  facts_ = numbers_of_first_rank<DataFacts>(world, [&] {
    datasets_ = open_datasets(config.data, shape_, config.run.seed, warn_of_damage);
    note_ = datasets_.note;
    if (note_.empty()) note_ = vocabulary_note(config, datasets_.vocabulary);
    questions_ = datasets_.questions;
    class_names_ = datasets_.labels;
    check_vocabulary(config, datasets_.vocabulary);
    check_classes(config, datasets_);
    check_last_layer(config, models, shape_, datasets_);
    return facts_of(datasets_);
  });
  // What rank 0 has found out counts where the other ranks read.
  if (shape_.label_per_pixel && shape_.classes == 0) shape_.classes = facts_.classes;
}

Progress DataSource::begin() const {
  return {.training_samples = facts_.training_samples, .training_content = facts_.training_content};
}

int64_t DataSource::mini_batch() const {
  return config_.pipeline.micro_batch_size * config_.pipeline.micro_batches *
         config_.pipeline.replicas;
}

int64_t DataSource::mini_batch_tokens() const {
  return shape_.label_per_position ? mini_batch() * facts_.targets_per_sample : 0;
}

void DataSource::open(const std::vector<std::string>& fields) {
  // Rank 0 has all data open since the constructor. If it reads all of them, they stay open.
  // Otherwise it closes them here and, like the other ranks, opens only what `fields` need.
  const bool reads_all = config_.data.kind != "images" ||
                         std::find(fields.begin(), fields.end(), "images") != fields.end();
  if (datasets_.train && reads_all == has_all_ && !fields.empty()) return;
  datasets_ = {};
  has_all_ = reads_all;
  if (fields.empty()) return;
  datasets_ = open_datasets(config_.data, shape_, config_.run.seed, warn_of_damage, fields);
  questions_ = datasets_.questions;
}

Memory& DataSource::batch_memory(Device& device) {
  return device.host_addressable() ? host_ : device.host_memory();
}

std::unique_ptr<Loader> DataSource::training_loader(const LoaderConfig& config, Memory& host) {
  if (!datasets_.train) return nullptr;
  return std::make_unique<Loader>(datasets_.train, config, host);
}

std::unique_ptr<Loader> DataSource::validation_loader(const LoaderConfig& config, Memory& host) {
  if (!datasets_.validation) return nullptr;
  return std::make_unique<Loader>(datasets_.validation, config, host);
}

int64_t DataSource::validation_passes(const LoaderConfig& config) const {
  const int64_t per_pass = config.micro_batch_size * config.micro_batches * config.replicas;
  return (facts_.validation_samples + per_pass - 1) / per_pass;
}

}  // namespace penstock
