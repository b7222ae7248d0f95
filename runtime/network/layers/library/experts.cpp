#include "runtime/network/layers/library/experts.h"

#include <array>

namespace penstock {

Experts::Experts(std::string name, const Options& options)
    : UnaryLayer(std::move(name)), options_(options) {
  if (options_.width < 1 || options_.hidden < 1) misfit("its widths must be at least 1");
  if (options_.chosen < 1 || options_.chosen > options_.experts) {
    misfit("a token must go to 1 to " + std::to_string(options_.experts) + " experts, not " +
           std::to_string(options_.chosen));
  }
  check_groups();
  if (options_.balance_rate > 0.0 && !options_.correction) {
    misfit("it evens out the load by correcting scores, and its router has no correction");
  }
  if (options_.shared_gate && options_.shared_hidden == 0) {
    misfit("it has a gate for a shared expert, and no such expert");
  }
  if (const auto adapter = options_.adapted.of("router")) {
    router_adapter_.emplace(this->name() + ".router", options_.width, options_.experts, *adapter);
  }
  if (const auto adapter = options_.adapted.of("experts")) {
    const int64_t experts = options_.experts;
    const int64_t width = options_.width;
    const int64_t hidden = options_.hidden;
    gate_up_adapter_.emplace(this->name() + ".gate_up",
                             ExpertAdapter::Sizes{experts, width, 2 * hidden}, *adapter);
    out_adapter_.emplace(this->name() + ".out", ExpertAdapter::Sizes{experts, hidden, width},
                         *adapter);
  }
  if (options_.shared_hidden == 0) return;
  shared_.emplace(this->name() + ".shared",
                  FeedForward::Options{.width = options_.width,
                                       .hidden = options_.shared_hidden,
                                       .bias = options_.bias,
                                       .activation = options_.activation,
                                       .in_init_factor = options_.in_init_factor,
                                       .out_init_factor = options_.out_init_factor});
  if (!options_.shared_gate) return;
  shared_gate_.emplace(this->name() + ".shared_gate",
                       Linear::Options{.in = options_.width, .out = 1, .bias = false});
}

void Experts::check_groups() const {
  const int64_t groups = options_.groups;
  const int64_t chosen = options_.chosen_groups;
  const std::string all =
      std::to_string(options_.experts) + " experts in " + std::to_string(groups);
  if (groups < 1 || groups > kMostExpertGroups || options_.experts % groups != 0) {
    misfit("it cannot have " + all + " groups: they must be alike, and 64 at most");
  }
  if (chosen < 1 || chosen > groups) {
    misfit("a token must go to 1 to " + std::to_string(groups) + " groups of experts, not " +
           std::to_string(chosen));
  }
  if (groups > 1 && options_.experts / groups < 2) {
    misfit("it has " + all + " groups: a group needs two experts");
  }
  if (options_.experts / groups * chosen < options_.chosen) {
    misfit("it has " + all + " groups, and " + std::to_string(chosen) +
           " of these have too few for a token");
  }
}

void Experts::declare(ParameterSet& set) const {
  const int64_t width = options_.width;
  const int64_t hidden = options_.hidden;
  const int64_t experts = options_.experts;
  set.add(router_, name() + ".router.weight", {experts, width}, fan_in_normal(width));
  if (options_.router_bias) {
    set.add(router_bias_, name() + ".router.bias", {experts}, {}, ParameterKind::Bias);
  }
  if (options_.correction) {
    set.add_buffer(correction_, name() + ".router.correction", {experts}, 0.0F);
  }
  const auto add = [&](const Slot& slot, const char* part, int64_t out, int64_t in, double factor) {
    set.add(slot, name() + part, {experts, out, in}, fan_in_normal(in, factor)).only_rounded = true;
  };
  add(gate_, ".gate.weight", hidden, width, options_.in_init_factor);
  add(in_, ".in.weight", hidden, width, options_.in_init_factor);
  add(out_, ".out.weight", width, hidden, options_.out_init_factor);
  if (options_.bias) {
    set.add(gate_bias_, name() + ".gate.bias", {experts, hidden}, {}, ParameterKind::Bias);
    set.add(in_bias_, name() + ".in.bias", {experts, hidden}, {}, ParameterKind::Bias);
    set.add(out_bias_, name() + ".out.bias", {experts, width}, {}, ParameterKind::Bias);
  }
  if (router_adapter_) router_adapter_->declare(set);
  if (gate_up_adapter_) gate_up_adapter_->declare(set);
  if (out_adapter_) out_adapter_->declare(set);
  set.add_step_sums(rows_, name() + std::string(kExpertRows), {experts});
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
          .scale = static_cast<float>(options_.scale),
          .groups = static_cast<int32_t>(options_.groups),
          .chosen_groups = static_cast<int32_t>(options_.chosen_groups),
          .balance = static_cast<float>(options_.balance_loss / all),
          .z = static_cast<float>(options_.z_loss / all)};
}

Variable Experts::run(Context& context, const Variable& x) const {
  Tape& tape = context.tape;
  const Variable wide = cast(tape, x, DType::F32);
  Variable logits =
      linear(tape, wide, context.parameter(router_), context.parameter_if(router_bias_));
  if (router_adapter_) logits = router_adapter_->add_to(context, logits, wide);
  const Tensor correction =
      options_.correction ? context.owned.buffer(correction_).value : Tensor();
  const Routed routed =
      route(tape, logits, options_.chosen, router(context, x.shape().rows()), correction);
  if (context.training() && !context.recomputing) {
    Tensor& counts = context.owned.step_sums(rows_).value;
    context.device().experts().count_slots(counts, routed.routing.offsets);
  }
  const Variable rows = gather(tape, x, routed.routing);
  const auto product = [&](const Variable& from, const Slot& weight, const Slot& bias) {
    return grouped_linear(tape, from, context.parameter(weight), routed.routing,
                          context.parameter_if(bias));
  };
  Variable gate = product(rows, gate_, gate_bias_);
  Variable through = product(rows, in_, in_bias_);
  if (gate_up_adapter_) {
    const std::array<int64_t, 2> halves = {options_.hidden, options_.hidden};
    const Variables both =
        split(tape, gate_up_adapter_->product(context, rows, routed.routing), halves, 1);
    gate = add(tape, gate, both[0]);
    through = add(tape, through, both[1]);
  }
  const Variable inside =
      options_.gate_limit > 0.0
          ? clamped_gate(tape, gate, through, static_cast<float>(options_.gate_limit))
          : gated(tape, gate, through, options_.activation);
  Variable results = product(inside, out_, out_bias_);
  if (out_adapter_) {
    results = add(tape, results, out_adapter_->product(context, inside, routed.routing));
  }
  Variable y = combine(tape, results, routed, x.shape());
  if (!shared_) return y;
  Variable shared = shared_->forward(context, {x})[0];
  if (shared_gate_) shared = gate_rows(tape, shared, shared_gate_->forward(context, {x})[0]);
  return add(tape, y, shared);
}

void Experts::end_step(const StepEnd& end) const {
  if (options_.balance_rate == 0.0 || end.owned.parameter(router_).frozen) return;
  end.device.experts().balance(end.owned.buffer(correction_).value,
                               end.owned.step_sums(rows_).value,
                               static_cast<float>(options_.balance_rate));
}

}  // namespace penstock
