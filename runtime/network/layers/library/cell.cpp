#include "runtime/network/layers/library/cell.h"

#include <array>

#include "runtime/network/layers/library/image.h"

namespace penstock {
namespace {

constexpr int kChannelAxis = 3;

// Makes ReLUs of states. Several operands may read the ReLU of one state, which is made once.
class SharedRelus {
 public:
  SharedRelus(Tape& tape, size_t states) : tape_(tape), made_(states) {}
  const Variable& of(const Variable& x, size_t state) {
    std::optional<Variable>& relu = made_[state];
    if (!relu) relu = activation(tape_, x, Activation::Relu);
    return *relu;
  }

 private:
  Tape& tape_;
  boost::container::small_vector<std::optional<Variable>, 8> made_;
};

}  // namespace

Cell::Cell(std::string name, std::string kind, Graph graph)
    : Layer(std::move(name)),
      kind_(std::move(kind)),
      current_(this->name() + ".current", "branch", std::move(graph.current)),
      outputs_(std::move(graph.outputs)),
      last_(graph.last) {
  if (!graph.previous.empty()) {
    previous_.emplace(this->name() + ".previous", "branch", std::move(graph.previous));
  }
  int states = 2;
  for (Sum& sum : graph.sums) {
    for (Operand* operand : {&sum.left, &sum.right}) {
      if (operand->state < 0 || operand->state >= states) {
        fail_internal("cell '" + this->name() + "' reads a state before it is there");
      }
      branches_.emplace_back(this->name(), std::move(*operand));
    }
    ++states;
  }
}

Shape Cell::shape_of(const Branch& branch, const std::vector<Shape>& states) const {
  return branch.layers.infer({states[static_cast<size_t>(branch.state)]})[0];
}

Shapes Cell::infer(const Shapes& inputs) const {
  if (inputs.empty() || inputs.size() > 2) misfit("takes the outputs of one or two cells");
  const Shape& h = inputs[0];
  const Shape& p = inputs.back();
  std::vector<Shape> states = {current_.infer({h})[0], previous_ ? previous_->infer({p})[0] : p};
  for (size_t i = 0; i < branches_.size(); i += 2) {
    const Shape left = shape_of(branches_[i], states);
    const Shape right = shape_of(branches_[i + 1], states);
    if (!(left == right)) {
      misfit("cannot add " + left.text() + " and " + right.text() + " to its state " +
             std::to_string(states.size()));
    }
    states.push_back(left);
  }
  Shape out = states[static_cast<size_t>(outputs_.front())];
  out[kChannelAxis] = 0;
  for (int state : outputs_) {
    const Shape& part = states[static_cast<size_t>(state)];
    if (part[1] != out[1] || part[2] != out[2]) {
      misfit("cannot put " + part.text() + " beside " + out.text());
    }
    out[kChannelAxis] += part[kChannelAxis];
  }
  return last_ ? Shapes{out} : Shapes{out, h};
}

template <class F>
void Cell::for_each_group(const F& f) const {
  f(current_);
  if (previous_) f(*previous_);
  for (const Branch& branch : branches_) f(branch.layers);
}

void Cell::declare(ParameterSet& set) const {
  for_each_group([&](const Group& group) { group.declare(set); });
}

void Cell::end_step(const StepEnd& end) const {
  for_each_group([&](const Group& group) { group.end_step(end); });
}

Variables Cell::forward(Context& context, const Variables& inputs) const {
  Tape& tape = context.tape;
  const Variable& h = inputs[0];
  const Variable& p = inputs.back();
  Variables states;
  {
    SharedRelus relus(tape, inputs.size());
    states.push_back(current_.forward(context, {relus.of(h, 0)})[0]);
    states.push_back(previous_ ? previous_->forward(context, {relus.of(p, inputs.size() - 1)})[0]
                               : p);
  }
  SharedRelus relus(tape, 2 + branches_.size() / 2);
  const auto run = [&](const Branch& branch) -> Variable {
    const auto state = static_cast<size_t>(branch.state);
    return branch.layers.forward(context,
                                 {branch.relu ? relus.of(states[state], state) : states[state]})[0];
  };
  for (size_t i = 0; i < branches_.size(); i += 2) {
    // These are two statements, since a compiler can evaluate the arguments of one call in any
    // order, and the order on the tape must be fixed.
    const Variable left = run(branches_[i]);
    const Variable right = run(branches_[i + 1]);
    states.push_back(add(tape, left, right));
  }
  Variables parts;
  for (int state : outputs_) parts.push_back(states[static_cast<size_t>(state)]);
  Variable out = concat(tape, parts, kChannelAxis);
  return last_ ? Variables{std::move(out)} : Variables{std::move(out), h};
}

namespace {

// Returns x[:, 1:, 1:, :]. If an extent of x is odd, a border of zeros is added, so a convolution
// of stride 2 gives as many pixels for the result as for x.
Variable shifted(Context& context, Variable x) {
  for (int axis : {1, 2}) {
    const int64_t extent = x.shape()[axis];
    const bool beyond = extent % 2 == 1;
    Variables parts;
    if (extent > 1) {
      const std::array<int64_t, 2> cut = {1, extent - 1};
      parts.push_back(split(context.tape, x, cut, axis)[1]);
    }
    if (beyond) {
      Shape border = x.shape();
      border[axis] = 1;
      parts.push_back({context.device().zeros(border, x.value.dtype(), Purpose::Activations), -1});
    }
    x = parts.size() == 1 ? parts[0] : concat(context.tape, parts, axis);
  }
  return x;
}

}  // namespace

FactorizedReduction::FactorizedReduction(const std::string& name, int64_t in, int64_t out)
    : UnaryLayer(name), in_(in), out_(out) {
  if (in < 1 || out < 2 || out % 2 != 0) misfit("its output channels must be an even number");
}

void FactorizedReduction::declare(ParameterSet& set) const {
  const Shape shape = {out_ / 2, in_, 1, 1};
  set.add(even_, name() + ".even.weight", shape, fan_out_normal(shape));
  set.add(odd_, name() + ".odd.weight", shape, fan_out_normal(shape));
}

Shape FactorizedReduction::shape_of(const Shape& input) const {
  if (input.rank() != 4 || input[3] != in_) {
    misfit("expects images of " + std::to_string(in_) + " channels but is given " +
           image_text(input));
  }
  return {input[0], (input[1] + 1) / 2, (input[2] + 1) / 2, out_};
}

Variable FactorizedReduction::run(Context& context, const Variable& x) const {
  const Window every_other = same_window(1, 1, 2);
  const Variable even = conv2d(context.tape, x, context.parameter(even_), nullptr, every_other, 1);
  const Variable odd =
      conv2d(context.tape, shifted(context, x), context.parameter(odd_), nullptr, every_other, 1);
  return concat(context.tape, {even, odd}, kChannelAxis);
}

}  // namespace penstock
