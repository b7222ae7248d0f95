// launch/program/planning/files/search_file.cpp -- see search_file.h.
#include "launch/program/planning/files/search_file.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>

#include "kernels/amount.h"
#include "kernels/error.h"
#include "launch/program/planning/files/file_object.h"
#include "runtime/planning/schedule/text/csv.h"
#include "runtime/planning/schedule/well_formed.h"

namespace penstock {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kCertificateVersion = 1;
constexpr int64_t kMostSearchBytes = int64_t{64} << 20;
constexpr const char* kCostsCure = "docs/planning.md has the keys of a file of costs";
constexpr const char* kCertificateCure = "make it again with penstock schedule --certificate";

Json problem_json(const SearchProblem& problem) {
  const PipelineCosts& costs = problem.costs;
  Json json;
  json["ranks"] = problem.ranks;
  json["micro_batches"] = problem.micro_batches;
  json["recompute"] = problem.recompute;
  for (size_t s = 0; s < costs.stage.size(); ++s) {
    const StageTimes& times = costs.stage[s];
    Json stage{{"forward", times.forward},
               {"recompute", problem.recompute ? times.recompute : 0},
               {"backward_input", times.backward_input},
               {"backward_weight", times.backward_weight},
               {"backward", times.backward}};
    if (!problem.held.empty()) {
      stage["held_bytes"] = problem.held[s].until_input;
      stage["held_until_weight_bytes"] = problem.held[s].until_weight;
    }
    if (s < costs.boundary_bytes.size()) stage["message_bytes"] = costs.boundary_bytes[s];
    json["stages"].push_back(std::move(stage));
  }
  json["links"] = {{"within_node", link_json(costs.within_node)},
                   {"between_nodes", link_json(costs.between_nodes)}};
  for (const LinkTimes& link : costs.boundary_link) {
    json["boundary_links"].push_back(link_json(link));
  }
  if (!costs.node_of_rank.empty()) json["node_of_rank"] = costs.node_of_rank;
  if (!problem.limit.empty()) json["limit_bytes"] = problem.limit;
  if (!problem.rank_of_stage.empty()) json["rank_of_stage"] = problem.rank_of_stage;
  return json;
}

std::vector<int> small_integers(const FileObject& object, const char* key) {
  std::vector<int> numbers;
  for (const int64_t number : object.integers(key)) {
    if (number > kMaxStages) {
      object.fail(fmt::format("{}[{}]", object.named(key), numbers.size()),
                  fmt::format("is {}: too large", number));
    }
    numbers.push_back(static_cast<int>(number));
  }
  return numbers;
}

void read_stage(const FileObject& stage, SearchProblem& problem, bool last) {
  stage.know({"forward", "recompute", "backward_input", "backward_weight", "backward", "held_bytes",
              "held_until_weight_bytes", "message_bytes"});
  const auto or_else = [&](const char* key, double value) {
    return stage.has(key) ? stage.number(key) : value;
  };
  StageTimes times{.forward = stage.number("forward"),
                   .backward_input = stage.number("backward_input"),
                   .backward_weight = stage.number("backward_weight")};
  times.recompute = or_else("recompute", times.forward);
  if (!problem.recompute && stage.has("recompute") && times.recompute != 0) {
    stage.fail(stage.place() + " 'recompute'",
               "is a time, and nothing is computed again without \"recompute\": true at the top");
  }
  times.backward = or_else("backward", times.backward_input + times.backward_weight);
  problem.costs.stage.push_back(times);
  const auto bytes = [&](const char* key) { return stage.has(key) ? stage.integer(key) : 0; };
  problem.held.push_back({bytes("held_bytes"), bytes("held_until_weight_bytes")});
  if (problem.held.back().until_weight > problem.held.back().until_input) {
    stage.fail(stage.named("held_until_weight_bytes"),
               "is more than 'held_bytes', of which it is a part");
  }
  const double message = or_else("message_bytes", 0);
  if (!last) problem.costs.boundary_bytes.push_back(message);
  if (last && message != 0) {
    stage.fail(stage.named("message_bytes"), "is of the last stage, which has no next one");
  }
}

// Refuses a list that has not `wanted` members.
void check_length(const FileObject& root, const char* key, size_t given, size_t wanted,
                  const char* of) {
  if (given == wanted) return;
  root.fail(root.named(key),
            fmt::format("has {}, and there are {} {}",
                        amount_text(static_cast<int64_t>(given), "member"), wanted, of));
}

// Reads the members that list something of each rank, or of each stage.
void read_lists(const FileObject& root, SearchProblem& problem) {
  const auto ranks = static_cast<size_t>(problem.ranks);
  const size_t stages = problem.costs.stage.size();
  if (root.has("boundary_links")) {
    if (!root.has("rank_of_stage")) {
      root.fail(root.named("boundary_links"), "are of one placement: give 'rank_of_stage', too");
    }
    for (const FileObject& link : root.objects("boundary_links")) {
      problem.costs.boundary_link.push_back(link_of(link));
    }
    check_length(root, "boundary_links", problem.costs.boundary_link.size(), stages - 1,
                 "boundaries between stages");
  }
  if (root.has("node_of_rank")) {
    problem.costs.node_of_rank = small_integers(root, "node_of_rank");
    check_length(root, "node_of_rank", problem.costs.node_of_rank.size(), ranks, "ranks");
  }
  if (root.has("limit_bytes")) {
    problem.limit = root.integers("limit_bytes");
    check_length(root, "limit_bytes", problem.limit.size(), ranks, "ranks");
  }
  if (!root.has("rank_of_stage")) return;
  problem.rank_of_stage = small_integers(root, "rank_of_stage");
  check_length(root, "rank_of_stage", problem.rank_of_stage.size(), stages, "stages");
  for (size_t stage = 0; stage < stages; ++stage) {
    const int rank = problem.rank_of_stage[stage];
    if (rank < problem.ranks) continue;
    root.fail(fmt::format("{}[{}]", root.named("rank_of_stage"), stage),
              fmt::format("is {}, and ranks are 0 to {}", rank, problem.ranks - 1));
  }
}

SearchProblem problem_of(const FileObject& root) {
  root.know({"ranks", "micro_batches", "recompute", "stages", "links", "boundary_links",
             "node_of_rank", "limit_bytes", "rank_of_stage"});
  SearchProblem problem{.ranks = root.count("ranks"),
                        .micro_batches = root.count("micro_batches"),
                        .recompute = root.has("recompute") && root.flag("recompute")};
  const std::vector<FileObject> stages = root.objects("stages");
  const auto ranks = static_cast<size_t>(problem.ranks);
  if (ranks < 1) root.fail(root.named("ranks"), "is below 1");
  if (problem.micro_batches < 1) root.fail(root.named("micro_batches"), "is below 1");
  if (stages.empty() || (stages.size() % ranks != 0 && !root.has("rank_of_stage"))) {
    root.fail(
        root.named("stages"),
        fmt::format("has {}, which {} cannot share evenly; 'rank_of_stage' would say the rank "
                    "of each",
                    amount_text(std::ssize(stages), "stage"), amount_text(problem.ranks, "rank")));
  }
  for (size_t s = 0; s < stages.size(); ++s) {
    read_stage(stages[s], problem, s + 1 == stages.size());
  }
  if (root.has("links")) {
    const FileObject links = root.object("links");
    links.know({"within_node", "between_nodes"});
    problem.costs.within_node = link_of(links.object("within_node"));
    problem.costs.between_nodes = link_of(links.object("between_nodes"));
  }
  read_lists(root, problem);
  return problem;
}

}  // namespace

