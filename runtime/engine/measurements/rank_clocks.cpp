#include "runtime/engine/measurements/rank_clocks.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <set>
#include <span>
#include <string>
#include <system_error>

#include "runtime/system/files/proc.h"

namespace penstock {
namespace {

// Round trips per reading. Where ranks outnumber cores most answers come late, so more are asked
// for.
constexpr size_t kFewestTrips = 16;
constexpr size_t kMostTrips = 256;
constexpr double kGoodError_s = 50e-6;
constexpr double kNoMore = -1.0;  // not a time: the end of the questions

// Equal on ranks that share a monotonic clock. Where the kernel does not tell, a rank shares its
// clock with none.
std::string clock_identity(int rank) {
  const std::string boot = system_line("/proc/sys/kernel/random/boot_id");
  if (boot.empty()) return "rank " + std::to_string(rank);
  std::error_code unknown;  // a kernel without time namespaces
  return boot + " " + std::filesystem::read_symlink("/proc/self/ns/time", unknown).string();
}

void give(Collective& world, double number, int to) {
  world.give(std::as_bytes(std::span(&number, 1)), to);
}

double take(Collective& world, int from) {
  double number = 0.0;
  world.take(std::as_writable_bytes(std::span(&number, 1)), from);
  return number;
}

}  // namespace

double monotonic_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

RankClocks::RankClocks(Collective& world)
    : world_(world), reader_of_(static_cast<size_t>(world.size())), clocks_(reader_of_.size()) {
  const std::vector<std::string> identities = world.gather_text(clock_identity(world.rank()));
  std::vector<double> readers(reader_of_.size());
  for (size_t rank = 0; rank < identities.size(); ++rank) {  // on rank 0
    const auto same = std::ranges::find(identities, identities[rank]);
    readers[rank] = static_cast<double>(same - identities.begin());
  }
  world.broadcast(readers, 0);
  for (size_t rank = 0; rank < readers.size(); ++rank) {
    reader_of_[rank] = static_cast<int>(readers[rank]);
  }
}

void RankClocks::read() {
  for (int rank = 1; rank < world_.size(); ++rank) {
    if (reader_of_[static_cast<size_t>(rank)] != rank) continue;
    if (world_.rank() == rank) answer();
    if (world_.rank() != 0) continue;
    OtherClock& clock = clocks_[static_cast<size_t>(rank)];
    clock.last = ask(rank);
    if (!has_read_) clock.first = clock.last;
  }
  has_read_ = true;
}

ClockReading RankClocks::ask(int rank) {
  std::vector<RoundTrip> trips;
  while (trips.size() < kFewestTrips ||
         (trips.size() < kMostTrips && read_clock(trips).error > kGoodError_s)) {
    RoundTrip& trip = trips.emplace_back();
    trip.sent = monotonic_seconds();
    give(world_, trip.sent, rank);
    trip.answered = take(world_, rank);
    trip.received = monotonic_seconds();
  }
  give(world_, kNoMore, rank);
  return read_clock(trips);
}

void RankClocks::answer() {
  while (take(world_, 0) != kNoMore) give(world_, monotonic_seconds(), 0);
}

const OtherClock& RankClocks::of_rank(int rank) const {
  return clocks_[static_cast<size_t>(reader_of_[static_cast<size_t>(rank)])];
}

int RankClocks::different() const {
  return static_cast<int>(std::set<int>(reader_of_.begin(), reader_of_.end()).size());
}

double RankClocks::error_s() const {
  double worst = 0.0;
  for (const OtherClock& clock : clocks_) worst = std::max(worst, clock.error());
  return worst;
}

}  // namespace penstock
