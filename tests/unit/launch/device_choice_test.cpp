// The GPU that a rank takes, and ranks that may not take the same one.
#include "launch/program/device_choice.h"

#include "helpers.h"
#include "kernels/memory/host_memory.h"
#include "tests/support/host_device.h"

namespace penstock {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

RankFacts on(const std::string& gpu) {
  return {.host = "n1", .gpu = gpu, .bus = gpu, .mpi_takes_gpu_memory = false};
}

TEST(DeviceChoice, TheOnlyVisibleGpuIsEveryRanks) {
  for (const int local_rank : {0, 1, 7}) EXPECT_EQ(gpu_for(local_rank, 1), 0);
}

TEST(DeviceChoice, GpusGoRoundByTheRanksPlaceOnItsHost) {
  EXPECT_EQ(gpu_for(0, 4), 0);
  EXPECT_EQ(gpu_for(3, 4), 3);
  EXPECT_EQ(gpu_for(4, 4), 0);
}

TEST(DeviceChoice, RanksThatShareAGpuAreNamedWithTheCures) {
  const std::string words = sharing_complaint(std::vector{on("A"), on("B"), on("A"), on("A")});
  EXPECT_THAT(words, HasSubstr("ranks 0, 2 and 3 would share A on host n1"));
  EXPECT_THAT(words, HasSubstr("--allow-gpu-sharing"));
  EXPECT_THAT(words, HasSubstr("CUDA_VISIBLE_DEVICES"));
}

TEST(DeviceChoice, TheOnlyGpuThatAllSeeIsAMatterOfVisibility) {
  std::vector ranks = {on("A"), on("A")};
  for (RankFacts& rank : ranks) rank.visible_gpus = 1;
  const std::string words = sharing_complaint(ranks);
  EXPECT_THAT(words, HasSubstr("ranks 0 and 1 would share A on host n1, the only GPU that each"));
  EXPECT_THAT(words, HasSubstr("--gpus-per-node=N"));
  EXPECT_THAT(visibility_note(ranks), IsEmpty());
}

TEST(DeviceChoice, RanksThatSeeOnlyTheirOwnGpuAreANote) {
  std::vector ranks = {on("A"), on("B"), on("")};
  for (RankFacts& rank : ranks) rank.visible_gpus = 2;
  EXPECT_THAT(visibility_note(ranks), IsEmpty());
  for (RankFacts& rank : ranks) rank.visible_gpus = 1;
  EXPECT_THAT(visibility_note(ranks), HasSubstr("each rank on host n1 sees its own GPU"));
  ranks[1].host = "n2";
  EXPECT_THAT(visibility_note(ranks), IsEmpty());
}

TEST(DeviceChoice, CpusAndGpusOfTheirOwnAreNoSharing) {
  EXPECT_THAT(sharing_complaint(std::vector{on("A"), on(""), on("B"), on("")}), IsEmpty());
}

TEST(DeviceChoice, SharingIsRefusedUnlessAllowed) {
  const DeviceChoice choice{.gpu = 0, .ranks = {on("A"), on("A")}};
  RunConfig config;
  try {
    refuse_sharing(choice, config);
    ADD_FAILURE() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::Resource);
    EXPECT_EQ(error.scope(), ErrorScope::EveryRank);
  }
  config.allow_gpu_sharing = true;
  refuse_sharing(choice, config);
}

TEST(DeviceChoice, ReplicasOfAStageAreOnOneKindOfDevice) {
  const std::vector ranks = {on("A"), on(""), on("B"), on("")};  // of K = 2, D = 2
  Grid grid{.positions = 2, .replicas = 2};
  EXPECT_THAT(mixture_complaint(ranks, grid), IsEmpty()) << "a stage on GPUs, one on CPUs";
  grid.placement = Placement::Replicas;
  const std::string words = mixture_complaint(ranks, grid);
  EXPECT_THAT(words, HasSubstr("rank 0 (A of host n1) and rank 1 (the CPU of host n1)"));
  EXPECT_THAT(words, HasSubstr("set run.device to cpu"));
  EXPECT_THAT(mixture_complaint(ranks, {.positions = 4}), IsEmpty());
  try {
    refuse_mixture({.gpu = 0, .ranks = ranks}, grid);
    ADD_FAILURE() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::Resource);
    EXPECT_EQ(error.scope(), ErrorScope::EveryRank);
  }
}

TEST(DeviceChoice, ARankMayTakeItsShareOfItsGpuOrItsHost) {
  const HostDevice accelerator(false);
  const int64_t all = accelerator.model().memory_bytes;
  const DeviceChoice choice{.gpu = 0, .ranks = {on("A"), on("A"), on("B")}};
  EXPECT_EQ(memory_of_rank(choice, 0, 3, accelerator), all / 2);
  EXPECT_EQ(memory_of_rank(choice, 2, 3, accelerator), all);
  const DeviceChoice cpus{.gpu = -1, .ranks = {on(""), on("")}};
  EXPECT_EQ(memory_of_rank(cpus, 0, 2, HostDevice()), host_memory_bytes() / 2);
}

TEST(DeviceChoice, AutoSaysWhyItTookTheCpuWhereAGpuMightBeExpected) {
  const DeviceChoice cpu{.gpu = -1, .ranks = {on("")}};
  const DeviceChoice gpu{.gpu = 0, .ranks = {on("A")}};
  const std::string missing = "nvcc is here, but not cuDNN 9";
  EXPECT_EQ(fallback_note(cpu, "auto", true, "", "the driver is too old"),
            "note: this host has a GPU, but the run computes on the CPU: the driver is too old");
  EXPECT_EQ(fallback_note(cpu, "auto", false, missing, "built without it: " + missing),
            "note: the run computes on the CPU: built without it: " + missing);
  EXPECT_THAT(fallback_note(cpu, "auto", false, "", "there is none"), IsEmpty());
  EXPECT_THAT(fallback_note(cpu, "cpu", true, missing, missing), IsEmpty());
  EXPECT_THAT(fallback_note(gpu, "auto", true, missing, missing), IsEmpty());
}

}  // namespace
}  // namespace penstock
