#include "runtime/data/datasets/tuning/tuning_set.h"

#include <cstdio>
#include <utility>

#include "kernels/error.h"
#include "runtime/data/datasets/share.h"

namespace penstock {
namespace {

std::string amount_of(int64_t n, const char* what) {
  return std::to_string(n) + " " + what + (n == 1 ? "" : "s");
}

// Returns a text about the rows of a file: "data/train.jsonl: 1000 lines in 210 rows (samples of a
// mini-batch) of 512, 96.1 % filled; ..."
std::string described(const std::string& path, const TuningTexts& texts, const PackedRows& rows,
                      int64_t context, const DataConfig& config) {
  char filled[32];
  std::snprintf(filled, sizeof filled, "%.1f", 100.0 * filled_share(rows, texts.lengths, context));
  std::string text = path + ": " + amount_of(static_cast<int64_t>(rows.samples.size()), "line") +
                     " in " + amount_of(rows.size(), "row") + " of " + std::to_string(context) +
                     ", " + filled + " % filled";
  text += remarks_on(texts, config);
  if (!texts.note.empty()) text += "; " + texts.note;
  return text;
}

// Returns rows of the samples [first, end). Each row has one sample, or several if config.packed.
// If `shuffle`, packed samples lie in the order that the seed draws.
PackedRows rows_of(const TuningTexts& texts, int64_t first, int64_t end, const DataConfig& config,
                   int64_t context, uint64_t seed, bool shuffle) {
  const auto lengths = std::span(texts.lengths)
                           .subspan(static_cast<size_t>(first), static_cast<size_t>(end - first));
  PackedRows rows =
      config.packed ? pack_rows(lengths, context, seed, shuffle) : single_rows(end - first);
  for (int64_t& sample : rows.samples) sample += first;
  return rows;
}

}  // namespace

TuningSet::TuningSet(std::shared_ptr<const TuningTexts> texts, PackedRows rows, int64_t context,
                     bool packed)
    : texts_(std::move(texts)),
      rows_(std::move(rows)),
      context_(context),
      fields_{{"tokens", {context}, DType::I32}, {"labels", {context}, DType::I32}} {
  if (packed) fields_.push_back({"starts", {context}, DType::I32});
}

void TuningSet::read(int64_t index, const RandomStream& /*random*/,
                     std::span<void* const> out) const {
  const auto field = [&](size_t i) {
    return i < out.size() ? static_cast<int32_t*>(out[i]) : nullptr;
  };
  int32_t* const tokens = field(0);
  int32_t* const labels = field(1);
  int32_t* const starts = field(2);
  std::vector<int32_t> sample(static_cast<size_t>(context_) + 1);
  int64_t at = 0;
  for (const int64_t number : rows_.row(index)) {
    const auto s = static_cast<size_t>(number);
    const int64_t begin = at;
    const int64_t length = texts_->lengths[s];
    texts_->tokens->read(texts_->begins[s],
                         std::span(sample).first(static_cast<size_t>(length) + 1));
    for (int64_t i = 0; i < length; ++i, ++at) {
      const int32_t next = sample[static_cast<size_t>(i) + 1];
      if (tokens != nullptr) tokens[at] = sample[static_cast<size_t>(i)] / 2;
      if (labels != nullptr) labels[at] = next % 2 == 1 ? next / 2 : -1;
      if (starts != nullptr) starts[at] = static_cast<int32_t>(begin);
    }
  }
  for (; at < context_; ++at) {
    if (tokens != nullptr) tokens[at] = 0;
    if (labels != nullptr) labels[at] = -1;
    if (starts != nullptr) starts[at] = static_cast<int32_t>(at);
  }
}

int64_t training_end(const DataConfig& config, int64_t samples) {
  const auto share = share_of(config.validation);
  if (!share) return samples;
  const auto end = static_cast<int64_t>(static_cast<double>(samples) * (1 - *share));
  if (end >= 1 && end < samples) return end;
  fail_input(config.train + " has " + amount_of(samples, "line") +
             ", too few for data.validation = " + config.validation);
}

Datasets open_tuning(const DataConfig& config, int64_t context, uint64_t seed) {
  const TuningFolder folder(config);
  const auto read = [&](const std::string& path) {
    return std::make_shared<const TuningTexts>(folder.texts(path, context));
  };
  const auto train = read(config.train);
  const int64_t train_end = training_end(config, train->size());
  Datasets sets;
  sets.vocabulary = folder.vocabulary();
  sets.content = content_sum(*train->tokens);
  PackedRows rows = rows_of(*train, 0, train_end, config, context, seed, config.shuffle);
  sets.note = described(config.train, *train, rows, context, config);
  sets.train = std::make_shared<TuningSet>(train, std::move(rows), context, config.packed);
  if (config.validation.empty()) return sets;
  const bool share = train_end < train->size();
  const auto held_out = share ? train : read(config.validation);
  PackedRows kept =
      rows_of(*held_out, share ? train_end : 0, held_out->size(), config, context, seed, false);
  if (!share) sets.note += "; " + described(config.validation, *held_out, kept, context, config);
  sets.validation = std::make_shared<TuningSet>(held_out, std::move(kept), context, config.packed);
  return sets;
}

}  // namespace penstock
