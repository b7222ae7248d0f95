// runtime/data/datasets/translation/parallel.h -- ParallelDataset: sentence pairs for translation,
// of any number of language pairs, sampled by temperature (Devlin's multilingual BERT; Huang et al.
// 2019, 5).
//
// Fields of a sample, all I32, t = model.context:
//   source_tokens [t]   <2de> (where the vocabulary has it), the sentence, end; then 0
//   source_lengths []   how many of the source tokens are no padding
//   target_tokens [t]   begin, the translation; then 0
//   labels [t]          the translation, end; then -1, which no loss counts
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

// A sentence and its translation, in pieces.
struct PairOfSentences {
  std::span<const int32_t> source, target;
  int32_t tag = -1;  // the piece <2de>; -1: none
};
// Writes the four fields of a pair to `out`; each side must fit the context with the pieces that
// are put around it. `begin`, `end`: the vocabulary's pieces for the beginning and end of a
// sentence.
void write_pair(const PairOfSentences& pair, int32_t begin, int32_t end, int64_t context,
                std::span<void* const> out);

// The lines of one file, in pieces.
struct EncodedLines {
  std::string path;
  std::shared_ptr<const TokenSource> pieces;  // of all lines, end to end
  std::vector<uint32_t> starts;               // of the lines in `pieces`, and the end of the last
  [[nodiscard]] size_t size() const { return starts.size() - 1; }
  [[nodiscard]] size_t pieces_of(size_t line) const { return starts[line + 1] - starts[line]; }
  // Fills `out`, whose size must be pieces_of(line).
  void read(size_t line, std::span<int32_t> out) const { pieces->read(starts[line], out); }
};

// What a set has of one language pair.
struct PairCorpus {
  std::string name;  // "en-de"
  int32_t tag = -1;  // the piece <2de>; -1: the vocabulary has none
  std::shared_ptr<const EncodedLines> source, target;
  std::vector<uint32_t> lines;  // lines that are used: neither side is empty or too long
};

class ParallelDataset final : public Dataset {
 public:
  // An epoch has as many samples as there are sentence pairs. A language pair of n sentence pairs
  // gets a share of them that is proportional to n^(1/T), T = `temperature`; where the share is
  // less than n, each epoch sees another part of the n. With T = 1 every share is n.
  ParallelDataset(std::vector<PairCorpus> pairs, std::shared_ptr<const Pieces> vocabulary,
                  int64_t context, double temperature);

  [[nodiscard]] int64_t size() const override { return first_.back(); }
  [[nodiscard]] const std::vector<Field>& fields() const override { return fields_; }
  [[nodiscard]] int64_t targets_per_sample() const override { return context_; }
  void read(int64_t index, const RandomStream& random, std::span<void* const> out) const override;

  [[nodiscard]] const std::vector<PairCorpus>& pairs() const { return pairs_; }
  // Samples [first(i), first(i + 1)) of an epoch, before it is shuffled, are of language pair i.
  [[nodiscard]] int64_t first(size_t pair) const { return first_[pair]; }

 private:
  std::vector<PairCorpus> pairs_;
  std::shared_ptr<const Pieces> vocabulary_;
  int64_t context_;
  std::vector<int64_t> first_;
  std::vector<Field> fields_;
};

// The sets of data.kind = "parallel". Throws Error(Input) naming the file, or the key.
[[nodiscard]] Datasets open_parallel(const DataConfig& config, int64_t context);

}  // namespace penstock
