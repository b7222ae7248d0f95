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

std::vector<std::string> local_words(const SweepFile& sweep, const PointRun& run,
                                     const PointStart& start) {
  std::vector<std::string> words = run_words(sweep.launcher, sweep, run);
  for (const std::string& word :
       {start.program, std::string("train"), start.directory + "/" + kPointFile,
        std::string("--out"), start.directory, std::string("--resume"), std::string("auto")}) {
    words.push_back(word);
  }
  return words;
}

std::string job_script(const std::string& script, const PointRun& run, const PointStart& start) {
  const std::string words =
      fmt::format("{}/{} --out {}", start.directory, kPointFile, start.directory);
  // The script is a shell's, and takes the words apart at its blanks.
  constexpr const char* kOfShells = " \t\n'\"\\`$&;|<>()*?[{";
  for (const std::string& path : {start.directory, start.program, start.scripts}) {
    if (path.find_first_of(kOfShells) == std::string::npos) continue;
    fail_input(path +
               ": in a batch sweep the paths of sweep.out, of the program and of sweep.script are "
               "without blanks, quotes and other signs that mean something to a shell");
  }
  // The head, with what the batch system reads, is all that is comment.
  std::istringstream lines(script);
  std::string head;
  std::string rest;
  for (std::string line; std::getline(lines, line);) {
    const bool is_head = rest.empty() && (line.starts_with('#') || line.empty());
    (is_head ? head : rest) += line + "\n";
  }
  if (!head.starts_with("#!") || rest.empty()) {
    fail_input("sweep.script: a script begins with #! and has more than comments");
  }
  return head +
         fmt::format(
             "# Written by penstock sweep: the run {0}.\n"
             "export RUN='{1}' PENSTOCK='{2}' PENSTOCK_SCRIPT='{3}/{4}' PENSTOCK_RANKS={5} "
             "PENSTOCK_BATCH='{6}'\n"
             "set -- {1}\n",
             run.name(), words, start.program, start.directory, kJobScript, run.point.sizes.ranks(),
             start.scripts) +
         rest;
}

}  // namespace penstock
