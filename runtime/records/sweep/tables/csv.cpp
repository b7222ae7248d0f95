#include "runtime/records/sweep/tables/csv.h"

#include <fmt/format.h>

#include <boost/algorithm/string/replace.hpp>
#include <functional>

#include "kernels/joined.h"
#include "runtime/records/sweep/repeats.h"
#include "runtime/records/sweep/tables/keys.h"

namespace penstock {
namespace {

// A line: a point, or one of its runs.
struct CsvRow {
  const ScalingRow& row;
  const Outcome& outcome;  // of the point, or of the run
  int repeat = 0;          // 0: a point
};

struct CsvColumn {
  std::string name;
  std::function<std::string(const CsvRow&)> cell;
};

template <class Value>
std::string known_text(const std::optional<Value>& value) {
  return value ? fmt::format("{}", *value) : "";
}

std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
  return '"' + boost::replace_all_copy(text, "\"", "\"\"") + '"';
}

// A column of a number that the struct at `Part` of the line has, where that is known.
template <class Value>
CsvColumn planned_column(const std::string& name, Value PointForecast::*member, double times = 1) {
  return {name, [member, times](const CsvRow& line) {
            const auto& plan = line.row.point.planned;
            return plan ? fmt::format("{}", times * static_cast<double>((*plan).*member)) : "";
          }};
}

template <class Value>
CsvColumn timed_column(const std::string& name, Value StepTimes::*member) {
  return {name, [member](const CsvRow& line) {
            const auto& times = line.outcome.step_ms;
            return times ? fmt::format("{}", (*times).*member) : "";
          }};
}

template <class Value>
CsvColumn size_column(const std::string& name, Value PointSizes::*member) {
  return {name,
          [member](const auto& line) { return fmt::format("{}", line.row.point.sizes.*member); }};
}

// A column of a number of the row, which all runs of a point share.
CsvColumn row_column(const std::string& name, std::optional<double> ScalingRow::*member) {
  return {name, [member](const CsvRow& line) { return known_text(line.row.*member); }};
}

void add_columns(std::vector<CsvColumn>& columns, const std::vector<CsvColumn>& more) {
  columns.insert(columns.end(), more.begin(), more.end());
}

// What a point is, and what is planned of it.
std::vector<CsvColumn> settled_columns(const std::vector<ScalingRow>& rows) {
  std::vector<CsvColumn> columns = {
      {"point", [](const auto& line) { return line.row.point.name; }},
      size_column("stages", &PointSizes::stages),
      size_column("replicas", &PointSizes::replicas),
      size_column("chunks", &PointSizes::chunks),
      size_column("micro_batches", &PointSizes::micro_batches),
      size_column("micro_batch_size", &PointSizes::micro_batch_size),
      {"schedule", [](const auto& line) { return line.row.point.schedule; }},
      {"recompute", [](const auto& line) { return line.row.point.recompute; }}};
  for (const std::string& name : other_keys(rows)) {
    columns.push_back({name, [name](const auto& line) { return value_of(line.row.point, name); }});
  }
  add_columns(
      columns,
      {{"ranks", [](const auto& line) { return fmt::format("{}", line.row.point.sizes.ranks()); }},
       {"group", [](const auto& line) { return line.row.point.group; }},
       planned_column("planned_step_ms", &PointForecast::step_s, 1e3),
       row_column("planned_samples_per_s", &ScalingRow::planned_samples_per_s),
       planned_column("planned_bubble", &PointForecast::bubble),
       planned_column("planned_peak_bytes", &PointForecast::peak_bytes)});
  return columns;
}

std::vector<CsvColumn> state_columns() {
  return {{"state", [](const auto& line) { return word_of(line.outcome.state); }},
          {"reason", [](const auto& line) { return line.outcome.reason; }},
          {"steps", [](const auto& line) { return fmt::format("{}", line.outcome.steps); }}};
}

CsvColumn loss_column() {
  return {"loss", [](const auto& line) { return known_text(line.outcome.loss); }};
}

std::vector<CsvColumn> rate_columns() {
  return {timed_column("step_ms", &StepTimes::median),
          timed_column("step_ms_p25", &StepTimes::lower),
          timed_column("step_ms_p75", &StepTimes::upper),
          timed_column("step_ms_mean", &StepTimes::mean),
          timed_column("step_ms_deviation", &StepTimes::deviation),
          timed_column("steady_steps", &StepTimes::count),
          {"samples_per_s",
           [](const CsvRow& line) {
             const auto samples = static_cast<double>(line.row.point.sizes.mini_batch());
             return known_text(rate_of(samples, line.outcome));
           }},
          {"tokens_per_s", [](const CsvRow& line) {
             return known_text(rate_of(line.outcome.tokens, line.outcome));
           }}};
}

std::vector<CsvColumn> rank_columns() {
  return {{"bubble", [](const auto& line) { return known_text(line.outcome.bubble); }},
          {"peak_bytes", [](const auto& line) { return known_text(line.outcome.peak_bytes); }}};
}

std::string csv(const std::vector<CsvColumn>& columns, const std::vector<CsvRow>& lines) {
  std::string text = joined(columns, ",", &CsvColumn::name) + "\n";
  for (const CsvRow& line : lines) {
    const auto field = [&line](const CsvColumn& column) { return csv_field(column.cell(line)); };
    text += joined(columns, ",", field) + "\n";
  }
  return text;
}

}  // namespace

std::string table_csv(const std::vector<ScalingRow>& rows) {
  std::vector<CsvColumn> columns = settled_columns(rows);
  add_columns(columns, state_columns());
  add_columns(
      columns,
      {{"runs", [](const auto& line) { return fmt::format("{}", finished_of(line.row.runs)); }},
       {"loss_deviation", [](const auto& line) { return known_text(line.outcome.loss_deviation); }},
       loss_column()});
  add_columns(columns, rate_columns());
  add_columns(columns, {row_column("speed_up", &ScalingRow::speed_up),
                        row_column("efficiency", &ScalingRow::efficiency),
                        row_column("of_plan", &ScalingRow::of_plan)});
  add_columns(columns, rank_columns());
  columns.push_back({"base", [](const auto& line) { return line.row.base; }});
  std::vector<CsvRow> lines;
  lines.reserve(rows.size());
  for (const ScalingRow& row : rows) lines.push_back({.row = row, .outcome = row.outcome});
  return csv(columns, lines);
}

std::string runs_csv(const SweepRecord& record, const std::vector<ScalingRow>& rows) {
  std::vector<CsvColumn> columns = {
      {"run", [](const CsvRow& line) { return run_name(line.row.point, line.repeat); }},
      {"repeat", [](const CsvRow& line) { return fmt::format("{}", line.repeat); }},
      {"seed", [&record](const CsvRow& line) {
         return fmt::format("{}", seed_of(record, line.row.point, line.repeat));
       }}};
  add_columns(columns, settled_columns(rows));
  add_columns(columns, state_columns());
  columns.push_back(loss_column());
  add_columns(columns, rate_columns());
  add_columns(columns, rank_columns());
  std::vector<CsvRow> lines;
  for (const ScalingRow& row : rows) {
    for (size_t i = 0; i < row.runs.size(); ++i) {
      lines.push_back({.row = row, .outcome = row.runs[i], .repeat = static_cast<int>(i) + 1});
    }
  }
  return csv(columns, lines);
}

}  // namespace penstock
