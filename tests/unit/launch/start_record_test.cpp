// The record of a start: which variables of the environment it has.
#include "launch/program/start/start_record.h"

#include <gtest/gtest.h>

namespace penstock {
namespace {

TEST(StartRecords, HaveTheVariablesThatLibrariesRead) {
  for (const char* name : {"OMP_NUM_THREADS", "KMP_BLOCKTIME", "OMPI_MCA_pml", "UCX_TLS",
                           "NCCL_ALGO", "CUDA_VISIBLE_DEVICES", "LD_PRELOAD", "SLURM_JOB_ID"}) {
    EXPECT_TRUE(is_recorded(name)) << name;
  }
}

TEST(StartRecords, HaveNothingOfTheUsersOrTheLaunchersOwn) {
  for (const char* name : {"HOME", "HF_TOKEN", "AWS_SECRET_ACCESS_KEY", "OMPI_MCA_orte_hnp_uri",
                           "OMPI_MCA_ess", "PMIX_RANK", "MY_OMP_THREADS", "LD_PRELOADED"}) {
    EXPECT_FALSE(is_recorded(name)) << name;
  }
}

}  // namespace
}  // namespace penstock
