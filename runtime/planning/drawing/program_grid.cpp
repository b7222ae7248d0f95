#include "runtime/planning/drawing/program_grid.h"

#include <algorithm>
#include <deque>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>
#include <vector>

#include "runtime/planning/drawing/run_lengths.h"
#include "runtime/planning/schedule/generators/known_schedules.h"

namespace penstock {
namespace {

using Json = nlohmann::ordered_json;

int letter_of(Op op) {
  switch (op) {
    case Op::Forward:
      return 0;
    case Op::BackwardInput:
      return 1;
    case Op::BackwardWeight:
      return 2;
    case Op::Backward:
      return 3;
    default:
      throw std::invalid_argument(std::string(name_of(op)) + " has no letter");
  }
}

// Tells which micro-batch each letter of a stage stands for. Forwards and backwards come in
// ascending order of micro-batches, and the oldest weight half comes first. So letters need not
// name their micro-batches.
struct StageOrder {
  int forward = 0, backward = 0;
  std::deque<int> weight_halves = {};

  // Returns the micro-batch of the next op of that kind, or -1 if there is none.
  int next(Op op) {
    if (op == Op::Forward) return forward++;
    if (op == Op::BackwardInput) weight_halves.push_back(backward);
    if (op != Op::BackwardWeight) return backward++;
    if (weight_halves.empty()) return -1;
    const int oldest = weight_halves.front();
    weight_halves.pop_front();
    return oldest;
  }
};

// Returns the place of each stage among the stages of its rank.
std::vector<int> places_on_ranks(const Schedule& schedule) {
  std::vector<int> on_rank(static_cast<size_t>(schedule.ranks));
  std::vector<int> places;
  for (const int rank : schedule.rank_of_stage) {
    places.push_back(on_rank[static_cast<size_t>(rank)]++);
  }
  return places;
}

// Returns the programs, each in run-length form. They are shortened one by one, since no repeat can
// contain the blank between two programs.
std::string shortened(const std::string& programs) {
  std::string out;
  for (size_t start = 0; start <= programs.size();) {
    const size_t end = std::min(programs.find(' ', start), programs.size());
    if (start > 0) out += ' ';
    out += run_length_form(std::string_view(programs).substr(start, end - start));
    start = end + 1;
  }
  return out;
}

Json column_json(const KnownSchedule& known, int ranks, int chunks, int most_micro_batches) {
  Json column;
  for (int m = 1; m <= most_micro_batches; ++m) {
    try {
      const Schedule schedule = make_schedule(known.name, ranks, m, chunks);
      column["at"] = schedule.rank_of_stage;
      column["of"].push_back(shortened(packed_programs(schedule)));
    } catch (const std::invalid_argument& error) {
      column["of"].push_back({{"error", error.what()}});
    }
  }
  return column;
}

}  // namespace

std::string packed_programs(const Schedule& compute_only) {
  const std::vector<int> places = places_on_ranks(compute_only);
  std::vector<StageOrder> orders(places.size());
  std::string text;
  for (const auto& program : compute_only.program) {
    if (!text.empty()) text += ' ';
    for (const Instruction& instruction : program) {
      const auto stage = static_cast<size_t>(instruction.stage);
      if (instruction.micro_batch != orders[stage].next(instruction.op)) {
        throw std::invalid_argument(penstock::text(instruction) + " is out of order");
      }
      text += static_cast<char>('A' + 4 * places[stage] + letter_of(instruction.op));
    }
  }
  return text;
}

std::string program_grid_json(const GridLimits& limits) {
  Json programs = Json::object();
  for (const KnownSchedule& known : known_schedules()) {
    for (int ranks = 1; ranks <= limits.ranks; ++ranks) {
      for (int chunks = 1; chunks <= limits.chunks; ++chunks) {
        if (chunks != known.chunks && !known.any_chunks) continue;
        const std::string name =
            std::string(known.name) + " " + std::to_string(ranks) + "x" + std::to_string(chunks);
        programs[name] = column_json(known, ranks, chunks, limits.micro_batches);
      }
    }
  }
  return Json{{"ranks", limits.ranks},
              {"micro_batches", limits.micro_batches},
              {"chunks", limits.chunks},
              {"programs", std::move(programs)}}
      .dump();
}

}  // namespace penstock
