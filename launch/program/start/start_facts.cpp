// launch/program/start/start_facts.cpp -- see start_facts.h.
#include "launch/program/start/start_facts.h"

#include <fmt/format.h>
#include <oneapi/dnnl/dnnl.h>
#include <oneapi/dnnl/dnnl_debug.h>

#include <array>
#include <cstdlib>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>

#include "kernels/amount.h"
#include "kernels/cpu/processor/processor.h"
#include "kernels/error.h"
#include "launch/program/start/build_id.h"
#include "launch/program/start/rank_ranges.h"
#include "launch/program/start/start_record.h"
#include "runtime/system/files/json.h"

namespace penstock {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(StartFacts, host, program, kernels, arguments, conditions)

namespace {

// OpenMP, oneDNN and NVIDIA's libraries read these environment variables themselves.
constexpr std::array<const char*, 7> kVariables = {
    "OMP_DYNAMIC",          "OMP_THREAD_LIMIT",           "ONEDNN_MAX_CPU_ISA",
    "DNNL_MAX_CPU_ISA",     "ONEDNN_DEFAULT_FPMATH_MODE", "DNNL_DEFAULT_FPMATH_MODE",
    "NVIDIA_TF32_OVERRIDE",
};

constexpr const char* kLevel = "level of kernels";

using OneFact = std::function<std::string(const StartFacts&)>;

// Holds the first value of a fact that differs from rank 0's, and all ranks that have that value.
struct Difference {
  std::vector<int> ranks;  // empty if there is no difference
  std::string here;        // the value of rank 0
  std::string there;       // the value of `ranks`
};
Difference difference_in(std::span<const StartFacts> all, const OneFact& fact) {
  Difference found;
  if (all.empty()) return found;
  found.here = fact(all.front());
  for (size_t rank = 1; rank < all.size(); ++rank) {
    std::string one = fact(all[rank]);
    if (one == found.here || (!found.ranks.empty() && one != found.there)) continue;
    found.there = std::move(one);
    found.ranks.push_back(static_cast<int>(rank));
  }
  return found;
}

// Returns the ranks with their host as text, for example "ranks 4-7 (host n2)".
std::string names_of(const std::vector<int>& ranks, std::span<const StartFacts> all) {
  std::set<std::string> hosts;
  for (const int rank : ranks) hosts.insert(all[static_cast<size_t>(rank)].host);
  std::string text = ranks_text(ranks) + " (host " + *hosts.begin();
  if (hosts.size() > 1) text += " and " + amount_text(std::ssize(hosts) - 1, "other");
  return text + ")";
}

std::string level_of(const StartFacts& facts) {
  const auto level = facts.conditions.find(kLevel);
  return level == facts.conditions.end() ? "" : level->second;
}

std::string value_text(const std::string& value) {
  return value.empty() ? "not set" : "'" + value + "'";
}

}  // namespace

StartFacts own_start_facts(const Session& session) {
  StartFacts facts{.host = session.host(),
                   .program = build_id(),
                   .kernels = kernels_build_id(),
                   .arguments = session.arguments(),
                   .conditions = {}};
  for (const char* name : kVariables) {
    if (const char* value = std::getenv(name)) facts.conditions[name] = value;
  }
  facts.conditions["oneDNN's version"] = onednn_version();
  facts.conditions["instruction set"] = dnnl_cpu_isa2str(dnnl_get_effective_cpu_isa());
  facts.conditions[kLevel] = kernels_level();
  return facts;
}

std::string text_of(const StartFacts& facts) {
  return packed_json(facts);
}

StartFacts parse_start_facts(const std::string& text) {
  try {
    return unpacked_json(text).get<StartFacts>();
  } catch (const nlohmann::json::exception& error) {
    fail_internal("a rank's start facts cannot be read: " + std::string(error.what()));
  }
}

std::string mismatch_of_starts(std::span<const StartFacts> ranks) {
  const Difference program =
      difference_in(ranks, [](const StartFacts& one) { return one.program; });
  if (!program.ranks.empty()) {
    return fmt::format(
        "{} {} another build of the program (build id {}) than rank 0 (host {}, {}): put one file "
        "on all hosts, and start it by its full path",
        names_of(program.ranks, ranks), program.ranks.size() == 1 ? "runs" : "run",
        value_text(program.there), ranks.front().host, value_text(program.here));
  }
  // The kernels of another level are in another file of the same build. A difference between levels
  // is right, so only kernels of rank 0's level are compared here. conditions_note() reports other
  // levels.
  const auto kernels_of_level = [&ranks](const StartFacts& one) {
    return level_of(one) == level_of(ranks.front()) ? one.kernels : ranks.front().kernels;
  };
  const Difference kernels = difference_in(ranks, kernels_of_level);
  if (!kernels.ranks.empty()) {
    return fmt::format(
        "{} {} another build of libpenstock_kernels.so (build id {}) than rank 0 (host {}, {}): "
        "put one installation on all hosts, and no other into LD_LIBRARY_PATH",
        names_of(kernels.ranks, ranks), kernels.ranks.size() == 1 ? "runs" : "run",
        value_text(kernels.there), ranks.front().host, value_text(kernels.here));
  }
  const Difference words =
      difference_in(ranks, [](const StartFacts& one) { return one.arguments; });
  if (words.ranks.empty()) return {};
  return fmt::format(
      "{} {} started with other arguments than rank 0: {} there, {} here; a run has one run file "
      "and one set of options, the same for all ranks",
      names_of(words.ranks, ranks), words.ranks.size() == 1 ? "was" : "were",
      value_text(words.there), value_text(words.here));
}

std::string conditions_note(std::span<const StartFacts> ranks) {
  std::set<std::string> names;
  for (const StartFacts& rank : ranks) {
    for (const auto& [name, value] : rank.conditions) names.insert(name);
  }
  std::string text;
  for (const std::string& name : names) {
    const Difference found = difference_in(ranks, [&name](const StartFacts& one) {
      const auto value = one.conditions.find(name);
      return value == one.conditions.end() ? std::string() : value->second;
    });
    if (found.ranks.empty()) continue;
    text +=
        fmt::format("{}{} is {} on {} and {} on rank 0", text.empty() ? "" : "; ", name,
                    value_text(found.there), names_of(found.ranks, ranks), value_text(found.here));
  }
  if (text.empty()) return {};
  return "note: " + text +
         ": the last bits of the weights may be others than where all ranks are alike";
}

int count_hosts(std::span<const StartFacts> ranks) {
  std::set<std::string> hosts;
  for (const StartFacts& rank : ranks) hosts.insert(rank.host);
  return static_cast<int>(hosts.size());
}

}  // namespace penstock
