// First and last uses of micro-batches' data along a program.
#include "runtime/planning/schedule/timing/data_use.h"

#include <algorithm>
#include <unordered_map>

namespace penstock {

DataUse data_use(std::span<const Instruction> program, const std::vector<bool>& reads) {
  DataUse use;
  std::unordered_map<int, size_t> place_of;
  for (size_t i = 0; i < program.size(); ++i) {
    const Instruction& instruction = program[i];
    if (!is_compute(instruction.op) || !reads[static_cast<size_t>(instruction.stage)]) continue;
    const auto [place, is_new] = place_of.emplace(instruction.micro_batch, use.order.size());
    if (is_new) {
      use.order.push_back(instruction.micro_batch);
      use.first.push_back(i);
      use.last.push_back(i);
    }
    use.last[place->second] = i;
  }
  return use;
}

int most_data_held(const DataUse& use, int ahead) {
  const size_t count = use.order.size();
  const auto early = static_cast<size_t>(ahead);
  std::vector<size_t> ends = use.last;
  std::sort(ends.begin(), ends.end());
  // Each time a micro-batch is first used, the data of one more micro-batch arrive. Data whose last
  // use was before that time have gone.
  size_t most = std::min(count, early);
  size_t gone = 0;
  for (size_t place = 0; place < count; ++place) {
    while (gone < count && ends[gone] < use.first[place]) ++gone;
    most = std::max(most, std::min(count, place + early + 1) - gone);
  }
  return static_cast<int>(most);
}

}  // namespace penstock
