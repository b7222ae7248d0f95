#include "runtime/engine/training/replan/carry.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "kernels/error.h"
#include "runtime/engine/training/replan/moves.h"
#include "runtime/system/files/json.h"

namespace penstock {
namespace {

// What a rank holds, part by part, with the tensors.
struct Inventory {
  std::vector<HeldPart> parts;
  std::vector<Tensor> tensors;

  void add(std::string name, int64_t first, int64_t last, Tensor tensor) {
    parts.push_back({std::move(name), first, last});
    tensors.push_back(std::move(tensor));
  }
  // The bytes of a move's elements in the tensor of that part.
  [[nodiscard]] std::span<std::byte> bytes(size_t part, const Move& move) const {
    const Tensor& tensor = tensors[part];
    const size_t each = size_of(tensor.dtype());
    const auto first = static_cast<size_t>(move.first - parts[part].first);
    return {static_cast<std::byte*>(tensor.raw()) + first * each,
            static_cast<size_t>(move.last - move.first) * each};
  }
};

Inventory inventory_of(StateRange state) {
  Inventory inventory;
  for (const StateEntry* entry : state) {
    inventory.add(entry->name, 0, entry->elements(), entry->value);
    for (KeptBeside& kept : kept_beside(*entry)) {
      const bool is_shared = !kept.cuts.empty();
      const auto replica = static_cast<size_t>(entry->replica);
      const int64_t first = is_shared ? kept.cuts[replica] : 0;
      const int64_t last = is_shared ? kept.cuts[replica + 1] : kept.shape.elements();
      inventory.add(std::move(kept.name), first, last, std::move(kept.tensor));
    }
  }
  return inventory;
}

// Returns what each rank holds. Collective over `world`.
Holdings holdings_of(const std::vector<HeldPart>& mine, Collective& world) {
  nlohmann::json list = nlohmann::json::array();
  for (const HeldPart& part : mine) list.push_back({part.tensor, part.first, part.last});
  nlohmann::json all = nlohmann::json::array();
  for (const std::string& text : world.gather_text(packed_json(list))) {
    all.push_back(unpacked_json(text));
  }
  Holdings holdings;
  for (const nlohmann::json& of_rank : unpacked_json(world.broadcast(packed_json(all), 0))) {
    std::vector<HeldPart>& parts = holdings.emplace_back();
    for (const nlohmann::json& part : of_rank) parts.push_back({part[0], part[1], part[2]});
  }
  return holdings;
}

// Calls visit() with pieces of `bytes` that are short enough for one message.
template <class Visit>
void for_each_message(std::span<std::byte> bytes, Visit visit) {
  constexpr size_t kMost = size_t{1} << 30;
  while (!bytes.empty()) {
    const size_t size = std::min(bytes.size(), kMost);
    visit(bytes.first(size));
    bytes = bytes.subspan(size);
  }
}

}  // namespace

int64_t carry_state(StateRange from, StateRange to, const Station& station) {
  Network& network = station.network;
  const Inventory old = inventory_of(from);
  const Inventory fresh = inventory_of(to);
  const Holdings before = holdings_of(old.parts, network.world());
  const Holdings after = holdings_of(fresh.parts, network.world());
  const std::unique_ptr<Courier> courier = network.courier();
  if (!courier) fail_internal("this network carries no state between ranks");
  const int here = station.session.rank();
  int64_t received = 0;
  for (const Move& move : plan_moves(before, after, station.grid)) {
    if (move.to == here && move.from == here) {
      const std::span<std::byte> source = old.bytes(move.from_part, move);
      std::memcpy(fresh.bytes(move.to_part, move).data(), source.data(), source.size());
    } else if (move.to == here) {
      const std::span<std::byte> target = fresh.bytes(move.to_part, move);
      received += static_cast<int64_t>(target.size());
      for_each_message(target, [&](auto piece) { courier->receive(piece, move.from); });
    } else if (move.from == here) {
      for_each_message(old.bytes(move.from_part, move),
                       [&](auto piece) { courier->send(piece, move.to); });
    }
  }
  const auto all_have_come = [&] {
    courier->progress();
    return courier->sends_under_way() == 0 && courier->receives_under_way() == 0;
  };
  network.wait_until(all_have_come, "the state of layers that move between ranks");
  for (StateEntry* entry : to) entry->changed();
  return received;
}

}  // namespace penstock
