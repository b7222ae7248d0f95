#include "runtime/engine/measurements/outlook.h"

#include <algorithm>
#include <cmath>

#include "kernels/memory/host_memory.h"
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
  return config.model.kind + ", " + std::to_string(layout.total_parameters()) + " parameters in " +
         amount_text(std::ssize(layout.parameters), "layer") + "; " +
         amount_text(pipeline.stages, "stage") + " x " + amount_text(pipeline.replicas, "replica") +
         ", " + amount_text(pipeline.micro_batches, "micro-batch", "es") + " of " +
         std::to_string(pipeline.micro_batch_size) + ", schedule " + pipeline.schedule +
         ", recompute " + pipeline.recompute + "; " + device.description() + ", " +
         network.description();
}

std::string device_warning(int64_t fullest_bytes, const DeviceFacts& device,
                           const std::string& recompute) {
  const int64_t there = device.model().memory_bytes;
  if (fullest_bytes <= there) return "";
  return "warning: the fullest rank needs " + bytes_text(fullest_bytes) + ", " +
         device.description() + " has " + bytes_text(there) + ": use " + advice(recompute);
}

std::string outlook(const Forecast& forecast, const Station& station, const Config& config) {
  const Session& session = station.session;
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
        device_warning(prediction.fullest_bytes(), device, config.pipeline.recompute);
    if (!warning.empty()) line += "\n" + warning;
  }
  int64_t here = 0;
  for (const int rank : session.host_ranks()) {
    const auto position = static_cast<size_t>(station.grid.position_of(rank));
    const RankMemory& memory = prediction.memory[position];
    if (device.host_addressable()) here += memory.of_tensors();
    here += memory.snapshot[static_cast<size_t>(station.grid.replica_of(rank))];
    const CopyCosts& copies = forecast.safeguards.copies;
    if (!copies.bytes.empty()) here += (copies.network_s > 0.0 ? 4 : 2) * copies.bytes[position];
  }
  const int64_t host = host_memory_bytes();
  if (here > host) {
    const int ranks = session.local_ranks();
    line += "\nwarning: " +
            (ranks == 1 ? "this rank needs "
                        : "the " + std::to_string(ranks) + " ranks of this host need ") +
            bytes_text(here) + ", and may use " + bytes_text(host) + ": use more hosts, " +
            advice(config.pipeline.recompute);
  }
  return line;
}

}  // namespace penstock