SearchProblem read_costs(const std::string& path) {
  const nlohmann::json json = read_user_json(path, kMostSearchBytes, kCostsCure);
  return problem_of(FileObject(path, kCostsCure, json));
}

std::string certificate_text(const Certificate& certificate) {
  Json json;
  json["certificate"] = kCertificateVersion;
  json["makespan"] = certificate.makespan;
  json["bound"] = certificate.bound;
  json["gap"] = certificate.gap;
  json["all_orders_tried"] = certificate.all_orders_tried;
  json["work_bounds"] = Json::array();
  for (const WorkBound& bound : certificate.work) {
    json["work_bounds"].push_back(
        {{"rank", bound.rank}, {"head", bound.head}, {"work", bound.work}, {"tail", bound.tail}});
  }
  json["memory_bounds"] = Json::array();
  for (const MemoryBound& bound : certificate.memory) {
    json["memory_bounds"].push_back({{"rank", bound.rank},
                                     {"head", bound.head},
                                     {"byte_seconds", bound.byte_seconds},
                                     {"limit_bytes", bound.limit},
                                     {"tail", bound.tail}});
  }
  json["orders_bounds"] = Json::array();
  if (const auto& bound = certificate.orders) {
    json["orders_bounds"].push_back({{"ranks", bound->ranks}, {"total", bound->total}});
  }
  json["schedule"] = Json::array();
  std::istringstream csv(to_csv(certificate.schedule));
  for (std::string line; std::getline(csv, line);) json["schedule"].push_back(line);
  json["costs"] = problem_json(certificate.problem);
  return json.dump(1) + "\n";
}

Certificate read_certificate(const std::string& path) {
  const nlohmann::json json = read_user_json(path, kMostSearchBytes, kCertificateCure);
  const FileObject root(path, kCertificateCure, json);
  root.know({"certificate", "makespan", "bound", "gap", "all_orders_tried", "work_bounds",
             "memory_bounds", "orders_bounds", "schedule", "costs"});
  if (root.integer("certificate") != kCertificateVersion) {
    root.fail(root.named("certificate"),
              fmt::format("is not {}, the version known here", kCertificateVersion));
  }
  Certificate certificate{.problem = problem_of(root.object("costs")),
                          .makespan = root.number("makespan"),
                          .bound = root.number("bound"),
                          .gap = root.number("gap"),
                          .all_orders_tried = root.flag("all_orders_tried")};
  for (const FileObject& bound : root.objects("work_bounds")) {
    bound.know({"rank", "head", "work", "tail"});
    certificate.work.push_back(
        {bound.count("rank"), bound.number("head"), bound.number("work"), bound.number("tail")});
  }
  for (const FileObject& bound : root.objects("memory_bounds")) {
    bound.know({"rank", "head", "byte_seconds", "limit_bytes", "tail"});
    certificate.memory.push_back({bound.count("rank"), bound.number("head"),
                                  bound.number("byte_seconds"), bound.number("tail"),
                                  bound.integer("limit_bytes")});
  }
  if (root.has("orders_bounds")) {  // not in those of earlier versions
    for (const FileObject& bound : root.objects("orders_bounds")) {
      bound.know({"ranks", "total"});
      certificate.orders = OrdersBound{small_integers(bound, "ranks"), bound.number("total")};
    }
  }
  std::string csv;
  for (const std::string& line : root.texts("schedule")) csv += line + "\n";
  certificate.schedule = parse_csv(csv, path + ", 'schedule'");
  return certificate;
}

bool same_costs(const SearchProblem& a, const SearchProblem& b) {
  Json first = problem_json(a);
  Json second = problem_json(b);
  // A file of costs may leave the placement open.
  if (a.rank_of_stage.empty() || b.rank_of_stage.empty()) {
    first.erase("rank_of_stage");
    second.erase("rank_of_stage");
  }
  return first == second;
}

}  // namespace penstock
