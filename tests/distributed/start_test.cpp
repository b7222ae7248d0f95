// How ranks come together at a start: on which cores and with how many threads, and what is said
// where they are not one program, or do not see the same files.
#include <filesystem>

#include "tests/distributed/program.h"

namespace penstock {
namespace {

using testing::HasSubstr;

TEST_F(Program, BindingChangesNoBit) {
  const auto bound = [&](const std::string& how) {
    const std::string out = scratch_ / how;
    const JobResult job = run_penstock(
        2, "train " + file() + " --stages 2 --steps 3 --out " + out + " --run.bind " + how);
    EXPECT_EQ(job.exit_code, 0) << job.output;
    return read_trajectory(out);
  };
  const Trajectory apart = bound("split");
  const Trajectory free = bound("none");
  EXPECT_EQ(apart.losses, free.losses);
  EXPECT_EQ(apart.tensors, free.tensors);
}

// Two processes that a launcher thinks of as one job, and MPI does not: one line, from the first.
TEST_F(Program, OfStrangersOneSpeaks) {
  const std::string words = "sh -c 'for r in 1 0; do PMI_SIZE=2 PMI_RANK=$r " + penstock_program() +
                            " " + train("--stages 2") + " & done; wait'";
  const JobResult job = run_words(words, 30);
  ASSERT_EQ(error_lines(job.output).size(), 1U) << job.output;
  EXPECT_THAT(job.output, HasSubstr("started 2 processes (PMI_SIZE)"));
}

// Four processes printed four answers, and wrote the same files at the same time.
TEST_F(Program, WhatNeedsNoRanksIsDoneOnce) {
  const auto times = [](const std::string& output, const std::string& words) {
    int found = 0;
    for (size_t at = output.find(words); at != std::string::npos; at = output.find(words, at + 1))
      ++found;
    return found;
  };
  const JobResult schedule = run_penstock(3, "schedule --stages 2 --micro-batches 2", 30);
  EXPECT_EQ(schedule.exit_code, 0) << schedule.output;
  EXPECT_EQ(times(schedule.output, "makespan    "), 1) << schedule.output;
  EXPECT_EQ(times(schedule.output, "schedule needs no ranks: the first of the 3 processes"), 1)
      << schedule.output;
  for (const char* other : {"process 2 of 3 leaves", "process 3 of 3 leaves"}) {
    EXPECT_EQ(times(schedule.output, other + std::string(" `schedule --stages 2 ")), 1)
        << schedule.output;
  }
  const JobResult version = run_penstock(3, "--version", 30);
  EXPECT_EQ(version.exit_code, 0) << version.output;
  EXPECT_EQ(times(version.output, "penstock "), 1) << version.output;
  expect_refusal(3, "plan " + scratch_ / "absent.toml" + " --ranks 2", 2, {"absent.toml"});
  expect_refusal(3, "help nothing", 2, {"nothing"});
}

// What processes 2 and 3 were asked was dropped without a word.
TEST_F(Program, AFarmIsDoneByEachWhereItSaysSo) {
  const auto farm = [&](const std::string& variables, const std::string& command) {
    return run_words("env NO_COLOR=1 " + variables + ranks_script() + " -q -n 3 sh -c '" +
                         penstock_program() + " " + command + "'",
                     30);
  };
  const std::string own = "schedule --stages 2 --micro-batches 1$OMPI_COMM_WORLD_RANK";
  const JobResult each = farm("PENSTOCK_FARM=1 ", own);
  EXPECT_EQ(each.exit_code, 0) << each.output;
  const JobResult first = farm("", own);
  EXPECT_EQ(first.exit_code, 0) << first.output;
  for (const std::string count : {"10", "11", "12"}) {
    const std::string answer = "ranks 2, stages 2, micro-batches " + count;
    EXPECT_THAT(each.output, HasSubstr(answer));
    const std::string left = "leaves `schedule --stages 2 --micro-batches " + count;
    EXPECT_THAT(first.output, HasSubstr(count == "10" ? answer : left));
  }
  EXPECT_THAT(each.output, testing::Not(HasSubstr("note:")));
  const JobResult wrong = farm("PENSTOCK_FARM=1 ", "help nothing$OMPI_COMM_WORLD_RANK");
  EXPECT_EQ(wrong.exit_code, 2);
  EXPECT_THAT(wrong.output, HasSubstr("nothing0"));
}

// The others ended at once, and srun ended the first as well when its WaitTime was over.
TEST_F(Program, ASweepIsStartedOnce) {
  expect_refusal(2, "sweep " + scratch_ / "sweep.toml", 2,
                 {"a launcher started 2 processes", "start one, without mpirun"});
}

// It used to be trained, by whatever they had in common.
TEST_F(Program, RefusesRanksThatAreNotOneProgram) {
  const std::string words = train("--stages 2");
  const auto one_of_each = [&](const std::string& first, const std::string& second) {
    return run_words(ranks_script() + " -q -n 1 " + first + " : -n 1 " + second, 30);
  };
  const JobResult programs =
      one_of_each(penstock_program() + " " + words, program_beside("own_network") + " " + words);
  EXPECT_EQ(programs.exit_code, 2);
  EXPECT_THAT(programs.output, HasSubstr("penstock: error: rank 1 (host "));
  EXPECT_THAT(programs.output, HasSubstr("runs another build of the program"));
  const JobResult run_files =
      one_of_each(penstock_program() + " " + words, penstock_program() + " " + words + " --seed 2");
  EXPECT_EQ(run_files.exit_code, 2);
  ASSERT_EQ(error_lines(run_files.output).size(), 1U) << run_files.output;
  EXPECT_THAT(run_files.output, HasSubstr("rank 1 (host "));
  EXPECT_THAT(run_files.output, HasSubstr("was started with other arguments than rank 0"));
}

// A path that only a process which has opened the folder beside it has: as on a host without a
// shared file system. The second one used to train, and to lose all of it at the first checkpoint.
TEST_F(Program, NamesTheRankThatDoesNotSeeAFile) {
  std::filesystem::create_directories(scratch_ / "own");
  std::string text;
  for (int i = 0; i < 100; ++i) text += "words that only one host has\n";
  (void)scratch_.write("own/input.txt", text);
  const auto seen_by_rank_0 = [&](const std::string& words) {
    const std::string program = "exec " + penstock_program() + " " + words + "'";
    return run_words(ranks_script() + " -q -n 1 sh -c 'exec 9<" + scratch_ / "own" + "; " +
                         program + " : -n 1 sh -c '" + program,
                     30);
  };
  const JobResult data = seen_by_rank_0(train(
      "--stages 2 --data.kind text --model.vocabulary 0 --data.train /proc/self/fd/9/input.txt"));
  EXPECT_EQ(data.exit_code, 3);
  ASSERT_EQ(error_lines(data.output).size(), 1U) << data.output;
  EXPECT_THAT(data.output, HasSubstr("rank 1 (stage 1, replica 0, host "));
  EXPECT_THAT(data.output, HasSubstr("/proc/self/fd/9/input.txt cannot be read there"));
  const JobResult out = seen_by_rank_0("train " + file() + " --stages 2 --out /proc/self/fd/9/run");
  EXPECT_EQ(out.exit_code, 3);
  ASSERT_EQ(error_lines(out.output).size(), 1U) << out.output;
  EXPECT_THAT(out.output, HasSubstr("the run directory /proc/self/fd/9/run is not to be seen"));
}

TEST_F(Program, SaysWhatDiffersBetweenRanksAndWhoWouldNotBeMissed) {
  const std::string words = penstock_program() + " " + train("--stages 2");
  const JobResult job = run_words(
      ranks_script() + " -q -n 1 " + words + " : -n 1 env OMP_THREAD_LIMIT=7 " + words, 30);
  EXPECT_EQ(job.exit_code, 0) << job.output;
  EXPECT_THAT(job.output, HasSubstr("note: OMP_THREAD_LIMIT is '7' on rank 1 (host "));
  EXPECT_THAT(job.output, testing::Not(HasSubstr("keepalive"))) << "on one host";
}

TEST_F(Program, HasNoMoreThreadsThanOpenMpAllows) {
  const auto limited = [&](const std::string& options) {
    return run_words("env OMP_THREAD_LIMIT=1 " + penstock_program() + " " + train(options), 30);
  };
  EXPECT_EQ(limited("").exit_code, 0);
  const JobResult asked = limited("--threads 2");
  EXPECT_EQ(asked.exit_code, 2);
  EXPECT_THAT(asked.output, HasSubstr("run.threads = 2, but OMP_THREAD_LIMIT=1 on "));
}

TEST_F(Program, HasNoMoreThreadsThanOpenMpUsuallyHas) {
  const JobResult usual =
      run_words("env OMP_NUM_THREADS=1 " + penstock_program() + " " + train(""), 30);
  EXPECT_EQ(usual.exit_code, 0);
  EXPECT_THAT(usual.output, HasSubstr(", 1 thread)"));
}

}  // namespace
}  // namespace penstock
