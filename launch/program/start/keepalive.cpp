// launch/program/start/keepalive.cpp -- see keepalive.h.
#include "launch/program/start/keepalive.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <sstream>

#include "runtime/system/files/proc.h"

namespace penstock {
namespace {

struct Setting {
  const char* name;
  double by_default;  // the default in Open MPI 4
  int better;
};
constexpr std::array<Setting, 3> kSettings = {{{"oob_tcp_keepalive_time", 300, 5},
                                               {"oob_tcp_keepalive_intvl", 20, 2},
                                               {"oob_tcp_keepalive_probes", 9, 3}}};

std::string trimmed(const std::string& text) {
  const size_t begin = text.find_first_not_of(" \t\r");
  if (begin == std::string::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r") - begin + 1);
}

double setting_of(const Setting& setting, const Parameters& parameters) {
  const auto found = parameters.find(setting.name);
  if (found == parameters.end()) return setting.by_default;
  return std::max(0.0, std::atof(found->second.c_str()));
}

}  // namespace

Parameters read_parameters(const std::string& text) {
  Parameters parameters;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    line.resize(std::min(line.find('#'), line.size()));
    const size_t equals = line.find('=');
    if (equals == std::string::npos) continue;
    parameters[trimmed(line.substr(0, equals))] = trimmed(line.substr(equals + 1));
  }
  return parameters;
}

Parameters parameters_here(const Environment& environment) {
  Parameters all;
  const char* home = environment("HOME");
  const std::string own = home == nullptr ? "" : std::string(home) + "/.openmpi/mca-params.conf";
  for (const std::string& path : {std::string("/etc/openmpi/openmpi-mca-params.conf"), own}) {
    for (auto& [name, value] : read_parameters(system_text(path))) all[name] = value;
  }
  for (const Setting& setting : kSettings) {
    const std::string name = std::string("OMPI_MCA_") + setting.name;
    if (const char* value = environment(name.c_str())) all[setting.name] = value;
  }
  return all;
}

double seconds_to_notice(const Parameters& parameters) {
  const auto& [time, interval, probes] = kSettings;
  return setting_of(time, parameters) +
         setting_of(interval, parameters) * setting_of(probes, parameters);
}

std::string keepalive_note(int hosts, const std::string& started_by, const std::string& library,
                           const Parameters& parameters) {
  constexpr double kSoonEnough = 60.0;
  const bool asks = library.starts_with("Open MPI v4") || library.starts_with("Open MPI v3");
  const double seconds = seconds_to_notice(parameters);
  if (hosts < 2 || started_by != "mpirun" || !asks || seconds <= kSoonEnough) return {};
  std::string settings;
  for (const Setting& setting : kSettings) {
    settings += fmt::format(" OMPI_MCA_{}={}", setting.name, setting.better);
  }
  return fmt::format(
      "note: a host that is lost without a word would be noticed after {:.0f} s; for 10 s, set "
      "before mpirun:{}",
      seconds, settings);
}

}  // namespace penstock
