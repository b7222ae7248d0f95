#include "runtime/system/comm/launcher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>

namespace penstock {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

Environment environment(const std::map<std::string, std::string>& variables) {
  return [variables](const char* name) -> const char* {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  };
}

std::string complaint_of(const Environment& environment) {
  return launcher_complaint(environment, "MPICH 4.0.2");
}

TEST(Launcher, RefusesAStepOfStrangers) {
  const auto srun = environment({{"SLURM_STEP_NUM_TASKS", "4"}});
  const std::string complaint = complaint_of(srun);
  EXPECT_THAT(complaint, HasSubstr("srun --mpi=pmix"));
  EXPECT_THAT(complaint, HasSubstr("started 4 processes"));
  EXPECT_TRUE(is_slurm_without_pmix(srun));
}

TEST(Launcher, RefusesTheMpirunOfAnotherMpi) {
  const std::string complaint = complaint_of(environment({{"PMI_SIZE", "2"}}));
  EXPECT_THAT(complaint, HasSubstr("MPICH or one of its kin started 2 processes (PMI_SIZE)"));
  EXPECT_THAT(complaint,
              HasSubstr("penstock was built with MPICH 4.0.2: start it with the mpiexec"));
}

// A launcher of its own name that speaks PMI, too, is called by its name.
TEST(Launcher, NamesTheLauncherThatSpeaksPmi) {
  EXPECT_THAT(complaint_of(environment({{"FLUX_JOB_SIZE", "2"}, {"PMI_SIZE", "2"}})),
              HasSubstr("flux started 2 processes"));
}

// An MPICH that is started by what only Open MPI understands.
TEST(Launcher, RefusesOthersThanOpenMpiUnderItsLaunchers) {
  EXPECT_THAT(complaint_of(environment({{"OMPI_COMM_WORLD_SIZE", "4"}, {"PMIX_RANK", "1"}})),
              HasSubstr("Open MPI's mpirun started 4 processes"));
  EXPECT_THAT(complaint_of(environment({{"SLURM_STEP_NUM_TASKS", "4"}, {"PMIX_RANK", "1"}})),
              HasSubstr("srun --mpi=pmi2"));
}

TEST(Launcher, LeavesPmixToMpi) {
  EXPECT_FALSE(
      is_slurm_without_pmix(environment({{"SLURM_STEP_NUM_TASKS", "4"}, {"PMIX_RANK", "0"}})));
}

TEST(Launcher, AcceptsOneProcess) {
  EXPECT_THAT(complaint_of(environment({})), IsEmpty());
  EXPECT_THAT(complaint_of(environment({{"SLURM_STEP_NUM_TASKS", "1"}})), IsEmpty());
}

// `penstock plan` in a batch script of a job with four tasks: the script itself is one process.
TEST(Launcher, AcceptsOneProcessInABatchScript) {
  const auto batch = environment({{"SLURM_NTASKS", "4"}, {"SLURM_PROCID", "0"}});
  EXPECT_THAT(complaint_of(batch), IsEmpty());
  EXPECT_FALSE(is_slurm_without_pmix(batch));
}

// Under Slurm, mpirun starts its daemons with a step of one task a node; its ranks inherit that.
TEST(Launcher, AcceptsOneRankUnderMpirun) {
  const auto mpirun = environment({{"SLURM_STEP_NUM_TASKS", "2"}, {"OMPI_COMM_WORLD_SIZE", "1"}});
  EXPECT_THAT(complaint_of(mpirun), IsEmpty());
}

// Slurm's pmi2 plug-in: another MPI may well be able to start from it, so MPI_Init has the word.
TEST(Launcher, LeavesOtherProcessManagersToMpi) {
  const auto pmi2 =
      environment({{"SLURM_STEP_NUM_TASKS", "4"}, {"PMI_RANK", "1"}, {"PMI_SIZE", "4"}});
  EXPECT_FALSE(is_slurm_without_pmix(pmi2));
  EXPECT_TRUE(is_slurm_with_pmi(pmi2));
}

std::pair<int, int> process_in(const std::map<std::string, std::string>& variables) {
  const StartedProcess process = started_process(environment(variables));
  return {process.number, process.processes};
}

TEST(Launcher, KnowsWhichProcessOfHowManyThisIs) {
  EXPECT_EQ(process_in({}), std::pair(0, 1));
  EXPECT_EQ(process_in({{"OMPI_COMM_WORLD_SIZE", "4"}, {"OMPI_COMM_WORLD_RANK", "3"}}),
            std::pair(3, 4));
  EXPECT_EQ(process_in({{"PMI_SIZE", "2"}, {"PMI_RANK", "1"}}), std::pair(1, 2));
  EXPECT_EQ(process_in({{"FLUX_JOB_SIZE", "3"}, {"FLUX_TASK_RANK", "2"}}), std::pair(2, 3));
  EXPECT_EQ(process_in({{"JSM_NAMESPACE_SIZE", "3"}, {"JSM_NAMESPACE_RANK", "1"}}),
            std::pair(1, 3));
  EXPECT_EQ(process_in({{"SLURM_STEP_NUM_TASKS", "4"}, {"SLURM_PROCID", "2"}, {"PMIX_RANK", "2"}}),
            std::pair(2, 4));
  // A batch script is one process, whatever its job has.
  EXPECT_EQ(process_in({{"SLURM_NTASKS", "4"}, {"SLURM_PROCID", "0"}}), std::pair(0, 1));
}

// Helpers of both mpiruns are started by a step of Slurm's with a task on each node.
TEST(Launcher, CountsTheProcessesOfMpirunNotItsHelpers) {
  const std::map<std::string, std::string> helper = {{"SLURM_STEP_NUM_TASKS", "2"},
                                                     {"SLURM_PROCID", "1"}};
  std::map<std::string, std::string> rank = helper;
  rank.insert({{"OMPI_COMM_WORLD_SIZE", "1"}, {"OMPI_COMM_WORLD_RANK", "0"}});
  EXPECT_EQ(process_in(rank), std::pair(0, 1));
  rank = helper;
  rank.insert({{"PMI_SIZE", "8"}, {"PMI_RANK", "5"}});
  EXPECT_EQ(process_in(rank), std::pair(5, 8));
}

TEST(Launcher, KnowsWhatStartedTheRanks) {
  EXPECT_EQ(starter(environment({})), "mpirun");
  EXPECT_EQ(starter(environment({{"OMPI_COMM_WORLD_SIZE", "4"}, {"PMIX_RANK", "0"}})), "mpirun");
  EXPECT_EQ(starter(environment({{"SLURM_STEP_NUM_TASKS", "4"}, {"PMIX_RANK", "0"}})), "srun");
  EXPECT_EQ(starter(environment({{"SLURM_STEP_NUM_TASKS", "4"}, {"PMI_RANK", "0"}})), "srun");
  EXPECT_EQ(starter(environment({{"FLUX_TASK_RANK", "0"}, {"PMI_RANK", "0"}})), "flux run");
  // Both mpiruns start their helpers by a step of Slurm's.
  EXPECT_EQ(starter(environment({{"SLURM_STEP_NUM_TASKS", "2"}, {"OMPI_COMM_WORLD_SIZE", "4"}})),
            "mpirun");
  EXPECT_EQ(starter(environment(
                {{"SLURM_STEP_NUM_TASKS", "2"}, {"MPI_LOCALNRANKS", "4"}, {"PMI_RANK", "0"}})),
            "mpiexec");
}

}  // namespace
}  // namespace penstock
