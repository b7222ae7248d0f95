// launch/program/planning/profile_file.cpp -- see profile_file.h.
#include "launch/program/planning/profile_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "kernels/error.h"
#include "launch/program/planning/link_table.h"
#include "runtime/files/input_file.h"
#include "runtime/files/json.h"
#include "runtime/telemetry/units.h"

namespace penstock {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kVersion = 2;

// Every figure of a layer by its name in the file, for the writer and the reader.
struct TimeKey {
  const char* name;
  double LayerCost::*member;
};
struct BytesKey {
  const char* name;
  int64_t LayerCost::*member;
};
constexpr TimeKey kTimes[] = {
    {"forward_s", &LayerCost::forward_s},
    {"backward_input_s", &LayerCost::backward_input_s},
    {"backward_weight_s", &LayerCost::backward_weight_s},
    {"backward_s", &LayerCost::backward_s},
    {"update_s", &LayerCost::update_s},
    {"forward_flops", &LayerCost::forward_flops},
};
constexpr BytesKey kBytes[] = {
    {"parameters", &LayerCost::parameters},
    {"input_bytes", &LayerCost::input_bytes},
    {"output_bytes", &LayerCost::output_bytes},
    {"tape_bytes", &LayerCost::tape_bytes},
    {"shared_input_bytes", &LayerCost::shared_input_bytes},
    {"weight_half_bytes", &LayerCost::weight_half_bytes},
    {"forward_peak_bytes", &LayerCost::forward_peak_bytes},
    {"record_peak_bytes", &LayerCost::record_peak_bytes},
    {"backward_peak_bytes", &LayerCost::backward_peak_bytes},
    {"backward_input_peak_bytes", &LayerCost::backward_input_peak_bytes},
    {"parameter_bytes", &LayerCost::parameter_bytes},
    {"gradient_bytes", &LayerCost::gradient_bytes},
    {"optimizer_bytes", &LayerCost::optimizer_bytes},
    {"workspace_bytes", &LayerCost::workspace_bytes},
};

Json json_of(const LayerCost& layer) {
  Json json;
  json["name"] = layer.name;
  json["kind"] = layer.kind;
  for (const TimeKey& key : kTimes) json[key.name] = layer.*key.member;
  for (const BytesKey& key : kBytes) json[key.name] = layer.*key.member;
  return json;
}

Json json_of(const LinkTimes& link) {
  return {{"latency_s", link.latency},
          {"seconds_per_byte", link.seconds_per_byte},
          {"overhead_s", link.overhead},
          {"receiver_copies", link.receiver_copies}};
}

Json json_of(const ProfiledLink& link) {
  return {{"first_rank", link.first},
          {"second_rank", link.second},
          {"of", link.of_replicas ? "replicas" : "stages"},
          {"same_node", link.same_node},
          {"seconds", link.seconds}};
}

// No layer has as many bytes, and the sums over all layers stay in 64 bits.
constexpr int64_t kMostOfALayer = 10'000'000'000'000;
constexpr double kLargestNumber = 1e30;

// A JSON object with the words for what is wrong in it.
class Object {
 public:
  Object(const std::string& file, std::string place, const nlohmann::json& json)
      : file_(file), place_(std::move(place)), json_(json) {
    if (!json_.is_object()) fail(place_.empty() ? "it" : place_, "is no object");
  }

  [[nodiscard]] Object object(const char* key) const { return {file_, named(key), member(key)}; }
  [[nodiscard]] std::vector<Object> objects(const char* key) const {
    const nlohmann::json& list = member(key);
    if (!list.is_array()) fail(named(key), "is no list");
    std::vector<Object> all;
    for (size_t i = 0; i < list.size(); ++i) {
      all.emplace_back(file_, fmt::format("{}[{}]", named(key), i), list[i]);
    }
    return all;
  }
  [[nodiscard]] std::string text(const char* key) const {
    if (!member(key).is_string()) fail(named(key), "is no text");
    return member(key).get<std::string>();
  }
  [[nodiscard]] double number(const char* key) const {
    if (!member(key).is_number()) fail(named(key), "is no number");
    const auto value = member(key).get<double>();
    if (!(value >= 0.0)) fail(named(key), "is below 0");
    if (value > kLargestNumber) fail(named(key), "is too large");
    return value;
  }
  [[nodiscard]] int64_t integer(const char* key) const {
    if (!member(key).is_number_integer()) fail(named(key), "is no integer");
    const auto value = member(key).get<int64_t>();
    if (value < 0) fail(named(key), "is below 0");
    if (value > kMostOfALayer) fail(named(key), "is too large");
    return value;
  }
  [[nodiscard]] bool flag(const char* key) const {
    if (!member(key).is_boolean()) fail(named(key), "is neither true nor false");
    return member(key).get<bool>();
  }
  [[nodiscard]] const std::string& place() const { return place_; }
  [[noreturn]] void fail(const std::string& key, const std::string& what) const {
    fail_input(
        fmt::format("{}: {} {}; make the profile again with penstock profile", file_, key, what));
  }

