#include "launch/program/sweep/file/plot_section.h"

#include "kernels/error.h"
#include "kernels/suggest.h"
#include "launch/program/sweep/file/section_key.h"

namespace penstock {
namespace {

// Sets the full name of a key of the run file, or "ranks".
bool set_key(const toml::node& node, std::string& to) {
  std::string written;
  if (!set_text(node, written)) return false;
  const Option* option = option_written(written);
  if (option == nullptr && written != "ranks") {
    std::vector<std::string> known = {"ranks"};
    for (const Option& one : option_table()) known.push_back(one.name());
    fail_input("there is no key '" + written + "'" + did_you_mean(written, known));
  }
  to = option == nullptr ? written : option->name();
  return true;
}

bool set_flag(const toml::node& node, std::optional<bool>& to) {
  to = node.value_exact<bool>();
  return to.has_value();
}

bool set_bars(const toml::node& node, ErrorBars& to) {
  for (const ErrorBars bars : {ErrorBars::Quartiles, ErrorBars::Deviation, ErrorBars::None}) {
    if (node.value_or(std::string()) != word_of(bars)) continue;
    to = bars;
    return true;
  }
  return false;
}

constexpr SectionKey kPlotKeys[] = {
    {"x", "\"ranks\" or a key of the run file",
     [](const auto& n, auto& to) { return set_key(n, to.plot.x); }},
    {"series", "\"ranks\" or a key of the run file",
     [](const auto& n, auto& to) { return set_key(n, to.plot.series); }},
    {"log_x", "true or false", [](const auto& n, auto& to) { return set_flag(n, to.plot.log_x); }},
    {"log_y", "true or false", [](const auto& n, auto& to) { return set_flag(n, to.plot.log_y); }},
    {"bars", "\"quartiles\", \"deviation\" or \"none\"",
     [](const auto& n, auto& to) { return set_bars(n, to.plot.bars); }},
};

}  // namespace

void read_plot_section(const toml::table& table, const std::string& file, SweepFile& to) {
  read_section(table, "plot", kPlotKeys, "; keys of the run file are for [set] and [grid]", file,
               to);
}

}  // namespace penstock
