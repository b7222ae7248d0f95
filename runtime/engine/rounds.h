// runtime/engine/rounds.h -- Rounds: one more word for every row, through the pipeline on any
// number of stages. See docs/generation.md; this is its first depth, whole rows.
#pragma once

#include <cstdint>
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
  // What a translation model reads of one row.
  struct Row {
    std::vector<int32_t> source;  // tag, pieces, end
    std::vector<int32_t> words;   // begin, and the words so far; at least one
  };

  // `model` is the pipeline's, and ends in a ClassifierLoss. All must outlive this.
  Rounds(const Config& config, Pipeline& pipeline, const Sequential& model, Network& network,
         Device& device);
  ~Rounds();
  Rounds(const Rounds&) = delete;
  Rounds& operator=(const Rounds&) = delete;

  // Of one round, over all replicas: D x M x the evaluation's micro-batch.
  [[nodiscard]] int64_t most_rows() const;

  // Collective. Rank 0 brings the rows, at most most_rows(), none longer than the context; `count`
  // is the same everywhere. Returns for each row its `count` most probable next words, the same on
  // every rank.
  [[nodiscard]] std::vector<std::vector<Candidate>> next(const std::vector<Row>& rows, int count);

 private:
  [[nodiscard]] std::vector<Row> share(const std::vector<Row>& rows);
  void fill(const std::vector<Row>& rows);
  void look(const std::vector<Row>& rows, int count, std::span<double> found);

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
