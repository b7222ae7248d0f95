#include "runtime/network/layers/library/image.h"
#include "runtime/network/models/amoebanet/amoebanet.h"

namespace penstock::amoeba {
namespace {

constexpr Window kPoint{};  // a window of 1x1

// Makes the layers of one operand, in order. If the first would be a ReLU, it is left to the cell,
// which shares it among operands.
class OperandMaker {
 public:
  OperandMaker(std::string name, int64_t in, int64_t filters, int stride, const Style& style)
      : name_(std::move(name)), channels_(in), filters_(filters), stride_(stride), style_(style) {}

  [[nodiscard]] Cell::Operand make(const Term& term) && {
    operand_.state = term.state;
    add(term.op);
    const bool identity = operand_.layers.empty();
    if (!identity && style_.drop_path.rate > 0.0) {
      operand_.layers.push_back(std::make_unique<DropPath>(name_ + ".drop_path", style_.drop_path));
    }
    return std::move(operand_);
  }

 private:
  void add(Op op) {
    const int64_t narrow = filters_ / 4;
    switch (op) {
      case Op::Identity:
        if (stride_ != 1 || channels_ != filters_) convolve(filters_, same_window(1, 1, stride_));
        return;
      case Op::Conv1x1:
        return convolve(filters_, same_window(1, 1, stride_));
      case Op::Conv3x3:
        convolve(narrow, same_window(1, 1, 1));
        convolve(narrow, same_window(3, 3, stride_));
        return convolve(filters_, same_window(1, 1, 1));
      case Op::Conv7x7:
        convolve(narrow, same_window(1, 1, 1));
        convolve(narrow, halved(same_window(1, 7, 1), 1, stride_));
        convolve(narrow, halved(same_window(7, 1, 1), stride_, 1));
        return convolve(filters_, same_window(1, 1, 1));
      case Op::Sep3x3:
        return separate_twice(3);
      case Op::Sep5x5:
        return separate_twice(5);
      case Op::Max2x2:
        return pool(same_window(2, 2, stride_), Pool::Max);
      case Op::Max3x3:
        return pool(same_window(3, 3, stride_), Pool::Max);
      case Op::Average3x3:
        return pool(same_window(3, 3, stride_), Pool::Average);
    }
  }

  static Window halved(Window window, int stride_h, int stride_w) {
    window.stride_h = stride_h;
    window.stride_w = stride_w;
    return window;
  }

  void relu() {
    if (operand_.layers.empty()) {
      operand_.relu = true;
    } else {
      operand_.layers.push_back(
          std::make_unique<ActivationLayer>(next() + ".relu", Activation::Relu));
    }
  }
  void convolve(int64_t out, const Window& window) {
    relu();
    add_convolution(operand_.layers, next(), channels_, out, window, style_.norm);
    channels_ = out;
    ++made_;
  }
  void separate_twice(int kernel) {
    for (const int stride : {stride_, 1}) {
      relu();
      operand_.layers.push_back(std::make_unique<Conv2d>(
          next() + ".depthwise", Conv2d::Options{.in = channels_,
                                                 .out = channels_,
                                                 .window = same_window(kernel, kernel, stride),
                                                 .groups = static_cast<int>(channels_),
                                                 .bias = false}));
      add_convolution(operand_.layers, next(), channels_, filters_, kPoint, style_.norm);
      channels_ = filters_;
      ++made_;
    }
  }
  void pool(const Window& window, Pool kind) {
    operand_.layers.push_back(std::make_unique<Pool2d>(name_ + ".pool", window, kind));
    if (channels_ == filters_) return;
    add_convolution(operand_.layers, next(), channels_, filters_, kPoint, style_.norm);
    channels_ = filters_;
  }

  // Returns the name of the next layers, for example "cells.7.s3.right.0".
  [[nodiscard]] std::string next() const { return name_ + "." + std::to_string(made_); }

