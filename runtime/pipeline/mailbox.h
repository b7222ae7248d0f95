// runtime/pipeline/mailbox.h -- Mailbox: what the stages of one rank have been handed, by other
// ranks or by one another, and not yet used.
//
// Between two stages joined by an edge (runtime/schedule/edges.h) a tuple of tensors goes forward
// and one of gradients back, once a micro-batch: what passes between the neighbouring layers, if
// the stages are neighbours, then the skips that are stashed in one and popped in the other, in the
// order of their stashes. A tuple lies here under its edge and micro-batch whether it has come by
// message, waits to be sent, or goes to another stage of this rank.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/blueprint/layout.h"
#include "runtime/comm/network.h"
#include "runtime/layers/layer.h"
#include "runtime/schedule/edges.h"

namespace penstock {

class Mailbox {
 public:
  Mailbox(const Schedule& schedule, const std::vector<SkipRoute>& skips);

  [[nodiscard]] const Edges& edges() const { return edges_; }
  // What goes along each edge, for these tuples between neighbouring layers (entry s enters stage
  // s).
  [[nodiscard]] std::vector<std::vector<TensorSpec>> tuples(
      const std::vector<std::vector<TensorSpec>>& boundaries) const;

  // ---- whole tuples, for messages
  [[nodiscard]] Tensors& forward(int edge, int micro_batch) {
    return forward_[cell(edge, micro_batch)];
  }
  [[nodiscard]] Tensors& back(int edge, int micro_batch) { return back_[cell(edge, micro_batch)]; }

  // ---- as a stage gives and takes them (Stage::forward): the layers' tuple, then its skips
  void put_outputs(int stage, int micro_batch, Tensors outputs);
  [[nodiscard]] Tensors take_inputs(int stage, int micro_batch);  // not of stage 0
  void put_input_gradients(int stage, int micro_batch, Tensors gradients);
  [[nodiscard]] Tensors take_output_gradients(int stage, int micro_batch);

 private:
  struct Place {  // of a skip in the tuple of its edge: the n-th from the end, from 1
    int edge = 0;
    size_t from_end = 1;
  };
  [[nodiscard]] size_t cell(int edge, int micro_batch) const {
    return static_cast<size_t>(edge) * static_cast<size_t>(micro_batches_) +
           static_cast<size_t>(micro_batch);
  }
  // How many skips go along with that edge's tuple.
  [[nodiscard]] size_t skips_on(int edge) const { return skips_on_[static_cast<size_t>(edge)]; }

  Edges edges_;
  int stages_, micro_batches_;
  std::vector<SkipRoute> skips_;
  std::vector<size_t> skips_on_;                        // by edge
  std::vector<std::vector<Place>> entering_, leaving_;  // by stage, in the layers' order
  std::vector<Tensors> forward_, back_;                 // by cell()
};

}  // namespace penstock
