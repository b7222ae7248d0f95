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

// The experts' 3 * 96 * 64 numbers, in 17 bytes for 32, and what else there is in bf16.
TEST(FolderSize, CountsExpertsInMxfp4) {
  const TemporaryFolder folder;
  folder.write("config.json", R"({"model_type": "gpt_oss", "num_hidden_layers": 1,
 "hidden_size": 96, "intermediate_size": 64, "num_attention_heads": 4, "num_key_value_heads": 2,
 "head_dim": 8, "hidden_act": "silu", "rms_norm_eps": 1e-5, "max_position_embeddings": 64,
 "vocab_size": 20, "sliding_window": 8, "rope_scaling": {"rope_type": "default"},
 "num_local_experts": 5, "num_experts_per_tok": 2,
 "quantization_config": {"quant_method": "mxfp4"}})");
  const int64_t packed = 5 * 3 * 96 * 64;
  const FolderSize size = folder_size(folder.path(), packed + 1000);
  EXPECT_EQ(size.type, "mxfp4");
  EXPECT_EQ(size.bytes, packed / 32 * 17 + 2000);
}

TEST(FolderSize, RefusesAFolderThatIsNotThere) {
  EXPECT_THROW((void)folder_size("/nowhere", 10), Error);
}

}  // namespace
}  // namespace penstock