 private:
  [[nodiscard]] std::string named(const char* key) const {
    return place_.empty() ? fmt::format("'{}'", key) : fmt::format("{} '{}'", place_, key);
  }
  [[nodiscard]] const nlohmann::json& member(const char* key) const {
    const auto found = json_.find(key);
    if (found == json_.end()) fail(named(key), "is missing");
    return *found;
  }

  const std::string& file_;
  std::string place_;
  const nlohmann::json& json_;
};

LayerCost read_layer_cost(const Object& object) {
  LayerCost layer;
  layer.name = object.text("name");
  layer.kind = object.text("kind");
  for (const TimeKey& key : kTimes) layer.*key.member = object.number(key.name);
  for (const BytesKey& key : kBytes) layer.*key.member = object.integer(key.name);
  return layer;
}

LinkTimes read_link(const Object& object) {
  return {.latency = object.number("latency_s"),
          .seconds_per_byte = object.number("seconds_per_byte"),
          .overhead = object.number("overhead_s"),
          .receiver_copies = object.flag("receiver_copies")};
}

constexpr int64_t kMostProfileBytes = int64_t{16} << 20;

nlohmann::json parsed(const std::string& path) {
  try {
    return read_json_file(path, kMostProfileBytes, FileOwner::User);
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::Input) throw;
    fail_input(fmt::format("{}; make the profile again with penstock profile", error.what()));
  }
}

bool alike(const LayerCost& a, const LayerCost& b) {
  const auto same = [&](const auto& key) { return a.*key.member == b.*key.member; };
  return a.kind == b.kind && std::all_of(std::begin(kTimes), std::end(kTimes), same) &&
         std::all_of(std::begin(kBytes), std::end(kBytes), same);
}

struct Row {
  std::string name, kind;
  LayerCost sum;  // of the layers in this row
};

void add(LayerCost& sum, const LayerCost& layer) {
  for (const TimeKey& key : kTimes) sum.*key.member += layer.*key.member;
  for (const BytesKey& key : kBytes) sum.*key.member += layer.*key.member;
}

// Neighbours that take the same make one row of their sums.
std::vector<Row> rows_of(const std::vector<LayerCost>& layers) {
  std::vector<Row> rows;
  for (size_t first = 0; first < layers.size();) {
    size_t end = first;
    LayerCost sum;
    for (; end < layers.size() && alike(layers[first], layers[end]); ++end) add(sum, layers[end]);
    const size_t count = end - first;
    sum.output_bytes = layers[end - 1].output_bytes;  // one boundary's, not a sum
    rows.push_back(
        {count == 1 ? layers[first].name
                    : fmt::format("{} .. {} ({})", layers[first].name, layers[end - 1].name, count),
         layers[first].kind, sum});
    first = end;
  }
  return rows;
}

std::string line(const Row& row, size_t name_width, size_t kind_width) {
  constexpr double kMilli = 1e3;
  const LayerCost& sum = row.sum;
  return fmt::format(
      "{:{}}  {:{}}  {:>10}  {:>9.3f}  {:>9.3f}  {:>9.3f}  {:>9.3f}  {:>10}  {:>10}\n", row.name,
      name_width, row.kind, kind_width, count_text(static_cast<double>(sum.parameters)),
      kMilli * sum.forward_s, kMilli * sum.backward_input_s, kMilli * sum.backward_weight_s,
      kMilli * sum.update_s, bytes_text(sum.tape_bytes), bytes_text(sum.output_bytes));
}

