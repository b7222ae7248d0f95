#include "runtime/records/checkpoint/writer/checkpoint_writer.h"

#include <algorithm>
#include <exception>
#include <iterator>
#include <map>
#include <tuple>
#include <utility>

#include "kernels/error.h"
#include "runtime/records/checkpoint/layout.h"
#include "runtime/records/checkpoint/writer/documents.h"
#include "runtime/records/checkpoint/writer/outcome.h"
#include "runtime/system/files/json.h"

namespace penstock {
namespace {

using nlohmann::json;

// Returns all shards of this stage, also those that other replicas write.
std::vector<Shard> all_shards(const CheckpointRequest& request) {
  std::vector<Shard> all = cut_shards("model", request.model);
  std::vector<Shard> more = cut_shards("optimizer", request.optimizer);
  std::move(more.begin(), more.end(), std::back_inserter(all));
  return all;
}

bool has_parts(const std::vector<Shard>& shards) {
  return std::ranges::any_of(shards, [](const Shard& shard) {
    return std::ranges::any_of(shard.tensors, &PlacedTensor::is_part);
  });
}

// Returns the names of all files as [[file, ...], ...]: a list for each rank, in the order in which
// the rank listed its shards. The numbers in the names follow the order of layers, whichever rank
// writes the file.
json name_files(const std::vector<std::string>& lists) {
  using Place = std::tuple<std::string, int64_t, int64_t, size_t, size_t>;
  std::vector<Place> places;
  std::map<std::string, int64_t> totals,
      numbers;  // files of a part (model or optimizer): all, and named so far
  json files = json::array();
  for (size_t rank = 0; rank < lists.size(); ++rank) {
    const json list = unpacked_json(lists[rank]);
    throw_if_failed(list, "rank " + std::to_string(rank) + ": ");
    for (size_t i = 0; i < list.size(); ++i) {
      places.emplace_back(list[i][0], list[i][1], list[i][2], rank, i);
      ++totals[list[i][0]];
    }
    files.push_back(json(list.size(), ""));
  }
  std::sort(places.begin(), places.end());
  for (const auto& [part, layer, piece, rank, i] : places) {
    files[rank][i] = shard_file(part, ++numbers[part], totals[part]);
  }
  return files;
}

json write_shards(const std::string& directory, const std::vector<Shard>& shards,
                  const std::vector<std::string>& files, Device* device,
                  const std::stop_token& stop) {
  json reports = json::array();
  for (size_t i = 0; i < shards.size() && !stop.stop_requested(); ++i) {
    reports.push_back(write_shard(directory, files[i], shards[i], device));
  }
  return {{"shards", reports}};
}

}  // namespace

CheckpointWriter::CheckpointWriter(Collective& world, Device& device)
    : world_(world), device_(device), snapshot_(device) {}

CheckpointWriter::~CheckpointWriter() {
  try {
    work_.stop();
    if (under_way() && world_.rank() == 0) abandon_step(request_.root, request_.state.step);
  } catch (const std::exception&) {
    // No caller can be told of the error any more. The next save removes what stays.
  }
}

// Agrees with all ranks on the files of the checkpoint and on its directory, which rank 0 makes.
// Returns what this rank has to write, and to where.
CheckpointWriter::Order CheckpointWriter::agree(const CheckpointRequest& request) {
  if (under_way()) fail_internal("a checkpoint was begun before the last one was complete");
  Order order;
  std::vector<Shard> all = all_shards(request);
  const std::vector<int> writers = writers_of(all, request.replicas);
  const json list = attempt([&] {
    json mine = json::array();
    for (size_t i = 0; i < all.size(); ++i) {
      if (writers[i] != request.replica) continue;
      mine.push_back({all[i].part, all[i].layer, all[i].piece});
    }
    snapshot_.make_room(all, writers, request.replica);
    return mine;
  });
  const std::vector<std::string> lists = world_.gather_text(packed_json(list));
  prefix_ = "cannot save checkpoint " + request.root + "/" + step_name(request.state.step) + ": ";
  std::string answer;
  if (world_.rank() == 0) {
    answer = packed_json(attempt([&] {
      return json{{"files", name_files(lists)},
                  {"directory", begin_step(request.root, request.state.step, request.state.run)}};
    }));
  }
  const json agreed = unpacked_json(world_.broadcast(answer, 0));
  throw_if_failed(agreed, prefix_);
  order.directory = agreed.at("directory").get<std::string>();
  order.files = agreed.at("files").at(static_cast<size_t>(world_.rank()));
  request_ = {.root = request.root, .retention = request.retention, .state = request.state};
  directory_ = order.directory;
  phase_ = Phase::Shards;
  if (request.between_replicas != nullptr && has_parts(all)) {
    order.is_in_parts = true;
    snapshot_.assemble(all, writers, request.replica, *request.between_replicas);
  }
  for (size_t i = 0; i < all.size(); ++i) {
    if (writers[i] == request.replica) order.shards.push_back(std::move(all[i]));
  }
  return order;
}

// Copies the shards. Returns false if that fails, for example for lack of memory. The error is then
// this rank's result, as if it had failed to write.
bool CheckpointWriter::takes_copies(Order& order) {
  try {
    snapshot_.take(order.shards);
    return true;
  } catch (...) {
    const std::exception_ptr failure = std::current_exception();
    work_.do_now([&](const auto&) -> json { std::rethrow_exception(failure); });
    return false;
  }
}

void CheckpointWriter::begin(const CheckpointRequest& request) {
  Order order = agree(request);
  if (!takes_copies(order)) return;
  work_.start([order = std::move(order)](const std::stop_token& stop) {
    return write_shards(order.directory, order.shards, order.files, nullptr, stop);
  });
}

CheckpointResult CheckpointWriter::save(const CheckpointRequest& request) {
  Order order = agree(request);
  // Gathered tensors are in host memory. Other tensors of the same shard may be in the device's
  // memory. In that case they are copied first, so that the whole shard is in host memory.
  const bool copies = order.is_in_parts && !device_.host_addressable();
  if (!copies || takes_copies(order)) {
    work_.do_now([&](const std::stop_token& stop) {
      Device* device = copies ? nullptr : &device_;
      return write_shards(order.directory, order.shards, order.files, device, stop);
    });
  }
  return *finish();
}

// Gathers the reports of all ranks. Rank 0 then starts the second phase, which writes the
// documents.
void CheckpointWriter::publish() {
  const std::vector<std::string> reports = world_.gather_text(packed_json(work_.wait()));
  phase_ = Phase::Documents;
  if (world_.rank() != 0) return;
  work_.start([completion = Completion{request_, directory_, reports}](const auto&) {
    return complete(completion);
  });
}

std::optional<CheckpointResult> CheckpointWriter::advance() {
  if (phase_ == Phase::Idle) fail_internal("there is no checkpoint under way");
  if (phase_ == Phase::Shards) {
    publish();
    return std::nullopt;
  }
  const std::string mine = world_.rank() == 0 ? packed_json(work_.wait()) : "";
  const json outcome = unpacked_json(world_.broadcast(mine, 0));
  phase_ = Phase::Idle;
  throw_if_failed(outcome, prefix_);
  return CheckpointResult{outcome.at("path").get<std::string>(),
                          outcome.at("size_bytes").get<uint64_t>(),
                          outcome.at("warning").get<std::string>()};
}

std::optional<CheckpointResult> CheckpointWriter::finish() {
  std::optional<CheckpointResult> result;
  while (under_way()) result = advance();
  return result;
}

}  // namespace penstock
