// launch/program/start/start_facts.h -- StartFacts: what a rank tells the others of its program and
// arguments, and the comparison of all ranks' facts: errors and notes. Ranks that are different
// programs would hang or, worse, train something. Pure, except own_start_facts().
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "runtime/system/comm/mpi/session.h"

namespace penstock {

struct StartFacts {
  std::string host;
  std::string program;    // build_id(); empty: unknown
  std::string kernels;    // kernels_build_id(); empty: kernels are a part of the program
  std::string arguments;  // of the command line
  // What changes last bits of results where it differs: variables of the environment by name (those
  // that are not set are missing), the instruction set and the version of oneDNN, and the level of
  // processor that our kernels were compiled for.
  std::map<std::string, std::string> conditions;
};

// The facts of this process.
[[nodiscard]] StartFacts own_start_facts(const Session& session);
// The facts as text, for sending, and back.
[[nodiscard]] std::string text_of(const StartFacts& facts);
[[nodiscard]] StartFacts parse_start_facts(const std::string& text);

// An error's sentence that names the ranks that run another program than rank 0, or have other
// arguments, and the cure; empty where all agree. `ranks` by world rank.
[[nodiscard]] std::string mismatch_of_starts(std::span<const StartFacts> ranks);
// A note, in one line, on StartFacts::conditions that differ; empty where all agree.
[[nodiscard]] std::string conditions_note(std::span<const StartFacts> ranks);
// The number of hosts that the ranks are on.
[[nodiscard]] int count_hosts(std::span<const StartFacts> ranks);

}  // namespace penstock
