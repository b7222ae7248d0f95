// The table of schedules. A new one is a row here, with a generator (generators.h) and formulas
// (closed_forms.h).
#include "runtime/planning/schedule/generators/known_schedules.h"

#include <array>
#include <stdexcept>

#include "runtime/planning/schedule/generators/closed_forms.h"
#include "runtime/planning/schedule/generators/generators.h"
#include "runtime/planning/schedule/generators/placement.h"

namespace penstock {
namespace {

using Sizes = PipelineSizes;

constexpr std::array<KnownSchedule, 11> kKnown = {{
    {.name = "gpipe",
     .about = "GPipe: all forwards, then all backwards. The simplest order, and the one that holds "
              "the most.",
     .make = [](const Sizes& s) { return gpipe(s.ranks, s.micro_batches); },
     .bubble = plain_bubble,
     .peak_stash = peak_of_all},
    {.name = "1f1b",
     .about = "1F1B: after a short warm-up, one forward, one backward. The time of GPipe, with at "
              "most one stash for each rank that is still to come.",
     .any_warm_up = true,
     .make = [](const Sizes& s) { return one_f_one_b(s.ranks, s.micro_batches, s.warm_up); },
     .bubble = plain_bubble,
     .peak_stash = peak_ahead},
    {.name = "1f1b-deep",
     .about = "1F1B with a warm-up twice as deep, so that a message has a whole turn to travel in.",
     .make = [](const Sizes& s) { return one_f_one_b_deep(s.ranks, s.micro_batches); },
     .bubble = plain_bubble,
     .peak_stash = peak_twice_ahead},
    {.name = "interleaved-1f1b",
     .about = "Interleaved 1F1B: every rank holds several stages, and alternates between them.",
     .chunks = 2,
     .any_chunks = true,
     .make = [](const Sizes& s) { return interleaved(s.ranks, s.chunks, s.micro_batches); },
     .bubble = interleaved_bubble,
     .peak_stash = interleaved_peak},
    {.name = "looped-bfs",
     .about = "Breadth first: every rank takes all micro-batches through one of its stages, then "
              "through the next.",
     .chunks = 2,
     .any_chunks = true,
     .make = [](const Sizes& s) { return looped_bfs(s.ranks, s.chunks, s.micro_batches); },
     .make_on = looped_bfs,
     .bubble = looped_bfs_bubble,
     .peak_stash = peak_of_all},
    {.name = "zb-h1",
     .about = "ZB-H1: the weight halves of the backward are put off into the cool-down. Memory of "
              "1F1B, a smaller bubble.",
     .any_warm_up = true,
     .make = [](const Sizes& s) { return zb_h1(s.ranks, s.micro_batches, s.warm_up); },
     .bubble = zb_h1_bubble,
     .peak_stash = peak_ahead},
    {.name = "zb-h2",
     .about = "ZB-H2: more forwards in the warm-up, so that ranks never run dry; up to twice the "
              "memory of 1F1B.",
     .make = [](const Sizes& s) { return zb_h2(s.ranks, s.micro_batches); },
     .bubble = zb_h2_bubble,
     .peak_stash = peak_twice_ahead},
    {.name = "zb-v",
     .about = "ZB-V: two stages per rank, folded into a V, so that the first rank also holds the "
              "last stage. Hardly any bubble, and the same memory everywhere.",
     .chunks = 2,
     .make = [](const Sizes& s) { return zb_v(s.ranks, s.micro_batches); },
     .bubble = zb_v_bubble,
     .peak_stash = zb_v_peak},
    {.name = "v-half",
     .about = "V-half: the V with about half of 1F1B's memory and half of its bubble.",
     .chunks = 2,
     .make = [](const Sizes& s) { return v_half(s.ranks, s.micro_batches); },
     .bubble = v_half_bubble,
     .peak_stash = v_half_peak},
    {.name = "v-min",
     .about = "V-min: the V with about a third of 1F1B's memory and two thirds of its bubble.",
     .chunks = 2,
     .make = [](const Sizes& s) { return v_min(s.ranks, s.micro_batches); },
     .bubble = v_min_bubble,
     .peak_stash = v_min_peak},
    {.name = "dualpipev",
     .about = "DualPipeV: a V whose ranks run the forward of one half beside the backward of the "
              "other.",
     .chunks = 2,
     .make = [](const Sizes& s) { return dualpipe_v(s.ranks, s.micro_batches); },
     .bubble = dualpipe_v_bubble,
     .peak_stash = dualpipe_v_peak},
}};

// Returns the names for which `belongs` is true, with `between` between them: "gpipe, 1f1b".
template <typename Belongs>
std::string listed(const char* between, const Belongs& belongs) {
  std::string names;
  for (const KnownSchedule& each : kKnown) {
    if (belongs(each)) names += (names.empty() ? "" : between) + std::string(each.name);
  }
  return names;
}

void check_warm_up(const KnownSchedule& known, int warm_up) {
  if (warm_up < 0) {
    throw std::invalid_argument("--warm-up must be at least 0, not " + std::to_string(warm_up));
  }
  if (warm_up > 0 && !known.any_warm_up) {
    throw std::invalid_argument(
        "the schedule " + std::string(known.name) + " has no warm-up that --warm-up " +
        std::to_string(warm_up) + " could make deeper; " +
        listed(" and ", [](const KnownSchedule& each) { return each.any_warm_up; }) + " have one");
  }
}

}  // namespace

std::span<const KnownSchedule> known_schedules() {
  return kKnown;
}

const KnownSchedule& known_schedule(const std::string& name) {
  for (const KnownSchedule& each : kKnown) {
    if (name == each.name) return each;
  }
  throw std::invalid_argument("there is no schedule \"" + name + "\"; known are " +
                              listed(", ", [](const KnownSchedule&) { return true; }));
}

std::vector<std::string> schedule_names() {
  std::vector<std::string> names;
  names.reserve(kKnown.size());
  for (const KnownSchedule& each : kKnown) names.emplace_back(each.name);
  return names;
}

int default_chunks(const std::string& name) {
  return known_schedule(name).chunks;
}

Schedule make_schedule(const std::string& name, int ranks, int micro_batches, int chunks,
                       int warm_up) {
  const KnownSchedule& known = known_schedule(name);
  if (chunks != 0 && chunks != known.chunks && !known.any_chunks) {
    throw std::invalid_argument(
        "the schedule " + name + " has " + std::to_string(known.chunks) +
        " stage(s) per rank, not " + std::to_string(chunks) + "; " +
        listed(" and ", [](const KnownSchedule& each) { return each.any_chunks; }) +
        " take any number of chunks");
  }
  check_warm_up(known, warm_up);
  return known.make({ranks, chunks == 0 ? known.chunks : chunks, micro_batches, warm_up});
}

Schedule make_schedule_on(const std::string& name, const std::vector<int>& rank_of_stage,
                          int micro_batches, int warm_up) {
  const KnownSchedule& known = known_schedule(name);
  if (known.make_on == nullptr) {
    throw std::invalid_argument(
        "the schedule " + name + " places stages itself: leave out --stage-ranks; " +
        listed(" and ", [](const KnownSchedule& each) { return each.make_on != nullptr; }) +
        ", searched schedules and CSV files take any placement");
  }
  check_warm_up(known, warm_up);
  return known.make_on(rank_of_stage, micro_batches);
}

std::optional<Schedule> schedule_if_on(const KnownSchedule& known,
                                       const std::vector<int>& rank_of_stage, int micro_batches) {
  if (!holds_equally_many(rank_of_stage)) {
    if (known.make_on == nullptr) return std::nullopt;
    return known.make_on(rank_of_stage, micro_batches);
  }
  const std::vector<int> held = stages_held(rank_of_stage);
  if (known.chunks != held.front() && !known.any_chunks) return std::nullopt;
  Schedule schedule = known.make({static_cast<int>(held.size()), held.front(), micro_batches});
  if (schedule.rank_of_stage != rank_of_stage) return std::nullopt;
  return schedule;
}

}  // namespace penstock
