// bench/paper_figures.h -- the figures of GPipe's Tables 1, 2 and 3 (Huang et al. 2019,
// arXiv:1811.06965v5), as printed there except `exact` and where a comment says otherwise.
#pragma once

#include <array>
#include <cstdint>

namespace penstock::paper {

// ---- Table 1: the largest model on `stages` devices. Memory is summed over the devices.
struct LargestTransformer {  // on TPU v3, 16 GB a core
  const char* name;
  int stages, micro_batches;  // M is not printed: the printed memory is that of one sample each
  int64_t layers;
  int64_t exact;  // parameters, by the formula whose results round to the printed ones
  const char* parameters;
  double parameter_gib, activation_gib;
};
inline constexpr std::array kLargestTransformers = {
    LargestTransformer{"Naive-1", 1, 1, 3, 282'178'816, "282.2M", 11.7, 3.15},
    LargestTransformer{"Pipeline-1", 1, 32, 13, 785'761'536, "785.8M", 8.8, 6.4},
    LargestTransformer{"Pipeline-8", 8, 32, 103, 5'318'006'016, "5.3B", 59.5, 50.9},
    LargestTransformer{"Pipeline-32", 32, 32, 415, 21'029'786'880, "21.0B", 235.1, 199.9},
    LargestTransformer{"Pipeline-128", 128, 32, 1663, 83'876'910'336, "83.9B", 937.9, 796.1}};

struct LargestAmoebaNet {  // on TPU v2, 8 GB a core; AmoebaNet-D (L, D), mini-batch 128
  const char* name;
  int stages, micro_batches;  // M is not printed
  int64_t layers, filters;
  int64_t exact;  // parameters of the architecture that reproduces the printed ones
  const char* parameters;
  double parameter_gb, activation_gb;
};
inline constexpr std::array kLargestAmoebaNets = {
    LargestAmoebaNet{"Naive-1", 1, 1, 18, 208, 81'505'540, "82M", 1.05, 6.26},
    LargestAmoebaNet{"Pipeline-1", 1, 32, 18, 416, 319'024'120, "318M", 3.8, 3.46},
    LargestAmoebaNet{"Pipeline-2", 2, 32, 18, 544, 542'734'840, "542M", 6.45, 8.11},
    LargestAmoebaNet{"Pipeline-4", 4, 32, 36, 544, 1'055'832'376, "1.05B", 12.53, 15.21},
    LargestAmoebaNet{"Pipeline-8", 8, 32, 72, 512, 1'844'858'344, "1.8B", 24.62, 26.24}};

// ---- Tables 2 and 3: speed-ups over the first K (and M) of each.
inline constexpr std::array kStages = {2, 4, 8};
using SpeedUps = std::array<double, kStages.size()>;

struct TpuSpeedUps {
  int micro_batches;
  SpeedUps amoebanet;    // AmoebaNet-D (18, 256)
  SpeedUps transformer;  // Transformer-48
};
inline constexpr std::array kTpuSpeedUps = {TpuSpeedUps{1, {1, 1.13, 1.38}, {1, 1.07, 1.3}},
                                            TpuSpeedUps{4, {1.07, 1.26, 1.72}, {1.7, 3.2, 4.8}},
                                            TpuSpeedUps{32, {1.21, 1.84, 3.48}, {1.8, 3.4, 6.3}}};

// P100s of one host, PCIe, M = 32.
inline constexpr SpeedUps kGpuAmoebaNet = {1, 1.7, 2.7};    // (18, 128)
inline constexpr SpeedUps kGpuTransformer = {1, 1.8, 3.3};  // 24 layers

}  // namespace penstock::paper
