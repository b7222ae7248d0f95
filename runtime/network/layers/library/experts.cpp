#include "runtime/network/layers/library/experts.h"

namespace penstock {

Experts::Experts(std::string name, const Options& options)
    : UnaryLayer(std::move(name)), options_(options) {
  if (options_.width < 1 || options_.hidden < 1) misfit("its widths must be at least 1");
  if (options_.chosen < 1 || options_.chosen > options_.experts) {
    misfit("a token must go to 1 to " + std::to_string(options_.experts) + " experts, not " +
           std::to_string(options_.chosen));
  }
  if (options_.shared_gate && options_.shared_hidden == 0) {
    misfit("it has a gate for a shared expert, and no such expert");
  }
  if (options_.shared_hidden == 0) return;
  shared_.emplace(this->name() + ".shared",
                  FeedForward::Options{.width = options_.width,
                                       .hidden = options_.shared_hidden,
                                       .bias = false,
                                       .activation = options_.activation,
                                       .in_init_factor = options_.in_init_factor,
                                       .out_init_factor = options_.out_init_factor});
  if (!options_.shared_gate) return;
  shared_gate_.emplace(this->name() + ".shared_gate",
                       Linear::Options{.in = options_.width, .out = 1, .bias = false});
}

void Experts::declare(ParameterSet& set) const {
  const int64_t width = options_.width;
  const int64_t hidden = options_.hidden;
  const int64_t experts = options_.experts;
  set.add(router_, name() + ".router.weight", {experts, width}, fan_in_normal(width));
  const auto add = [&](const Slot& slot, const char* part, int64_t out, int64_t in, double factor) {
    set.add(slot, name() + part, {experts, out, in}, fan_in_normal(in, factor)).only_rounded = true;
  };
  add(gate_, ".gate.weight", hidden, width, options_.in_init_factor);
  add(in_, ".in.weight", hidden, width, options_.in_init_factor);
  add(out_, ".out.weight", width, hidden, options_.out_init_factor);
  set.add_step_sums(rows_, name() + ".rows", {experts});
  if (shared_) shared_->declare(set);
  if (shared_gate_) shared_gate_->declare(set);
}

Shape Experts::shape_of(const Shape& input) const {
  if (input.rank() < 2 || input.back() != options_.width) {
    misfit("expects [batch, ..., " + std::to_string(options_.width) + "] but is given " +
           input.text());
  }
  return input;
}

// The losses are means over the rows, and those of all micro-batches' means.
Router Experts::router(const Context& context, int64_t rows) const {
  const auto all = static_cast<double>(context.batch.pass.micro_batches * rows);
  return {.score = options_.score,
          .normalised = options_.normalised,
          .balance = static_cast<float>(options_.balance_loss / all),
          .z = static_cast<float>(options_.z_loss / all)};
}

Variable Experts::run(Context& context, const Variable& x) const {
  Tape& tape = context.tape;
  const Variable logits =
      linear(tape, cast(tape, x, DType::F32), context.parameter(router_), nullptr);
  const Routed routed = route(tape, logits, options_.chosen, router(context, x.shape().rows()));
  if (context.training() && !context.recomputing) {
    Tensor& counts = context.owned.step_sums(rows_).value;
    context.device().experts().count_slots(counts, routed.routing.offsets);
  }
  const Variable rows = gather(tape, x, routed.routing);
  const Variable gate = grouped_linear(tape, rows, context.parameter(gate_), routed.routing);
  const Variable through = grouped_linear(tape, rows, context.parameter(in_), routed.routing);
  const Variable inside = gated(tape, gate, through, options_.activation);
  const Variable results = grouped_linear(tape, inside, context.parameter(out_), routed.routing);
  Variable y = combine(tape, results, routed, x.shape());
  if (!shared_) return y;
  Variable shared = shared_->forward(context, {x})[0];
  if (shared_gate_) shared = gate_rows(tape, shared, shared_gate_->forward(context, {x})[0]);
  return add(tape, y, shared);
}

}  // namespace penstock
