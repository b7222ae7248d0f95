// The file of unlike ranks: what it says, and what it is refused for, with file, place and cure.
#include "launch/program/planning/files/devices_file.h"

#include "launch/program/planning/files/profile_file.h"
#include "tests/unit/launch/helpers.h"

namespace penstock {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

class DevicesFile : public testing::Test {
 protected:
  // What a document with these entries says of a job of `ranks` ranks.
  [[nodiscard]] Devices of_entries(const std::string& entries, int ranks = 4) const {
    return of_text(R"({"devices": [)" + entries + "]}", ranks);
  }
  [[nodiscard]] Devices of_text(const std::string& text, int ranks = 4) const {
    Config config;
    config.pipeline.devices = folder_.write("devices.json", text);
    return devices_of_run(config, ranks, {.model = device_model_named("a100")}, "");
  }
  // The refusal without the path in front of it.
  [[nodiscard]] std::string refusal(const std::string& entries, int ranks = 4) const {
    return text_refusal(R"({"devices": [)" + entries + "]}", ranks);
  }
  [[nodiscard]] std::string text_refusal(const std::string& text, int ranks = 4) const {
    const std::string message = input_error([&] { (void)of_text(text, ranks); });
    const std::string path = folder_ / "devices.json";
    EXPECT_THAT(message, StartsWith(path));
    EXPECT_THAT(message, EndsWith("(docs/planning.md)"));
    return message.substr(std::min(path.size(), message.size()));
  }
  [[nodiscard]] std::string profile(const std::string& name, const std::string& precision) const {
    Profile profile;
    profile.costs.device = "a slow machine";
    profile.precision = precision;
    return folder_.write(name, profile_text(profile));
  }
  TemporaryFolder folder_;
};

TEST_F(DevicesFile, SaysWhatEachRankHas) {
  const Devices devices = of_entries(R"({"ranks": "1-2", "model": "h100"},
      {"ranks": "0", "speed": 0.5}, {"ranks": "3", "model": "p100", "memory": "10GiB"})");
  ASSERT_EQ(devices.kinds.size(), 3U);
  EXPECT_THAT(devices.kind_of_rank, ElementsAre(0, 1, 1, 2));  // the first kind is rank 0's
  EXPECT_EQ(devices.kinds[0].model.name, "a100");
  EXPECT_EQ(devices.kinds[0].speed, 0.5);
  EXPECT_EQ(devices.kinds[0].memory_bytes, 0);
  EXPECT_EQ(devices.kinds[1].model.name, "h100");
  EXPECT_EQ(devices.kinds[1].memory_bytes, int64_t{80} << 30);  // a model brings its memory
  EXPECT_EQ(devices.kinds[2].memory_bytes, int64_t{10} << 30);
  EXPECT_EQ(devices_text(devices),
            "devices: rank 0 a100 at 0.5 of its speed; ranks 1 and 2 h100, 80.0 GiB; "
            "rank 3 p100, 10.0 GiB");
}

TEST_F(DevicesFile, TakesProfilesFromItsOwnFolder) {
  (void)profile("slow.json", "fp32");
  const Devices devices =
      of_entries(R"({"ranks": "0", "model": "a100"}, {"ranks": "1-3", "profile": "slow.json"})");
  EXPECT_FALSE(devices.kinds[0].profile.has_value());
  ASSERT_TRUE(devices.kinds[1].profile.has_value());
  EXPECT_EQ(devices.kinds[1].profile->costs.device, "a slow machine");
  (void)profile("other.json", "bf16");
  EXPECT_THAT(refusal(R"({"ranks": "0-3", "profile": "other.json"})"),
              AllOf(HasSubstr(": 'devices'[0] 'profile' cannot be taken: "),
                    HasSubstr("other.json"), HasSubstr("bf16")));
  EXPECT_THAT(refusal(R"({"ranks": "0-3", "profile": "no.json"})"),
              AllOf(HasSubstr(": 'devices'[0] 'profile' cannot be taken: "), HasSubstr("no.json")));
}

TEST_F(DevicesFile, WithoutOneAllRanksAreLikeTheRunsDevice) {
  const Devices devices = devices_of_run({}, 4, {.model = device_model_named("a100")}, "");
  EXPECT_EQ(devices.kinds.size(), 1U);
  EXPECT_THAT(devices.kind_of_rank, IsEmpty());
  EXPECT_EQ(devices.basis, "counted for a100");
  EXPECT_EQ(devices_text(devices), "");
}

// A plan has no ranks that could measure.
TEST_F(DevicesFile, TheWordForMeasuringIsOfARun) {
  Config config;
  config.pipeline.devices = "measured";
  EXPECT_THAT(input_error([&] {
                (void)devices_of_run(config, 4, {.model = device_model_named("cpu")}, "");
              }),
              AllOf(HasSubstr("pipeline.devices = \"measured\" is what the ranks of a run find"),
                    EndsWith("or --devices \"\"")));
}

TEST_F(DevicesFile, IsRefusedWhereRanksAreMissingTooManyOrTwice) {
  EXPECT_THAT(refusal(R"({"ranks": "0,3", "speed": 1})"),
              HasSubstr(": 'devices' has no entry for ranks 1 and 2 of 4; an entry is like "));
  EXPECT_THAT(refusal(R"({"ranks": "0-4", "speed": 1})"),
              HasSubstr(": 'devices'[0] 'ranks' has rank 4, and the job has 4 ranks"));
  EXPECT_THAT(refusal(R"({"ranks": "0-2", "speed": 1}, {"ranks": "2-3", "speed": 0.5})"),
              HasSubstr(": 'devices'[1] has rank 2, which 'devices'[0] has, too"));
  EXPECT_THAT(refusal(R"({"ranks": "0-3,1", "speed": 1})"),
              HasSubstr(": 'devices'[0] has rank 1 twice"));
  EXPECT_THAT(refusal("", 2), HasSubstr(": 'devices' has no entry for ranks 0 and 1 of 2"));
}

TEST_F(DevicesFile, IsRefusedWhereItListsNoRanks) {
  for (const char* bad : {"", "x", "1-", "-1", "3-1", "1..3", "0,,1", "0-3,", "99999999999"}) {
    const std::string entry = R"({"ranks": ")" + std::string(bad) + R"(", "speed": 1})";
    EXPECT_THAT(refusal(entry), HasSubstr(": 'devices'[0] 'ranks' ")) << bad;
  }
  EXPECT_THAT(refusal(R"({"ranks": 3, "speed": 1})"), HasSubstr("'devices'[0] 'ranks' is no text"));
  EXPECT_THAT(refusal(R"({"speed": 1})"), HasSubstr("'devices'[0] 'ranks' is missing"));
}

TEST_F(DevicesFile, IsRefusedForSpeedsThatAreNone) {
  const auto with_speed = [&](const std::string& speed) {
    return refusal(R"({"ranks": "0-3", "speed": )" + speed + "}");
  };
  EXPECT_THAT(with_speed("-1"), HasSubstr(": 'devices'[0] 'speed' is below 0"));
  EXPECT_THAT(with_speed("0"), HasSubstr(": 'devices'[0] 'speed' is 0, not between 0.001 and"));
  EXPECT_THAT(with_speed("5000"), HasSubstr("'speed' is 5000, not between"));
  EXPECT_THAT(with_speed("\"fast\""), HasSubstr("'speed' is no number"));
  EXPECT_THAT(with_speed("null"), HasSubstr("'speed' is no number"));
  for (const char* no_json : {"nan", "inf", "1e999", ""}) {
    EXPECT_THAT(with_speed(no_json), HasSubstr("an entry is like ")) << no_json;
  }
  EXPECT_THAT(refusal(R"({"ranks": "0-3"})"),
              HasSubstr(": 'devices'[0] says nothing of its ranks: no model, profile, speed or"));
}

TEST_F(DevicesFile, IsRefusedForWhatItDoesNotKnow) {
  EXPECT_THAT(refusal(R"({"ranks": "0-3", "model": "a10"})"),
              AllOf(HasSubstr(": 'devices'[0] 'model' is 'a10', none of cpu, h200, "),
                    HasSubstr("; did you mean 'a100'?")));
  EXPECT_THAT(refusal(R"({"ranks": "0-3", "sped": 1})"),
              HasSubstr(": 'devices'[0] 'sped' is not known"));
  EXPECT_THAT(refusal(R"({"ranks": "0-3", "memory": "much"})"),
              HasSubstr(": 'devices'[0] 'memory' cannot be read: an amount of memory is written"));
  EXPECT_THAT(refusal(R"({"ranks": "0-3", "memory": 80})"),
              StartsWith(": 'devices'[0] 'memory' is no text; an entry is like"));
  EXPECT_THAT(refusal(R"({"ranks": "0", "model": "a100"}, {"ranks": "1-3", "model": "cpu"})"),
              HasSubstr(": 'devices'[1] is for cpu, and 'devices'[0] for a100: CPUs and"));
  EXPECT_THAT(text_refusal("{}"), HasSubstr(": 'devices' is missing"));
  EXPECT_THAT(text_refusal("[]"), HasSubstr("not a JSON object"));
  EXPECT_THAT(text_refusal("ranks = 3"), HasSubstr("an entry is like "));
  EXPECT_THAT(text_refusal(R"({"devices": [3]})"), HasSubstr("'devices'[0] is no object"));
}

TEST_F(DevicesFile, SaysWhichLinksAreUnlike) {
  const Devices devices = of_text(R"({"links": [
      {"ranks": "0,1", "and": "3", "gb_per_s": 2, "latency_us": 30}, {"ranks": "0-1", "latency_us": 7}]})");
  EXPECT_EQ(devices.kinds.size(), 1U);
  EXPECT_THAT(devices.kind_of_rank, IsEmpty());
  EXPECT_EQ(devices.basis, "counted for a100");
  const LinkTimes usual{.latency = 1, .seconds_per_byte = 2, .overhead = 3};
  for (const auto& [rank, other] : {std::pair{0, 3}, {3, 0}, {1, 3}}) {
    const LinkTimes link = devices.links.link(rank, other, usual);
    EXPECT_DOUBLE_EQ(link.latency, 30e-6);
    EXPECT_DOUBLE_EQ(link.seconds_per_byte, 0.5e-9);
    EXPECT_EQ(link.overhead, 3);
  }
  EXPECT_DOUBLE_EQ(devices.links.link(0, 1, usual).latency, 7e-6);
  EXPECT_EQ(devices.links.link(0, 1, usual).seconds_per_byte, 2);
  EXPECT_EQ(devices.links.link(2, 3, usual).latency, 1);
  EXPECT_EQ(devices_text(devices),
            "unlike links: ranks 0 and 1 among themselves 7 us; ranks 0 and 1 with rank 3 2 GB/s "
            "after 30 us");
}

