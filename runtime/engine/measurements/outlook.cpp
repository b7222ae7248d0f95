#include "runtime/engine/measurements/outlook.h"

#include <algorithm>
#include <cmath>

#include "kernels/error.h"
#include "kernels/memory/host_memory.h"
#include "runtime/planning/blueprint/programs.h"
#include "runtime/records/telemetry/units.h"

namespace penstock {

namespace {

// What makes the run take less memory than it does now.
std::string advice(const std::string& recompute) {
  const std::string rest = "more stages";
  if (recompute == "layer") return rest + " or smaller micro-batches";
  return rest + ", smaller micro-batches or --recompute " +
         (recompute == "none" ? "stage" : "layer");
}

std::string audits_text(const SafeguardCosts& safeguards, const RunConfig& run) {
  if (run.steps < run.audit) {
    return "warning: run.audit = " + std::to_string(run.audit) + " audits none of the run's " +
           amount_text(run.steps, "step");
  }
  const StepSeconds& step = safeguards.step;
  const double longer = step.audited_s / step.plain_s - 1.0;
  return "audits: every " + (run.audit == 1 ? "step" : std::to_string(run.audit) + " steps") +
         ", such a step takes " + percent_text(longer) + " longer, all together " +
         percent_text(step.mean_s / step.plain_s - 1.0) + "; they take " +
         bytes_text(safeguards.audit_bytes) + " of the fullest rank's memory";
}

std::string copies_text(const CopyCosts& copies, double step_s, int64_t every) {
  const bool has_partners = copies.network_s > 0.0;
  std::string text = "copies in memory: one is " +
                     bytes_text(*std::ranges::max_element(copies.bytes)) +
                     " of the fullest rank, of which its host holds two" +
                     (has_partners ? ", and two for another host" : "");
  if (!has_partners) return text;
  const double between_s = step_s * static_cast<double>(every);
  text += "; it keeps the network of a host busy for " + milliseconds_text(1e3 * copies.network_s) +
          ", " + percent_text(copies.network_s / between_s) + " of the time between two";
  if (copies.network_s <= between_s) return text;
  const double steps = std::ceil(copies.network_s / step_s);
  return text + "\nwarning: training will wait for copies to arrive: --checkpoint.partner_every " +
         std::to_string(static_cast<int64_t>(steps)) + " would give them the time";
}

// Returns how many bytes the ranks of this host take of its memory together.
int64_t host_bytes(const Forecast& forecast, const Station& station) {
  const CopyCosts& copies = forecast.safeguards.copies;
  int64_t bytes = 0;
  for (const int rank : station.session.host_ranks()) {
    const auto position = static_cast<size_t>(station.grid.position_of(rank));
    const RankMemory& memory = forecast.prediction.memory[position];
    if (station.device.host_addressable()) bytes += memory.of_tensors();
    bytes += memory.snapshot[static_cast<size_t>(station.grid.replica_of(rank))];
    if (!copies.bytes.empty()) bytes += (copies.network_s > 0.0 ? 4 : 2) * copies.bytes[position];
  }
  return bytes;
}

// Says that `bytes` are more than this host's memory; "" where they are not.
std::string too_much_for_host(int64_t bytes, int ranks, const std::string& recompute) {
  const int64_t host = host_memory_bytes();
  if (bytes <= host) return "";
  return (ranks == 1 ? "this rank needs "
                     : "the " + std::to_string(ranks) + " ranks of this host need ") +
         bytes_text(bytes) + ", and may use " + bytes_text(host) + ": use more hosts, " +
         advice(recompute);
}

}  // namespace

std::string safeguards_text(const SafeguardCosts& safeguards, const Config& config) {
  std::string text;
  if (config.run.audit > 0) text = audits_text(safeguards, config.run);
  if (!config.checkpoint.partner) return text;
  if (!text.empty()) text += "\n";
  return text +
         copies_text(safeguards.copies, safeguards.step.mean_s, config.checkpoint.partner_every);
}

std::string headline(const Config& config, const Layout& layout, Network& network, Device& device) {
  const PipelineConfig& pipeline = config.pipeline;
  const std::string ahead = pipeline.warm_up > 0 ? " +" + std::to_string(pipeline.warm_up) : "";
  return config.model.kind + ", " + std::to_string(layout.total_parameters()) + " parameters in " +
         amount_text(std::ssize(layout.parameters), "layer") + "; " +
         amount_text(pipeline.stages, "stage") + " x " + amount_text(pipeline.replicas, "replica") +
         ", " + amount_text(pipeline.micro_batches, "micro-batch", "es") + " of " +
         std::to_string(pipeline.micro_batch_size) + ", schedule " + pipeline.schedule + ahead +
         ", recompute " + recompute_text(pipeline) + "; " + device.description() + ", " +
         network.description();
}

std::string too_much_for_device(int64_t fullest_bytes, const DeviceFacts& device,
                                const std::string& recompute) {
  const int64_t there = device.model().memory_bytes;
  if (fullest_bytes <= there) return "";
  return "the fullest rank needs " + bytes_text(fullest_bytes) + ", " + device.description() +
         " has " + bytes_text(there) + ": use " + advice(recompute);
}

std::string outlook(const Forecast& forecast, const Station& station, const Config& config) {
  const Device& device = station.device;
  const Prediction& prediction = forecast.prediction;
  std::string line = "predicted: " + milliseconds_text(1e3 * prediction.step.plain_s) +
                     " a step, bubble " + percent_text(prediction.bubble) + ", " +
                     bytes_text(prediction.fullest_bytes()) + " on the fullest rank (" +
                     forecast.basis + ")";
  const std::string safeguards = safeguards_text(forecast.safeguards, config);
  if (!safeguards.empty()) line += "\n" + safeguards;
  if (!device.host_addressable()) {
    const std::string warning =
        too_much_for_device(prediction.fullest_bytes(), device, config.pipeline.recompute);
    if (!warning.empty()) line += "\nwarning: " + warning;
  }
  if (!forecast.lacks.empty()) line += "\nwarning: by the file of devices it " + forecast.lacks;
  const std::string warning = too_much_for_host(
      host_bytes(forecast, station), station.session.local_ranks(), config.pipeline.recompute);
  if (!warning.empty()) line += "\nwarning: " + warning;
  return line;
}

void refuse_far_too_large(const Forecast& forecast, const Station& station, const Config& config) {
  constexpr int64_t kFar = 4;
  const std::string& recompute = config.pipeline.recompute;
  const int64_t here = host_bytes(forecast, station);
  if (here / kFar > host_memory_bytes()) {
    fail_resource(too_much_for_host(here, station.session.local_ranks(), recompute));
  }
  const int64_t fullest = forecast.prediction.fullest_bytes();
  if (!station.device.host_addressable() && fullest / kFar > station.device.model().memory_bytes) {
    fail_resource(too_much_for_device(fullest, station.device, recompute));
  }
}

}  // namespace penstock
