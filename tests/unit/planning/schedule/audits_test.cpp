// Where the Audit of a rank stands, as whole programs, and what may be drawn for it.
#include "runtime/planning/schedule/audits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/planning/schedule/generators/generators.h"
#include "runtime/planning/schedule/lower.h"
#include "runtime/planning/schedule/proof/verify.h"
#include "tests/unit/planning/schedule/support.h"

namespace penstock {
namespace {

using ::testing::ElementsAre;

const Lowering kUpdated{.update = true};

// Rank 0 waits for a unit before each of its last two backwards, rank 1 for two and rank 2 for four
// before the update.
TEST(PlaceAudits, TakesTheLongestWaitThatHasACompleteMicroBatchBeforeIt) {
  const Schedule s = place_audits(lower(one_f_one_b(3, 4), kUpdated));
  EXPECT_EQ(order(s, 0),
            "F0.0 SA0.0 F0.1 SA0.1 F0.2 SA0.2 RG0.0 B0.0 F0.3 SA0.3 RG0.1 B0.1 RG0.2 B0.2 AUD "
            "RG0.3 B0.3 OPT");
  EXPECT_THAT(order(s, 1), testing::EndsWith("B1.3 SG1.3 AUD OPT"));
  EXPECT_THAT(order(s, 2), testing::EndsWith("B2.3 SG2.3 AUD OPT"));
}

TEST(PlaceAudits, WithoutAWaitItComesBeforeTheUpdate) {
  EXPECT_EQ(order(place_audits(lower(gpipe(1, 2), kUpdated)), 0), "F0.0 F0.1 B0.0 B0.1 AUD OPT");
}

TEST(PlaceAudits, LeavesAScheduleThatCanBeProved) {
  const Lowering options{.recompute = true, .reduce = true, .update = true};
  for (int stages = 1; stages <= 4; ++stages) {
    for (int m = 1; m <= 6; ++m) {
      for (const Schedule& s : {gpipe(stages, m), one_f_one_b(stages, m), zb_h1(stages, m)}) {
        const Schedule audited = place_audits(lower(s, options));
        EXPECT_NO_THROW(verify(audited));
        for (const auto& program : audited.program) EXPECT_FALSE(audited_cells(program).empty());
      }
    }
  }
}

// A backward in halves is complete with its weight half.
TEST(AuditedCells, AreThoseThatEndBeforeTheAudit) {
  const auto cells = [](const Schedule& s, int rank) {
    return audited_cells(place_audits(lower(s, kUpdated)).program[static_cast<size_t>(rank)]);
  };
  EXPECT_THAT(cells(one_f_one_b(3, 4), 0),
              ElementsAre(AuditedCell{0, 0}, AuditedCell{0, 1}, AuditedCell{0, 2}));
  EXPECT_THAT(cells(zb_h1(2, 2), 1), ElementsAre(AuditedCell{1, 0}, AuditedCell{1, 1}));
  EXPECT_THAT(audited_cells(lower(gpipe(1, 2), kUpdated).program[0]), ElementsAre());
}

}  // namespace
}  // namespace penstock
