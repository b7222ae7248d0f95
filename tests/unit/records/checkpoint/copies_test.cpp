// Copies of what ranks keep, in memory: what is whole is found and chosen, and nothing else.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>

#include "kernels/error.h"
#include "runtime/records/checkpoint/copies/copy_layout.h"
#include "runtime/records/checkpoint/copies/copy_list.h"
#include "runtime/records/checkpoint/copies/copy_slot.h"
#include "runtime/records/checkpoint/copies/file_system.h"
#include "runtime/records/checkpoint/format/checksum.h"
#include "tests/support/temporary_folder.h"

namespace penstock {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr const char* kRun = "0123456789abcdef";

CopyDocument document(int64_t step, int rank, int ranks, int64_t attempt = 1) {
  CopyDocument document{.attempt = attempt, .rank = rank, .ranks = ranks};
  document.file = {100, "00112233445566ff"};
  document.state.step = step;
  document.state.run = kRun;
  document.state.configuration = "[run]\nsteps = \"\xC3\xA9\"\n";
  return document;
}

TEST(CopyDocuments, SayWhatTheyWereWrittenWith) {
  CopyDocument written = document(1LL << 40, 3, 8, 7);
  written.needs_frozen = true;
  written.state.owes_evaluation = true;
  written.state.loss = 0.1;
  const std::string padded = encode_copy(written) + "   ";
  EXPECT_EQ(parse_copy(padded, "here"), written);
}

TEST(CopyDocuments, ThatAreDamagedNameTheFileAndTheKey) {
  const std::string whole = encode_copy(document(5, 0, 2));
  const auto complaint = [](const std::string& text) -> std::string {
    try {
      (void)parse_copy(text, "slot/copy.json");
      return "";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::Data);
      return error.what();
    }
  };
  EXPECT_THAT(complaint(whole.substr(0, whole.size() / 2)), HasSubstr("slot/copy.json"));
  EXPECT_THAT(complaint("{\"format\": 2}"), HasSubstr("another version's"));
  EXPECT_THAT(complaint(encode_copy(document(5, 2, 2))), HasSubstr("no such rank"));
  EXPECT_THAT(complaint("{\"format\": 1, \"attempt\": 1, \"rank\": 0, \"ranks\": 1}"),
              HasSubstr("is_frozen"));
}

class Copies : public testing::Test {
 protected:
  // A slot of a rank with what a document says of it.
  std::string fill(const CopyDocument& told, const std::string& slot, int holder) {
    const std::string folder =
        copies_of_rank(copies_folder(folder_.path(), kRun), told.rank, holder) + "/" + slot;
    CopySlot made(folder, "header", 4);
    std::memcpy(made.data().data(), "data", 4);
    made.complete(encode_copy(told));
    return folder;
  }
  TemporaryFolder folder_;
};

TEST_F(Copies, AreWholeOnlyWhileTheirDocumentIsThere) {
  const std::string path = folder_ / "slot";
  CopySlot slot(path, "header", 4);
  std::memcpy(slot.data().data(), "data", 4);
  EXPECT_FALSE(std::filesystem::exists(path + "/copy.json"));
  slot.complete("{}");
  EXPECT_TRUE(std::filesystem::exists(path + "/copy.json"));
  Checksum expected;
  expected.add("headerdata", 10);
  EXPECT_EQ(digest_of(path + "/copy.safetensors"), (FileDigest{10, expected.hex()}));
  slot.forget();
  EXPECT_FALSE(std::filesystem::exists(path + "/copy.json"));
  namespace fs = std::filesystem;
  EXPECT_EQ(fs::status(path).permissions(), fs::perms::owner_all) << "others may read";
}

TEST_F(Copies, WithoutRoomAreRefusedWithACure) {
  try {
    const CopySlot slot(folder_ / "slot", "header", uint64_t{1} << 60);
    FAIL() << "there is room for an exbibyte";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::Resource);
    EXPECT_THAT(error.what(), HasSubstr(folder_ / "slot/copy.safetensors"));
    EXPECT_THAT(error.what(), HasSubstr("--checkpoint.partner_dir"));
  }
  EXPECT_FALSE(std::filesystem::exists(folder_ / "slot/copy.safetensors"));
}

TEST_F(Copies, KnowWhetherADirectoryIsInMemory) {
  EXPECT_TRUE(file_system_of("/dev/shm").in_memory);
  EXPECT_EQ(file_system_of("/dev/shm").kind, "tmpfs");
  EXPECT_FALSE(file_system_of("/proc").in_memory);
  EXPECT_THROW((void)file_system_of(folder_ / "absent"), Error);
}

