// runtime/engine/decoding/rounds.h -- Rounds: finds the next word of many rows of words at once,
// with a pipeline of any number of stages. docs/generation.md describes it.
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
  // Chooses words from the logits of a row's next word, at most the `count` of next(). Called on
  // the rank that has the logits.
  using Choose = std::function<std::vector<NextWord>(std::span<const float> logits, const Row&)>;

  // `model` is the pipeline's, and ends in a ClassifierLoss. All arguments must outlive this. With
  // `cache` the keys and values of each row are kept, so that one more word costs one position;
  // only model.kind = "transformer-lm", "transformer-nmt" and "decoder" have such a cache. Throws
  // Error(Resource) when they do not fit this rank's device.
  Rounds(const Config& config, Pipeline& pipeline, const Sequential& model, Network& network,
         Device& device, bool cache);
  Rounds(const Rounds&) = delete;
  Rounds& operator=(const Rounds&) = delete;

  [[nodiscard]] int64_t classes() const { return classifier_->classes(); }  // words, by id
  // Rows of one round on one replica: M x the evaluation's micro-batch.
  [[nodiscard]] int64_t rows_of_replica() const { return batch_ * micro_batches_; }
  // Places for texts of `width` rows each, which is rows_of_replica() at most.
  [[nodiscard]] Places places(int64_t width) const { return {rows_of_replica(), replicas_, width}; }
  // Whether keys and values are kept.
  [[nodiscard]] bool caches() const { return past_.has_value(); }
  [[nodiscard]] int64_t cache_bytes() const { return cache_bytes_; }  // on this rank

  // Collective. Rank 0 brings the rows, in places of places(), none longer than the context;
  // `count` and `choose` are the same on every rank. Returns the words chosen for each row, the
  // same on every rank, filled up to `count` with words of log probability minus infinity. Without
  // rows it returns nothing and ends all texts: Row::text may then name other texts.
  // With the cache a row that extends a row of its text in the round before by one word costs one
  // position; any other row costs whole_positions(), or the whole context with other model kinds.
  // The result of a row depends neither on other texts nor on the number of replicas, to the last
  // bit: a text keeps its replica, so it alone decides which of its rows are computed whole. Throws
  // Error(Input) when a logit is NaN.
  [[nodiscard]] std::vector<std::vector<NextWord>> next(const std::vector<Row>& rows, int count,
                                                        const Choose& choose);

 private:
  // Micro-batches of whole rows, or of one position of each.
  struct Cut {
    bool one_position = false;
    int64_t positions = 1;
    std::vector<Batch> batches;
  };
  // Some rows of a round, by place: those for which `wanted` is not 0.
  struct Share {
    std::span<const Row> rows;
    std::vector<uint8_t> wanted;
  };

  [[nodiscard]] int64_t first_row() const { return first_micro_batch_ * batch_; }
  [[nodiscard]] Cut make_cut(bool one_position, int64_t positions,
                             const std::vector<std::string>& names);
  [[nodiscard]] int64_t positions_of(const Row& row) const;
  [[nodiscard]] Cut& whole_cut(int64_t positions);
  void count_cache();
  void prepare_cache();
  void move_past(std::span<const int64_t> from);
  [[nodiscard]] std::vector<Decoding> decoding(const Cut& cut, const Share& share);
  void fill(Cut& cut, const Share& share) const;
  void run(Cut& cut, const Share& share);
  // Runs the rows of `share` and writes what is chosen for them to `found`.
  void choose_words(Cut& cut, const Share& share, int count, const Choose& choose,
                    std::span<double> found);
  [[nodiscard]] std::vector<float> logits_of(const Cut& cut, int64_t row, const Row& content) const;
  void look(const Cut& cut, const Share& share, int count, const Choose& choose,
            std::span<double> found);

  Pipeline& pipeline_;
  Network& network_;
  Device& device_;
  int64_t batch_, context_;
  int micro_batches_, replicas_;
  int64_t first_micro_batch_;  // of this replica
  uint64_t seed_;
  Memory host_;
  bool known_;                    // the kind may have a cache, and rows shorter than the context
  std::map<int64_t, Cut> whole_;  // by positions, each made when it is first needed
  Cut one_;
  std::optional<Past> past_;
  int64_t cache_bytes_ = 0;
  std::vector<Row> before_;  // the last round's rows, by place, whose past is kept
  const ClassifierLoss* classifier_ = nullptr;
  std::function<void(int micro_batch, const Tensor& logits)> keep_logits_;
  std::vector<Tensor> logits_;  // by micro-batch, on the rank that has them
};

}  // namespace penstock
