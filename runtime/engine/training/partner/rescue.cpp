#include "runtime/engine/training/partner/rescue.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "kernels/error.h"
#include "runtime/engine/training/partner/rescued_shards.h"
#include "runtime/records/checkpoint/copies/copy_list.h"
#include "runtime/records/checkpoint/copies/copy_slot.h"
#include "runtime/records/checkpoint/layout.h"
#include "runtime/records/checkpoint/writer/documents.h"
#include "runtime/records/checkpoint/writer/outcome.h"
#include "runtime/records/telemetry/units.h"
#include "runtime/system/comm/agreement.h"
#include "runtime/system/files/json.h"

namespace penstock {
namespace {

using nlohmann::json;

json packed_copy(const FoundCopy& copy) {
  return {copy.folder, encode_copy(copy.document), copy.holder, copy.host};
}

FoundCopy unpacked_copy(const json& list) {
  const auto folder = list[0].get<std::string>();
  return {folder, parse_copy(list[1], folder + "/" + kCopyDocument), list[2], list[3]};
}

json packed_copies(const std::vector<FoundCopy>& copies) {
  json list = json::array();
  for (const FoundCopy& copy : copies) list.push_back(packed_copy(copy));
  return list;
}

// Finds the copies of all hosts; one rank of each host looks for them. Rank 0 returns the list of
// all copies, the other ranks return an empty list.
FoundCopies find_everywhere(const RescueRequest& request, const Session& session,
                            Collective& world) {
  FoundCopies mine;
  agree(world, "", [&] {
    if (session.local_rank() == 0) mine = find_copies(request.directory, request.run);
  });
  for (FoundCopy& copy : mine.copies) {
    copy.holder = world.rank();
    copy.host = session.host();
  }
  FoundCopies all;
  for (const std::string& text :
       world.gather_text(packed_json({packed_copies(mine.copies), mine.troubles}))) {
    const json lists = unpacked_json(text);
    for (const json& copy : lists[0]) all.copies.push_back(unpacked_copy(copy));
    for (const json& trouble : lists[1]) all.troubles.push_back(trouble);
  }
  return all;
}

// Returns why chosen copies are damaged: a text for each copy, in the order of the list. A copy is
// damaged if its file has not the bytes that its document tells of. The text is empty for a copy
// that is whole. Only rank 0 gets the texts: on the other ranks all are empty.
std::vector<std::string> damages(const std::vector<FoundCopy>& copies, Collective& world) {
  json mine = json::array();
  for (const FoundCopy& copy : copies) {
    std::string damage;
    if (copy.holder == world.rank()) {
      const std::string path = copy.folder + "/" + kCopyFile;
      const json outcome = attempt([&] {
        if (digest_of(path) == copy.document.file) return json::object();
        fail_data(path + " has not the bytes that its document tells of: it is damaged");
      });
      damage = outcome.value("error", "");
    }
    mine.push_back(damage);
  }
  std::vector<std::string> all(copies.size());
  for (const std::string& text : world.gather_text(packed_json(mine))) {
    const json list = unpacked_json(text);
    for (size_t i = 0; i < all.size(); ++i) {
      if (all[i].empty()) all[i] = list[i];
    }
  }
  return all;
}

// Returns the copies of the newest step that can be restored from undamaged copies, the same on
// every rank. Removes damaged copies from `found` and adds a note for each of them.
std::vector<FoundCopy> choose_whole(const RescueRequest& request, FoundCopies& found,
                                    std::vector<std::string>& notes, Collective& world) {
  while (true) {
    ChosenCopies chosen;
    if (world.rank() == 0) {
      chosen = choose_copies(found.copies, request.attempt, request.newer_than);
    }
    const std::string agreed = world.broadcast(packed_json(packed_copies(chosen.copies)), 0);
    std::vector<FoundCopy> copies;
    for (const json& copy : unpacked_json(agreed)) copies.push_back(unpacked_copy(copy));
    const std::vector<std::string> why = damages(copies, world);
    const bool is_damaged = std::ranges::any_of(why, [](const auto& one) { return !one.empty(); });
    for (size_t i = 0; i < why.size(); ++i) {
      if (why[i].empty()) continue;
      notes.push_back("note: host " + copies[i].host + ": " + why[i] + "; it is passed over");
      std::erase_if(found.copies, [&](const FoundCopy& one) {
        return one.folder == copies[i].folder && one.holder == copies[i].holder;
      });
    }
    if (world.broadcast(is_damaged ? "again" : "", 0).empty()) {
      for (const std::string& trouble : chosen.troubles) notes.push_back("note: " + trouble);
      return copies;
    }
  }
}

std::string made_note(const std::vector<FoundCopy>& copies, const json& done) {
  std::vector<std::string> hosts;
  hosts.reserve(copies.size());
  for (const FoundCopy& copy : copies) hosts.push_back(copy.host);
  std::ranges::sort(hosts);
  hosts.erase(std::unique(hosts.begin(), hosts.end()), hosts.end());
  std::string names;
  for (size_t i = 0; i < std::min<size_t>(hosts.size(), 4); ++i) {
    names += (i > 0 ? ", " : "") + hosts[i];
  }
  if (hosts.size() > 4) names += ", ...";
  return "step " + std::to_string(copies.front().document.state.step) + " was in the memory of " +
         amount_text(std::ssize(hosts), "host") + " (" + names + "): it is " +
         done.at("path").get<std::string>() + " now, " +
         bytes_text(done.at("size_bytes").get<int64_t>());
}

}  // namespace

void forget_memory(const std::string& directory, const std::string& run, const Session& session) {
  if (session.local_rank() != 0) return;
  std::error_code error;
  const std::string folder = copies_folder(directory, run);
  std::filesystem::remove_all(folder, error);
  if (error) fail_resource("cannot remove " + folder + ": " + error.message());
}

Rescued rescue_from_memory(const RescueRequest& request, const Session& session,
                           Collective& world) {
  Rescued rescued;
  FoundCopies found = find_everywhere(request, session, world);
  for (const std::string& trouble : found.troubles) {
    rescued.notes.push_back("note: " + trouble + "; it is passed over");
  }
  const std::vector<FoundCopy> copies = choose_whole(request, found, rescued.notes, world);
  if (copies.empty()) return rescued;
  const CheckpointState& state = copies.front().document.state;
  const std::vector<HeldPiece> pieces = gather_pieces(copies, world);
  const std::string directory =
      on_first_rank(world, [&] { return begin_step(request.root, state.step, request.run); });
  const std::vector<std::string> reports =
      world.gather_text(write_rescued_shards(directory, pieces, world));
  const std::string note = on_first_rank(world, [&] {
    CheckpointRequest wish;
    wish.root = request.root;
    wish.state = state;
    return made_note(copies, complete({wish, directory, reports}));
  });
  rescued.step = state.step;
  rescued.notes.push_back(note);
  return rescued;
}

}  // namespace penstock
