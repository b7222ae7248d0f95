// launch/program/hub/folder_size.h -- how large the weights files of a Hugging Face folder are,
// also before they have been downloaded.
#pragma once

#include <cstdint>
#include <string>

namespace penstock {

struct FolderSize {
  int64_t bytes = 0;
  // How many *.safetensors there are; 0: none yet, and `bytes` are those of the parameters in the
  // type that config.json names (torch_dtype, dtype; bf16 where it names none; MXFP4 of experts).
  int64_t files = 0;
  std::string type;  // "bfloat16", or "mxfp4" where experts are; empty where there are files
};

// `folder` is model.from, whose config.json has been read, and `parameters` are those of the
// network. Throws Error where its config.json cannot be read.
[[nodiscard]] FolderSize folder_size(const std::string& folder, int64_t parameters);

// "weights of qwen: 942 MiB in 1 file\n"
// "weights of qwen: 437.2 GiB in bfloat16 once they are downloaded\n"
[[nodiscard]] std::string folder_size_text(const std::string& folder, const FolderSize& size);

}  // namespace penstock
