// runtime/network/optimizer/config.h -- OptimizerConfig: the [optimizer] section of a run file, key
// by key. A name in front of a colon or alone in a comment (sgd, adamw) says for which `kind` or
// `schedule` the key counts.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace penstock {

struct OptimizerConfig {
  std::string kind = "adamw";   // sgd | rmsprop | adam | adamw | lion | muon | adafactor
  double learning_rate = 1e-3;  // the highest rate, at the end of the warm-up
  // constant | cosine | linear | wsd | inverse-sqrt | exponential; formulas in rate.h
  std::string schedule = "constant";
  int64_t warmup_steps = 0;  // over these steps the rate rises linearly from 0
  // cosine, linear: the step at which the decay ends (0: the last step of the run); wsd: over how
  // many steps at the end of the run the rate falls (0: a tenth of the run); exponential: in how
  // many steps the rate falls by the factor decay_rate.
  int64_t decay_steps = 0;
  double decay_rate = 0.97;   // exponential: factor per decay_steps
  double minimum_rate = 0.0;  // cosine, linear, wsd: the floor, as a share of learning_rate
  double weight_decay = 0.0;  // of matrices; biases and norms have none
  bool decay_all = false;     // biases and norms have weight decay too
  // Parts of names: parameters whose names have such a part have no weight decay either
  // (is_spared_decay() in optimizer.h).
  std::vector<std::string> no_decay = {};
  double clip_norm = 0.0;             // gradients are clipped to this global norm; 0: off
  double momentum = 0.9;              // sgd, rmsprop, muon
  bool nesterov = false;              // sgd
  double beta1 = 0.9, beta2 = 0.999;  // adam, adamw, lion; muon: of what AdamW updates
  double rms_decay = 0.9;             // rmsprop: decay of the mean of squares, at first 1
  double epsilon = 1e-8;  // rmsprop, adam, adamw, muon (as beta1): keeps the divisor from 0
  // muon: patterns of names of matrices that AdamW updates, as it does biases and norms, and the
  // highest learning rate of all that AdamW updates; 0: learning_rate.
  std::vector<std::string> adamw_for = {"*embedding*", "*classifier*"};
  double adamw_rate = 0.0;
  // Patterns of names (runtime/network/autograd/name_patterns.h): these parameters are not trained.
  std::vector<std::string> freeze = {};
  // The decay of the averages of weights with which evaluations compute (average.h); 0: off.
  double moving_average = 0.0;
  // True: every stage waits for the gradient norm and the loss of the whole network before it
  // updates its weights. False: it updates at once, and takes the update back (undo.h) if the norm
  // must be clipped or the step has to be left out (docs/late_updates.md).
  bool barrier = true;
  // auto | true | false: whether each replica updates only its share of the weights and keeps the
  // optimizer's state for that share alone (ZeRO stage 1, docs/sharing.md); auto: true where there
  // are several replicas.
  std::string sharded = "auto";

  // Whether that is done with this number of replicas.
  [[nodiscard]] bool is_shared_by(int replicas) const { return replicas > 1 && sharded != "false"; }
};

}  // namespace penstock
