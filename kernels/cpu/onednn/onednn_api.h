// kernels/cpu/onednn/onednn_api.h -- the two interfaces of oneDNN under one name. Version 3 took
// operation descriptors away (a primitive descriptor is made directly); nothing else that we use
// changed. Included by onednn*.cpp only.
#pragma once

#include <oneapi/dnnl/dnnl_version.h>

#include <oneapi/dnnl/dnnl.hpp>
#include <optional>

namespace penstock::dnnl_api {

using Desc = dnnl::memory::desc;

// Always the direct algorithm: given the choice, version 2 takes Winograd's also where that is five
// times slower.
inline constexpr auto kDirect = dnnl::algorithm::convolution_direct;

// The layout of a tensor whose dimensions are cut into blocks: `extents` of its dimensions,
// `strides` from a block of a dimension to the next (in elements), and what lies inside one block:
// `inner_blocks` sizes, outermost first, each of the dimension that `inner_dimensions` names by its
// number.
struct Blocking {
  dnnl::memory::data_type type;
  dnnl::memory::dims extents, strides;
  dnnl::memory::dims inner_blocks, inner_dimensions;
};

// The functions below have the same signatures for both versions. blocking() describes a layout,
// and append_eltwise() adds a function of elements to what a primitive does with its result. All
// others make a primitive descriptor, and throw dnnl::error where the library refuses it.

#if DNNL_VERSION_MAJOR >= 3

// Returns how `desc` lays its tensor out; null where the layout is not made of blocks alone.
inline std::optional<Blocking> blocking(const Desc& desc) {
  if (desc.get_format_kind() != dnnl::memory::format_kind::blocked) return {};
  return Blocking{desc.get_data_type(), desc.get_dims(), desc.get_strides(), desc.get_inner_blks(),
                  desc.get_inner_idxs()};
}

inline void append_eltwise(dnnl::post_ops& ops, dnnl::algorithm algorithm, float alpha) {
  ops.append_eltwise(algorithm, alpha, 0.0F);
}

inline dnnl::eltwise_forward::primitive_desc eltwise_forward(const dnnl::engine& engine,
                                                             dnnl::algorithm algorithm,
                                                             const Desc& data, float alpha,
                                                             const dnnl::primitive_attr& attr) {
  return {engine, dnnl::prop_kind::forward_training, algorithm, data, data, alpha, 0.0F, attr};
}

inline dnnl::eltwise_backward::primitive_desc eltwise_backward(
    const dnnl::engine& engine, dnnl::algorithm algorithm, const Desc& data, float alpha,
    const dnnl::eltwise_forward::primitive_desc& forward, const dnnl::primitive_attr& attr) {
  return {engine, algorithm, data, data, data, alpha, 0.0F, forward, attr};
}

// Describes a primitive by the arguments that both versions take in one order.
template <class Primitive, class... Arguments>
typename Primitive::primitive_desc describe(const dnnl::engine& engine,
                                            const dnnl::primitive_attr& attr,
                                            const Arguments&... arguments) {
  return {engine, arguments..., attr};
}
// The same for the gradient of the primitive that `forward` describes.
template <class Primitive, class Forward, class... Arguments>
typename Primitive::primitive_desc describe_backward(const dnnl::engine& engine,
                                                     const dnnl::primitive_attr& attr,
                                                     const Forward& forward,
                                                     const Arguments&... arguments) {
  return {engine, arguments..., forward, attr};
}

#else

inline std::optional<Blocking> blocking(const Desc& desc) {
  const dnnl_memory_desc_t& layout = desc.data;
  if (layout.format_kind != dnnl_blocked || layout.extra.flags != 0) return {};
  const dnnl_blocking_desc_t& blocks = layout.format_desc.blocking;
  const auto inner = [&](const dnnl_dims_t& all) {
    return dnnl::memory::dims(all, all + blocks.inner_nblks);
  };
  return Blocking{desc.data_type(),
                  desc.dims(),
                  {blocks.strides, blocks.strides + layout.ndims},
                  inner(blocks.inner_blks),
                  inner(blocks.inner_idxs)};
}

inline void append_eltwise(dnnl::post_ops& ops, dnnl::algorithm algorithm, float alpha) {
  ops.append_eltwise(1.0F, algorithm, alpha, 0.0F);
}

inline dnnl::eltwise_forward::primitive_desc eltwise_forward(const dnnl::engine& engine,
                                                             dnnl::algorithm algorithm,
                                                             const Desc& data, float alpha,
                                                             const dnnl::primitive_attr& attr) {
  const dnnl::eltwise_forward::desc op(dnnl::prop_kind::forward_training, algorithm, data, alpha,
                                       0.0F);
  return {op, attr, engine};
}

inline dnnl::eltwise_backward::primitive_desc eltwise_backward(
    const dnnl::engine& engine, dnnl::algorithm algorithm, const Desc& data, float alpha,
    const dnnl::eltwise_forward::primitive_desc& forward, const dnnl::primitive_attr& attr) {
  const dnnl::eltwise_backward::desc op(algorithm, data, data, alpha, 0.0F);
  return {op, attr, engine, forward};
}

template <class Primitive, class... Arguments>
typename Primitive::primitive_desc describe(const dnnl::engine& engine,
                                            const dnnl::primitive_attr& attr,
                                            const Arguments&... arguments) {
  return {typename Primitive::desc(arguments...), attr, engine};
}
template <class Primitive, class Forward, class... Arguments>
typename Primitive::primitive_desc describe_backward(const dnnl::engine& engine,
                                                     const dnnl::primitive_attr& attr,
                                                     const Forward& forward,
                                                     const Arguments&... arguments) {
  return {typename Primitive::desc(arguments...), attr, engine, forward};
}

#endif

}  // namespace penstock::dnnl_api
