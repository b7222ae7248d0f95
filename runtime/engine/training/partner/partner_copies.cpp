#include "runtime/engine/training/partner/partner_copies.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "kernels/error.h"
#include "runtime/engine/training/partner/partners.h"
#include "runtime/records/checkpoint/copies/copy_document.h"
#include "runtime/records/checkpoint/copies/file_system.h"
#include "runtime/records/telemetry/units.h"
#include "runtime/system/comm/agreement.h"

namespace penstock {
namespace {

constexpr size_t kDevicePieceBytes = size_t{16} << 20;  // copied from a device between two waits
constexpr size_t kMostSends = 4;  // sends at once: more would hold up the pipeline's messages
constexpr size_t kSpareDocumentBytes = 1024;  // for numbers that get more digits during the run

std::vector<std::string> hosts_of_ranks(Collective& world, const std::string& mine) {
  const std::vector<std::string> all = world.gather_text(mine);
  return nlohmann::json::parse(world.broadcast(nlohmann::json(all).dump(), 0));
}

// Removes the folder with all copies in it.
void remove_copies(const std::string& folder) {
  std::error_code error;
  std::filesystem::remove_all(folder, error);
  if (error) fail_resource("cannot remove " + folder + ": " + error.message());
}

}  // namespace

PartnerCopies::PartnerCopies(const CheckpointConfig& config, const CheckpointState& state,
                             int64_t attempt, const Pipeline& pipeline, const Station& station)
    : every_(config.partner_every),
      attempt_(attempt),
      directory_(config.partner_dir),
      folder_(copies_folder(directory_, state.run)),
      state_(state),
      station_(station),
      world_(station.network.world()),
      partners_(choose_partners(hosts_of_ranks(world_, station.session.host()))),
      partner_(partners_[static_cast<size_t>(world_.rank())]),
      changing_(changing_layout_, station.device),
      frozen_(frozen_layout_, station.device),
      courier_(station.network.courier()),
      held_(std::make_unique<std::vector<HeldCopies>>()) {
  const CopiedState copied =
      copied_state(pipeline, station.network.replicas().rank(), station.network.replicas().size());
  changing_layout_ = lay_out(copied.changing);
  frozen_layout_ = lay_out(copied.frozen);
  copy_ = &changing_;
  changing_.restart({});
  document_bytes_ = document().size() + kSpareDocumentBytes;
  make_room({changing_layout_.header, frozen_layout_.header, changing_layout_.data_bytes,
             frozen_layout_.data_bytes, document_bytes_});
  start(HeldCopies::kFrozen);
  copy_the_rest();
  settle(true);
  waits_ = 0;  // the wait before the first step is not counted
  waited_s_ = 0.0;
  station_.network.set_side_work(this);
}

// If a run fails while a copy is under way, MPI may still write to the memory of that copy. So this
// memory is kept until the process ends.
PartnerCopies::~PartnerCopies() {
  station_.network.set_side_work(nullptr);
  if (begun_) (void)held_.release();
}

void PartnerCopies::make_room(const CopySizes& sizes) {
  const int me = world_.rank();
  const std::string who =
      "copies in memory: rank " + std::to_string(me) + " (host " + station_.session.host() + ")";
  std::string on_disk;  // file system of this host's directory, if that is not in memory
  agree(world_, who, [&] {
    if (station_.session.local_rank() != 0) return;
    const FileSystem system = file_system_of(directory_);
    if (!system.in_memory) on_disk = system.kind + " (host " + station_.session.host() + ")";
    remove_copies(folder_);
  });
  for (const std::string& host : world_.gather_text(on_disk)) {
    if (not_in_memory_.empty()) not_in_memory_ = host;
  }
  const std::vector<CopySizes> others = exchange_sizes(sizes, partners_, world_);
  const auto take = [&] {
    held_->emplace_back(me, copies_of_rank(folder_, me, me), sizes);
    auto other = others.begin();
    for (int rank = 0; rank < world_.size(); ++rank) {
      if (partners_[static_cast<size_t>(rank)] != me) continue;
      held_->emplace_back(rank, copies_of_rank(folder_, rank, me), *other++);
    }
  };
  try {
    agree(world_, who, take);
  } catch (...) {  // if one rank has no room, copies of other ranks are of no use
    held_->clear();
    agree(world_, who, [&] { remove_own_folders(); });
    throw;
  }
}

void PartnerCopies::begin(const CheckpointState& state) {
  if (begun_) fail_internal("a copy was begun before the last one was whole");
  state_ = state;
  start(1 - slot_ % 2);
  // The memory of a device that is not the host is copied at once: a later copy would have to wait
  // for the step that the device computes by then.
  if (!station_.device.host_addressable()) copy_the_rest();
}

void PartnerCopies::start(size_t slot) {
  begun_ = true;
  slot_ = slot;
  sent_ = 0;
  copy_ = nullptr;
  own_is_kept_ = !own().has(slot);
  others_are_kept_ = false;
  if (own().has(slot)) {
    copy_ = slot == HeldCopies::kFrozen ? &frozen_ : &changing_;
    copy_->restart(own().data(slot));
  }
  for (HeldCopies& held : *held_) {
    if (!held.has(slot)) continue;
    attempt([&] { held.forget(slot); });
    if (&held != &own()) held.expect(slot, *courier_);
  }
}

void PartnerCopies::copy_some(size_t most_bytes) {
  if (own_is_kept_) return;
  copy_->copy(most_bytes);
  if (!copy_->is_whole()) return;
  own_is_kept_ = true;
  message_ = document();
  attempt([&] { own().complete(slot_, message_); });
  message_.resize(std::max(message_.size(), document_bytes_), ' ');
}

void PartnerCopies::copy_the_rest() {
  const bool has_cache = station_.device.host_addressable();
  while (!own_is_kept_) copy_some(has_cache ? kPieceBytes : kDevicePieceBytes);
  move_on();
}

void PartnerCopies::move_on() {
  if (!begun_) return;
  send_what_is_copied();
  courier_->progress();
  if (others_are_kept_ || courier_->receives_under_way() > 0) return;
  others_are_kept_ = true;
  for (const HeldCopies& held : *held_) {
    if (&held != &own() && held.has(slot_)) attempt([&] { held.keep(slot_); });
  }
}

void PartnerCopies::send_what_is_copied() {
  if (partner_ < 0 || copy_ == nullptr) return;
  const std::span<const std::byte> data = own().data(slot_);
  while (sent_ < data.size() && courier_->sends_under_way() < kMostSends) {
    const size_t bytes = std::min(HeldCopies::kMessageBytes, data.size() - sent_);
    if (copy_->copied() < sent_ + bytes) return;
    courier_->send(data.subspan(sent_, bytes), partner_);
    sent_ += bytes;
    if (sent_ == data.size()) courier_->send(std::as_bytes(std::span(message_)), partner_);
  }
}

bool PartnerCopies::is_at_its_places() const {
  const bool is_sent = partner_ < 0 || copy_ == nullptr || sent_ == own().data(slot_).size();
  return own_is_kept_ && is_sent && courier_->sends_under_way() == 0 && others_are_kept_;
}

bool PartnerCopies::under_way() const {
  return begun_ && (!is_at_its_places() || !trouble_.empty());
}

void PartnerCopies::settle(bool waits) {
  if (!begun_) return;
  if (waits) {
    const auto start = std::chrono::steady_clock::now();
    const auto is_done = [this] {
      move_on();
      return is_at_its_places();
    };
    station_.network.wait_until(is_done, "copies to the memory of partners");
    begun_ = false;
    const std::string trouble = std::exchange(trouble_, {});
    agree(world_, "", [&] {
      if (!trouble.empty()) fail_resource(trouble);
    });
    ++waits_;
    waited_s_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }
  begun_ = false;
}

void PartnerCopies::remove() {
  settle(true);
  agree(world_, "", [&] { remove_own_folders(); });
}

// Removes the folders of the copies that this rank holds, and also the run's folder if it is empty
// then.
void PartnerCopies::remove_own_folders() const {
  const int me = world_.rank();
  for (int rank = 0; rank < world_.size(); ++rank) {
    const bool is_held = rank == me || partners_[static_cast<size_t>(rank)] == me;
    if (is_held) remove_copies(copies_of_rank(folder_, rank, me));
  }
  std::error_code others_are_there;
  std::filesystem::remove(folder_, others_are_there);
}

void PartnerCopies::while_waiting() {
  if (!begun_) return;
  copy_some(kPieceBytes);
  move_on();
}

void PartnerCopies::between_ops() {
  if (!begun_ || partner_ < 0) return;
  copy_some(kPieceBytes);
  move_on();
}

void PartnerCopies::attempt(const std::function<void()>& keep) {
  try {
    keep();
  } catch (const Error& error) {
    trouble_ = error.what();
  }
}

std::string PartnerCopies::document() const {
  return encode_copy({.attempt = attempt_,
                      .rank = world_.rank(),
                      .ranks = world_.size(),
                      .is_frozen = copy_ == &frozen_,
                      .needs_frozen = copy_ == &changing_ && frozen_layout_.data_bytes > 0,
                      .file = copy_->digest(),
                      .state = state_});
}

std::string PartnerCopies::description() const {
  const int64_t mine = static_cast<int64_t>(changing_layout_.data_bytes);
  const std::string where = partner_ < 0
                                ? ", of this host alone: it is the only one, and its loss would "
                                  "cost what is not on disk"
                                : ", and of a rank on another host";
  const std::string what = not_in_memory_.empty()
                               ? "copies in memory"
                               : "warning: copies in files on " + not_in_memory_ +
                                     ", not in memory, whose writes training may wait for";
  return what + " (" + folder_ + "): " + bytes_text(mine) + " of rank 0 " +
         (every_ == 1 ? "after each step" : "every " + std::to_string(every_) + " steps") + where;
}

}  // namespace penstock
