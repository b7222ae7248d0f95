#include "runtime/records/sweep/tables/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <span>

#include "kernels/joined.h"
#include "runtime/records/sweep/repeats.h"
#include "runtime/records/sweep/tables/keys.h"
#include "runtime/records/telemetry/units.h"

namespace penstock {
namespace {

constexpr const char* kUnknown = "-";

using Cell = std::function<std::string(const ScalingRow&)>;
struct Column {
  std::string name;
  Cell cell;
};

void append(std::vector<Column>& columns, const std::vector<Column>& more) {
  columns.insert(columns.end(), more.begin(), more.end());
}

std::string percent(const std::optional<double>& share) {
  return share ? fmt::format("{:.1f} %", 100 * *share) : kUnknown;
}

std::string plain(const std::optional<double>& value) {
  if (!value) return kUnknown;
  return *value >= 1000 ? fmt::format("{:.0f}", *value) : fmt::format("{:.4g}", *value);
}

std::string bytes(const std::optional<int64_t>& value) {
  return value ? bytes_text(*value) : kUnknown;
}

std::string step_cell(const ScalingRow& row) {
  const auto& time = row.outcome.step_ms;
  if (!time) return kUnknown;
  return fmt::format("{:.4g} ({:.4g} to {:.4g})", time->median, time->lower, time->upper);
}

std::string mean_cell(const ScalingRow& row) {
  const auto& time = row.outcome.step_ms;
  if (!time) return kUnknown;
  return fmt::format("{:.4g} +- {:.2g}", time->mean, time->deviation);
}

std::string loss_cell(const ScalingRow& row) {
  const Outcome& outcome = row.outcome;
  const bool varies = outcome.loss && outcome.loss_deviation.value_or(0) > 0;
  return plain(outcome.loss) + (varies ? fmt::format(" +- {:.2g}", *outcome.loss_deviation) : "");
}

std::string bubble_cell(const ScalingRow& row) {
  const auto& plan = row.point.planned;
  return percent(row.outcome.bubble) + ", " + (plan ? percent(plan->bubble) : kUnknown);
}

std::string peak_cell(const ScalingRow& row) {
  const auto& plan = row.point.planned;
  return bytes(row.outcome.peak_bytes) + ", " + (plan ? bytes(plan->peak_bytes) : kUnknown);
}

std::string state_cell(const ScalingRow& row) {
  std::string text = word_of(row.outcome.state);
  if (row.outcome.state == PointState::Finished) return text;
  if (row.outcome.steps > 0) {
    text += fmt::format(", step {} of {}", row.outcome.steps, row.point.steps);
  }
  if (row.runs.size() > 1 && row.outcome.state != PointState::Skipped) {
    text += fmt::format("; {} of {} runs finished", finished_of(row.runs), row.runs.size());
  }
  return text;
}

// A column for every key that the grid varies and that is in no other.
std::vector<Column> key_columns(const std::vector<ScalingRow>& rows) {
  std::vector<Column> columns;
  for (const std::string& name : other_keys(rows)) {
    columns.push_back({name, [name](const ScalingRow& row) { return value_of(row.point, name); }});
  }
  return columns;
}

std::vector<Column> point_columns(const std::vector<ScalingRow>& rows) {
  std::vector<Column> columns = {
      {"point", [](const auto& row) { return row.point.name; }},
      {"ranks", [](const auto& row) { return fmt::format("{}", row.point.sizes.ranks()); }},
      {"K x D",
       [](const auto& row) {
         return fmt::format("{} x {}", row.point.sizes.stages, row.point.sizes.replicas);
       }},
      {"M x b",
       [](const auto& row) {
         const PointSizes& sizes = row.point.sizes;
         return fmt::format("{} x {}", sizes.micro_batches, sizes.micro_batch_size);
       }},
      {"schedule", [](const auto& row) { return row.point.schedule; }},
  };
  append(columns, key_columns(rows));
  return columns;
}

std::vector<Column> result_columns(bool has_tokens, bool repeats) {
  std::vector<Column> columns = {{"step, ms (quartiles)", step_cell}};
  if (repeats) columns.push_back({"mean +- deviation", mean_cell});
  columns.push_back({"samples/s", [](const auto& row) { return plain(row.samples_per_s); }});
  if (has_tokens) {
    columns.push_back({"tokens/s", [](const auto& row) { return plain(row.tokens_per_s); }});
  }
  append(columns, {
                      {"speed-up", [](const auto& row) { return plain(row.speed_up); }},
                      {"of ideal", [](const auto& row) { return percent(row.efficiency); }},
                      {"of plan", [](const auto& row) { return percent(row.of_plan); }},
                      {"bubble, planned", bubble_cell},
                      {"peak a rank, planned", peak_cell},
                      {"loss", loss_cell},
                      {"state", state_cell},
                  });
  return columns;
}

std::vector<Column> forecast_columns() {
  const auto plan = [](auto field) {
    return [field](const ScalingRow& row) {
      return row.point.planned ? field(*row.point.planned) : std::string(kUnknown);
    };
  };
  using F = PointForecast;
  return {
      {"steps", [](const auto& row) { return fmt::format("{}", row.point.steps); }},
      {"planned step, ms", plan([](const F& f) { return fmt::format("{:.4g}", 1e3 * f.step_s); })},
      {"samples/s", [](const auto& row) { return plain(row.planned_samples_per_s); }},
      {"bubble", plan([](const F& f) { return percent(f.bubble); })},
      {"peak a rank", plan([](const F& f) { return bytes_text(f.peak_bytes); })},
      {"state", state_cell},
  };
}

std::string without_bars(std::string text) {
  std::replace(text.begin(), text.end(), '|', '/');
  return text;
}

// A line of names, then a line of cells for each row.
TableCells cells_of(const std::vector<Column>& columns, const std::vector<ScalingRow>& rows) {
  TableCells lines(rows.size() + 1);
  for (const Column& column : columns) {
    lines[0].push_back(column.name);
    for (size_t i = 0; i < rows.size(); ++i) lines[i + 1].push_back(column.cell(rows[i]));
  }
  return lines;
}

std::string markdown(const TableCells& cells) {
  std::vector<std::string> lines(cells.size() + 1);  // the second one is the rule below the names
  for (size_t column = 0; column < cells[0].size(); ++column) {
    size_t width = 3;
    for (const auto& line : cells) width = std::max(width, line[column].size());
    for (size_t i = 0; i < cells.size(); ++i) {
      lines[i == 0 ? 0 : i + 1] += fmt::format("| {:{}} ", without_bars(cells[i][column]), width);
    }
    lines[1] += "|" + std::string(width + 2, '-');
  }
  std::string text;
  for (const std::string& line : lines) text += line + "|\n";
  return text;
}

// Names of at most so many points, and how many more there are.
std::string some_of(const std::vector<std::string>& names) {
  constexpr size_t kMost = 3;
  if (names.size() <= kMost) return joined(names, ", ");
  return fmt::format("{} and {} more", joined(std::span(names).first(kMost - 1), ", "),
                     names.size() - kMost + 1);
}

// Why points were skipped or failed: every reason once, with its points.
std::string reasons(const std::vector<ScalingRow>& rows) {
  std::vector<std::string> order;
  std::map<std::string, std::vector<std::string>> points;  // by state and reason
  for (const ScalingRow& row : rows) {
    if (row.outcome.reason.empty()) continue;
    const std::string why = fmt::format("{}: {}", word_of(row.outcome.state), row.outcome.reason);
    if (points[why].empty()) order.push_back(why);
    points[why].push_back(row.point.name);
  }
  std::string text;
  for (const std::string& why : order) text += fmt::format("- {} {}\n", some_of(points[why]), why);
  return text.empty() ? text : "\n" + text;
}

std::string bases(const std::vector<ScalingRow>& rows) {
  std::set<std::string> names;
  for (const ScalingRow& row : rows) {
    if (!row.base.empty()) names.insert(row.base);
  }
  if (names.empty()) return {};
  return "\nSpeed-up and ideal are against the fastest point on the fewest ranks: " +
         joined(names, ", ") + ".\n";
}

}  // namespace

TableCells table_cells(const std::vector<ScalingRow>& rows) {
  const bool has_tokens = std::any_of(
      rows.begin(), rows.end(), [](const ScalingRow& row) { return row.tokens_per_s.has_value(); });
  const bool repeats = std::any_of(rows.begin(), rows.end(),
                                   [](const ScalingRow& row) { return row.runs.size() > 1; });
  std::vector<Column> columns = point_columns(rows);
  append(columns, result_columns(has_tokens, repeats));
  return cells_of(columns, rows);
}

std::string table_remarks(const std::vector<ScalingRow>& rows) {
  return bases(rows) + reasons(rows);
}

std::string table_markdown(const std::vector<ScalingRow>& rows) {
  return markdown(table_cells(rows)) + table_remarks(rows);
}

std::string forecast_markdown(const std::vector<ScalingRow>& rows) {
  std::vector<Column> columns = point_columns(rows);
  append(columns, forecast_columns());
  return markdown(cells_of(columns, rows)) + reasons(rows);
}

}  // namespace penstock
