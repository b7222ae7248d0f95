// Filters in the layouts of oneDNN's convolutions: how much memory they take and how much is
// counted.
#include "kernels/cpu/image/packed_filters.h"

#include <gtest/gtest.h>

#include "kernels/counting/counting_device.h"
#include "kernels/ops.h"

namespace penstock {
namespace {

// What stays after a forward, an input gradient, or both: the filter in the library's layouts.
TEST(PackedFilters, AreAsLargeAsCounted) {
  struct Filter {
    Shape shape;
    Window window;
    int groups = 1;
  };
  struct Uses {
    bool forward, backward;
  };
  struct Numbers {
    DType type;
    Bf16 bf16;
  };
  constexpr Window kPixel{};
  constexpr Window kNine{3, 3, 1, 1, 1, 1, 1, 1};
  constexpr Window kNineHalving{3, 3, 2, 2, 1, 1, 1, 1};
  constexpr Window kFortyNineHalving{7, 7, 2, 2, 3, 3, 3, 3};
  const std::vector<Filter> filters = {{{16, 1, 3, 3}, kNine, 16},
                                       {{20, 1, 3, 3}, kNineHalving, 20},
                                       {{32, 12, 3, 3}, kNine, 4},
                                       {{30, 5, 1, 1}, kPixel, 3},
                                       {{64, 3, 7, 7}, kFortyNineHalving},
                                       {{48, 40, 3, 3}, kNine},
                                       {{32, 3, 3, 3}, kNine},
                                       {{16, 16, 3, 3}, kNine},
                                       {{20, 20, 3, 3}, kNine},
                                       {{6, 10, 3, 3}, kNine},
                                       {{24, 24, 1, 1}, kPixel},
                                       {{64, 64, 3, 3}, kNineHalving},
                                       {{32, 12, 1, 1}, kPixel},
                                       {{128, 33, 3, 3}, kNine}};
  for (const Numbers numbers :
       {Numbers{DType::F32, Bf16::Auto}, {DType::BF16, Bf16::Auto}, {DType::BF16, Bf16::Emulate}}) {
    for (const Filter& filter : filters) {
      for (const Uses uses : {Uses{true, false}, {false, true}, {true, true}}) {
        SCOPED_TRACE(std::string(name_of(numbers.type)) +
                     (numbers.bf16 == Bf16::Emulate ? ", emulated" : "") +
                     (uses.forward ? " forward " : "") + (uses.backward ? " backward " : "") +
                     filter.shape.text() + ", groups " + std::to_string(filter.groups));
        const auto kept = [&](Device& d) {
          Tensor x = d.zeros({4, 14, 14, filter.shape[1] * filter.groups}, numbers.type,
                             Purpose::Activations);
          const Shape after = window_output(x.shape(), filter.window, filter.shape[0]);
          Tensor y = d.zeros(after, numbers.type, Purpose::Activations);
          Weight w(d.zeros(filter.shape, DType::F32, Purpose::Parameters));
          if (uses.forward) {
            d.image().conv2d_forward(y, x, w, nullptr, filter.window, filter.groups, Fused::Relu);
          }
          if (uses.backward) {
            d.image().conv2d_backward_input(x, y, w, filter.window, filter.groups);
          }
          return d.memory().use().current_of(Purpose::Workspace);
        };
        const auto real = make_cpu_device(1, numbers.bf16);
        EXPECT_EQ(kept(*make_counting_device(real->model())), kept(*real));
      }
    }
  }
}

// The sizes are those of oneDNN 2.6.3 on a Granite Rapids, for those who count without one: CI
// failed there.
TEST(PackedFilters, OfTiles) {
  const auto counted = [](const Shape& filter, DType dtype, FilterUse use) {
    return packed_elements(filter, 1, dtype, use, FilterBlocks::Tiles);
  };
  const auto narrow = DType::BF16;
  EXPECT_EQ(counted({32, 3, 3, 3}, narrow, FilterUse::Forward), 32 * 3 * 9);
  EXPECT_EQ(counted({32, 5, 3, 3}, narrow, FilterUse::Forward), 32 * 6 * 9);
  EXPECT_EQ(counted({32, 3, 1, 1}, narrow, FilterUse::Forward), 32 * 4);
  EXPECT_EQ(counted({32, 31, 3, 3}, narrow, FilterUse::Forward), 32 * 32 * 9);
  EXPECT_EQ(counted({128, 33, 3, 3}, narrow, FilterUse::Forward), 128 * 64 * 9);
  EXPECT_EQ(counted({6, 10, 3, 3}, narrow, FilterUse::InputGradient), 32 * 16 * 9);
  EXPECT_EQ(counted({32, 3, 3, 3}, narrow, FilterUse::WeightGradient), 32 * 16 * 9);
  for (const FilterUse use : {FilterUse::Forward, FilterUse::InputGradient}) {
    EXPECT_EQ(counted({6, 10, 3, 3}, DType::F32, use),
              packed_elements({6, 10, 3, 3}, 1, DType::F32, use, FilterBlocks::Of16));
  }
}

// The sizes are those of oneDNN 2.6.3 on a Zen 3, for models of a processor that is not at hand.
TEST(PackedFilters, InBlocksOfEight) {
  const auto counted = [](const Shape& filter, FilterUse use) {
    return packed_elements(filter, 1, DType::F32, use, FilterBlocks::Of8);
  };
  EXPECT_EQ(counted({32, 3, 3, 3}, FilterUse::Forward), 32 * 3 * 9);
  EXPECT_EQ(counted({32, 3, 3, 3}, FilterUse::InputGradient), 32 * 8 * 9);
  EXPECT_EQ(counted({6, 6, 3, 3}, FilterUse::Forward), 8 * 6 * 9);
  EXPECT_EQ(counted({6, 6, 3, 3}, FilterUse::WeightGradient), 8 * 8 * 9);
  for (const auto use : {FilterUse::Forward, FilterUse::InputGradient, FilterUse::WeightGradient}) {
    EXPECT_EQ(counted({20, 20, 3, 3}, use), 24 * 24 * 9);
    EXPECT_EQ(counted({128, 33, 3, 3}, use), 128 * 40 * 9);
  }
}

}  // namespace
}  // namespace penstock
