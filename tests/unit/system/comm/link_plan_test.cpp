// The way that tensors travel: every rule of plan_links(), from facts alone.
#include "runtime/system/comm/link_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/error.h"

namespace penstock {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr Transport kMpi = Transport::Mpi;
constexpr Transport kNccl = Transport::Nccl;

RankFacts cpu() {
  return {"n1", "", "", false};
}
RankFacts gpu(const std::string& bus, const std::string& host = "n1") {
  return {host, "GPU-" + host + bus, bus, false};
}

// Two positions x two replicas: ranks 0 1 are replica 0, ranks 2 3 are replica 1.
const Grid kSquare{2, 2, Placement::Stages};
const Grid kChain{2, 1, Placement::Stages};

std::string refusal(const std::string& wish, const std::vector<RankFacts>& ranks) {
  try {
    (void)plan_links(wish, ranks, kChain);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::Input);
    return error.what();
  }
  return "nothing was thrown";
}

TEST(LinkPlan, NcclWhereEveryRankHasAGpuOfItsOwn) {
  const std::vector<RankFacts> ranks = {gpu("1"), gpu("2"), gpu("1", "n2"), gpu("2", "n2")};
  for (const char* wish : {"auto", "nccl"}) {
    const LinkPlan plan = plan_links(wish, ranks, kSquare);
    EXPECT_EQ(plan.links, kNccl);
    EXPECT_THAT(plan.sums, ElementsAre(kNccl, kNccl));
    EXPECT_THAT(plan.note, HasSubstr("links by nccl, sums by nccl: "));
  }
}

TEST(LinkPlan, MpiAndNoWordWhereNobodyHasAGpu) {
  const std::vector<RankFacts> ranks(4, cpu());
  for (const char* wish : {"auto", "mpi", "mpi-staged"}) {
    const LinkPlan plan = plan_links(wish, ranks, kSquare);
    EXPECT_EQ(plan.links, kMpi);
    EXPECT_EQ(plan.sums_at(1), kMpi);
    EXPECT_THAT(plan.note, IsEmpty());
  }
}

TEST(LinkPlan, AutoStagesWhereRanksShareAGpuAndSaysWhich) {
  const LinkPlan plan = plan_links("auto", std::vector{gpu("1"), gpu("1")}, kChain);
  EXPECT_EQ(plan.links, kMpi);
  EXPECT_EQ(plan.note, "links by mpi-staged: ranks 0 and 1 share a GPU of host n1");
}

// Parts of one GPU have identities of their own, but NCCL looks at the bus.
TEST(LinkPlan, PartsOfOneGpuAreOneToNccl) {
  RankFacts half = gpu("1");
  half.gpu = "GPU-another";
  EXPECT_EQ(plan_links("auto", std::vector{gpu("1"), half}, kChain).links, kMpi);
}

// Containers of one machine may call themselves different hosts.
TEST(LinkPlan, OneGpuUnderTwoHostNamesIsShared) {
  RankFacts same = gpu("1", "n2");
  same.gpu = gpu("1").gpu;
  EXPECT_EQ(plan_links("auto", std::vector{gpu("1"), same}, kChain).links, kMpi);
}

TEST(LinkPlan, AutoMixesCpusAndGpusAndSumsByNcclWhereAPositionCan) {
  const std::vector<RankFacts> ranks = {cpu(), gpu("1"), cpu(), gpu("2")};
  const LinkPlan plan = plan_links("auto", ranks, kSquare);
  EXPECT_EQ(plan.links, kMpi);
  EXPECT_THAT(plan.sums, ElementsAre(kMpi, kNccl));
  EXPECT_EQ(plan.note,
            "links by mpi-staged, sums by nccl or mpi by stage: rank 0 (host n1) computes on its "
            "CPU");
}

