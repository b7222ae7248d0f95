#include "runtime/data/datasets/translation/synthetic_pairs.h"

#include <memory>
#include <vector>

#include "kernels/error.h"
#include "kernels/philox.h"
#include "runtime/data/datasets/translation/parallel.h"

namespace penstock {
namespace {

constexpr int32_t kBegin = 2, kEnd = 3;  // the ids that they have in our vocabularies

// Returns a number in [0, n), made from the 32 random bits of `word`.
int64_t draw(uint32_t word, int64_t n) {
  return static_cast<int64_t>(uint64_t{word} * static_cast<uint64_t>(n) >> 32);
}

std::vector<int32_t> sentence(const RandomStream& stream, int64_t longest, int64_t vocabulary) {
  const int64_t length = 1 + draw(philox(stream, 0)[0], longest);
  std::vector<int32_t> ids(static_cast<size_t>(length));
  for (size_t i = 0; i < ids.size(); ++i) {
    ids[i] = static_cast<int32_t>(draw(philox(stream, 1 + i / 4)[i % 4], vocabulary));
  }
  return ids;
}

}  // namespace

SyntheticPairs::SyntheticPairs(const SampleShape& shape, uint64_t seed, int64_t first, int64_t size)
    : fields_(parallel_fields(shape.context)),
      context_(shape.context),
      vocabulary_(shape.classes),
      seed_(seed),
      first_(first),
      size_(size) {}

void SyntheticPairs::read(int64_t index, const RandomStream& /*random*/,
                          std::span<void* const> out) const {
  const auto sample = static_cast<uint64_t>(first_ + index);
  const auto side = [&](const char* name) {
    return sentence(random_stream(seed_, hash_name(name), sample), context_ - 1, vocabulary_);
  };
  const std::vector<int32_t> source = side("synthetic source");
  const std::vector<int32_t> target = side("synthetic target");
  write_pair({source, target, -1}, kBegin, kEnd, context_, out);
}

Datasets open_synthetic_pairs(const DataConfig& config, const SampleShape& shape, uint64_t seed) {
  if (shape.context < 3 || shape.classes < 4) {
    fail_input(
        "synthetic sentence pairs need model.context of at least 3 and model.vocabulary of at "
        "least 4");
  }
  const SyntheticParts parts = synthetic_parts(config);
  Datasets sets;
  sets.vocabulary = shape.classes;
  sets.train = std::make_shared<SyntheticPairs>(shape, seed, 0, parts.training);
  if (parts.held_out > 0) {
    sets.validation = std::make_shared<SyntheticPairs>(shape, seed, parts.training, parts.held_out);
  }
  return sets;
}

}  // namespace penstock