std::string line(const char* where, const LinkTimes& link) {
  if (link.seconds_per_byte <= 0.0) return "";
  return fmt::format("link {}: {:.1f} us latency, {:.1f} us overhead at each end, {:.2f} GB/s\n",
                     where, 1e6 * link.latency, 1e6 * link.overhead, 1e-9 / link.seconds_per_byte);
}

}  // namespace

std::string profile_text(const Profile& profile) {
  Json json;
  json["version"] = kVersion;
  json["device"] = profile.costs.device;
  json["threads"] = profile.threads;
  json["micro_batch_size"] = profile.costs.micro_batch_size;
  json["precision"] = profile.precision;
  json["links"] = {{"within_node", json_of(profile.within_node)},
                   {"between_nodes", json_of(profile.between_nodes)}};
  if (!profile.links.empty()) {
    json["links"]["bytes"] = profile.link_bytes;
    for (const ProfiledLink& link : profile.links) json["links"]["each"].push_back(json_of(link));
  }
  json["layers"] = Json::array();
  for (const LayerCost& layer : profile.costs.layers) json["layers"].push_back(json_of(layer));
  json["skips"] = Json::array();
  for (const LayerSkip& skip : profile.costs.skips) {
    json["skips"].push_back(
        {{"from_layer", skip.from_layer}, {"to_layer", skip.to_layer}, {"bytes", skip.bytes}});
  }
  return json.dump(1) + "\n";
}

Profile read_profile(const std::string& path) {
  const nlohmann::json json = parsed(path);
  const Object root(path, "", json);
  if (root.integer("version") != kVersion) {
    root.fail("'version'", fmt::format("is not {}, the one known here", kVersion));
  }
  Profile profile;
  profile.costs.device = root.text("device");
  profile.costs.micro_batch_size = root.integer("micro_batch_size");
  if (profile.costs.micro_batch_size < 1) root.fail("'micro_batch_size'", "is below 1");
  const int64_t threads = root.integer("threads");
  if (threads > std::numeric_limits<int>::max()) root.fail("'threads'", "is too large");
  profile.threads = static_cast<int>(threads);
  profile.precision = root.text("precision");
  const Object links = root.object("links");
  profile.within_node = read_link(links.object("within_node"));
  profile.between_nodes = read_link(links.object("between_nodes"));
  for (const Object& layer : root.objects("layers")) {
    profile.costs.layers.push_back(read_layer_cost(layer));
  }
  const auto layers = static_cast<int64_t>(profile.costs.layers.size());
  for (const Object& skip : root.objects("skips")) {
    const int64_t from = skip.integer("from_layer");
    const int64_t to = skip.integer("to_layer");
    if (from >= to || to >= layers)
      skip.fail(fmt::format("{} the skip", skip.place()), "leads to no later layer");
    profile.costs.skips.push_back(
        {static_cast<int>(from), static_cast<int>(to), skip.integer("bytes")});
  }
  return profile;
}

std::string profile_table(const Profile& profile) {
  std::vector<Row> rows = rows_of(profile.costs.layers);
  Row total{"all layers", "", {}};
  size_t name_width = total.name.size();
  size_t kind_width = std::string("kind").size();
  for (const Row& row : rows) {
    add(total.sum, row.sum);
    name_width = std::max(name_width, row.name.size());
    kind_width = std::max(kind_width, row.kind.size());
  }
  total.sum.output_bytes = 0;
  std::string text = fmt::format(
      "{}, {} thread{}, {}, micro-batches of {}\n\n"
      "{:{}}  {:{}}  {:>10}  {:>9}  {:>9}  {:>9}  {:>9}  {:>10}  {:>10}\n",
      profile.costs.device, profile.threads, profile.threads == 1 ? "" : "s", profile.precision,
      profile.costs.micro_batch_size, "layer", name_width, "kind", kind_width, "parameters", "F ms",
      "B ms", "W ms", "update ms", "tape", "boundary");
  for (const Row& row : rows) text += line(row, name_width, kind_width);
  text += line(total, name_width, kind_width);
  return text + link_table(profile) + line("within a host", profile.within_node) +
         line("between hosts", profile.between_nodes);
}

}  // namespace penstock
