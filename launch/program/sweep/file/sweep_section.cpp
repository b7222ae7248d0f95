#include "launch/program/sweep/file/sweep_section.h"

#include <fmt/format.h>

#include <limits>

#include "kernels/device_model.h"
#include "kernels/error.h"
#include "launch/program/options/layer_list.h"
#include "launch/program/options/parse_bytes.h"
#include "launch/program/stopping/time_limit.h"
#include "launch/program/sweep/file/section_key.h"

namespace penstock {
namespace {

namespace fs = std::filesystem;

template <class Integer>
bool set_count(const toml::node& node, Integer least, Integer& to) {
  const auto* count = node.as_integer();
  if (count == nullptr || count->get() < least ||
      count->get() > std::numeric_limits<Integer>::max()) {
    return false;
  }
  to = static_cast<Integer>(count->get());
  return true;
}

bool set_ranks(const toml::node& node, std::vector<int>& to) {
  const toml::array* list = node.as_array();
  if (list == nullptr) {
    to.resize(1);
    return set_count(node, 1, to[0]);
  }
  to.resize(list->size());
  for (size_t i = 0; i < to.size(); ++i) {
    if (!set_count(*list->get(i), 1, to[i])) return false;
  }
  return !to.empty();
}

bool set_word(const toml::node& node, const char* yes, const char* no, bool& to) {
  const auto* word = node.as_string();
  if (word == nullptr || (word->get() != yes && word->get() != no)) return false;
  to = word->get() == yes;
  return true;
}

bool set_scaling(const toml::node& node, Scaling& to) {
  for (const Scaling known : {Scaling::Strong, Scaling::Weak, Scaling::AsGiven}) {
    if (node.value_or(std::string()) != word_of(known)) continue;
    to = known;
    return true;
  }
  return false;
}

constexpr SectionKey kSweepKeys[] = {
    {"run", "the path of a run file", [](const auto& n, auto& to) { return set_text(n, to.run); }},
    {"out", "the path of a directory", [](const auto& n, auto& to) { return set_text(n, to.out); }},
    {"mode", "\"local\" or \"batch\"",
     [](const auto& n, auto& to) { return set_word(n, "batch", "local", to.batch); }},
    {"scaling", "\"strong\", \"weak\" or \"as-given\"",
     [](const auto& n, auto& to) { return set_scaling(n, to.scaling); }},
    {"mini_batch", "an integer >= 1",
     [](const auto& n, auto& to) { return set_count(n, int64_t{1}, to.mini_batch); }},
    {"repeats", "an integer from 1 to 1000",
     [](const auto& n, auto& to) { return set_count(n, 1, to.repeats) && to.repeats <= 1000; }},
    {"seeds", "\"fixed\" or \"varied\"",
     [](const auto& n, auto& to) { return set_word(n, "varied", "fixed", to.varies_seed); }},
    {"ranks", "an integer >= 1 or a list of them",
     [](const auto& n, auto& to) { return set_ranks(n, to.ranks); }},
    {"launcher", "a command, like \"mpirun -n {ranks}\"",
     [](const auto& n, auto& to) { return set_text(n, to.launcher); }},
    {"script", "the path of a job script",
     [](const auto& n, auto& to) { return set_text(n, to.script); }},
    {"submit", "a command, like \"sbatch --ntasks {ranks}\"",
     [](const auto& n, auto& to) { return set_text(n, to.submit); }},
    {"ranks_per_node", "an integer >= 1",
     [](const auto& n, auto& to) { return set_count(n, 1, to.ranks_per_node); }},
    {"gpus_per_node", "an integer >= 1",
     [](const auto& n, auto& to) { return set_count(n, 1, to.gpus_per_node); }},
    {"walltime", "a text, like \"1:30:00\" (hours, minutes, seconds)",
     [](const auto& n, auto& to) {
       std::string text;
       const auto time = set_text(n, text) ? parse_time_limit(text) : std::nullopt;
       to.walltime_s = time ? time->count() : 0;
       return to.walltime_s > 0;
     }},
    {"device_model", "the name of a device, see penstock plan --help",
     [](const auto& n, auto& to) {
       if (!set_text(n, to.device)) return false;
       (void)device_model_named(to.device);
       return true;
     }},
    {"device_memory", "a text, like \"80GiB\"",
     [](const auto& n, auto& to) {
       if (!set_text(n, to.memory)) return false;
       (void)parse_bytes(to.memory);
       return true;
     }},
    {"warmup", "an integer >= 0",
     [](const auto& n, auto& to) { return set_count(n, int64_t{0}, to.warmup); }},
    {"on_failure", "\"continue\" or \"stop\"",
     [](const auto& n, auto& to) { return set_word(n, "stop", "continue", to.stops_on_failure); }},
};

// Refuses keys of jobs in a sweep that starts its points here, and the other way round: a sweep
// that was meant for compute nodes would train on this one.
void refuse_unread(const toml::table& table, const std::string& file, bool batch) {
  constexpr const char* kOfJobs[] = {"script", "submit", "gpus_per_node", "walltime"};
  constexpr const char* kOfPoints[] = {"launcher", "on_failure"};
  const auto refuse = [&](std::span<const char* const> keys, const char* mode) {
    for (const char* const key : keys) {
      const toml::node* node = table.get(key);
      if (node == nullptr) continue;
      fail_input(
          fmt::format("{}: 'sweep.{}' is read only where sweep.mode is \"{}\": leave it out, "
                      "or set the mode",
                      place(file, node->source()), key, mode));
    }
  };
  if (batch) {
    refuse(kOfPoints, "local");
  } else {
    refuse(kOfJobs, "batch");
  }
}

// Finds a path beside the sweep file, or else in the working directory.
std::string found_beside(const std::string& file, const char* key, const std::string& path) {
  const fs::path beside = fs::absolute(file).parent_path() / path;
  const fs::path here = fs::absolute(path);
  std::error_code ignored;
  for (const fs::path& place : {beside, here}) {
    if (fs::exists(place, ignored)) return place.lexically_normal().string();
  }
  const std::string first = beside.lexically_normal().string();
  const std::string second = here.lexically_normal().string();
  const std::string tried = first == second ? fmt::format("no '{}'", first)
                                            : fmt::format("neither '{}' nor '{}'", first, second);
  fail_input(fmt::format("{}: 'sweep.{}' is '{}', but there is {}", file, key, path, tried));
}

}  // namespace

void read_sweep_section(const toml::table& table, const std::string& file, SweepFile& to) {
  read_section(table, "sweep", kSweepKeys, "; keys of the run file are for [set] and [grid]", file,
               to);
  refuse_unread(table, file, to.batch);
}

void settle_paths(const std::string& file, SweepFile& sweep) {
  if (sweep.run.empty()) {
    fail_input(
        fmt::format("{}: 'sweep.run' is not given: it names the run file that is varied", file));
  }
  sweep.run = found_beside(file, "run", sweep.run);
  if (sweep.out.empty()) sweep.out = "sweeps/" + fs::path(file).stem().string();
  if (sweep.batch && sweep.script.empty()) {
    fail_input(
        fmt::format("{}: 'sweep.script' is not given: for mode = \"batch\" it names the "
                    "script of the batch system, such as launch/batch/slurm.sh",
                    file));
  }
  if (sweep.batch) sweep.script = found_beside(file, "script", sweep.script);
}

}  // namespace penstock
