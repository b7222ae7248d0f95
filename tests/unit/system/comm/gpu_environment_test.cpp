// What a job of several ranks tells CUDA and NCCL, and what it leaves to the user.
#include "runtime/system/comm/gpu_environment.h"

#include <gtest/gtest.h>

#include <map>

namespace penstock {
namespace {

std::string text_of_environment(const std::map<std::string, std::string>& set) {
  std::string text;
  const auto environment = [&](const char* name) -> const char* {
    const auto found = set.find(name);
    return found == set.end() ? nullptr : found->second.c_str();
  };
  for (const EnvironmentVariable& variable : gpu_environment(environment)) {
    text += variable.name + "=" + variable.value + " ";
  }
  return text;
}

TEST(GpuEnvironment, LoadsCodeEarlyAndAddsInNoSwitch) {
  EXPECT_EQ(text_of_environment({}), "CUDA_MODULE_LOADING=EAGER NCCL_NVLS_ENABLE=0 ");
}

TEST(GpuEnvironment, LeavesAloneWhatTheUserHasSet) {
  EXPECT_EQ(text_of_environment({{"CUDA_MODULE_LOADING", "LAZY"}, {"NCCL_NVLS_ENABLE", "1"}}), "");
  EXPECT_EQ(text_of_environment({{"CUDA_MODULE_LOADING", "LAZY"}}), "NCCL_NVLS_ENABLE=0 ");
}

TEST(GpuEnvironment, AChoiceOfAlgorithmsIsAChoice) {
  EXPECT_EQ(text_of_environment({{"NCCL_ALGO", "Ring"}}), "CUDA_MODULE_LOADING=EAGER ");
}

}  // namespace
}  // namespace penstock
