// runtime/engine/training/replan/replanner.h -- Replanner: decides when the layers of a running
// network are split over its stages in another way (run.replan), and how.
//
// A re-plan is asked for by a person, or by a rank that is found slow. Rank 0 knows of both, votes
// for it in the next step (StepVote::replan), and works out the split (new_split.h) when all ranks
// have agreed. Run then makes the change (Run::replan()).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/engine/training/data_source.h"
#include "runtime/engine/training/replan/new_split.h"
#include "runtime/network/models/models.h"
#include "runtime/system/comm/station.h"

namespace penstock {

// Asked on rank 0 once a step: the text of a request to re-plan, which is then taken; nothing:
// there is none. The text says the layers of each stage, "4,2"; empty: the planner chooses.
using AskForReplan = std::function<std::optional<std::string>()>;

// Whether ranks have room for the state of two splits at once. `bytes`: by world rank, what it
// takes now and will take in addition. `ranks`: those of one host, which has `host_bytes`. Returns
// a sentence about what is lacking; empty: nothing.
[[nodiscard]] std::string lack_of_room(std::span<const int64_t> bytes, std::span<const int> ranks,
                                       int64_t host_bytes, const std::string& host);

class Replanner {
 public:
  // Tells the user one line, on rank 0.
  using Note = std::function<void(const std::string& line)>;
  // `devices` counts on rank 0 alone, and is copied; all else but `ask` and `note` must outlive
  // this. Notes that there is nothing to split where the pipeline has one stage. Throws
  // Error(Input) on every rank on a GPU.
  Replanner(const Config& config, const ModelMaker& models, const DataSource& source,
            const Devices& devices, const Station& station, AskForReplan ask, Note note);

  // Called on rank 0 when a rank has just been found slow.
  void found_slow() { slow_ = true; }
  // How long making an assembly takes, by the last one that was made; for the cost of a re-plan.
  void took(double seconds) { making_s_ = seconds; }
  // This rank's StepVote::replan. `has_times`: whether compute times of all ranks are known.
  [[nodiscard]] bool is_due(bool has_times);

  // What is known when ranks have agreed to a re-plan.
  struct Moment {
    const Config& config;                    // with the present split
    const Blueprint& blueprint;              // of it
    std::span<const double> compute_s = {};  // on rank 0, RunReport::compute_seconds()
    int64_t steps_left = 0;
  };
  // The configuration to go on with, the same on every rank; nothing: all stays as it is, and a
  // note says why. Collective over all ranks.
  [[nodiscard]] std::optional<Config> decide(const Moment& moment);
  // On rank 0, after decide() has returned a configuration: the forecasts of both.
  [[nodiscard]] const NewSplit& found() const { return *found_; }

 private:
  // Returns by position the bytes that the new split keeps, or nothing to leave all as it is.
  // Called on rank 0.
  [[nodiscard]] std::vector<int64_t> choose(const Moment& moment);
  [[nodiscard]] bool pays(const Moment& moment, bool asked) const;
  [[nodiscard]] std::string lack_of_room_anywhere(const std::vector<int64_t>& kept_bytes) const;

  const RunConfig& run_;
  const ModelMaker& models_;
  const DataSource& source_;
  const Devices devices_;
  const Station station_;
  AskForReplan ask_;
  Note note_;
  std::optional<std::string> request_;  // asked for and not yet done
  bool slow_ = false;                   // a rank was found slow, and nothing was done about it
  double making_s_ = 0.0;
  std::optional<NewSplit> found_;
};

}  // namespace penstock
