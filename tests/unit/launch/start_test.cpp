// What ranks find out about each other before they do anything: who is another program, what is
// different where they run, and who would not be missed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "launch/program/start/build_id.h"
#include "launch/program/start/excluded_hosts.h"
#include "launch/program/start/keepalive.h"
#include "launch/program/start/rank_ranges.h"
#include "launch/program/start/start_facts.h"
#include "tests/support/temporary_folder.h"

namespace penstock {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

StartFacts facts_on(const std::string& host, const std::string& program = "a1b2") {
  return {.host = host,
          .program = program,
          .kernels = {},
          .arguments = "train run.toml --stages 4",
          .conditions = {{"instruction set", "avx2"}}};
}

TEST(RanksText, SaysManyInFewWords) {
  EXPECT_EQ(ranks_text(std::vector{3}), "rank 3");
  EXPECT_EQ(ranks_text(std::vector{3, 4}), "ranks 3 and 4");
  EXPECT_EQ(ranks_text(std::vector{0, 2, 3, 4, 5, 9}), "ranks 0, 2-5 and 9");
  EXPECT_EQ(ranks_text(std::vector{0, 2, 4, 6, 8, 10, 12}), "ranks 0, 2, 4, 6, 8 and 2 others");
}

TEST(StartFacts, AnotherBuildIsNamedWithItsRanksAndHosts) {
  const std::vector ranks = {facts_on("n1"), facts_on("n1"), facts_on("n2", "c3d4"),
                             facts_on("n2", "c3d4")};
  EXPECT_THAT(mismatch_of_starts(ranks),
              HasSubstr("ranks 2 and 3 (host n2) run another build of the program (build id "
                        "'c3d4') than rank 0 (host n1, 'a1b2')"));
  EXPECT_THAT(mismatch_of_starts(std::span(ranks).first(2)), IsEmpty());
}

// The kernels may be a library of their own, one for each level of processor.
TEST(StartFacts, OtherKernelsAreAnotherBuildUnlessTheyAreOfAnotherLevel) {
  std::vector ranks = {facts_on("n1"), facts_on("n2")};
  for (StartFacts& one : ranks) one.conditions["level of kernels"] = "x86-64-v4";
  ranks[0].kernels = "a1";
  ranks[1].kernels = "b2";
  EXPECT_THAT(mismatch_of_starts(ranks),
              HasSubstr("rank 1 (host n2) runs another build of libpenstock_kernels.so (build id "
                        "'b2') than rank 0 (host n1, 'a1')"));
  ranks[1].conditions["level of kernels"] = "x86-64-v3";
  EXPECT_THAT(mismatch_of_starts(ranks), IsEmpty());
  EXPECT_THAT(conditions_note(ranks), HasSubstr("note: level of kernels is 'x86-64-v3' on rank 1 "
                                                "(host n2) and 'x86-64-v4' on rank 0"));
}

TEST(ExcludedHosts, AreNamedWithAndWithoutTheirDomains) {
  const TemporaryFolder folder;
  EXPECT_THAT(excluded_hosts_note(folder.path(), {"n1", "n2"}), IsEmpty());
  folder.write("excluded_hosts", "n2.cluster\nn4\n");
  EXPECT_THAT(excluded_hosts_note(folder.path(), {"n1", "n2", "n3", "n4.cluster"}),
              HasSubstr("wrong bits on n2, n4.cluster, by "));
  EXPECT_THAT(excluded_hosts_note(folder.path(), {"n1", "n22"}), IsEmpty());
}

TEST(StartFacts, OtherArgumentsAreNamed) {
  std::vector ranks = {facts_on("n1"), facts_on("n2")};
  ranks[1].arguments = "train other.toml";
  EXPECT_THAT(mismatch_of_starts(ranks), HasSubstr("rank 1 (host n2) was started with other"));
  EXPECT_THAT(mismatch_of_starts(ranks), HasSubstr("'train other.toml' there"));
}

TEST(StartFacts, ConditionsThatDifferAreOneNote) {
  std::vector ranks = {facts_on("n1"), facts_on("n2"), facts_on("n3")};
  EXPECT_THAT(conditions_note(ranks), IsEmpty());
  ranks[1].conditions = {{"instruction set", "avx512"}, {"OMP_DYNAMIC", "true"}};
  ranks[2].conditions = ranks[1].conditions;
  EXPECT_EQ(conditions_note(ranks),
            "note: OMP_DYNAMIC is 'true' on ranks 1 and 2 (host n2 and 1 other) and not set on "
            "rank 0; instruction set is 'avx512' on ranks 1 and 2 (host n2 and 1 other) and "
            "'avx2' on rank 0: the last bits of the weights may be others than where all ranks "
            "are alike");
  EXPECT_EQ(count_hosts(ranks), 3);
}

TEST(StartFacts, SurviveBeingSent) {
  StartFacts facts = facts_on("n1");
  facts.kernels = "b2";
  facts.arguments = "train \"a b\"\nc\xff";
  const StartFacts back = parse_start_facts(text_of(facts));
  EXPECT_EQ(back.host, facts.host);
  EXPECT_EQ(back.program, facts.program);
  EXPECT_EQ(back.kernels, facts.kernels);
  EXPECT_THAT(back.arguments, HasSubstr("train \"a b\"\nc"));
  EXPECT_EQ(back.conditions, facts.conditions);
}

TEST(BuildId, IsInThisProgram) {
  EXPECT_GE(build_id().size(), 32U);
}

TEST(Keepalive, ALostHostThatNobodyWouldMissIsANote) {
  const std::string open_mpi = "Open MPI v4.1.4";
  const std::string note = keepalive_note(2, "mpirun", open_mpi, {});
  EXPECT_THAT(note, HasSubstr("noticed after 480 s"));
  EXPECT_THAT(note, HasSubstr("OMPI_MCA_oob_tcp_keepalive_time=5 "
                              "OMPI_MCA_oob_tcp_keepalive_intvl=2 "
                              "OMPI_MCA_oob_tcp_keepalive_probes=3"));
  EXPECT_THAT(keepalive_note(1, "mpirun", open_mpi, {}), IsEmpty());
  EXPECT_THAT(keepalive_note(2, "srun", open_mpi, {}), IsEmpty());
  EXPECT_THAT(keepalive_note(2, "mpirun", "MPICH Version 4.0", {}), IsEmpty());
}

TEST(Keepalive, SettingsAreTakenFromFilesAndTheEnvironment) {
  const Parameters file = read_parameters(
      "# comment\n oob_tcp_keepalive_time = 5 # seconds\noob_tcp_keepalive_intvl=2\r\n\nbtl\n");
  EXPECT_EQ(file.size(), 2U);
  EXPECT_EQ(seconds_to_notice(file), 5 + 2 * 9);
  EXPECT_THAT(keepalive_note(2, "mpirun", "Open MPI v4.1.4", file), IsEmpty());
  const std::map<std::string, std::string> variables = {{"OMPI_MCA_oob_tcp_keepalive_time", "1000"},
                                                        {"HOME", "/no/such/place"}};
  const Environment environment = [&](const char* name) {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  };
  EXPECT_EQ(parameters_here(environment).at("oob_tcp_keepalive_time"), "1000");
}

}  // namespace
}  // namespace penstock
