#include "kernels/cpu/onednn/onednn_filter.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "kernels/cpu/onednn/onednn_state.h"
#include "kernels/cpu/weight_forms.h"

namespace penstock {
namespace {

// Returns for each index of the dimension its offset in memory, counted in numbers.
std::vector<int64_t> places(const dnnl_api::Blocking& blocking, size_t dimension) {
  std::vector<int64_t> all;
  for (int64_t index = 0; index < blocking.extents[dimension]; ++index) {
    int64_t place = 0;
    int64_t block = index;
    int64_t stride = 1;
    for (size_t i = blocking.inner_blocks.size(); i-- > 0;) {  // from the innermost block outwards
      const int64_t size = blocking.inner_blocks[i];
      if (blocking.inner_dimensions[i] == static_cast<int64_t>(dimension)) {
        place += block % size * stride;
        block /= size;
      }
      stride *= size;
    }
    all.push_back(place + block * blocking.strides[dimension]);
  }
  return all;
}

// Returns how a filter [out, in, h, w] is blocked, or nothing if our loops do not know that order.
// The loops do not know filters in groups either, which have five dimensions.
std::optional<BlockedFilter> blocks_of(const dnnl_api::Desc& packed, DType type) {
  const auto blocking = dnnl_api::blocking(packed);
  if (!blocking || blocking->type != library_type(type) || blocking->extents.size() != 4) return {};
  BlockedFilter blocks{places(*blocking, 0), places(*blocking, 1), {}};
  const std::vector<int64_t> columns = places(*blocking, 3);
  for (const int64_t row : places(*blocking, 2)) {
    for (const int64_t column : columns) blocks.tap_places.push_back(row + column);
  }
  if (!has_rows_of_outputs(blocks, type)) return {};
  return blocks;
}

// Returns how the packed filter is blocked if our loops pack it faster than the library does, else
// nothing. The library is as fast for filters of one tap and for fp32.
std::optional<BlockedFilter> blocks_to(const dnnl_api::Desc& packed) {
  const auto blocks = blocks_of(packed, DType::BF16);
  return blocks && blocks->taps() > 1 ? blocks : std::nullopt;
}

Prepared reorder(OneDnn::State& state, const dnnl_api::Desc& from, const dnnl_api::Desc& to,
                 const dnnl::primitive_attr& attributes) {
  try {
    const dnnl::reorder::primitive_desc desc(state.engine, from, state.engine, to, attributes);
    return {state,
            std::type_identity<dnnl::reorder>{},
            desc,
            {{DNNL_ARG_DST, to}, {DNNL_ARG_SRC, from}}};
  } catch (const dnnl::error& error) {
    fail_library("a filter in another order", error);
  }
}

}  // namespace

Packing::Packing(OneDnn::State& state, const dnnl_api::Desc& value, const dnnl_api::Desc& packed)
    : size_bytes_(static_cast<int64_t>(packed.get_size())) {
  if (value == packed) return;
  blocks_ = blocks_to(packed);
  if (!blocks_) reorder_.emplace(reorder(state, value, packed, new_attributes()));
  const auto pair = std::make_pair(value, packed);
  const auto known = std::find(state.packings.begin(), state.packings.end(), pair);
  key_ = static_cast<uint64_t>(known - state.packings.begin()) + 1;
  if (known == state.packings.end()) state.packings.push_back(pair);
}

Tensor Packing::form_of(OneDnn::State& state, Weight& weight) {
  const Tensor& value = weight.value();
  if (!reorder_ && !blocks_) return value;
  const auto allocate = [&] {
    Tensor form = state.scratch(size_bytes_, DType::U8);
    const int64_t packed_bytes = value.elements() * static_cast<int64_t>(sizeof(bfloat16));
    // The padding of blocks has to be zero. Our loops do not write to it, so it is set here.
    if (blocks_ && size_bytes_ > packed_bytes) std::memset(form.raw(), 0, form.size_bytes());
    return form;
  };
  const auto pack = [&](const Tensor& form) {
    state.copied_bytes += static_cast<int64_t>(value.size_bytes()) + size_bytes_;
    if (blocks_) {
      auto* to = static_cast<bfloat16*>(form.raw());
      return block_filter(state.threads, *blocks_, to, value.data<float>());
    }
    reorder_->run(state, {form.raw(), value.raw()});
  };
  return penstock::form_of(weight, key_, !weight.is_read_once(), allocate, pack);
}

Unpacking::Unpacking(OneDnn::State& state, const dnnl_api::Desc& packed,
                     const dnnl_api::Desc& gradient)
    : blocks_(blocks_of(packed, DType::F32)), size_bytes_(static_cast<int64_t>(packed.get_size())) {
  if (blocks_) return;
  dnnl::post_ops sum;
  sum.append_sum(1.0F);
  dnnl::primitive_attr adding = new_attributes();
  adding.set_post_ops(sum);
  write_.emplace(reorder(state, packed, gradient, new_attributes()));
  add_.emplace(reorder(state, packed, gradient, adding));
}

void Unpacking::run(OneDnn::State& state, float* gradient, const void* packed, bool add) {
  if (blocks_) {
    unblock_filter(state.threads, *blocks_, gradient, static_cast<const float*>(packed), add);
  } else {
    (add ? *add_ : *write_).run(state, {gradient, packed});
  }
}

}  // namespace penstock
