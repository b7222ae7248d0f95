// The one way from a request to lowered and proved programs.
#include "runtime/planning/schedule/recipe.h"

#include <algorithm>
#include <iterator>
#include <stdexcept>

#include "runtime/planning/schedule/generators/generators.h"
#include "runtime/planning/schedule/generators/known_schedules.h"
#include "runtime/planning/schedule/generators/placement.h"
#include "runtime/planning/schedule/lower.h"
#include "runtime/planning/schedule/text/csv.h"

namespace penstock {
namespace {

[[noreturn]] void refuse_recipe(const std::string& message) {
  throw std::invalid_argument(message);
}

std::string comma_list(const std::vector<int>& numbers) {
  std::string text;
  for (const int number : numbers) {
    if (!text.empty()) text += ',';
    text += std::to_string(number);
  }
  return text;
}

void check_stage_ranks(const Recipe& recipe) {
  if (recipe.stage_ranks.empty()) return;
  const std::string given = "--stage-ranks " + comma_list(recipe.stage_ranks);
  if (recipe.chunks != 0) {
    refuse_recipe(given + " says how many stages each rank holds, and so does --pipeline.chunks " +
                  std::to_string(recipe.chunks) + ": leave out one of the two");
  }
  const auto stages = static_cast<int>(recipe.stage_ranks.size());
  if (recipe.stages != 0 && recipe.stages != stages) {
    refuse_recipe(given + " is a list of " + std::to_string(stages) + " stages, but --stages is " +
                  std::to_string(recipe.stages) + ": it has the rank of every stage");
  }
  for (const int rank : recipe.stage_ranks) {
    if (rank >= 0 && rank < stages) continue;
    refuse_recipe(given + ": there is no rank " + std::to_string(rank) + ", since " +
                  std::to_string(stages) + " stages have at most ranks 0 to " +
                  std::to_string(stages - 1));
  }
  const std::vector<int> held = stages_held(recipe.stage_ranks);
  const auto none = std::ranges::find(held, 0);
  if (none == held.end()) return;
  refuse_recipe(given + " gives no stage to rank " + std::to_string(none - held.begin()) +
                ": ranks are 0 to " + std::to_string(std::ssize(held) - 1) +
                ", and each holds one stage at least");
}

// Returns the schedule of a CSV file. The file has its own numbers of stages and micro-batches; a
// recipe that asks for other numbers is refused.
Schedule from_csv(const Recipe& recipe) {
  Schedule schedule = parse_csv(recipe.csv, recipe.schedule);
  const auto differs = [](int asked, int own) { return asked != 0 && asked != own; };
  if (differs(recipe.stages, schedule.stages) ||
      differs(recipe.micro_batches, schedule.micro_batches)) {
    const std::string stages = std::to_string(schedule.stages);
    const std::string micro_batches = std::to_string(schedule.micro_batches);
    refuse_recipe(recipe.schedule + " is a schedule of " + stages +
                  (schedule.stages == 1 ? " stage and " : " stages and ") + micro_batches +
                  (schedule.micro_batches == 1 ? " micro-batch" : " micro-batches") +
                  ", but the run has " + std::to_string(recipe.stages) + " and " +
                  std::to_string(recipe.micro_batches) + ": set --stages " + stages +
                  " --micro-batches " + micro_batches);
  }
  if (!recipe.stage_ranks.empty() && recipe.stage_ranks != schedule.rank_of_stage) {
    refuse_recipe(recipe.schedule + " has stages on other ranks than --stage-ranks " +
                  comma_list(recipe.stage_ranks) + ": it has them on " +
                  comma_list(schedule.rank_of_stage) + "; leave out --stage-ranks");
  }
  if (recipe.warm_up != 0) {
    refuse_recipe(recipe.schedule + " says itself how deep its warm-up is: leave out --warm-up " +
                  std::to_string(recipe.warm_up));
  }
  return schedule;
}

Schedule compute_instructions(const Recipe& recipe) {
  if (recipe.csv.empty() && recipe.schedule == kSearched) {
    refuse_recipe(
        "a searched schedule is found when a training starts or is planned, and here is none yet: "
        "name another schedule, or let `penstock schedule --search` find one");
  }
  check_stage_ranks(recipe);
  Schedule schedule = !recipe.csv.empty() ? from_csv(recipe)
                      : recipe.stage_ranks.empty()
                          ? make_schedule(recipe.schedule, ranks_per_pipeline(recipe),
                                          recipe.micro_batches, recipe.chunks, recipe.warm_up)
                          : make_schedule_on(recipe.schedule, recipe.stage_ranks,
                                             recipe.micro_batches, recipe.warm_up);
  schedule.skips = recipe.skips;
  return schedule;
}

void check_kept_stages(const Recipe& recipe, int stages) {
  if (recipe.kept_stages.empty()) return;
  if (recipe.recompute != "stage") {
    refuse_recipe("--kept-stages is for --recompute stage, and the mode is " + recipe.recompute +
                  ": leave out one of the two");
  }
  std::vector<bool> listed(stages, false);
  for (const int stage : recipe.kept_stages) {
    const std::string lists = "--kept-stages lists stage " + std::to_string(stage);
    if (stage < 0 || stage >= stages) {
      refuse_recipe(lists + ", and stages are 0 to " + std::to_string(stages - 1));
    }
    if (listed[stage]) refuse_recipe(lists + " twice");
    listed[stage] = true;
  }
}

// Returns how programs are lowered in the recipe's mode of recompute. In mode stage, a stage whose
// backwards follow its forwards at once is not recomputed, since nothing would be gained. In mode
// layer the inner layers of such a stage are run again all the same.
Lowering lowering_of(const Recipe& recipe) {
  const std::string& mode = recipe.recompute;
  if (mode != "none" && mode != "stage" && mode != "layer") {
    refuse_recipe("--recompute must be none, stage or layer, not " + mode);
  }
  return {.recompute = mode != "none",
          .keep_adjacent = mode == "stage",
          .kept_stages = recipe.kept_stages,
          .reduce = recipe.replicas > 1,
          .update = true};
}

// Calls `function`, which lowers or proves the recipe's schedule. What it refuses of a schedule
// from a file names the file.
template <class Function>
auto of_file(const Recipe& recipe, const Function& function) {
  try {
    return function();
  } catch (const std::invalid_argument& refusal) {
    if (recipe.csv.empty()) throw;
    refuse_recipe(recipe.schedule + ": " + refusal.what() +
                  " (each rank has a line of its own, rank 0 the first that is no comment)");
  }
}

Schedule lowered(const Recipe& recipe, const Schedule& schedule, const Lowering& options) {
  return of_file(recipe, [&] { return lower(schedule, options); });
}

ProvedSchedule proved(const Recipe& recipe, Schedule schedule, const TransportRules& rules) {
  Proof proof = of_file(recipe, [&] { return verify(schedule, rules); });
  return {std::move(schedule), std::move(proof)};
}

}  // namespace

std::vector<int> listed_placement(const Recipe& recipe) {
  check_stage_ranks(recipe);
  if (recipe.csv.empty() || !recipe.stage_ranks.empty()) return recipe.stage_ranks;
  std::vector<int> placement = from_csv(recipe).rank_of_stage;
  if (holds_equally_many(placement)) placement.clear();
  return placement;
}

int stages_per_rank(const Recipe& recipe) {
  check_stage_ranks(recipe);
  if (!recipe.csv.empty()) return std::ranges::max(stages_held(from_csv(recipe).rank_of_stage));
  if (!recipe.stage_ranks.empty()) return std::ranges::max(stages_held(recipe.stage_ranks));
  if (recipe.chunks > 0) return recipe.chunks;
  return recipe.schedule == kSearched ? 1 : default_chunks(recipe.schedule);
}

int ranks_per_pipeline(const Recipe& recipe) {
  check_stage_ranks(recipe);
  if (!recipe.csv.empty()) return from_csv(recipe).ranks;
  if (!recipe.stage_ranks.empty()) return 1 + std::ranges::max(recipe.stage_ranks);
  const int chunks = stages_per_rank(recipe);
  if (recipe.stages < 1 || recipe.stages % chunks != 0) {
    refuse_recipe("--stages is " + std::to_string(recipe.stages) + ", but with the schedule " +
                  recipe.schedule + " every rank holds " + std::to_string(chunks) +
                  (chunks == 1 ? " stage" : " stages") + ": take a multiple of " +
                  std::to_string(chunks));
  }
  return recipe.stages / chunks;
}

Schedule unproved_training_schedule(const Recipe& recipe) {
  const Lowering options = lowering_of(recipe);
  const Schedule schedule = compute_instructions(recipe);
  check_kept_stages(recipe, schedule.stages);
  return lowered(recipe, schedule, options);
}

ProvedSchedule training_schedule(const Recipe& recipe, const TransportRules& rules) {
  return proved(recipe, unproved_training_schedule(recipe), rules);
}

ProvedSchedule evaluation_schedule(const Recipe& recipe, const TransportRules& rules) {
  return proved(recipe, lowered(recipe, forward_only(compute_instructions(recipe)), {}), rules);
}

}  // namespace penstock
