#include "runtime/data/datasets/tuning/packing.h"

#include <numeric>
#include <set>
#include <utility>

#include "kernels/error.h"
#include "kernels/philox.h"
#include "runtime/data/datasets/sampler.h"

namespace penstock {

PackedRows pack_rows(std::span<const int32_t> lengths, int64_t room, uint64_t seed, bool shuffle) {
  const auto samples = static_cast<int64_t>(lengths.size());
  std::set<std::pair<int64_t, size_t>> open;  // the rows that are not full, by the room left
  std::vector<std::vector<int64_t>> rows;
  const uint64_t drawn = mix(seed ^ hash_name("pack"));
  for (int64_t turn = 0; turn < samples; ++turn) {
    const int64_t sample = shuffle ? shuffled(turn, samples, drawn, 0) : turn;
    const int64_t length = lengths[static_cast<size_t>(sample)];
    if (length < 1 || length > room) fail_internal("a sample that fits no row");
    auto place = open.lower_bound({length, 0});
    std::pair<int64_t, size_t> row{room, rows.size()};
    if (place == open.end()) {
      rows.emplace_back();
    } else {
      row = *place;
      open.erase(place);
    }
    rows[row.second].push_back(sample);
    row.first -= length;
    if (row.first > 0) open.insert(row);
  }
  PackedRows packed;
  packed.begins.push_back(0);
  for (const std::vector<int64_t>& row : rows) {
    packed.samples.insert(packed.samples.end(), row.begin(), row.end());
    packed.begins.push_back(static_cast<int64_t>(packed.samples.size()));
  }
  return packed;
}

PackedRows single_rows(int64_t samples) {
  PackedRows rows;
  rows.samples.resize(static_cast<size_t>(samples));
  std::iota(rows.samples.begin(), rows.samples.end(), int64_t{0});
  rows.begins.resize(static_cast<size_t>(samples) + 1);
  std::iota(rows.begins.begin(), rows.begins.end(), int64_t{0});
  return rows;
}

double filled_share(const PackedRows& rows, std::span<const int32_t> lengths, int64_t room) {
  int64_t filled = 0;
  for (const int64_t sample : rows.samples) filled += lengths[static_cast<size_t>(sample)];
  return static_cast<double>(filled) / static_cast<double>(rows.size() * room);
}

}  // namespace penstock
