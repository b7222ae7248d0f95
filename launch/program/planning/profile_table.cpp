// launch/program/planning/profile_table.cpp -- see profile_table.h.
#include "launch/program/planning/profile_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <vector>

#include "launch/program/planning/files/layer_figures.h"
#include "launch/program/planning/link_table.h"
#include "runtime/records/telemetry/units.h"

namespace penstock {
namespace {

bool alike(const LayerCost& a, const LayerCost& b) {
  const auto same = [&](const auto& figure) { return a.*figure.member == b.*figure.member; };
  return a.kind == b.kind && std::all_of(std::begin(kTimeFigures), std::end(kTimeFigures), same) &&
         std::all_of(std::begin(kBytesFigures), std::end(kBytesFigures), same);
}

struct Row {
  std::string name, kind;
  LayerCost sum;  // of the layers in this row
};

void add(LayerCost& sum, const LayerCost& layer) {
  for (const TimeFigure& figure : kTimeFigures) sum.*figure.member += layer.*figure.member;
  for (const BytesFigure& figure : kBytesFigures) sum.*figure.member += layer.*figure.member;
}

// The rows of the table: neighbours with the same costs share a row that has their sums.
std::vector<Row> rows_of(const std::vector<LayerCost>& layers) {
  std::vector<Row> rows;
  for (size_t first = 0; first < layers.size();) {
    size_t end = first;
    LayerCost sum;
    for (; end < layers.size() && alike(layers[first], layers[end]); ++end) add(sum, layers[end]);
    const size_t count = end - first;
    sum.output_bytes = layers[end - 1].output_bytes;  // one boundary's, not a sum
    rows.push_back(
        {count == 1 ? layers[first].name
                    : fmt::format("{} .. {} ({})", layers[first].name, layers[end - 1].name, count),
         layers[first].kind, sum});
    first = end;
  }
  return rows;
}

std::string line(const Row& row, size_t name_width, size_t kind_width) {
  constexpr double kMilli = 1e3;
  const LayerCost& sum = row.sum;
  return fmt::format(
      "{:{}}  {:{}}  {:>10}  {:>9.3f}  {:>9.3f}  {:>9.3f}  {:>9.3f}  {:>10}  {:>10}\n", row.name,
      name_width, row.kind, kind_width, count_text(static_cast<double>(sum.parameters)),
      kMilli * sum.forward_s, kMilli * sum.backward_input_s, kMilli * sum.backward_weight_s,
      kMilli * sum.update_s, bytes_text(sum.tape_bytes), bytes_text(sum.output_bytes));
}

std::string line(const char* where, const LinkTimes& link) {
  if (link.seconds_per_byte <= 0.0) return "";
  return fmt::format("link {}: {:.1f} us latency, {:.1f} us overhead at each end, {:.2f} GB/s\n",
                     where, 1e6 * link.latency, 1e6 * link.overhead, 1e-9 / link.seconds_per_byte);
}

}  // namespace

std::string profile_table(const Profile& profile) {
  std::vector<Row> rows = rows_of(profile.costs.layers);
  Row total{"all layers", "", {}};
  size_t name_width = total.name.size();
  size_t kind_width = std::string("kind").size();
  for (const Row& row : rows) {
    add(total.sum, row.sum);
    name_width = std::max(name_width, row.name.size());
    kind_width = std::max(kind_width, row.kind.size());
  }
  total.sum.output_bytes = 0;
  std::string text = fmt::format(
      "{}, {} thread{}, {}, micro-batches of {}\n\n"
      "{:{}}  {:{}}  {:>10}  {:>9}  {:>9}  {:>9}  {:>9}  {:>10}  {:>10}\n",
      profile.costs.device, profile.threads, profile.threads == 1 ? "" : "s", profile.precision,
      profile.costs.micro_batch_size, "layer", name_width, "kind", kind_width, "parameters", "F ms",
      "B ms", "W ms", "update ms", "tape", "boundary");
  for (const Row& row : rows) text += line(row, name_width, kind_width);
  text += line(total, name_width, kind_width);
  return text + link_table(profile) + line("within a host", profile.within_node) +
         line("between hosts", profile.between_nodes);
}

}  // namespace penstock