TEST_F(Copies, OfAnotherRunAreNeverTaken) {
  const std::string own = fill(document(4, 0, 1), "0", 0);
  CopyDocument foreign = document(5, 0, 1);
  foreign.state.run = "fedcba9876543210";
  const std::string other = fill(foreign, "1", 0);
  const FoundCopies found = find_copies(folder_.path(), kRun);
  ASSERT_THAT(found.copies, SizeIs(1));
  EXPECT_EQ(found.copies[0].folder, own);
  ASSERT_THAT(found.troubles, SizeIs(1));
  EXPECT_THAT(found.troubles[0], HasSubstr(other));
  EXPECT_THAT(find_copies(folder_.path(), "fedcba9876543210").copies, IsEmpty());
  EXPECT_THAT(find_copies(folder_ / "nothing", kRun).copies, IsEmpty());
}

std::vector<FoundCopy> found(const std::vector<CopyDocument>& documents) {
  std::vector<FoundCopy> all;
  for (const CopyDocument& one : documents) {
    all.push_back({"slot" + std::to_string(all.size()), one, 0, "n0"});
  }
  return all;
}

TEST(ChosenStep, IsTheNewestThatEveryRankHas) {
  const auto all = found({document(7, 0, 2), document(6, 0, 2), document(6, 1, 2),
                          document(5, 1, 2), document(6, 1, 2)});
  const ChosenCopies chosen = choose_copies(all, 1, 0);
  EXPECT_EQ(chosen.step, 6);
  ASSERT_THAT(chosen.copies, SizeIs(2));
  EXPECT_EQ(chosen.copies[0].folder, "slot1");
  EXPECT_EQ(chosen.copies[1].folder, "slot2");
  EXPECT_THAT(chosen.troubles,
              ElementsAre("step 7 is not whole in memory: no host of this job has a copy of rank 1 "
                          "of 2"));
}

TEST(ChosenStep, IsNewerThanWhatIsOnDiskAndOfTheLastAttempt) {
  const auto all = found({document(6, 0, 1), document(9, 0, 1, 2)});
  EXPECT_EQ(choose_copies(all, 2, 8).step, 9);
  EXPECT_EQ(choose_copies(all, 2, 9).step, -1);
  const ChosenCopies none = choose_copies(all, 3, 7);
  EXPECT_EQ(none.step, -1);
  EXPECT_THAT(none.troubles, ElementsAre(HasSubstr("of an earlier attempt than 3")));
  EXPECT_THAT(choose_copies(all, 3, 9).troubles, IsEmpty()) << "they are not needed";
}

TEST(ChosenStep, NeedsWhatIsFrozenToo) {
  CopyDocument rest = document(6, 0, 1);
  rest.needs_frozen = true;
  CopyDocument frozen = document(0, 0, 1);
  frozen.is_frozen = true;
  EXPECT_EQ(choose_copies(found({rest}), 1, 0).step, -1);
  const ChosenCopies chosen = choose_copies(found({rest, frozen}), 1, 0);
  EXPECT_EQ(chosen.step, 6);
  EXPECT_THAT(chosen.copies, SizeIs(2));
}

TEST(CopyLayouts, SayWhereEachPieceBelongs) {
  Memory memory(host_memory_source());
  const auto tensor = [&](const Shape& shape) {
    return Tensor(memory.take(64, Purpose::Workspace), shape, DType::F32);
  };
  const std::vector<CopiedPiece> pieces = {{{"b.exp_avg", tensor({3})}, "optimizer", 4, {2, 5}, 7},
                                           {{"a", tensor({2, 2})}, "model", 1, {2, 2}, 0}};
  const CopyLayout layout = lay_out(pieces);
  EXPECT_EQ(layout.data_bytes, 28U);
  ASSERT_THAT(layout.places, SizeIs(2));
  TemporaryFolder folder;
  const SafetensorsFile file(folder.write("copy", layout.header + std::string(28, 'x')));
  const std::vector<StoredPiece> stored = pieces_in(file);
  ASSERT_THAT(stored, SizeIs(2));
  EXPECT_EQ(stored[1].name, "b.exp_avg");
  EXPECT_EQ(stored[1].part, "optimizer");
  EXPECT_EQ(stored[1].layer, 4);
  EXPECT_THAT(stored[1].whole, ElementsAre(2, 5));
  EXPECT_EQ(stored[1].first, 7);
  EXPECT_EQ(stored[1].elements, 3);
  const SafetensorsFile foreign(folder.write("other", [] {
    SafetensorsHeader header;
    return encode_safetensors_header(header);
  }()));
  EXPECT_THROW((void)pieces_in(foreign), Error);
}

}  // namespace
}  // namespace penstock
