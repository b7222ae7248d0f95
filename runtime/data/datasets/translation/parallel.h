// runtime/data/datasets/translation/parallel.h -- ParallelDataset: samples for training a
// translation network, each a sentence and its translation as word pieces, from files of one or
// several language pairs.
//
// Fields of a sample, all I32, t = model.context:
//   source_tokens [t]   <2de> (if the vocabulary has that piece), the sentence, end; then 0
//   source_lengths []   how many of the source tokens are no padding
//   target_tokens [t]   begin, the translation; then 0
//   labels [t]          the translation, end; then -1, which no loss counts
// Small language pairs are read more often than their size would give them (sampling by
// temperature, as for Devlin's multilingual BERT; Huang et al. 2019, 5).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/data/datasets/dataset.h"
#include "runtime/data/datasets/translation/language_pair.h"
#include "runtime/data/tokenizer/pieces.h"
#include "runtime/data/tokens/token_source.h"

namespace penstock {

[[nodiscard]] std::vector<Field> parallel_fields(int64_t context);  // the four above

// A sentence and its translation, as ids of word pieces.
struct PairOfSentences {
  std::span<const int32_t> source, target;
  int32_t tag = -1;  // the piece <2de>; -1: none
};
// Writes the four fields of a pair to out[0] .. out[3] (null: not wanted). `begin`, `end`: the ids
// of the pieces for the beginning and end of a sentence. Throws Error(Internal) if a side does not
// fit the context with the pieces that are put around it.
void write_pair(const PairOfSentences& pair, int32_t begin, int32_t end, int64_t context,
                std::span<void* const> out);

// The lines of one file, as ids of word pieces.
struct EncodedLines {
  std::string path;
  std::shared_ptr<const TokenSource> pieces;  // of all lines, end to end
  std::vector<uint32_t> starts;  // where each line begins in `pieces`, then the end of the last
  [[nodiscard]] size_t size() const { return starts.size() - 1; }
  [[nodiscard]] size_t pieces_of(size_t line) const { return starts[line + 1] - starts[line]; }
  // Overwrites `out`, whose size must be pieces_of(line), with the line's pieces.
  void read(size_t line, std::span<int32_t> out) const { pieces->read(starts[line], out); }
};

// The sentence pairs of one language pair: line i of `source` and line i of `target` belong
// together.
struct PairCorpus {
  std::string name;  // "en-de"
  int32_t tag = -1;  // the piece <2de>; -1: the vocabulary has none
  std::shared_ptr<const EncodedLines> source, target;
  std::vector<uint32_t> lines;  // numbers of the lines that are used: no side is empty or too long
};

class ParallelDataset final : public Dataset {
 public:
  // An epoch has as many samples as there are sentence pairs in all. A language pair with n
  // sentence pairs gets a share of them that is proportional to n^(1/T), T = `temperature`: with T
  // = 1 its n sentence pairs once each, with a larger T small language pairs several times. Where
  // the share is less than n, each epoch has other ones of the n.
  ParallelDataset(std::vector<PairCorpus> pairs, std::shared_ptr<const Pieces> vocabulary,
                  int64_t context, double temperature);

  [[nodiscard]] int64_t size() const override { return first_.back(); }
  [[nodiscard]] const std::vector<Field>& fields() const override { return fields_; }
  [[nodiscard]] int64_t targets_per_sample() const override { return context_; }
  // Overwrites the four fields, at out[0] .. out[3] in the order above (null: not wanted). `index`
  // decides the language pair, and together with `random` the sentence pair. Throws Error(Data)
  // naming the file where it is damaged.
  void read(int64_t index, const RandomStream& random, std::span<void* const> out) const override;

  [[nodiscard]] const std::vector<PairCorpus>& pairs() const { return pairs_; }
  // Samples first(i) to first(i + 1) - 1 of the set are of language pair i.
  [[nodiscard]] int64_t first(size_t pair) const { return first_[pair]; }

 private:
  std::vector<PairCorpus> pairs_;
  std::shared_ptr<const Pieces> vocabulary_;
  int64_t context_;
  std::vector<int64_t> first_;
  std::vector<Field> fields_;
};

// Opens the training and validation sets of data.kind = "parallel", with rows of `context` pieces.
// Throws Error(Input) naming the file or the key, Error(Data) for a file that is damaged or changes
// while it is read.
[[nodiscard]] Datasets open_parallel(const DataConfig& config, int64_t context);

}  // namespace penstock
