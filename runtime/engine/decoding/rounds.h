// runtime/engine/decoding/rounds.h -- Rounds: runs a language model one step of decoding (a round)
// at a time, for many rows at once.
//
// In goes a list of rows, each the beginning of a text as token ids; out come, for each row, the
// words chosen to follow it. The model may be cut into a pipeline of any number of stages and
// replicas. Generator (sampling) and Translator (beam search) call next() again and again, with
// rows that have grown by a word. With the key/value cache a row that has grown by a word costs the
// network one position instead of the whole row. docs/generation.md describes it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/engine/decoding/beam_search.h"
#include "runtime/engine/decoding/places.h"
#include "runtime/engine/decoding/rows.h"
#include "runtime/engine/pipeline/pipeline.h"
#include "runtime/network/layers/library/loss.h"
#include "runtime/system/comm/network.h"

namespace penstock {

class Rounds {
 public:
  // Chooses words from the logits of a row's next word (one for each word of the vocabulary);
  // returns at most the `count` of next(). Called on the rank that holds the last stage, where the
  // logits are.
  using Choose = std::function<std::vector<NextWord>(std::span<const float> logits, const Row&)>;

  // `model` is the network that `pipeline` runs, and must end in a ClassifierLoss. All arguments
  // must outlive this. `cache`: keep the keys and values of each row; only model.kind =
  // "transformer-lm", "transformer-nmt" and "decoder" can, others ignore it. Throws Error(Resource)
  // when the keys and values do not fit this rank's device.
  Rounds(const Config& config, Pipeline& pipeline, const Sequential& model, Network& network,
         Device& device, bool cache);
  Rounds(const Rounds&) = delete;
  Rounds& operator=(const Rounds&) = delete;

  // The number of logits of a position: the size of the network's vocabulary.
  [[nodiscard]] int64_t classes() const { return classifier_->classes(); }
  // The rows of one round on one replica: the number of micro-batches M times the samples of an
  // evaluation micro-batch (run.eval_batch, or else pipeline.micro_batch_size).
  [[nodiscard]] int64_t rows_of_replica() const { return batch_ * micro_batches_; }
  // A new table of places (places.h) for texts of `width` rows each, such as the beams of a search;
  // `width` is at most rows_of_replica(). A place is the number of a row among the rows of all
  // replicas, replica by replica.
  [[nodiscard]] Places places(int64_t width) const { return {rows_of_replica(), replicas_, width}; }
  // Whether keys and values are kept.
  [[nodiscard]] bool caches() const { return past_.has_value(); }
  // Bytes of keys and values on this rank; 0 without the cache.
  [[nodiscard]] int64_t cache_bytes() const { return cache_bytes_; }

  // Finds the next words of `rows`. Collective over all ranks: rank 0 brings the rows, at places
  // that places() gave, none longer than model.context, and those of other ranks are not read;
  // `count` and `choose` are the same on every rank. Returns for each row `count` words, the same
  // on every rank; where `choose` gave fewer, the rest are words of log probability minus infinity.
  // Throws Error(Input) when a logit is NaN or plus infinity.
  //
  // A call without rows returns nothing and ends all texts: numbers in Row::text may then be used
  // anew.
  //
  // What it costs: with the cache a row that extends by one word a row of the same text in the
  // round before costs one position. Any other row costs whole_positions() (rows.h), or the whole
  // context with other model kinds.
  //
  // The result of a row depends neither on other texts nor on the number of replicas, to the last
  // bit. This holds because a text stays on its replica, so that nothing but the text itself
  // decides which of its rows are computed whole.
  [[nodiscard]] std::vector<std::vector<NextWord>> next(const std::vector<Row>& rows, int count,
                                                        const Choose& choose);

 private:
  // The batches of one round's forward pass: whole rows of `positions` positions each, or the
  // newest position alone of each row.
  struct Cut {
    bool one_position = false;
    int64_t positions = 1;
    std::vector<Batch> batches;
  };
  // The part of a round's rows that one forward pass computes: the rows, by place, for which
  // `wanted` (by place, too) is not 0.
  struct Share {
    std::span<const Row> rows;
    std::vector<uint8_t> wanted;
  };

  // The place of this replica's first row.
  [[nodiscard]] int64_t first_row() const { return first_micro_batch_ * batch_; }
  // Takes memory for the batches of a cut, with the fields `names`.
  [[nodiscard]] Cut make_cut(bool one_position, int64_t positions,
                             const std::vector<std::string>& names);
  // The positions over which this row is computed when it is computed whole.
  [[nodiscard]] int64_t positions_of(const Row& row) const;
  // The cut for whole rows of so many positions, made when it is first asked for.
  [[nodiscard]] Cut& whole_cut(int64_t positions);
  // Sets cache_bytes_; throws Error(Resource) when they do not fit.
  void count_cache();
  void prepare_cache();
  void move_past(std::span<const int64_t> from);
  [[nodiscard]] std::vector<Decoding> decoding(const Cut& cut, const Share& share);
  void fill(Cut& cut, const Share& share) const;
  void run(Cut& cut, const Share& share);
  // Runs the rows of `share` and writes what is chosen for them to `found`: [row by place, count,
  // 2], a word's id and its log probability.
  void choose_words(Cut& cut, const Share& share, int count, const Choose& choose,
                    std::span<double> found);
  [[nodiscard]] std::vector<float> logits_of(const Cut& cut, int64_t row, const Row& content) const;
  void look(const Cut& cut, const Share& share, int count, const Choose& choose,
            std::span<double> found);

  Pipeline& pipeline_;
  Network& network_;
  Device& device_;
  int64_t batch_, context_;  // samples of a micro-batch; model.context
  int micro_batches_, replicas_;
  int64_t first_micro_batch_;  // the global index of this replica's first
  uint64_t seed_;
  Memory host_;  // holds the batches where the device reads host memory
  bool known_;   // the model's kind may have a cache, and rows shorter than the context
  std::map<int64_t, Cut> whole_;  // by positions, each made when it is first needed
  Cut one_;                       // for one position of each row; with the cache only
  std::optional<Past> past_;      // the cached keys and values; nothing without the cache
  int64_t cache_bytes_ = 0;
  std::vector<Row> before_;  // the rows of the last round, by place, whose keys and values are kept
  const ClassifierLoss* classifier_ = nullptr;
  // Stores a micro-batch's logits in logits_.
  std::function<void(int micro_batch, const Tensor& logits)> keep_logits_;
  std::vector<Tensor> logits_;  // by micro-batch, on the rank with the last stage; else empty
};

}  // namespace penstock
