// `penstock schedule --search`: costs in; schedule, figures and certificate out.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <stdexcept>

#include "launch/program/commands/schedule_command.h"
#include "launch/program/planning/files/search_file.h"
#include "runtime/system/files/input_file.h"
#include "tests/unit/launch/helpers.h"

namespace penstock {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;
using Arguments = std::vector<std::string>;

// Three stages on three ranks, of which the second takes twice as long.
nlohmann::json costs() {
  const nlohmann::json stage{
      {"forward", 1},      {"backward_input", 1},           {"backward_weight", 1},
      {"held_bytes", 100}, {"held_until_weight_bytes", 40}, {"message_bytes", 10}};
  nlohmann::json all{{"ranks", 3}, {"micro_batches", 6}, {"stages", {stage, stage, stage}}};
  for (const char* const time : {"forward", "backward_input", "backward_weight"}) {
    all["stages"][1][time] = 2;
  }
  all["stages"][2].erase("message_bytes");
  all["limit_bytes"] = {300, 300, 300};
  return all;
}

nlohmann::json link(double latency_s) {
  return {{"latency_s", latency_s},
          {"seconds_per_byte", 0.25},
          {"overhead_s", 0.5},
          {"receiver_copies", true}};
}

std::string search_refusal(const Arguments& arguments) {
  try {
    return "accepted: " + schedule_text(arguments);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::Input);
    return error.what();
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
}

TEST(ScheduleSearch, SaysHowFarFromTheBestItIs) {
  const std::string text = schedule_text({"--search"});
  EXPECT_THAT(text, HasSubstr("searched: ranks 4, stages 4, micro-batches 8; F,B,W = 1,1,1"));
  EXPECT_THAT(text, HasSubstr("makespan    27\n"));
  EXPECT_THAT(text, HasSubstr("generators  27 by zb-h1, the best that fits\n"));
  EXPECT_THAT(text, HasSubstr("bound       27: no order on these ranks takes less, since rank "));
  EXPECT_THAT(text, HasSubstr("gap         0.00 %"));
}

TEST(ScheduleSearch, TriesBothPlacementsOfTwoStagesOnARank) {
  const auto found = nlohmann::json::parse(
      schedule_text({"--search", "--stages", "8", "--chunks", "2", "--json"}));
  EXPECT_EQ(found["makespan"], 25.5);
  EXPECT_EQ(found["search"]["generator"], "zb-v");  // the best of those placed otherwise takes 28.5
}

// The path is as long as the step: of equal stages without latency nothing else is on it.
TEST(ScheduleSearch, DrawsTheBestKnownScheduleBesideAndSaysWhatLimits) {
  const std::string text = schedule_text({"--search"});
  EXPECT_THAT(text, HasSubstr("path        "));
  EXPECT_THAT(text, HasSubstr(": the longest, which decides the makespan\n"));
  EXPECT_THAT(text, HasSubstr("\nzb-h1: ranks 4, stages 4, micro-batches 8; F,B,W = 1,1,1"));
  const auto json = nlohmann::json::parse(schedule_text({"--search", "--json"}));
  EXPECT_EQ(json["search"]["path"].size(), json["makespan"].get<size_t>());
  const std::string svg = schedule_text({"--search", "--format", "svg"});
  EXPECT_THAT(svg, AllOf(HasSubstr(">searched: ranks 4"), HasSubstr(">zb-h1: ranks 4"),
                         HasSubstr("<rect class=\"F path\""), HasSubstr("the longest path")));
  EXPECT_THAT(schedule_text({"--search", "--format", "trace"}), HasSubstr("predicted, zb-h1"));
  EXPECT_THAT(schedule_text({"--search", "--format", "pytorch"}), StartsWith("0F0,0F1,"));
  EXPECT_THAT(schedule_text({"--search", "--format", "html"}),
              AllOf(HasSubstr("\"schedule\":\"searched\""), HasSubstr("\"compare\":\"zb-h1\"")));
}

// The page of costs of a file has what was found, every known schedule that fits, and no grid of
// others.
TEST(ScheduleSearch, APageOfCostsHasAllThatFits) {
  const TemporaryFolder folder;
  const std::string file = folder.write("costs.json", costs().dump());
  const auto data = [&] {
    const std::string html =
        schedule_text({"--search", "--costs", file, "--seed", "2", "--format", "html"});
    const size_t begin = html.find('>', html.find("id=\"data\"")) + 1;
    return nlohmann::json::parse(html.substr(begin, html.find("</script>", begin) - begin));
  }();
  EXPECT_TRUE(data["grid"].is_null());
  EXPECT_EQ(data["fixed"]["costs_file"], file);
  const auto& answers = data["fixed"]["answers"];
  const auto found =
      nlohmann::json::parse(schedule_text({"--search", "--costs", file, "--seed", "2", "--json"}));
  EXPECT_EQ(answers["searched"]["timeline"], found["timeline"]);
  EXPECT_EQ(answers["searched"]["path"], found["search"]["path"]);
  EXPECT_EQ(data["compare"], found["search"]["generator"]);
  const std::string best = found["search"]["generator"];
  EXPECT_EQ(answers[best]["makespan"], found["search"]["generator_makespan"]);
  EXPECT_TRUE(answers.contains("1f1b"));
  EXPECT_FALSE(answers.contains("gpipe")) << "it holds six micro-batches, and three fit";
  EXPECT_FALSE(answers.contains("zb-v")) << "it has two stages on a rank";
  EXPECT_THAT(std::string(data["bound"]), StartsWith("No order on these ranks takes less than "));
}

// The schedule that --format csv writes is the one whose figures are told.
TEST(ScheduleSearch, WritesACsvThatIsReadBack) {
  const TemporaryFolder folder;
  const std::string file =
      folder.write("found.csv", schedule_text({"--search", "--format", "csv"}));
  const nlohmann::json read = nlohmann::json::parse(schedule_text({"--schedule", file, "--json"}));
  EXPECT_EQ(read["makespan"],
            nlohmann::json::parse(schedule_text({"--search", "--json"}))["makespan"]);
}

TEST(ScheduleSearch, CertificateOfCostsIsVerified) {
  const TemporaryFolder folder;
  const std::string file = folder.write("costs.json", costs().dump());
  const std::string certificate = folder / "certificate.json";
  const std::string text =
      schedule_text({"--search", "--costs", file, "--certificate", certificate});
  EXPECT_THAT(text, HasSubstr("searched: ranks 3, stages 3, micro-batches 6; costs of " + file));
  for (const Arguments& more : {Arguments{}, Arguments{"--costs", file}}) {
    Arguments arguments{"--verify-certificate", certificate};
    arguments.insert(arguments.end(), more.begin(), more.end());
    EXPECT_THAT(schedule_text(arguments),
                StartsWith(certificate + " holds: the schedule's step takes "));
  }
  nlohmann::json others = costs();
  others["stages"][0]["forward"] = 3;
  const std::string other = folder.write("other.json", others.dump());
  EXPECT_THAT(search_refusal({"--verify-certificate", certificate, "--costs", other}),
              HasSubstr("is a certificate for other costs than those of " + other));
}

// Five stages of the same time on three ranks: the one with one stage waits for the others.
TEST(ScheduleSearch, PlacesStagesAsItIsTold) {
  const Arguments asked{"--search", "--stage-ranks", "0,1,1,2,2", "--times", "5,5,5"};
  const auto with = [&](const Arguments& more) {
    Arguments arguments = asked;
    arguments.insert(arguments.end(), more.begin(), more.end());
    return schedule_text(arguments);
  };
  const TemporaryFolder folder;
  const std::string certificate = folder / "certificate.json";
  const auto found = nlohmann::json::parse(with({"--json", "--certificate", certificate}));
  EXPECT_EQ(found["ranks"], 3);
  EXPECT_EQ(found["rank_of_stage"], nlohmann::json({0, 1, 1, 2, 2}));
  EXPECT_EQ(found["search"]["generator"], "looped-bfs");
  EXPECT_LE(found["makespan"], found["search"]["generator_makespan"]);
  EXPECT_GE(found["makespan"], 8 * 2 * 9);  // each stage takes 3 x 3, and a rank has two
  EXPECT_THAT(schedule_text({"--verify-certificate", certificate}),
              HasSubstr(" holds: the schedule's step takes "));
  // The text of the schedule, and its costs as a file, are taken back.
  const std::string csv = folder.write("found.csv", with({"--format", "csv"}));
  const auto read =
      nlohmann::json::parse(schedule_text({"--schedule", csv, "--times", "5,5,5", "--json"}));
  EXPECT_EQ(read["makespan"], found["makespan"]);
  EXPECT_EQ(read["rank_of_stage"], found["rank_of_stage"]);
  const nlohmann::json proved =
      nlohmann::json::parse(read_text(certificate, 1 << 20, FileOwner::User));
  const std::string costs_file = folder.write("costs.json", proved["costs"].dump());
  const auto again =
      nlohmann::json::parse(schedule_text({"--search", "--costs", costs_file, "--json"}));
  EXPECT_EQ(again["makespan"], found["makespan"]);
  for (const char* const format : {"text", "svg", "html", "trace", "pytorch"}) {
    EXPECT_THAT(with({"--format", format}), Not(testing::IsEmpty())) << format;
  }
  EXPECT_THAT(schedule_text({"--search", "--costs", costs_file, "--format", "html"}),
              HasSubstr("looped-bfs"));
}

// A message's link counts for its own boundary, and a certificate keeps it there.
TEST(ScheduleSearch, LinksOfBoundariesAreThoseOfTheFile) {
  const TemporaryFolder folder;
  nlohmann::json all = costs();
  all["rank_of_stage"] = {0, 1, 2};
  all["boundary_links"] = {link(0), link(7)};
  const std::string file = folder.write("costs.json", all.dump());
  const SearchProblem read = read_costs(file);
  ASSERT_EQ(read.costs.boundary_link.size(), 2U);
  EXPECT_EQ(read.costs.boundary_link[0].latency, 0);
  const LinkTimes& second = read.costs.boundary_link[1];
  EXPECT_EQ(second.latency, 7);
  EXPECT_EQ(second.seconds_per_byte, 0.25);
  EXPECT_EQ(second.overhead, 0.5);
  EXPECT_TRUE(second.receiver_copies);
  const std::string certificate = folder / "certificate.json";
  (void)schedule_text({"--search", "--costs", file, "--certificate", certificate});
  EXPECT_TRUE(same_costs(read_certificate(certificate).problem, read));
  std::swap(all["boundary_links"][0], all["boundary_links"][1]);
  const SearchProblem swapped = read_costs(folder.write("costs.json", all.dump()));
  EXPECT_FALSE(same_costs(swapped, read));
}

// A stage that keeps its activations says so by a recompute of no time.
TEST(ScheduleSearch, EachStageHasItsOwnRecompute) {
  const TemporaryFolder folder;
  nlohmann::json all = costs();
  all["recompute"] = true;
  all["stages"][0]["recompute"] = 0;
  all["stages"][1]["recompute"] = 3;
  const SearchProblem read = read_costs(folder.write("costs.json", all.dump()));
  EXPECT_EQ(read.costs.stage[0].recompute, 0);
  EXPECT_EQ(read.costs.stage[1].recompute, 3);
  EXPECT_EQ(read.costs.stage[2].recompute, 1) << "that of the forward";
}

// Every number and text of a certificate's file is needed: with any one changed it is refused.
TEST(ScheduleSearch, CertificateIsRefusedWithAnythingChanged) {
  const TemporaryFolder folder;
  const std::string file = folder.write("costs.json", costs().dump());
  const std::string certificate = folder / "certificate.json";
  (void)schedule_text({"--search", "--costs", file, "--certificate", certificate});
  const nlohmann::json sound =
      nlohmann::json::parse(read_text(certificate, 1 << 20, FileOwner::User));
  const auto refused = [&](nlohmann::json changed, const nlohmann::json::json_pointer& at,
                           const nlohmann::json& value) {
    changed[at] = value;
    const std::string path = folder.write("changed.json", changed.dump());
    return search_refusal({"--verify-certificate", path});
  };
  const auto more = [&](const std::string& pointer) {
    const nlohmann::json::json_pointer at(pointer);
    const nlohmann::json value = sound[at].is_number_float()
                                     ? nlohmann::json(sound[at].get<double>() * 1.01 + 0.1)
                                     : nlohmann::json(sound[at].get<int64_t>() + 7);
    return refused(sound, at, value);
  };
  EXPECT_THAT(more("/certificate"), HasSubstr("the version known here"));
  EXPECT_THAT(more("/makespan"), HasSubstr("the length of the schedule's step is"));
  EXPECT_THAT(more("/bound"), HasSubstr("the largest of its bounds is"));
  EXPECT_THAT(more("/gap"), HasSubstr("one and the gap is"));
  EXPECT_THAT(more("/work_bounds/0/work"), HasSubstr("the work within its bound of rank 0 is"));
  EXPECT_THAT(more("/memory_bounds/0/byte_seconds"), HasSubstr("what is held over time of rank 0"));
  EXPECT_THAT(more("/costs/stages/1/backward_weight"),
              HasSubstr("the length of the schedule's step"));
  EXPECT_THAT(more("/costs/micro_batches"), HasSubstr("other sizes"));
  EXPECT_THAT(refused(sound, nlohmann::json::json_pointer("/schedule/1"), "F1.0,B1.0"),
              HasSubstr("has no cell F1.1"));
  EXPECT_THAT(refused(sound, nlohmann::json::json_pointer("/costs/limit_bytes/1"), 100),
              HasSubstr("rank 1 holds"));
  const auto with_orders = [&](const nlohmann::json& ranks, double total) {
    return refused(sound, nlohmann::json::json_pointer("/orders_bounds"),
                   {{{"ranks", ranks}, {"total", total}}});
  };
  EXPECT_THAT(with_orders({0}, 1), HasSubstr("changed.json holds"));  // it is true, and says little
  EXPECT_THAT(with_orders({0}, 1000), HasSubstr("it does not come out that no order"));
  EXPECT_THAT(with_orders({1, 0}, 1), HasSubstr("none, too many or unsorted"));
  EXPECT_THAT(with_orders({3}, 1), HasSubstr("a bound is of rank 3"));
  EXPECT_THAT(refused(sound, nlohmann::json::json_pointer("/proof"), 1),
              HasSubstr("'proof' is not known"));
  EXPECT_THAT(refused(sound, nlohmann::json::json_pointer("/all_orders_tried"),
                      !sound["all_orders_tried"].get<bool>()),
              HasSubstr("changed.json: the certificate does not hold"));
  nlohmann::json without = sound;
  without.erase("bound");
  EXPECT_THAT(
      search_refusal({"--verify-certificate", folder.write("changed.json", without.dump())}),
      AllOf(HasSubstr("'bound' is missing"), HasSubstr("make it again with")));
}

TEST(ScheduleSearch, RefusesBadCosts) {
  const TemporaryFolder folder;
  const auto with = [&](const std::string& pointer, const nlohmann::json& value) {
    nlohmann::json changed = costs();
    changed[nlohmann::json::json_pointer(pointer)] = value;
    return search_refusal({"--search", "--costs", folder.write("c.json", changed.dump())});
  };
  EXPECT_THAT(
      with("/stages/1/forward", -1),
      AllOf(HasSubstr("c.json: 'stages'[1] 'forward' is below 0"), HasSubstr("docs/planning.md")));
  EXPECT_THAT(with("/stages/1/forward", "x"), HasSubstr("'stages'[1] 'forward' is no number"));
  EXPECT_THAT(with("/stages/1/forward", 1e40), HasSubstr("'stages'[1] 'forward' is too large"));
  EXPECT_THAT(with("/stages/1/forwards", 1), HasSubstr("'stages'[1] 'forwards' is not known"));
  EXPECT_THAT(with("/stages/2/message_bytes", 1), HasSubstr("has no next one"));
  EXPECT_THAT(with("/stages/0/held_until_weight_bytes", 101),
              HasSubstr("c.json: 'stages'[0] 'held_until_weight_bytes' is more than 'held_bytes'"));
  EXPECT_THAT(
      with("/stages/1/recompute", 3),
      HasSubstr("'stages'[1] 'recompute' is a time, and nothing is computed again without"));
  EXPECT_THAT(with("/boundary_links", nlohmann::json::array({link(1), link(2)})),
              HasSubstr("'boundary_links' are of one placement: give 'rank_of_stage', too"));
  EXPECT_THAT(with("/ranks", 2), HasSubstr("has 3 stages, which 2 ranks cannot share evenly"));
  EXPECT_THAT(with("/ranks", 0), HasSubstr("'ranks' is below 1"));
  EXPECT_THAT(with("/micro_batches", 0), HasSubstr("c.json: 'micro_batches' is below 1"));
  EXPECT_THAT(with("/node_of_rank", nlohmann::json::array({0, 70000, 0})),
              HasSubstr("c.json: 'node_of_rank'[1] is 70000: too large"));
  EXPECT_THAT(with("/limit_bytes/2", 93),
              HasSubstr("c.json: nothing fits: rank 2 holds 100 bytes with one "
                        "micro-batch at a time, 7 more than its limit"));
  EXPECT_THAT(with("/limit_bytes", nlohmann::json::array({300})),
              HasSubstr("c.json: 'limit_bytes' has 1 member, and there are 3 ranks; docs/"));
  EXPECT_THAT(with("/rank_of_stage", nlohmann::json::array({0, 1, 1})),
              HasSubstr("c.json: rank 2 holds no stage"));
  EXPECT_THAT(with("/rank_of_stage", nlohmann::json::array({0, 1, 3})),
              HasSubstr("c.json: 'rank_of_stage'[2] is 3, and ranks are 0 to 2"));
  EXPECT_THAT(with("/rank_of_stage", nlohmann::json::array({0, 1})),
              HasSubstr("c.json: 'rank_of_stage' has 2 members, and there are 3 stages"));
  EXPECT_THAT(with("/node_of_rank", nlohmann::json::array({0, 1})),
              HasSubstr("c.json: 'node_of_rank' has 2 members, and there are 3 ranks"));
  EXPECT_THAT(search_refusal({"--search", "--costs", "no/such.json"}),
              HasSubstr("cannot open no/such.json"));
  EXPECT_THAT(search_refusal({"--search", "--costs", folder.write("c.json", "{")}),
              HasSubstr("c.json"));
}

TEST(ScheduleSearch, RefusesOptionsThatDoNotGoTogether) {
  EXPECT_THAT(search_refusal({"--costs", "c.json"}), HasSubstr("--costs goes with --search or"));
  EXPECT_THAT(search_refusal({"--seed=3"}), HasSubstr("--seed goes with --search"));
  EXPECT_THAT(search_refusal({"--search", "--schedule", "1f1b"}),
              HasSubstr("leave out one of the two"));
  EXPECT_THAT(search_refusal({"--search", "--costs", "c.json", "--stages", "3"}),
              HasSubstr("--stages does not go with --costs"));
  EXPECT_THAT(search_refusal({"--search", "--search-seconds", "0"}), HasSubstr("a number above 0"));
  EXPECT_THAT(search_refusal({"--search", "--stages", "5", "--chunks", "2"}),
              HasSubstr("take a multiple"));
  EXPECT_THAT(search_refusal({"--search", "--stages", "1000000000"}), HasSubstr("too large"));
  EXPECT_THAT(search_refusal({"--search", "--stage-ranks", "0,2,2"}),
              HasSubstr("rank 1 holds no stage"));
  EXPECT_THAT(search_refusal({"--search", "--costs", "c.json", "--stage-ranks", "0,1"}),
              HasSubstr("--stage-ranks does not go with --costs"));
  EXPECT_THAT(search_refusal({"--search", "--recompute", "all"}),
              HasSubstr("none, stage or layer"));
  EXPECT_THAT(search_refusal({"--search", "--times", "1,1,-1"}), HasSubstr("--times"));
  EXPECT_THAT(search_refusal({"--verify-certificate", "c.json", "--search"}),
              HasSubstr("checks one file"));
}

}  // namespace
}  // namespace penstock
