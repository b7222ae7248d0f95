// runtime/network/layers/library/cell.h -- Cell: the small graph of convolutions that image
// networks found by architecture search, such as AmoebaNet, repeat (Zoph et al. 2018; Real et al.
// 2019); and FactorizedReduction, which halves height and width.
//
// A cell reads the outputs of the two cells before it. In the chain of layers it therefore gets two
// tensors (h, p), h from the cell before, p from the cell before that, and hands on (output, h).
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/network/layers/container.h"

namespace penstock {

// The tensors inside a cell are numbered states: s0 is made of h, s1 of p, and each sum makes the
// next one (s2, s3 ...) by adding two operands, each of which is an earlier state after some
// layers. The output is some of the states side by side along the channels. All layers inside take
// and give one tensor. What the overridden functions do is said in runtime/network/layers/layer.h.
class Cell final : public Layer {
 public:
  struct Operand {
    int state = 0;       // number of the state that it reads
    Layers layers = {};  // empty: the state as it is
    bool relu = false;   // a ReLU before the layers; operands of one state share its result
  };
  struct Sum {
    Operand left, right;
  };
  struct Graph {
    Layers current;   // h after a ReLU -> s0
    Layers previous;  // p after a ReLU -> s1; empty: s1 is p as it is
    std::vector<Sum> sums;
    std::vector<int> outputs;  // numbers of the states that make the output
    bool last = false;         // the last cell: no cell follows that would read h
  };
  // `kind` is what kind() returns. Names of parameters are those of the graph's layers, to which
  // the cell adds nothing.
  Cell(std::string name, std::string kind, Graph graph);
  [[nodiscard]] std::string kind() const override { return kind_; }
  // (h, p) -> (output, h). Where h comes in alone it is p, too; the last cell gives the output
  // alone.
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

// [n, h, w, in] -> [n, ceil(h / 2), ceil(w / 2), out], by two 1 x 1 convolutions with stride 2: one
// makes half of the output channels of the pixels (0, 0), (0, 2), (2, 0) ..., the other one makes
// the other half of the pixels (1, 1), (1, 3), (3, 1) ... (the factorised reduction of Zoph et al.
// 2018, A.4). Pixels beyond the border are zero. Parameters `even.weight` and `odd.weight`, each
// [out / 2, in, 1, 1].
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
