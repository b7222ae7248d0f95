#include "runtime/network/optimizer/matrices/adafactor.h"

#include <algorithm>
#include <cmath>

#include "kernels/ops/dense.h"
#include "kernels/ops/pointwise.h"
#include "kernels/ops/update.h"
#include "runtime/network/optimizer/matrices/matrix_size.h"

namespace penstock {
namespace {

bool is_matrix(const StateEntry& entry) {
  return entry.value.shape().rank() >= 2;
}

class Adafactor final : public Optimizer {
 public:
  explicit Adafactor(const OptimizerConfig& c) : Optimizer(c, {{"variance"}}) {}

 private:
  [[nodiscard]] const Slots& slots_of(const StateEntry& entry) const override {
    return is_matrix(entry) ? matrix_slots_ : Optimizer::slots_of(entry);
  }

  void allocate_scratch(StateRange entries, Device& device) override {
    int64_t elements = 0;
    int64_t longer = 0;
    for (const StateEntry* e : entries) {
      elements = std::max(elements, e->elements());
      if (!is_matrix(*e)) continue;
      const MatrixSize size = matrix_size(e->value.shape());
      longer = std::max({longer, size.rows, size.columns});
    }
    const Shape blocks{squares_blocks(elements)};
    change_ = device.empty({elements}, DType::F32, Purpose::Workspace);
    factors_ = device.empty({longer}, DType::F32, Purpose::Workspace);
    mean_ = device.empty({1}, DType::F32, Purpose::Workspace);
    weight_squares_ = device.empty(blocks, DType::F64, Purpose::Workspace);
    change_squares_ = device.empty(blocks, DType::F64, Purpose::Workspace);
  }

  void update(Device& device, StateRange entries, float learning_rate, float scale) override {
    for (const StateEntry* e : entries) {
      write_change(device, *e, scale);
      move(device, *e, learning_rate);
    }
  }

  // Brings the moments up to date, and writes the change of the parameter to change_.
  void write_change(Device& device, const StateEntry& e, float scale) {
    const auto fresh = static_cast<float>(std::pow(static_cast<double>(steps()), -0.8));
    const Tensor gradient = flat(e.gradient);
    Tensor squares = change_.view(0, {e.value.elements()});  // in the end it holds the change
    PointwiseOps& pointwise = device.pointwise();
    pointwise.multiply(squares, gradient, gradient);
    for (const StateSlot& state : e.states) {
      Tensor moments = state.tensor;
      pointwise.scale(moments, moments, 1.0F - fresh);
    }
    pointwise.scale(squares, squares, fresh * scale * scale);
    Tensor first = flat(state_of(e, 0));
    if (!is_matrix(e)) {
      pointwise.accumulate(first, squares);
      return device.update().adafactor_change(squares, gradient, first, {}, {}, scale);
    }
    const MatrixSize size = matrix_size(e.value.shape());
    Tensor columns = flat(state_of(e, 1));
    add_means(device, first, columns, squares, size);
    average(device, first);
    device.update().adafactor_change(squares, gradient, first, columns, mean_, scale);
  }

  // Adds the mean of each row of `squares` to `rows`, and the mean of each column to `columns`.
  void add_means(Device& device, Tensor& rows, Tensor& columns, const Tensor& squares,
                 const MatrixSize& size) {
    Tensor sums = rows.reshaped({1, size.rows, 1});
    device.dense().matmul(sums, squares.reshaped({1, size.rows, size.columns}),
                          equal(device, size.columns).reshaped({1, size.columns, 1}), false, false,
                          true);
    sums = columns.reshaped({1, 1, size.columns});
    device.dense().matmul(sums, equal(device, size.rows).reshaped({1, 1, size.rows}),
                          squares.reshaped({1, size.rows, size.columns}), false, false, true);
  }

  // Writes the mean of the rows' moments to mean_.
  void average(Device& device, const Tensor& rows) {
    const int64_t count = rows.elements();
    Tensor mean = mean_.reshaped({1, 1, 1});
    device.dense().matmul(mean, rows.reshaped({1, 1, count}),
                          equal(device, count).reshaped({1, count, 1}), false, false, false);
  }

  // Returns `count` numbers of 1 / count: a product with them is a mean.
  Tensor equal(Device& device, int64_t count) {
    Tensor factors = factors_.view(0, {count});
    device.pointwise().fill(factors, 1.0F / static_cast<float>(count));
    return factors;
  }

  void move(Device& device, const StateEntry& e, float learning_rate) {
    const int64_t elements = e.value.elements();
    const Shape blocks{squares_blocks(elements)};
    Tensor weight = flat(e.value);
    const Tensor change = change_.view(0, {elements});
    Tensor weight_squares = weight_squares_.view(0, blocks);
    Tensor change_squares = change_squares_.view(0, blocks);
    UpdateOps& ops = device.update();
    ops.squares_by_block(weight_squares, {&weight, 1});
    ops.squares_by_block(change_squares, {&change, 1});
    const double most = 1.0 / std::sqrt(static_cast<double>(steps()));
    ops.adafactor_move(weight, change, weight_squares, change_squares,
                       {.learning_rate = learning_rate,
                        .weight_decay = decay_of(e),
                        .rate = std::min(learning_rate, static_cast<float>(most))});
  }

  const Slots matrix_slots_ = {{"row_var", 0.0F, Extent::Rows}, {"col_var", 0.0F, Extent::Columns}};
  Tensor change_;   // the five tensors here are for one parameter at a time
  Tensor factors_;  // what equal() returns
  Tensor mean_;     // mean of the rows' moments
  Tensor weight_squares_, change_squares_;
};

}  // namespace

std::unique_ptr<Optimizer> make_adafactor(const OptimizerConfig& config) {
  return std::make_unique<Adafactor>(config);
}

}  // namespace penstock
