#include "runtime/records/sweep/plots/plot_values.h"

#include <charconv>

namespace penstock {
namespace {

struct KnownKey {
  const char* name;
  const char* title;
  std::string (*value)(const SweepPoint&);
};

constexpr KnownKey kKnownKeys[] = {
    {"ranks", "ranks", [](const auto& p) { return std::to_string(p.sizes.ranks()); }},
    {"pipeline.stages", "stages", [](const auto& p) { return std::to_string(p.sizes.stages); }},
    {"pipeline.replicas", "replicas",
     [](const auto& p) { return std::to_string(p.sizes.replicas); }},
    {"pipeline.micro_batches", "micro-batches",
     [](const auto& p) { return std::to_string(p.sizes.micro_batches); }},
    {"pipeline.micro_batch_size", "size of a micro-batch (samples)",
     [](const auto& p) { return std::to_string(p.sizes.micro_batch_size); }},
    {"pipeline.schedule", "schedule", [](const auto& p) { return p.schedule; }},
    {"pipeline.recompute", "recompute", [](const auto& p) { return p.recompute; }},
};

}  // namespace

const char* word_of(ErrorBars bars) {
  switch (bars) {
    case ErrorBars::Quartiles:
      return "quartiles";
    case ErrorBars::Deviation:
      return "deviation";
    default:
      return "none";
  }
}

std::optional<std::string> plot_value(const SweepPoint& point, const std::string& key) {
  for (const KnownKey& known : kKnownKeys) {
    if (key == known.name) return known.value(point);
  }
  for (const VariedKey& varied : point.keys) {
    if (key == varied.name) return varied.value;
  }
  return std::nullopt;
}

std::optional<double> plot_number(const SweepPoint& point, const std::string& key) {
  const std::optional<std::string> text = plot_value(point, key);
  if (!text) return std::nullopt;
  double number = 0;
  const char* end = text->data() + text->size();
  const auto [after, error] = std::from_chars(text->data(), end, number);
  return error == std::errc() && after == end ? std::optional(number) : std::nullopt;
}

std::string axis_title(const std::string& key) {
  for (const KnownKey& known : kKnownKeys) {
    if (key == known.name) return known.title;
  }
  return key;
}

std::string plot_group(const SweepPoint& point, const PlotChoice& choice) {
  std::string group;
  for (const VariedKey& key : point.keys) {
    if (key.name.starts_with("pipeline.") || key.name == choice.x || key.name == choice.series) {
      continue;
    }
    group += (group.empty() ? "" : ", ") + key.name + " " + key.value;
  }
  // Sweeps of earlier versions have a group and no keys.
  return point.keys.empty() ? point.group : group;
}

}  // namespace penstock
