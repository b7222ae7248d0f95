// runtime/engine/rounds.h -- Rounds: one more word for every row, through the pipeline on any
// number of stages. See docs/generation.md; this is its first depth, whole rows.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "runtime/comm/network.h"
#include "runtime/engine/beam_search.h"
#include "runtime/engine/pipeline.h"
#include "runtime/layers/loss.h"

namespace penstock {

class Rounds {
 public:
  // What the network reads of one row.
  struct Row {
    std::vector<int32_t> source;  // translation: tag, pieces, end
    std::vector<int32_t> words;   // those so far, what they begin with included; at least one
    double draw = 0.0;            // in [0, 1), for those who choose at random
  };
  // From the logits of a row's next word, and its draw, to at most `count` words. Called where the
  // logits are.
  using Choose = std::function<std::vector<Candidate>(std::span<const float> logits, double draw)>;

  // `model` is the pipeline's, and ends in a ClassifierLoss. All must outlive this.
  Rounds(const Config& config, Pipeline& pipeline, const Sequential& model, Network& network,
         Device& device);
  ~Rounds();
  Rounds(const Rounds&) = delete;
  Rounds& operator=(const Rounds&) = delete;

  [[nodiscard]] int64_t classes() const { return classifier_->classes(); }  // words, by id
  // Of one round, over all replicas: D x M x the evaluation's micro-batch.
  [[nodiscard]] int64_t most_rows() const;

  // Collective. Rank 0 brings the rows, at most most_rows(), none longer than the context; `count`
  // and `choose` are the same everywhere. Returns for each row what was chosen, filled up to
  // `count` with what is impossible, the same on every rank; nothing where there are no rows.
  // Throws Error(Input) when logits are not numbers.
  [[nodiscard]] std::vector<std::vector<Candidate>> next(const std::vector<Row>& rows, int count,
                                                         const Choose& choose);

 private:
  [[nodiscard]] std::vector<Row> share(const std::vector<Row>& rows);
  void fill(const std::vector<Row>& rows);
  [[nodiscard]] std::vector<float> logits_of(size_t row, const Row& content) const;
  void look(const std::vector<Row>& rows, int count, const Choose& choose, std::span<double> found);

  Pipeline& pipeline_;
  Network& network_;
  Device& device_;
  int64_t batch_, context_;
  int micro_batches_, replicas_;
  uint64_t seed_;
  Memory host_;
  std::vector<Batch> batches_;
  ClassifierLoss* classifier_ = nullptr;
  std::vector<Tensor> logits_;  // by micro-batch, on the rank that has them
};

}  // namespace penstock
