// How large the weights files of a folder are, there or not.
#include "launch/program/hub/folder_size.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/error.h"
#include "tests/support/temporary_folder.h"

namespace penstock {
namespace {

TEST(FolderSize, IsThatOfTheFilesOnceTheyAreThere) {
  const TemporaryFolder folder;
  folder.write("config.json", R"({"torch_dtype": "bfloat16"})");
  const FolderSize later = folder_size(folder.path(), 1000);
  EXPECT_EQ(later.bytes, 2000);
  EXPECT_EQ(later.files, 0);
  EXPECT_EQ(folder_size_text("qwen", later),
            "weights of qwen: 1.95 KiB in bfloat16 once they are downloaded\n");
  folder.write("model.safetensors.index.json", "{}");
  folder.write("model-00001-of-00002.safetensors", std::string(700, 'x'));
  folder.write("model-00002-of-00002.safetensors", std::string(324, 'x'));
  const FolderSize now = folder_size(folder.path(), 1000);
  EXPECT_EQ(now.bytes, 1024);
  EXPECT_EQ(folder_size_text("qwen", now), "weights of qwen: 1.00 KiB in 2 files\n");
}

TEST(FolderSize, TakesTheTypeThatConfigJsonNames) {
  const TemporaryFolder folder;
  const auto bytes = [&](const char* config) {
    folder.write("config.json", config);
    return folder_size(folder.path(), 10).bytes;
  };
  EXPECT_EQ(bytes(R"({"dtype": "float32"})"), 40);
  EXPECT_EQ(bytes(R"({"torch_dtype": "float16"})"), 20);
  EXPECT_EQ(bytes(R"({"text_config": {"dtype": "float32"}})"), 40);
  EXPECT_EQ(bytes(R"({"text_config": 3})"), 20);
  EXPECT_EQ(bytes("{}"), 20);
}

TEST(FolderSize, RefusesAFolderThatIsNotThere) {
  EXPECT_THROW((void)folder_size("/nowhere", 10), Error);
}

}  // namespace
}  // namespace penstock
