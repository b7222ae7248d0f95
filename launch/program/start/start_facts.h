// launch/program/start/start_facts.h -- StartFacts: what each rank tells the others of its program,
// its arguments and its environment, and the comparison of all ranks' facts. Ranks that are
// different programs would hang or, worse, train something wrong. Pure, except own_start_facts().
// meet() (meeting.h) exchanges them.
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
  std::string arguments;  // the command line's
  // What may change the last bits of results, by name: variables of the environment that OpenMP and
  // numeric libraries read (only those that are set), the instruction set and version of oneDNN,
  // and the processor level that our kernels were compiled for.
  std::map<std::string, std::string> conditions;
};

// The facts of this process.
[[nodiscard]] StartFacts own_start_facts(const Session& session);
// The facts as text, for sending to rank 0, and back. parse_start_facts() of another text throws
// Error(Internal).
[[nodiscard]] std::string text_of(const StartFacts& facts);
[[nodiscard]] StartFacts parse_start_facts(const std::string& text);

// An error's sentence that names the ranks whose program or arguments are not rank 0's, and what to
// do; empty where all agree. `ranks`: by world rank.
[[nodiscard]] std::string mismatch_of_starts(std::span<const StartFacts> ranks);
// A note, in one line, on conditions that differ between ranks; empty where all agree.
[[nodiscard]] std::string conditions_note(std::span<const StartFacts> ranks);
// The number of hosts that the ranks are on.
[[nodiscard]] int count_hosts(std::span<const StartFacts> ranks);

}  // namespace penstock
