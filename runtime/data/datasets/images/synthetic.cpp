#include "runtime/data/datasets/images/synthetic.h"

#include <algorithm>
#include <memory>

#include "kernels/error.h"
#include "kernels/philox.h"
#include "runtime/data/datasets/share.h"

namespace penstock {
namespace {

constexpr int64_t kDefaultSamples = int64_t{1} << 20;

// Calls use(i, word i of the stream) for each i of [0, n).
template <class Use>
void for_words(const RandomStream& stream, int64_t n, Use use) {
  for (int64_t i = 0; i < n; i += 4) {
    const auto words = philox(stream, static_cast<uint64_t>(i / 4));
    const int64_t used = std::min<int64_t>(4, n - i);
    for (int64_t j = 0; j < used; ++j) use(i + j, words[static_cast<size_t>(j)]);
  }
}

int32_t class_of(uint32_t word, int64_t classes) {
  return static_cast<int32_t>(uint64_t{word} * static_cast<uint64_t>(classes) >> 32);
}

// Both fields see the same n + 1 words, labels one later. Either may be null.
void draw_text(int32_t* tokens, int32_t* labels, int64_t n, int64_t classes,
               const RandomStream& stream) {
  for_words(stream, n + 1, [&](int64_t i, uint32_t word) {
    if (tokens != nullptr && i < n) tokens[i] = class_of(word, classes);
    if (labels != nullptr && i > 0) labels[i - 1] = class_of(word, classes);
  });
}

Shape labels_of(const SampleShape& shape) {
  if (shape.label_per_position) return shape.input;
  if (shape.label_per_pixel) return {shape.input[0], shape.input[1]};
  return {};
}

void draw_values(float* out, int64_t n, const RandomStream& stream) {
  constexpr float kWidth = 3.4641016F;  // sqrt(12): a uniform number of variance 1
  for_words(stream, n,
            [&](int64_t i, uint32_t word) { out[i] = (uniform_of(word) - 0.5F) * kWidth; });
}

}  // namespace

SyntheticDataset::SyntheticDataset(const SampleShape& shape, uint64_t seed, int64_t first,
                                   int64_t size)
    : fields_{{shape.input_field, shape.input, shape.label_per_position ? DType::I32 : DType::F32},
              {shape.label_field, labels_of(shape), DType::I32}},
      classes_(shape.classes),
      seed_(seed),
      first_(first),
      size_(size) {}

void SyntheticDataset::read(int64_t index, const RandomStream& /*random*/,
                            std::span<void* const> out) const {
  const auto sample = static_cast<uint64_t>(first_ + index);
  const RandomStream inputs = random_stream(seed_, hash_name("synthetic inputs"), sample);
  const int64_t n = fields_[0].shape.elements();
  auto* labels = static_cast<int32_t*>(out[1]);
  if (fields_[0].dtype == DType::I32) {
    draw_text(static_cast<int32_t*>(out[0]), labels, n, classes_, inputs);
    return;
  }
  if (out[0] != nullptr) draw_values(static_cast<float*>(out[0]), n, inputs);
  if (labels != nullptr) {
    const RandomStream stream = random_stream(seed_, hash_name("synthetic labels"), sample);
    for_words(stream, fields_[1].shape.elements(),
              [&](int64_t i, uint32_t word) { labels[i] = class_of(word, classes_); });
  }
}

SyntheticParts synthetic_parts(const DataConfig& config) {
  if (config.samples < 0) fail_input("data.samples must not be negative");
  const int64_t samples = config.samples == 0 ? kDefaultSamples : config.samples;
  const auto share = share_of(config.validation);
  if (!share && !config.validation.empty()) {
    fail_input("data.validation = \"" + config.validation +
               "\": synthetic data have no files; give a share like 0.1, or nothing");
  }
  const auto held_out = static_cast<int64_t>(static_cast<double>(samples) * share.value_or(0));
  if (share && (held_out < 1 || held_out >= samples)) {
    fail_input("data.validation = " + config.validation +
               " of data.samples = " + std::to_string(samples) + " leaves a part without a sample");
  }
  return {samples - held_out, held_out};
}

Datasets open_synthetic(const DataConfig& config, const SampleShape& shape, uint64_t seed) {
  if (shape.input.elements() == 0 || shape.classes < 1 || shape.classes > INT32_MAX) {
    fail_input(
        "synthetic data have no classes or vocabulary of their own; give model.vocabulary (text) "
        "or "
        "model.classes");
  }
  const SyntheticParts parts = synthetic_parts(config);
  Datasets sets;
  (shape.label_per_position ? sets.vocabulary : sets.classes) = shape.classes;
  sets.train = std::make_shared<SyntheticDataset>(shape, seed, 0, parts.training);
  if (parts.held_out > 0) {
    sets.validation =
        std::make_shared<SyntheticDataset>(shape, seed, parts.training, parts.held_out);
  }
  return sets;
}

}  // namespace penstock
