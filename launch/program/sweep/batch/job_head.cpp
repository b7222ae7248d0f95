#include "launch/program/sweep/batch/job_head.h"

#include <fmt/format.h>

#include <cmath>
#include <regex>
#include <sstream>
#include <utility>
#include <vector>

namespace penstock {
namespace {

// Lines of a head, each with the pattern of the lines that it takes the place of.
using NewLines = std::vector<std::pair<std::string, std::string>>;

struct BatchSystem {
  const char* mark;  // what its lines begin with
  const char* submit;
  NewLines (*lines)(const std::string& head, const JobSize& size);
};

// The first group of the pattern in the text; empty: it is not there.
std::string found_in(const std::string& text, const char* pattern) {
  std::smatch match;
  return std::regex_search(text, match, std::regex(pattern, std::regex::multiline)) ? match[1].str()
                                                                                    : "";
}

std::string clock_text(double seconds) {
  const auto all = std::llround(std::ceil(seconds));
  return fmt::format("{}:{:02}:{:02}", all / 3600, all / 60 % 60, all % 60);
}

NewLines slurm_lines(const std::string& /*head*/, const JobSize& size) {
  NewLines lines = {{"(--nodes|-N)\\b", fmt::format("--nodes={}", size.nodes)},
                    {"(--ntasks-per-node|--ntasks|-n)\\b",
                     fmt::format("--ntasks-per-node={}", size.ranks_per_node)}};
  if (size.gpus_per_node > 0) {
    lines.emplace_back("(--gpus-per-node|--gpus|--gres)\\b",
                       fmt::format("--gpus-per-node={}", size.gpus_per_node));
  }
  if (size.time_s > 0) lines.emplace_back("(--time|-t)\\b", "--time=" + clock_text(size.time_s));
  return lines;
}

// PBS Pro, or Torque where the head asks for `ppn`.
NewLines pbs_lines(const std::string& head, const JobSize& size) {
  const bool is_torque = !found_in(head, "^#PBS .*(ppn)=").empty();
  const std::string cores = found_in(head, "^#PBS .*ncpus=(\\d+)");
  std::string nodes = fmt::format("-l select={}", size.nodes);
  if (!cores.empty()) nodes += ":ncpus=" + cores;
  nodes += fmt::format(":mpiprocs={}", size.ranks_per_node);
  if (is_torque) nodes = fmt::format("-l nodes={}:ppn={}", size.nodes, size.ranks_per_node);
  if (size.gpus_per_node > 0) {
    nodes += fmt::format(":{}={}", is_torque ? "gpus" : "ngpus", size.gpus_per_node);
  }
  NewLines lines = {{"-l *(select|nodes)=", nodes}};
  if (size.time_s > 0)
    lines.emplace_back("-l *walltime=", "-l walltime=" + clock_text(size.time_s));
  return lines;
}

NewLines lsf_lines(const std::string& head, const JobSize& size) {
  const std::string spread = fmt::format("span[ptile={}]", size.ranks_per_node);
  const std::string cores = found_in(head, "^#BSUB .*(affinity\\[[^\"]*\\])");
  NewLines lines = {
      {"-n\\b", fmt::format("-n {}", size.nodes * size.ranks_per_node)},
      {"-R .*ptile", fmt::format("-R \"{}{}\"", spread, cores.empty() ? "" : " " + cores)}};
  if (size.gpus_per_node > 0) {
    lines.emplace_back("-gpu\\b", fmt::format("-gpu \"num={}:mode=shared\"", size.gpus_per_node));
  }
  if (size.time_s > 0) {
    const auto minutes = std::llround(std::ceil(size.time_s / 60));
    lines.emplace_back("-W\\b", fmt::format("-W {}:{:02}", minutes / 60, minutes % 60));
  }
  return lines;
}

NewLines flux_lines(const std::string& /*head*/, const JobSize& size) {
  NewLines lines = {{"(--nodes|-N)\\b", fmt::format("--nodes={}", size.nodes)}};
  if (size.gpus_per_node > 0) {
    lines.emplace_back("--nslots\\b", fmt::format("--nslots={}", size.nodes));
    lines.emplace_back("--gpus-per-slot\\b", fmt::format("--gpus-per-slot={}", size.gpus_per_node));
  }
  if (size.time_s > 0) {
    lines.emplace_back("(--time-limit|-t)\\b",
                       fmt::format("--time-limit={}s", std::llround(std::ceil(size.time_s))));
  }
  return lines;
}

constexpr BatchSystem kSystems[] = {{"#SBATCH ", "sbatch ", slurm_lines},
                                    {"#PBS ", "qsub ", pbs_lines},
                                    {"#BSUB ", "bsub <", lsf_lines},
                                    {"#FLUX: ", "flux batch ", flux_lines}};

const BatchSystem* system_of(const std::string& head) {
  for (const BatchSystem& system : kSystems) {
    if (("\n" + head).find(std::string("\n") + system.mark) != std::string::npos) return &system;
  }
  return nullptr;
}

}  // namespace

std::string job_head(const std::string& head, const JobSize& size) {
  const BatchSystem* system = system_of(head);
  if (system == nullptr) return head;
  const NewLines lines = system->lines(head, size);
  std::string replaced = "^" + std::string(system->mark) + " *(";
  for (const auto& [pattern, line] : lines)
    replaced += (&pattern == &lines[0].first ? "" : "|") + pattern;
  const std::regex is_replaced(replaced + ")");
  std::string text;
  std::istringstream old(head);
  for (std::string line; std::getline(old, line);) {
    if (!std::regex_search(line, is_replaced)) text += line + "\n";
  }
  for (const auto& [pattern, line] : lines) text += system->mark + line + "\n";
  return text;
}

std::string submit_line(const std::string& head, const std::string& path) {
  const BatchSystem* system = system_of(head);
  return system == nullptr ? path : system->submit + path;
}

}  // namespace penstock
