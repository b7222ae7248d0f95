#include "runtime/records/sweep/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/algorithm/string/replace.hpp>
#include <functional>
#include <set>

#include "kernels/joined.h"
#include "runtime/records/telemetry/units.h"

namespace penstock {
namespace {

using Cell = std::function<std::string(const ScalingRow&)>;
struct Column {
  const char* name;
  Cell cell;
};

template <class Value>
std::string known(const std::optional<Value>& value) {
  return value ? fmt::format("{}", *value) : "";
}

// ---- CSV

std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
  return '"' + boost::replace_all_copy(text, "\"", "\"\"") + '"';
}

template <class Field>
std::string planned(const ScalingRow& row, Field field) {
  return row.point.planned ? fmt::format("{}", field(*row.point.planned)) : "";
}

template <class Field>
std::string timed(const ScalingRow& row, Field field) {
  return row.outcome.step_ms ? fmt::format("{}", field(*row.outcome.step_ms)) : "";
}

std::vector<Column> settled_columns() {
  const auto size = [](auto member) {
    return [member](const ScalingRow& row) { return fmt::format("{}", row.point.sizes.*member); };
  };
  using F = PointForecast;
  return {
      {"point", [](const auto& row) { return row.point.name; }},
      {"stages", size(&PointSizes::stages)},
      {"replicas", size(&PointSizes::replicas)},
      {"chunks", size(&PointSizes::chunks)},
      {"micro_batches", size(&PointSizes::micro_batches)},
      {"micro_batch_size", size(&PointSizes::micro_batch_size)},
      {"schedule", [](const auto& row) { return row.point.schedule; }},
      {"recompute", [](const auto& row) { return row.point.recompute; }},
      {"ranks", [](const auto& row) { return fmt::format("{}", row.point.sizes.ranks()); }},
      {"group", [](const auto& row) { return row.point.group; }},
      {"planned_step_ms",
       [](const auto& row) { return planned(row, [](const F& f) { return 1e3 * f.step_s; }); }},
      {"planned_samples_per_s", [](const auto& row) { return known(row.planned_samples_per_s); }},
      {"planned_bubble",
       [](const auto& row) { return planned(row, [](const F& f) { return f.bubble; }); }},
      {"planned_peak_bytes",
       [](const auto& row) { return planned(row, [](const F& f) { return f.peak_bytes; }); }},
      {"state", [](const auto& row) { return word_of(row.outcome.state); }},
      {"reason", [](const auto& row) { return row.outcome.reason; }},
      {"steps", [](const auto& row) { return fmt::format("{}", row.outcome.steps); }},
      {"loss", [](const auto& row) { return known(row.outcome.loss); }},
  };
}

std::vector<Column> measured_columns() {
  using T = StepTimes;
  return {
      {"step_ms", [](const auto& row) { return timed(row, [](const T& t) { return t.median; }); }},
      {"step_ms_p25",
       [](const auto& row) { return timed(row, [](const T& t) { return t.lower; }); }},
      {"step_ms_p75",
       [](const auto& row) { return timed(row, [](const T& t) { return t.upper; }); }},
      {"steady_steps",
       [](const auto& row) { return timed(row, [](const T& t) { return t.count; }); }},
      {"samples_per_s", [](const auto& row) { return known(row.samples_per_s); }},
      {"tokens_per_s", [](const auto& row) { return known(row.outcome.tokens_per_s); }},
      {"speed_up", [](const auto& row) { return known(row.speed_up); }},
      {"efficiency", [](const auto& row) { return known(row.efficiency); }},
      {"of_plan", [](const auto& row) { return known(row.of_plan); }},
      {"bubble", [](const auto& row) { return known(row.outcome.bubble); }},
      {"peak_bytes", [](const auto& row) { return known(row.outcome.peak_bytes); }},
      {"base", [](const auto& row) { return row.base; }},
  };
}

// ---- Markdown

constexpr const char* kUnknown = "-";

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

std::string bubble_cell(const ScalingRow& row) {
  const auto& plan = row.point.planned;
  return percent(row.outcome.bubble) + ", " + (plan ? percent(plan->bubble) : kUnknown);
}

std::string peak_cell(const ScalingRow& row) {
  const auto& plan = row.point.planned;
  return bytes(row.outcome.peak_bytes) + ", " + (plan ? bytes(plan->peak_bytes) : kUnknown);
}

std::string state_cell(const ScalingRow& row) {
  const bool part = row.outcome.state != PointState::Finished && row.outcome.steps > 0;
  return word_of(row.outcome.state) +
         (part ? fmt::format(", step {} of {}", row.outcome.steps, row.point.steps) : "");
}

std::vector<Column> point_columns() {
  return {
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
}

std::vector<Column> result_columns(bool has_tokens) {
  std::vector<Column> columns = {
      {"step, ms (quartiles)", step_cell},
      {"samples/s", [](const auto& row) { return plain(row.samples_per_s); }},
      {"tokens/s", [](const auto& row) { return plain(row.outcome.tokens_per_s); }},
      {"speed-up", [](const auto& row) { return plain(row.speed_up); }},
      {"of ideal", [](const auto& row) { return percent(row.efficiency); }},
      {"of plan", [](const auto& row) { return percent(row.of_plan); }},
      {"bubble, planned", bubble_cell},
      {"peak a rank, planned", peak_cell},
      {"loss", [](const auto& row) { return plain(row.outcome.loss); }},
      {"state", state_cell},
  };
  if (!has_tokens) columns.erase(columns.begin() + 2);
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

std::string markdown(const std::vector<Column>& columns, const std::vector<ScalingRow>& rows) {
  std::vector<std::string> lines(rows.size() + 2);
  for (const Column& column : columns) {
    std::vector<std::string> cells = {column.name};
    for (const ScalingRow& row : rows) cells.push_back(without_bars(column.cell(row)));
    size_t width = 3;
    for (const std::string& cell : cells) width = std::max(width, cell.size());
    lines[0] += fmt::format("| {:{}} ", cells[0], width);
    lines[1] += "|" + std::string(width + 2, '-');
    for (size_t i = 1; i < cells.size(); ++i)
      lines[i + 1] += fmt::format("| {:{}} ", cells[i], width);
  }
  std::string text;
  for (const std::string& line : lines) text += line + "|\n";
  return text;
}

std::string reasons(const std::vector<ScalingRow>& rows) {
  std::string text;
  for (const ScalingRow& row : rows) {
    if (row.outcome.reason.empty()) continue;
    text += fmt::format("- {} {}: {}\n", row.point.name, word_of(row.outcome.state),
                        row.outcome.reason);
  }
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

void append(std::vector<Column>& columns, std::vector<Column> more) {
  columns.insert(columns.end(), more.begin(), more.end());
}

}  // namespace

std::string table_csv(const std::vector<ScalingRow>& rows) {
  std::vector<Column> columns = settled_columns();
  append(columns, measured_columns());
  std::string text = joined(columns, ",", &Column::name) + "\n";
  for (const ScalingRow& row : rows) {
    const auto field = [&row](const Column& column) { return csv_field(column.cell(row)); };
    text += joined(columns, ",", field) + "\n";
  }
  return text;
}

std::string table_markdown(const std::vector<ScalingRow>& rows) {
  const bool has_tokens = std::any_of(rows.begin(), rows.end(), [](const ScalingRow& row) {
    return row.outcome.tokens_per_s.has_value();
  });
  std::vector<Column> columns = point_columns();
  append(columns, result_columns(has_tokens));
  return markdown(columns, rows) + bases(rows) + reasons(rows);
}

std::string forecast_markdown(const std::vector<ScalingRow>& rows) {
  std::vector<Column> columns = point_columns();
  append(columns, forecast_columns());
  return markdown(columns, rows) + reasons(rows);
}

}  // namespace penstock