  std::string name_;
  int64_t channels_;
  int64_t filters_;
  int stride_;
  const Style& style_;
  int made_ = 0;
  Cell::Operand operand_;
};

void add_previous(Layers& layers, const std::string& name, const CellShape& shape,
                  const Style& style) {
  switch (shape.form) {
    case Previous::AsIs:
      return;
    case Previous::Projected:
      return add_convolution(layers, name, shape.previous, shape.filters, kPoint, style.norm);
    case Previous::Halved:
      layers.push_back(
          std::make_unique<FactorizedReduction>(name + ".conv", shape.previous, shape.filters));
      layers.push_back(std::make_unique<BatchNorm>(name + ".norm", shape.filters, style.norm));
  }
}

}  // namespace

void add_convolution(Layers& layers, const std::string& name, int64_t in, int64_t out,
                     const Window& window, const BatchNorm::Options& norm) {
  layers.push_back(std::make_unique<Conv2d>(
      name + ".conv", Conv2d::Options{.in = in, .out = out, .window = window, .bias = false}));
  layers.push_back(std::make_unique<BatchNorm>(name + ".norm", out, norm));
}

std::unique_ptr<Layer> make_cell(const std::string& name, const Genotype& genotype,
                                 const CellShape& shape, const Style& style) {
  Cell::Graph graph;
  add_convolution(graph.current, name + ".current", shape.current, shape.filters, kPoint,
                  style.norm);
  add_previous(graph.previous, name + ".previous", shape, style);
  const auto operand = [&](const std::string& of, const Term& term) {
    const bool raw = term.state == 1 && shape.form == Previous::AsIs;
    const int stride = shape.reduce && term.state < 2 ? 2 : 1;
    return OperandMaker(of, raw ? shape.previous : shape.filters, shape.filters, stride, style)
        .make(term);
  };
  for (size_t i = 0; i < genotype.sums.size(); ++i) {
    const std::string sum = name + ".s" + std::to_string(i + 2);
    graph.sums.push_back({.left = operand(sum + ".left", genotype.sums[i][0]),
                          .right = operand(sum + ".right", genotype.sums[i][1])});
  }
  graph.outputs = genotype.outputs;
  graph.last = shape.last;
  return std::make_unique<Cell>(name, shape.reduce ? "reduction-cell" : "normal-cell",
                                std::move(graph));
}

// The outputs of the normal cell are those that give the published numbers of parameters. The paper
// about the architecture has s4, s5 and s6 side by side instead, which gives an eighth fewer
// parameters.
const Genotypes& genotypes_d() {
  static const Genotypes cells = {
      .normal = {.sums = {{{{{Op::Conv1x1, 1}, {Op::Max3x3, 1}}},
                           {{{Op::Identity, 1}, {Op::Conv7x7, 0}}},
                           {{{Op::Conv1x1, 0}, {Op::Conv7x7, 0}}},
                           {{{Op::Max3x3, 2}, {Op::Identity, 2}}},
                           {{{Op::Average3x3, 1}, {Op::Conv1x1, 5}}}}},
                 .outputs = {0, 3, 4, 6}},
      .reduction = {.sums = {{{{{Op::Max2x2, 0}, {Op::Max3x3, 0}}},
                              {{{Op::Identity, 2}, {Op::Conv3x3, 1}}},
                              {{{Op::Conv7x7, 2}, {Op::Max3x3, 2}}},
                              {{{Op::Identity, 3}, {Op::Max2x2, 1}}},
                              {{{Op::Average3x3, 2}, {Op::Conv1x1, 3}}}}},
                    .outputs = {4, 5, 6}}};
  return cells;
}

const Genotypes& genotypes_b() {
  static const Genotypes cells = {
      .normal = {.sums = {{{{{Op::Conv1x1, 1}, {Op::Max3x3, 1}}},
                           {{{Op::Identity, 1}, {Op::Sep3x3, 0}}},
                           {{{Op::Conv1x1, 1}, {Op::Sep3x3, 0}}},
                           {{{Op::Conv1x1, 2}, {Op::Identity, 2}}},
                           {{{Op::Average3x3, 1}, {Op::Conv1x1, 5}}}}},
                 .outputs = {0, 3, 4, 6}},
      .reduction = {.sums = {{{{{Op::Max2x2, 0}, {Op::Max3x3, 0}}},
                              {{{Op::Identity, 2}, {Op::Conv3x3, 1}}},
                              {{{Op::Sep5x5, 2}, {Op::Max3x3, 2}}},
                              {{{Op::Identity, 3}, {Op::Sep3x3, 1}}},
                              {{{Op::Average3x3, 4}, {Op::Conv1x1, 3}}}}},
                    .outputs = {5, 6}}};
  return cells;
}

}  // namespace penstock::amoeba
