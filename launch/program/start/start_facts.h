// launch/program/start/start_facts.h -- what each rank says of itself before anything is done
// together, and what is wrong or odd about all of that. A job whose ranks are different programs
// would hang or, worse, train something.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "runtime/system/comm/mpi/session.h"

namespace penstock {

struct StartFacts {
  std::string host;
  std::string program;    // its build_id(); empty: unknown
  std::string kernels;    // the build id of their library; empty: a part of the program
  std::string arguments;  // of the command line
  // What changes last bits of results where it differs: variables of the environment by name (those
  // that are not set are missing), the instruction set and the version of oneDNN, and the level of
  // processor that our kernels were compiled for.
  std::map<std::string, std::string> conditions;
};

// The facts of this process.
[[nodiscard]] StartFacts own_start_facts(const Session& session);
// To and from text, for sending.
[[nodiscard]] std::string text_of(const StartFacts& facts);
[[nodiscard]] StartFacts parse_start_facts(const std::string& text);

// Ranks that run another program than rank 0, or the same with other arguments: a sentence that
// names them and the cure; empty where all agree. `ranks` by world rank.
[[nodiscard]] std::string mismatch_of_starts(std::span<const StartFacts> ranks);
// Conditions that differ: a note in one line; empty where all agree.
[[nodiscard]] std::string conditions_note(std::span<const StartFacts> ranks);
// The number of hosts that the ranks are on.
[[nodiscard]] int count_hosts(std::span<const StartFacts> ranks);

}  // namespace penstock
