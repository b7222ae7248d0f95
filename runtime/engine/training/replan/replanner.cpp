#include "runtime/engine/training/replan/replanner.h"

#include <algorithm>
#include <charconv>
#include <numeric>
#include <sstream>
#include <utility>

#include "kernels/error.h"
#include "kernels/memory/host_memory.h"
#include "runtime/planning/costs/interconnects.h"
#include "runtime/records/telemetry/units.h"
#include "runtime/system/comm/agreement.h"
#include "runtime/system/files/json.h"

namespace penstock {
namespace {

// Reads "4,2". Throws Error(Input).
std::vector<int> split_of(const std::string& text) {
  std::vector<int> split;
  std::istringstream words(text + ",");  // so that an element behind the last comma counts, too
  for (std::string word; std::getline(words, word, ',');) {
    const size_t first = std::min(word.find_first_not_of(" \t\r\n"), word.size());
    const size_t last = word.find_last_not_of(" \t\r\n");
    const std::string number =
        last == std::string::npos ? "" : word.substr(first, last + 1 - first);
    int layers = 0;
    const char* end = number.data() + number.size();
    const auto read = std::from_chars(number.data(), end, layers);
    if (read.ec != std::errc() || read.ptr != end || layers < 1) {
      fail_input("the request is '" + one_line(text) +
                 "': write the layers of each stage, such as 4,2, or nothing");
    }
    split.push_back(layers);
  }
  return split;
}

bool is_blank(const std::string& text) {
  return text.find_first_not_of(" \t\r\n") == std::string::npos;
}

std::string step_text(const Forecast& ahead) {
  return milliseconds_text(1e3 * ahead.prediction.step.mean_s);
}

// Says why the split stays: the request names it, or another one would be no better.
std::string unchanged_text(const std::string& split, bool is_asked, bool is_named) {
  if (is_named) return "not re-planned: the layers " + split + " are the split already";
  const std::string best = "the layers " + split + " are the best by the last steps";
  return is_asked ? "not re-planned: " + best : "a re-plan would not help the slow rank: " + best;
}

}  // namespace

std::string lack_of_room(std::span<const int64_t> bytes, std::span<const int> ranks,
                         int64_t host_bytes, const std::string& host) {
  int64_t sum = 0;
  for (const int rank : ranks) sum += bytes[static_cast<size_t>(rank)];
  if (sum <= host_bytes) return "";
  return "both splits together need " + bytes_text(sum) + " on host " + host + ", which has " +
         bytes_text(host_bytes);
}

Replanner::Replanner(const Config& config, const ModelMaker& models, const DataSource& source,
                     const Devices& devices, const Station& station, AskForReplan ask, Note note)
    : run_(config.run),
      models_(models),
      source_(source),
      devices_(devices),
      station_(station),
      ask_(std::move(ask)),
      note_(std::move(note)) {
  if (!station.device.host_addressable()) {
    throw Error(ErrorKind::Input, "run.replan is for the CPU so far: leave it out on a GPU",
                ErrorScope::EveryRank);
  }
  if (config.pipeline.stages == 1) note_("note: run.replan: one stage has nothing to hand over");
}

bool Replanner::is_due(bool has_times) {
  if (station_.session.rank() != 0 || station_.grid.positions == 1) return false;
  if (!request_ && ask_) request_ = ask_();
  if (request_) return has_times || !is_blank(*request_);
  return slow_ && has_times;
}

std::optional<Config> Replanner::decide(const Moment& moment) {
  const std::string text = on_first_rank(station_.network.world(), [&] {
    // The vote of a request that is done already may count once more where there is no barrier.
    if (!request_ && !slow_) return std::string();
    std::vector<int64_t> kept_bytes;
    try {
      kept_bytes = choose(moment);
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::Internal) throw;
      note_(std::string("warning: not re-planned: ") + error.what());
    }
    request_.reset();
    slow_ = false;
    if (kept_bytes.empty()) return std::string();
    const PipelineConfig& pipeline = found_->config.pipeline;
    return packed_json(
        {{"kept", kept_bytes}, {"split", pipeline.split}, {"schedule_csv", pipeline.schedule_csv}});
  });
  if (text.empty()) return std::nullopt;
  const nlohmann::json decision = unpacked_json(text);
  if (const std::string lack = lack_of_room_anywhere(decision["kept"]); !lack.empty()) {
    note_("warning: not re-planned: " + lack);
    return std::nullopt;
  }
  Config config = moment.config;
  config.pipeline.split = decision["split"].get<std::vector<int64_t>>();
  config.pipeline.schedule_csv = decision["schedule_csv"].get<std::string>();
  return config;
}