TEST_F(DevicesFile, HasDevicesAndLinks) {
  const Devices devices =
      of_text(R"({"devices": [{"ranks": "0-1", "speed": 0.5}, {"ranks": "2-3", "speed": 1}],
      "links": [{"ranks": "0", "and": "1-3", "gb_per_s": 0.5}, {"ranks": "1-2", "gb_per_s": 4}]})");
  EXPECT_THAT(devices.kind_of_rank, ElementsAre(0, 0, 1, 1));
  EXPECT_DOUBLE_EQ(devices.links.link(2, 0, {}).seconds_per_byte, 2e-9);
  EXPECT_DOUBLE_EQ(devices.links.link(3, 0, {}).seconds_per_byte, 2e-9);
  EXPECT_DOUBLE_EQ(devices.links.link(1, 2, {}).seconds_per_byte, 0.25e-9);
  EXPECT_EQ(devices.links.link(2, 3, {}).seconds_per_byte, 0);
  EXPECT_THAT(devices_text(devices), HasSubstr("ranks 2 and 3 a100\nunlike links: "));
}

TEST_F(DevicesFile, IsRefusedForLinksThatMakeNoSense) {
  const auto of_links = [&](const std::string& entries) {
    return text_refusal(R"({"links": [)" + entries + "]}");
  };
  EXPECT_THAT(of_links(R"({"ranks": "0", "gb_per_s": 1})"),
              AllOf(HasSubstr(": 'links'[0] joins one rank to none: list more in 'ranks', or"),
                    HasSubstr("; a link is like {")));
  EXPECT_THAT(of_links(R"({"ranks": "0-1", "and": "1-2", "gb_per_s": 1})"),
              HasSubstr(": 'links'[0] has rank 1 twice"));
  EXPECT_THAT(of_links(R"({"ranks": "0", "and": "1-4", "gb_per_s": 1})"),
              HasSubstr(": 'links'[0] 'and' has rank 4, and the job has 4 ranks"));
  EXPECT_THAT(of_links(R"({"ranks": "0", "and": "1"})"),
              HasSubstr(": 'links'[0] says nothing of its links: no gb_per_s or latency_us"));
  EXPECT_THAT(of_links(R"({"ranks": "0", "and": "1", "gb_per_s": 0})"),
              HasSubstr(": 'links'[0] 'gb_per_s' is 0, not between 1e-06 and 1"));
  EXPECT_THAT(of_links(R"({"ranks": "0", "and": "1", "latency_us": -1})"),
              HasSubstr(": 'links'[0] 'latency_us' is below 0"));
  EXPECT_THAT(of_links(R"({"ranks": "0", "and": "1", "speed": 1})"),
              HasSubstr(": 'links'[0] 'speed' is not known"));
  EXPECT_THAT(
      of_links(R"({"ranks": "0-1", "and": "2-3", "gb_per_s": 1},
                          {"ranks": "3", "and": "1", "latency_us": 1})"),
      HasSubstr(": 'links'[1] has links that 'links'[0] has, too: each link stands in one"));
  EXPECT_THAT(text_refusal(R"({"links": 3})"), HasSubstr("'links' is no list"));
}

}  // namespace
}  // namespace penstock
