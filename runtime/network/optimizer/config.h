// runtime/network/optimizer/config.h -- the [optimizer] section of a run file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace penstock {

struct OptimizerConfig {
  std::string kind = "adamw";   // sgd | rmsprop | adam | adamw
  double learning_rate = 1e-3;  // the highest, after the warm-up
  // constant | cosine | linear | wsd | inverse-sqrt | exponential: learning_rate() in rate.h
  std::string schedule = "constant";
  int64_t warmup_steps = 0;  // the rate rises linearly from 0
  // cosine, linear: the step at which the decay ends (0: the run's steps); wsd: how many steps at
  // the end decay (0: a tenth); exponential: the period.
  int64_t decay_steps = 0;
  double decay_rate = 0.97;   // exponential: factor per decay_steps
  double minimum_rate = 0.0;  // cosine, linear, wsd: the floor, as a share of learning_rate
  double weight_decay = 0.0;  // of matrices; biases and norms are spared
  bool decay_all = false;     // of biases and norms too
  std::vector<std::string> no_decay = {};  // parts of names: these parameters are spared too
  double clip_norm = 0.0;                  // limit of the global norm; 0 = off
  double momentum = 0.9;                   // sgd, rmsprop
  bool nesterov = false;                   // sgd
  double beta1 = 0.9, beta2 = 0.999;       // adam, adamw
  double rms_decay = 0.9;                  // rmsprop: of the mean of squares, which starts at 1
  double epsilon = 1e-8;                   // rmsprop, adam, adamw: keeps the divisor from 0
  std::vector<std::string> freeze = {};    // patterns of names: these parameters keep their weights
  double moving_average = 0.0;  // decay of the averaged weights used in evaluation, 0 = off
  // True: every stage waits for the norm and the loss of the whole step before it updates. False:
  // it updates at once, and takes the update back where the norm or the loss asks for another or
  // for none.
  bool barrier = true;
  // auto | true | false: each replica updates its share of the weights, and keeps the optimizer's
  // state of that share alone; auto: true where there are several replicas.
  std::string sharded = "auto";

  [[nodiscard]] bool is_shared_by(int replicas) const { return replicas > 1 && sharded != "false"; }
};

}  // namespace penstock
