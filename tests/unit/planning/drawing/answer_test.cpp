#include "runtime/planning/drawing/answer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "runtime/planning/drawing/json.h"
#include "runtime/planning/schedule/generators/known_schedules.h"

namespace penstock {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Json = nlohmann::json;

// Golden values for four ranks and eight micro-batches, all times 1.
TEST(ScheduleAnswer, HasTheFiguresOfThePapers) {
  const auto figures = [](const std::string& schedule, int stages) {
    const ScheduleAnswer a = answer({.schedule = schedule, .stages = stages});
    return std::vector<double>{makespan(a.timeline), makespan_bubble(a.timeline)};
  };
  EXPECT_THAT(figures("gpipe", 4), ElementsAre(33, 9));
  EXPECT_THAT(figures("1f1b", 4), ElementsAre(33, 9));
  EXPECT_THAT(figures("zb-h1", 4), ElementsAre(27, 3));
  EXPECT_THAT(figures("interleaved-1f1b", 8), ElementsAre(28.5, 4.5));
  EXPECT_THAT(figures("zb-v", 8), ElementsAre(25.5, 1.5));
}

// The curve that is drawn and the proof count alike.
TEST(ScheduleAnswer, StashLevelsPeakWhereTheProofSaysAndEndEmpty) {
  for (const std::string& name : schedule_names()) {
    for (const char* recompute : {"none", "stage", "layer"}) {
      const int chunks = default_chunks(name);
      const ScheduleAnswer a =
          answer({.schedule = name, .stages = 4 * chunks, .recompute = recompute, .latency = 0.25});
      for (int rank = 0; rank < a.schedule.ranks; ++rank) {
        const auto& levels = a.stash[rank];
        const auto by_held = [](const auto& x, const auto& y) { return x.held < y.held; };
        const auto by_time = [](const auto& x, const auto& y) { return x.time < y.time; };
        EXPECT_EQ(std::max_element(levels.begin(), levels.end(), by_held)->held,
                  a.peak_stash[rank]);
        EXPECT_TRUE(std::is_sorted(levels.begin(), levels.end(), by_time));
        EXPECT_EQ(levels.front().held, 0);
        EXPECT_EQ(levels.back().held, 0);
      }
    }
  }
}

TEST(ScheduleAnswer, LatencyAndUnevenTimesTakeEffect) {
  // 1F1B adds 2c((p - 1) + floor((m - 1)(p - 1) / p)).
  ScheduleSettings settings{.micro_batches = 16, .latency = 0.5};
  EXPECT_DOUBLE_EQ(makespan(answer(settings).timeline), 57 + (3 + 11));
  settings = {.schedule = "gpipe", .forward = 1, .backward_input = 2, .backward_weight = 0};
  EXPECT_DOUBLE_EQ(makespan(answer(settings).timeline), 33);
  settings.recompute = "stage";
  EXPECT_DOUBLE_EQ(makespan(answer(settings).timeline), 41);  // + m T_F: it hides p - 1 of them
  // Inside the backward: (m + p - 1)(2 T_F + T_B), none of it hidden.
  settings.recompute = "layer";
  EXPECT_DOUBLE_EQ(makespan(answer(settings).timeline), 44);
}

TEST(ScheduleAnswer, TakesASchedulesOwnSizesFromItsCsv) {
  const ScheduleAnswer a =
      answer({.schedule = "mine.csv", .csv = "F0.0,F3.0,B3.0,B0.0\nF1.0,F2.0,B2.0,B1.0\n"});
  EXPECT_EQ(title(a), "mine.csv: ranks 2, stages 4, micro-batches 1");
  EXPECT_EQ(a.settings.stages, 4);
  EXPECT_EQ(a.settings.micro_batches, 1);
  EXPECT_EQ(a.settings.chunks, 2);
  EXPECT_DOUBLE_EQ(makespan(a.timeline), 6);  // four stages of half a forward and half a backward
}

TEST(ScheduleAnswer, JsonHoldsTheContractAndWhatIsDrawn) {
  const Json json = Json::parse(answer_json(answer({.stages = 3, .micro_batches = 4})));
  EXPECT_EQ(json["ranks"], 3);
  EXPECT_EQ(json["stages"], 3);
  EXPECT_EQ(json["micro_batches"], 4);
  EXPECT_EQ(json["makespan"], 18.0);
  EXPECT_EQ(json["makespan_bubble"], 6.0);
  EXPECT_EQ(json["span_bubble"], 6.0);
  EXPECT_EQ(json["peak_stash"], Json({3, 2, 1}));
  EXPECT_EQ(json["peak_weight_halves"], Json({0, 0, 0}));
  EXPECT_EQ(json["rank_of_stage"], Json({0, 1, 2}));
  EXPECT_EQ(json["programs"][2].dump(),
            R"(["F2.0","B2.0","F2.1","B2.1","F2.2","B2.2","F2.3","B2.3"])");
  EXPECT_EQ(json["timeline"][2][1].dump(), R"(["B2.0",3.0,5.0])");
  EXPECT_EQ(json["stash"][2].dump(),
            "[[0.0,0],[3.0,1],[5.0,0],[6.0,1],[8.0,0],[9.0,1],[11.0,0],[12.0,1],[14.0,0]]");
  ASSERT_EQ(json["timeline"].size(), 3U);
  for (int rank = 0; rank < 3; ++rank) {
    ASSERT_EQ(json["timeline"][rank].size(), json["programs"][rank].size());
    for (size_t i = 0; i < json["programs"][rank].size(); ++i) {
      EXPECT_EQ(json["timeline"][rank][i][0], json["programs"][rank][i]);
    }
  }
}

TEST(ScheduleSettings, HaveTheNamesOfTheOptionsInJson) {
  const ScheduleSettings settings{.schedule = "zb-v",
                                  .stages = 6,
                                  .micro_batches = 5,
                                  .chunks = 2,
                                  .recompute = "layer",
                                  .forward = 1.5,
                                  .backward_input = 2,
                                  .backward_weight = 0.25,
                                  .latency = 0.125};
  EXPECT_EQ(settings_json(settings),
            R"({"schedule":"zb-v","csv":"","stages":6,"micro_batches":5,"chunks":2,"warm_up":0,)"
            R"("recompute":"layer","times":[1.5,2.0,0.25],"latency":0.125})");
}

TEST(ScheduleSettings, TheMenuKnowsWhichSchedulesHaveChunksToChoose) {
  const Json menu = Json::parse(schedules_json());
  ASSERT_EQ(menu.size(), schedule_names().size());
  EXPECT_EQ(menu[0]["name"], "gpipe");
  EXPECT_EQ(menu[0]["chunks"], 1);
  for (const Json& schedule : menu) {
    EXPECT_THAT(schedule["about"].get<std::string>(), testing::EndsWith("."));
    EXPECT_EQ(schedule["chunks_vary"] == true,
              schedule["name"] == "interleaved-1f1b" || schedule["name"] == "looped-bfs");
  }
}

template <typename Call>
std::string refusal(const Call& call) {
  try {
    (void)call();
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "accepted";
}

TEST(ScheduleSettings, AreRefusedWithASentence) {
  const auto answered = [](const ScheduleSettings& s) {
    return refusal([&] { return answer(s); });
  };
  EXPECT_THAT(answered({.recompute = "all"}),
              HasSubstr("--recompute must be none, stage or layer"));
  EXPECT_THAT(answered({.forward = -1}), HasSubstr("--times"));
  EXPECT_THAT(answered({.latency = -1}), HasSubstr("--latency"));
  EXPECT_THAT(answered({.latency = std::numeric_limits<double>::quiet_NaN()}),
              HasSubstr("--latency"));
  EXPECT_THAT(answered({.schedule = "zb-v", .stages = 3}), HasSubstr("multiple of 2"));
  EXPECT_THAT(answered({.schedule = "2f2b"}), HasSubstr("known are gpipe"));
  EXPECT_THAT(answered({.stages = 0}), HasSubstr("0"));
  EXPECT_THAT(answered({.micro_batches = 0}), HasSubstr("0"));
}

}  // namespace
}  // namespace penstock