std::vector<int64_t> Replanner::choose(const Moment& moment) {
  const int local_ranks = station_.session.local_ranks();
  const RunningPlan running{moment.config, moment.blueprint, station_.grid, local_ranks,
                            host_memory_bytes() / local_ranks};
  const std::vector<int> wanted = request_ ? split_of(*request_) : std::vector<int>();
  const bool is_measured = !moment.compute_s.empty();
  const Devices devices =
      is_measured
          ? measured_devices(devices_, predicted_compute(running, devices_), moment.compute_s)
          : devices_;
  found_ = find_new_split(running, devices, wanted, models_, source_.facts().vocabulary,
                          source_.facts().classes);
  const std::string before = split_text(moment.blueprint.layout.split());
  if (split_text(found_->config.pipeline.split) == before) {
    note_(unchanged_text(before, request_.has_value(), !wanted.empty()));
    return {};
  }
  if (wanted.empty() && !pays(moment, request_.has_value())) return {};
  std::vector<int64_t> kept_bytes;
  for (const RankMemory& memory : found_->then.prediction.memory) {
    kept_bytes.push_back(memory.parameters + memory.gradients + memory.optimizer);
  }
  return kept_bytes;
}

// Returns whether the split that was found is to be taken, and notes why not.
bool Replanner::pays(const Moment& moment, bool asked) const {
  const Prediction& now = found_->now.prediction;
  const Prediction& then = found_->then.prediction;
  const double gain_s = now.step.mean_s - then.step.mean_s;
  int64_t most_bytes = 0;
  for (const RankMemory& memory : then.memory) most_bytes = std::max(most_bytes, memory.copy());
  const Cluster cluster = cluster_of(devices_, station_.session.local_ranks());
  const LinkTimes& link = station_.session.local_ranks() < station_.grid.ranks()
                              ? cluster.between_nodes
                              : cluster.within_node;
  const double cost_s = making_s_ + static_cast<double>(most_bytes) * link.seconds_per_byte;
  const double left = static_cast<double>(moment.steps_left);
  const std::string text = "layers " + split_text(found_->config.pipeline.split) + " in place of " +
                           split_text(moment.blueprint.layout.split()) + ": a step of " +
                           step_text(found_->then) + " in place of " + step_text(found_->now) +
                           " predicted by the last steps";
  if (asked && gain_s > 0.0) return true;
  if (asked || gain_s * left <= cost_s) {
    note_("not re-planned: " + text + ", which over " + amount_text(moment.steps_left, "step") +
          " would save " + seconds_text(std::max(gain_s * left, 0.0)) + " and cost " +
          seconds_text(cost_s));
    return false;
  }
  if (run_.replan == "auto") return true;
  note_("a re-plan would pay: " + text + "; to have it: touch " + run_.out + "/replan");
  return false;
}

// Collective over all ranks. Returns the same on every rank.
std::string Replanner::lack_of_room_anywhere(const std::vector<int64_t>& kept_bytes) const {
  Collective& world = station_.network.world();
  const auto position = static_cast<size_t>(station_.grid.position_of(station_.session.rank()));
  const std::vector<int64_t> bytes =
      world.gather_to_all(station_.device.memory().use().reserved + kept_bytes[position]);
  std::string lack = lack_of_room(bytes, station_.session.host_ranks(), host_memory_bytes(),
                                  station_.session.host());
  for (const std::string& text : world.gather_text(lack)) {
    if (!text.empty()) lack = text;
  }
  return world.broadcast(lack, 0);
}

}  // namespace penstock
