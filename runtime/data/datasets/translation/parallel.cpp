#include "runtime/data/datasets/translation/parallel.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "kernels/error.h"

namespace penstock {
namespace {

__extension__ using Wide = unsigned __int128;

// Writes `head`, `ids` and `tail` to `to`, followed by `padding` up to `context` ids. A negative
// head or tail is left out. `to` must have room for `context` ids, or be null.
void fill(void* to, int64_t context, int32_t head, std::span<const int32_t> ids, int32_t tail,
          int32_t padding) {
  if (to == nullptr) return;
  auto* at = static_cast<int32_t*>(to);
  int32_t* const last = at + context;
  if (head >= 0) *at++ = head;
  at = std::copy(ids.begin(), ids.end(), at);
  if (tail >= 0) *at++ = tail;
  std::fill(at, last, padding);
}

// Returns where the samples of each language pair begin in an epoch. The last entry is the number
// of samples.
std::vector<int64_t> epoch_shares(const std::vector<PairCorpus>& pairs, double temperature) {
  double total = 0.0;
  double weights = 0.0;
  const auto weight = [temperature](const PairCorpus& pair) {
    return std::pow(static_cast<double>(pair.lines.size()), 1.0 / temperature);
  };
  for (const PairCorpus& pair : pairs) {
    total += static_cast<double>(pair.lines.size());
    weights += weight(pair);
  }
  std::vector<int64_t> first = {0};
  double passed = 0.0;
  for (const PairCorpus& pair : pairs) {
    passed += weight(pair);
    first.push_back(std::llround(total * (passed / weights)));
  }
  return first;
}

}  // namespace

std::vector<Field> parallel_fields(int64_t context) {
  return {{"source_tokens", {context}, DType::I32},
          {"source_lengths", {}, DType::I32},
          {"target_tokens", {context}, DType::I32},
          {"labels", {context}, DType::I32}};
}

void write_pair(const PairOfSentences& pair, int32_t begin, int32_t end, int64_t context,
                std::span<void* const> out) {
  const auto length = static_cast<int64_t>(pair.source.size()) + (pair.tag >= 0 ? 2 : 1);
  if (length > context || static_cast<int64_t>(pair.target.size()) + 1 > context) {
    fail_internal("a sentence pair is longer than the context");
  }
  fill(out[0], context, pair.tag, pair.source, end, 0);
  if (out[1] != nullptr) *static_cast<int32_t*>(out[1]) = static_cast<int32_t>(length);
  fill(out[2], context, begin, pair.target, -1, 0);
  fill(out[3], context, -1, pair.target, end, -1);
}

ParallelDataset::ParallelDataset(std::vector<PairCorpus> pairs,
                                 std::shared_ptr<const Pieces> vocabulary, int64_t context,
                                 double temperature)
    : pairs_(std::move(pairs)),
      vocabulary_(std::move(vocabulary)),
      context_(context),
      first_(epoch_shares(pairs_, temperature)),
      fields_(parallel_fields(context)) {
  if (size() < 1) fail_internal("parallel text without a pair of sentences");
}

// Reads sample `index` into `out`. A pair of n lines has c samples in an epoch. Number j of these
// is line floor((j + u) n / c), with u drawn from [0, 1). If c = n, each line comes once. If c is
// smaller, the lines that come are evenly spread. If c is larger, each line comes floor(c / n)
// times or once more.
void ParallelDataset::read(int64_t index, const RandomStream& random,
                           std::span<void* const> out) const {
  const auto after = std::upper_bound(first_.begin(), first_.end(), index);
  const auto p = static_cast<size_t>(after - first_.begin()) - 1;
  const PairCorpus& pair = pairs_[p];
  const Wide place = static_cast<Wide>(index - first_[p]) << 32;
  const auto share = static_cast<uint64_t>(first_[p + 1] - first_[p]);
  const Wide drawn = place + philox(random, 0)[0];
  const size_t line = pair.lines[static_cast<size_t>(drawn * pair.lines.size() / share >> 32)];
  // Each reading thread keeps these two vectors. So no memory is allocated any more once they have
  // held the longest sentence.
  thread_local std::vector<int32_t> source;
  thread_local std::vector<int32_t> target;
  source.resize(pair.source->pieces_of(line));
  target.resize(pair.target->pieces_of(line));
  pair.source->read(line, source);
  pair.target->read(line, target);
  write_pair({source, target, pair.tag}, vocabulary_->begin(), vocabulary_->end(), context_, out);
}

}  // namespace penstock