// The members of a position depend on the placement.
TEST(LinkPlan, PositionsAreThoseOfTheGrid) {
  const std::vector<RankFacts> ranks = {gpu("1"), gpu("1"), gpu("2"), gpu("3")};
  EXPECT_THAT(plan_links("auto", ranks, {2, 2, Placement::Replicas}).sums,
              ElementsAre(kMpi, kNccl));
  EXPECT_THAT(plan_links("auto", ranks, {2, 2, Placement::Stages}).sums, ElementsAre(kNccl, kNccl));
}

TEST(LinkPlan, WithoutReplicasNothingIsSummedByNccl) {
  EXPECT_THAT(plan_links("auto", std::vector{gpu("1"), gpu("2")}, kChain).sums, Each(kMpi));
}

TEST(LinkPlan, StagedAsAskedKeepsNcclOut) {
  const LinkPlan plan =
      plan_links("mpi-staged", std::vector{gpu("1"), gpu("2"), gpu("3"), gpu("4")}, kSquare);
  EXPECT_EQ(plan.links, kMpi);
  EXPECT_EQ(plan.sums_at(0), kMpi);
  EXPECT_EQ(plan.note, "links by mpi-staged, sums by mpi: as asked");
}

TEST(LinkPlan, MpiCudaNeedsAnMpiThatReadsGpus) {
  std::vector<RankFacts> ranks = {gpu("1"), cpu(), gpu("2"), cpu()};
  ranks[0].mpi_takes_gpu_memory = ranks[2].mpi_takes_gpu_memory = true;
  const LinkPlan plan = plan_links("mpi-cuda", ranks, kSquare);
  EXPECT_EQ(plan.links, Transport::MpiCuda);
  EXPECT_EQ(plan.sums_at(0), kMpi);
  ranks[2].mpi_takes_gpu_memory = false;
  EXPECT_THAT(refusal("mpi-cuda", ranks),
              HasSubstr("that of rank 2 (host n1) says that it cannot"));
  EXPECT_THAT(refusal("mpi-cuda", {cpu(), cpu()}), HasSubstr("no rank uses one"));
}

TEST(LinkPlan, NcclAskedForWhereItCannotBeSaysWhy) {
  EXPECT_THAT(refusal("nccl", {gpu("1"), cpu()}),
              HasSubstr("rank 1 (host n1) computes on its CPU"));
  EXPECT_THAT(refusal("nccl", {gpu("1"), gpu("1")}), HasSubstr("ranks 0 and 1 share a GPU"));
}

TEST(LinkPlan, MpiAskedForWhereAGpuComputesSaysWho) {
  EXPECT_THAT(refusal("mpi", {cpu(), gpu("1")}), HasSubstr("rank 1 (host n1) computes on a GPU"));
}

TEST(LinkPlan, OneRankLinksNothingWhateverIsAskedFor) {
  for (const char* wish : {"auto", "nccl", "mpi-staged", "mpi-cuda", "mpi"}) {
    const LinkPlan plan = plan_links(wish, std::vector{gpu("1")}, {1, 1, Placement::Stages});
    EXPECT_EQ(plan.links, kMpi);
    EXPECT_THAT(plan.note, IsEmpty());
  }
}

TEST(LinkPlan, FactsSurviveBeingSent) {
  RankFacts facts = gpu("0000:17:00", "a host");
  facts.mpi_takes_gpu_memory = true;
  facts.visible_gpus = 8;
  const RankFacts back = parse_rank_facts(text_of(facts));
  EXPECT_EQ(back.visible_gpus, 8);
  EXPECT_EQ(back.host, facts.host);
  EXPECT_EQ(back.gpu, facts.gpu);
  EXPECT_EQ(back.bus, facts.bus);
  EXPECT_TRUE(back.mpi_takes_gpu_memory);
  const RankFacts plain = parse_rank_facts(text_of(cpu()));
  EXPECT_EQ(plain.host, "n1");
  EXPECT_THAT(plain.gpu, IsEmpty());
  EXPECT_FALSE(plain.mpi_takes_gpu_memory);
}

}  // namespace
}  // namespace penstock
