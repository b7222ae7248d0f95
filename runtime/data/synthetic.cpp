#include "runtime/data/synthetic.h"

#include <algorithm>
#include <memory>

#include "kernels/error.h"
#include "kernels/philox.h"
#include "runtime/data/share.h"

namespace penstock {
namespace {

constexpr int64_t kDefaultSamples = int64_t{1} << 20;

// Calls use(i, word) for each i of [0, n) with the word at `first` + i of the stream.
template <class Use>
void for_words(const RandomStream& stream, int64_t first, int64_t n, Use use) {
  std::array<uint32_t, 4> words{};
  for (int64_t i = 0; i < n; ++i) {
    const int64_t place = first + i;
    if (i == 0 || place % 4 == 0) words = philox(stream, static_cast<uint64_t>(place / 4));
    use(static_cast<size_t>(i), words[static_cast<size_t>(place % 4)]);
  }
}

void draw_classes(void* out, int64_t n, int64_t classes, const RandomStream& stream,
                  int64_t first) {
  if (out == nullptr) return;
  auto* to = static_cast<int32_t*>(out);
  for_words(stream, first, n, [&](size_t i, uint32_t word) {
    to[i] = static_cast<int32_t>(uint64_t{word} * static_cast<uint64_t>(classes) >> 32);
  });
}

void draw_values(void* out, int64_t n, const RandomStream& stream) {
  if (out == nullptr) return;
  auto* to = static_cast<float*>(out);
  constexpr float kWidth = 3.4641016F;  // sqrt(12): a uniform number of variance 1
  for_words(stream, 0, n,
            [&](size_t i, uint32_t word) { to[i] = (uniform_of(word) - 0.5F) * kWidth; });
}

}  // namespace

SyntheticDataset::SyntheticDataset(const SampleShape& shape, uint64_t seed, int64_t first,
                                   int64_t size)
    : fields_{{shape.input_field, shape.input, shape.label_per_position ? DType::I32 : DType::F32},
              {shape.label_field, shape.label_per_position ? shape.input : Shape{}, DType::I32}},
      classes_(shape.classes),
      seed_(seed),
      first_(first),
      size_(size) {}

void SyntheticDataset::read(int64_t index, const RandomStream& /*random*/,
                            std::span<void* const> out) const {
  const auto sample = static_cast<uint64_t>(first_ + index);
  const RandomStream inputs = random_stream(seed_, hash_name("synthetic inputs"), sample);
  const int64_t n = fields_[0].shape.elements();
  if (fields_[0].dtype == DType::I32) {
    draw_classes(out[0], n, classes_, inputs, 0);
    draw_classes(out[1], n, classes_, inputs, 1);
  } else {
    draw_values(out[0], n, inputs);
    draw_classes(out[1], 1, classes_, random_stream(seed_, hash_name("synthetic labels"), sample),
                 0);
  }
}

Datasets open_synthetic(const DataConfig& config, const SampleShape& shape, uint64_t seed) {
  if (shape.input.elements() == 0 || shape.classes < 1 || shape.classes > INT32_MAX) {
    fail_internal("synthetic samples need an input shape and the number of classes");
  }
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
  Datasets sets;
  (shape.label_per_position ? sets.vocabulary : sets.classes) = shape.classes;
  const int64_t training = samples - held_out;
  sets.train = std::make_shared<SyntheticDataset>(shape, seed, 0, training);
  if (share) {
    sets.validation = std::make_shared<SyntheticDataset>(shape, seed, training, held_out);
  }
  return sets;
}

}  // namespace penstock
