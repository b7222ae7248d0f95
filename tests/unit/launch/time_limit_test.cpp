// The end of a run's time, as people and batch systems say it.
#include "launch/program/stopping/time_limit.h"

#include <cstdlib>
#include <map>

#include "helpers.h"

namespace penstock {
namespace {

using std::chrono::seconds;
using testing::HasSubstr;

TEST(TimeLimit, IsWrittenAsMinutesOrAClock) {
  const auto in_seconds = [](const char* text) { return parse_time_limit(text)->count(); };
  EXPECT_EQ(in_seconds("90"), 5400);
  EXPECT_EQ(in_seconds("1.5"), 90);
  EXPECT_EQ(in_seconds("0"), 0);
  EXPECT_EQ(in_seconds("00:30"), 30);
  EXPECT_EQ(in_seconds("90:00"), 5400);
  EXPECT_EQ(in_seconds("1:30:05"), 5405);
  EXPECT_EQ(in_seconds("2-12:00:00"), 60 * 3600);
  EXPECT_EQ(in_seconds("2-12"), 60 * 3600);
  EXPECT_EQ(in_seconds("2-12:30"), 60 * 3600 + 1800);
  for (const char* wrong : {"", "-5", "2-", "2-60:60", "2-1:60", "1h", "1:60", "1:2:3:4", "a-1:00",
                            ":", "1e30", "nan", "inf"}) {
    EXPECT_FALSE(parse_time_limit(wrong)) << wrong;
  }
}

class Limits : public testing::Test {
 protected:
  TimeLimit limit(const std::string& option) {
    return time_limit(option, {.environment =
                                   [this](const char* name) {
                                     const auto found = environment_.find(name);
                                     return found == environment_.end() ? nullptr : found->second;
                                   },
                               .program_start = WallTime(seconds(1000)),
                               .job_start =
                                   [](const char* variable) {
                                     EXPECT_STREQ(variable, "PBS_JOBID");
                                     return WallTime(seconds(400));
                                   }});
  }
  std::map<std::string, const char*> environment_;
};

TEST_F(Limits, AutoAsksTheBatchSystem) {
  EXPECT_FALSE(limit("auto").end);
  environment_["PBS_WALLTIME"] = "3600";
  EXPECT_EQ(limit("auto").end, WallTime(seconds(4000))) << "from the job's start, not ours";
  environment_["SLURM_JOB_END_TIME"] = "1790000000";
  EXPECT_EQ(limit("auto").end, WallTime(seconds(1790000000)));
  EXPECT_EQ(limit("auto").from, "SLURM_JOB_END_TIME");
  EXPECT_FALSE(limit("none").end);
  environment_["SLURM_JOB_END_TIME"] = "soon";
  EXPECT_EQ(limit("auto").from, "PBS_WALLTIME");
}

// Slurm lets a job run on for a moment, and a script that starts runs again goes on with that: the
// first step was cut off.
TEST_F(Limits, PastTheEndOfTheJobNothingIsBegun) {
  environment_["SLURM_JOB_END_TIME"] = "1790000000";
  const WallTime end{seconds(1790000000)};
  EXPECT_NO_THROW(refuse_past_end(limit("auto"), end - seconds(1)));
  EXPECT_NO_THROW(refuse_past_end(limit("none"), end + seconds(1)));
  EXPECT_NO_THROW(refuse_past_end(limit("2"), end + seconds(1))) << "that is the user's own";
  try {
    refuse_past_end(limit("auto"), end + seconds(90));
    ADD_FAILURE() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::Stopped);
    EXPECT_THAT(error.what(), testing::AllOf(HasSubstr("over 90 s ago, as SLURM_JOB_END_TIME"),
                                             HasSubstr("no step is taken")));
  }
}

TEST_F(Limits, OnesOwnCountsFromTheStart) {
  environment_["SLURM_JOB_END_TIME"] = "1790000000";
  EXPECT_EQ(limit("2").end, WallTime(seconds(1120)));
  EXPECT_THAT(input_error([&] { (void)limit("tomorrow"); }), HasSubstr("run.time_limit is auto"));
}

TEST_F(Limits, HereTheProgramStartedAMomentAgo) {
  const TimeLimit here = time_limit("10");
  const Seconds left = *here.end - std::chrono::system_clock::now();
  EXPECT_GT(left, Seconds(300));
  EXPECT_LE(left, Seconds(601));
}

TEST(TimeLimit, LeavesTimeForStepsAndCheckpoints) {
  EXPECT_EQ(stopping_margin(Seconds(3), Seconds(10)), Seconds(31));
}

}  // namespace
}  // namespace penstock
