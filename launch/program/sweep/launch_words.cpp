#include "launch/program/sweep/launch_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/algorithm/string/replace.hpp>
#include <filesystem>
#include <sstream>

#include "kernels/error.h"

namespace penstock {

std::string this_program() {
  return std::filesystem::read_symlink("/proc/self/exe").string();
}

std::optional<PointNodes> nodes_of(const SweepFile& sweep, const SweepPoint& point) {
  const int ranks = point.sizes.ranks();
  if (sweep.ranks_per_node == 0) return PointNodes{.nodes = 1, .ranks_per_node = ranks};
  const int nodes = (ranks + sweep.ranks_per_node - 1) / sweep.ranks_per_node;
  if (ranks % nodes != 0) return std::nullopt;
  return PointNodes{.nodes = nodes, .ranks_per_node = ranks / nodes};
}

std::vector<std::string> run_words(const std::string& command, const SweepFile& sweep,
                                   const PointRun& run) {
  const PointNodes nodes = nodes_of(sweep, run.point).value_or(PointNodes{});
  const std::pair<std::string, std::string> places[] = {
      {"{ranks}", std::to_string(run.point.sizes.ranks())},
      {"{nodes}", std::to_string(nodes.nodes)},
      {"{ranks_per_node}", std::to_string(nodes.ranks_per_node)},
      {"{name}", run.name()}};
  std::vector<std::string> words;
  std::istringstream stream(command);
  for (std::string word; stream >> word;) {
    for (const auto& [place, value] : places) boost::replace_all(word, place, value);
    if (word.find('{') != std::string::npos) {
      fail_input(
          fmt::format("{}: '{}' of '{}' means nothing here: there are {{ranks}}, {{nodes}}, "
                      "{{ranks_per_node}} and {{name}}",
                      sweep.path.string(), word, command));
    }
    words.push_back(word);
  }
  if (words.empty() && !command.empty()) {
    fail_input(sweep.path.string() + ": a command of nothing but blanks starts nothing");
  }
  // A lone `<` at the end (`bsub <`) makes the job script the command's input, which the sweep sees
  // to. Any other `<` would need a shell, and none reads these words.
  for (size_t i = 0; i < words.size(); ++i) {
    if (words[i].front() != '<' || (words[i] == "<" && i > 0 && i + 1 == words.size())) continue;
    fail_input(
        fmt::format("{}: '{}' in '{}' names no input: a `<` is the last word of sweep.submit, "
                    "after the command, "
                    "and the job script of the point is its input",
                    sweep.path.string(), words[i], command));
  }
  return words;
}

std::vector<std::string> extra_words(const SweepFile& sweep) {
  if (sweep.dry_run) return {"--dry-run"};
  return {};
}

std::vector<std::string> local_words(const SweepFile& sweep, const PointRun& run,
                                     const PointStart& start) {
  std::vector<std::string> words = run_words(sweep.launcher, sweep, run);
  for (const std::string& word :
       {start.program, std::string("train"), start.directory + "/" + kPointFile,
        std::string("--out"), start.directory, std::string("--resume"), std::string("auto")}) {
    words.push_back(word);
  }
  words.insert(words.end(), start.more.begin(), start.more.end());
  return words;
}

}  // namespace penstock
