// runtime/network/layers/library/cell.h -- Cell: the small graph that searched image networks
// repeat (Zoph et al. 2018; Real et al. 2019). It reads the outputs of the two cells before it, so
// two tensors cross every boundary between cells: (h, p), h from the cell before, p from the cell
// before that.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/network/layers/container.h"

namespace penstock {

// States are numbered: s0 is made of h, s1 of p; each sum adds two operands that read earlier
// states, and is the next state. The output is some of the states side by side along the channels.
class Cell final : public Layer {
 public:
  struct Operand {
    int state = 0;       // number of the state that it reads
    Layers layers = {};  // empty: the state as it is
    bool relu = false;   // before the layers; all operands of the state share one ReLU
  };
  struct Sum {
    Operand left, right;
  };
  struct Graph {
    Layers current;   // h after a ReLU -> s0
    Layers previous;  // p after a ReLU -> s1; empty: s1 is p as it is
    std::vector<Sum> sums;
    std::vector<int> outputs;  // numbers of the states that make the output
    bool last = false;         // no cell follows that would read h
  };
  // Parameters have the names that the graph's layers give them.
  Cell(std::string name, std::string kind, Graph graph);
  [[nodiscard]] std::string kind() const override { return kind_; }
  // (h, p), or h alone, which is then p too -> (output, h), or the output alone when last.
  [[nodiscard]] Shapes infer(const Shapes& inputs) const override;
  void declare(ParameterSet& set) const override;
  Variables forward(Context& context, const Variables& inputs) const override;
  void end_step(const StepEnd& end) const override;

 private:
  struct Branch {
    Branch(const std::string& cell, Operand operand)
        : state(operand.state),
          relu(operand.relu),
          layers(cell, "branch", std::move(operand.layers)) {}
    int state;
    bool relu;
    Group layers;
  };
  [[nodiscard]] Shape shape_of(const Branch& branch, const std::vector<Shape>& states) const;
  template <class F>
  void for_each_group(const F& f) const;

  std::string kind_;
  Group current_;
  std::optional<Group> previous_;
  std::deque<Branch> branches_;  // two for each sum, left and right
  std::vector<int> outputs_;
  bool last_;
};

// [n, h, w, in] -> [n, ceil(h / 2), ceil(w / 2), out]: half of the channels are made of the pixels
// (0, 0), (0, 2), (2, 0) ..., half of the pixels (1, 1), (1, 3), (3, 1) ... (the factorised
// reduction of Zoph et al. 2018, A.4). Pixels beyond the border are zero. Parameters `even.weight`
// and `odd.weight`.
class FactorizedReduction final : public UnaryLayer {
 public:
  FactorizedReduction(const std::string& name, int64_t in, int64_t out);
  [[nodiscard]] std::string kind() const override { return "factorized-reduction"; }
  void declare(ParameterSet& set) const override;

 protected:
  [[nodiscard]] Shape shape_of(const Shape& input) const override;
  Variable run(Context& context, const Variable& x) const override;

 private:
  Slot even_, odd_;
  int64_t in_, out_;
};

}  // namespace penstock
