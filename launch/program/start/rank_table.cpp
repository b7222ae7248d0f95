// launch/program/start/rank_table.cpp -- see rank_table.h.
#include "launch/program/start/rank_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "runtime/records/telemetry/units.h"

namespace penstock {
namespace {

// Writes into `row` what the ranks at one position of their pipelines hold.
void describe_position(const Blueprint& blueprint, int position, RankRow& row) {
  const Layout& layout = blueprint.layout;
  row.parameters = parameters_kept(blueprint, position);
  for (int stage = 0; stage < layout.stages; ++stage) {
    const auto s = static_cast<size_t>(stage);
    if (blueprint.programs.training.rank_of_stage[s] != position) continue;
    const size_t first = layout.first_layer[s];
    const size_t last = layout.first_layer[s + 1] - 1;
    const char* comma = row.stages.empty() ? "" : ", ";
    row.stages += fmt::format("{}{}", comma, stage);
    row.layers += comma + blueprint.model.layers[first]->name();
    if (first != last) row.layers += " .. " + blueprint.model.layers[last]->name();
  }
}

std::string ranges_of(std::vector<int> numbers) {
  std::sort(numbers.begin(), numbers.end());
  std::string text;
  for (size_t i = 0; i < numbers.size(); ++i) {
    const size_t first = i;
    while (i + 1 < numbers.size() && numbers[i + 1] == numbers[i] + 1) ++i;
    text += text.empty() ? "" : ", ";
    text += i == first ? fmt::format("{}", numbers[i])
                       : fmt::format("{}-{}", numbers[first], numbers[i]);
  }
  return text;
}

constexpr size_t kColumns = 8;
using Cells = std::array<std::string, kColumns>;
constexpr std::array<bool, kColumns> kIsText = {false, true, true, false, false, true, false, true};

Cells cells_of(const RankRow& row) {
  return {std::to_string(row.rank),
          row.host,
          row.device,
          row.stages,
          std::to_string(row.replica),
          row.layers,
          count_text(static_cast<double>(row.parameters)),
          row.cores};
}

std::string aligned_cells(const std::vector<Cells>& lines) {
  std::array<size_t, kColumns> widths{};
  for (const Cells& line : lines) {
    for (size_t c = 0; c < kColumns; ++c) widths[c] = std::max(widths[c], line[c].size());
  }
  std::string text;
  for (const Cells& cells : lines) {
    std::string line;
    for (size_t c = 0; c < kColumns; ++c) {
      line += c == 0 ? "" : "  ";
      line += kIsText[c] ? fmt::format("{:<{}}", cells[c], widths[c])
                         : fmt::format("{:>{}}", cells[c], widths[c]);
    }
    line.resize(line.find_last_not_of(' ') + 1);
    text += (text.empty() ? "" : "\n") + line;
  }
  return text;
}

}  // namespace

std::vector<RankRow> rank_rows(const Blueprint& blueprint, const Grid& grid,
                               std::span<const RankFacts> facts, std::span<const RankCores> cores) {
  std::vector<RankRow> rows(facts.size());
  for (size_t i = 0; i < rows.size(); ++i) {
    RankRow& row = rows[i];
    row.rank = static_cast<int>(i);
    row.host = facts[i].host;
    row.device = facts[i].gpu.empty() ? "cpu" : "gpu " + facts[i].bus;
    row.replica = grid.replica_of(row.rank);
    describe_position(blueprint, grid.position_of(row.rank), row);
    if (i < cores.size()) row.cores = ranges_of(cores[i].cores);
  }
  return rows;
}

std::string rank_table(std::span<const RankRow> rows, size_t most) {
  const size_t shown = std::min(rows.size(), most);
  const size_t first = rows.size() > most ? most - most / 4 : shown;
  std::vector<Cells> lines = {
      {"rank", "host", "device", "stage", "replica", "layers", "parameters", "cores"}};
  for (size_t i = 0; i < first; ++i) lines.push_back(cells_of(rows[i]));
  if (rows.size() > most) {
    lines.push_back(
        {"...", fmt::format("{} ranks more", rows.size() - most), "", "", "", "", "", ""});
  }
  for (size_t i = rows.size() - (shown - first); i < rows.size(); ++i) {
    lines.push_back(cells_of(rows[i]));
  }
  return aligned_cells(lines);
}

std::string neighbours_text(const Grid& grid, std::span<const RankFacts> facts) {
  const auto host = [&](int position, int replica) -> const std::string& {
    return facts[static_cast<size_t>(grid.world_rank(position, replica))].host;
  };
  int links_inside = 0;
  int sums_inside = 0;
  bool one_host = true;
  for (int position = 0; position < grid.positions; ++position) {
    bool together = true;
    for (int replica = 0; replica < grid.replicas; ++replica) {
      together = together && host(position, replica) == host(position, 0);
      one_host = one_host && host(position, replica) == host(0, 0);
      if (position > 0 && host(position, replica) == host(position - 1, replica)) ++links_inside;
    }
    if (together) ++sums_inside;
  }
  if (one_host) return {};
  const int links = (grid.positions - 1) * grid.replicas;
  std::string text =
      fmt::format("placement {}: ", grid.placement == Placement::Stages ? "stages" : "replicas");
  text += fmt::format("{} of {} links from stage to stage stay within a host", links_inside, links);
  if (grid.replicas > 1) {
    text += fmt::format(", {} of {} sums over replicas", sums_inside, grid.positions);
  }
  return text;
}

}  // namespace penstock
