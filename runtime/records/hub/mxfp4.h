// runtime/records/hub/mxfp4.h -- matrices of experts in MXFP4 (Open Compute Project, 2023), as
// gpt-oss is published: 32 neighbours along a row share a power of two, and each number has four
// bits.
//
// Of a tensor "t" of the family's table a folder has "t_blocks", U8 [experts, rows, columns / 32,
// 16], two numbers a byte, the lower half first, and "t_scales", U8 [experts, rows, columns / 32],
// where e stands for 2^(e - 127). Rows are those of our matrices, [out, in], and of several of ours
// they take turns (TensorLayout::ColumnsOfExperts). Every such number is an fp32 and a bf16 number,
// unless it is too large for both.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "kernels/bfloat16.h"
#include "runtime/records/checkpoint/format/safetensors.h"
#include "runtime/records/hub/names.h"

namespace penstock {

inline constexpr const char* kMxfp4Blocks = "_blocks";
inline constexpr const char* kMxfp4Scales = "_scales";

struct Mxfp4Tensor {
  struct Half {
    std::string name;  // of the tensor in the file
    std::shared_ptr<const SafetensorsFile> file;
  };
  Half blocks, scales;
};

// Throws Error(Input) naming file and tensor unless the two are U8 and as large as our matrix of
// one expert, `ours`, at `place` makes them.
void check_mxfp4(const Mxfp4Tensor& tensor, const HubPlace& place,
                 const std::vector<int64_t>& ours);

// Overwrites `to` with our matrix of one expert, which check_mxfp4() has accepted and which has
// that many rows. Throws Error(Data) naming file and tensor for a scale that stands for no number,
// or makes one too large.
void read_mxfp4(const Mxfp4Tensor& tensor, const HubPlace& place, int64_t rows,
                std::span<float> to);
void read_mxfp4(const Mxfp4Tensor& tensor, const HubPlace& place, int64_t rows,
                std::span<bfloat16> to);

}  // namespace penstock
