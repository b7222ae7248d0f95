// Schedules by name: the one table that a new schedule is added to.
#include <array>
#include <stdexcept>

#include "runtime/schedule/generators.h"

namespace penstock {
namespace {

struct Entry {
  const char* name;
  int chunks;       // stages per rank
  bool any_chunks;  // or as many as the user asks for
  Schedule (*make)(int ranks, int chunks, int micro_batches);
};

constexpr std::array<Entry, 9> kEntries = {{
    {"gpipe", 1, false, [](int p, int, int m) { return gpipe(p, m); }},
    {"1f1b", 1, false, [](int p, int, int m) { return one_f_one_b(p, m); }},
    {"1f1b-deep", 1, false, [](int p, int, int m) { return one_f_one_b_deep(p, m); }},
    {"interleaved-1f1b", 2, true, interleaved},
    {"looped-bfs", 2, true, looped_bfs},
    {"zb-h1", 1, false, [](int p, int, int m) { return zb_h1(p, m); }},
    {"zb-h2", 1, false, [](int p, int, int m) { return zb_h2(p, m); }},
    {"zb-v", 2, false, [](int p, int, int m) { return zb_v(p, m); }},
    {"dualpipev", 2, false, [](int p, int, int m) { return dualpipe_v(p, m); }},
}};

const Entry& entry_of(const std::string& name) {
  std::string known;
  for (const Entry& entry : kEntries) {
    if (name == entry.name) return entry;
    known += (known.empty() ? "" : ", ") + std::string(entry.name);
  }
  throw std::invalid_argument("there is no schedule \"" + name + "\"; known are " + known);
}

}  // namespace

std::vector<std::string> schedule_names() {
  std::vector<std::string> names;
  names.reserve(kEntries.size());
  for (const Entry& entry : kEntries) names.emplace_back(entry.name);
  return names;
}

int default_chunks(const std::string& name) {
  return entry_of(name).chunks;
}

Schedule make_schedule(const std::string& name, int ranks, int micro_batches, int chunks) {
  const Entry& entry = entry_of(name);
  if (chunks != 0 && chunks != entry.chunks && !entry.any_chunks) {
    throw std::invalid_argument("the schedule " + name + " has " + std::to_string(entry.chunks) +
                                " stage(s) per rank, not " + std::to_string(chunks) +
                                "; interleaved-1f1b and looped-bfs take any number of chunks");
  }
  return entry.make(ranks, chunks == 0 ? entry.chunks : chunks, micro_batches);
}

}  // namespace penstock
