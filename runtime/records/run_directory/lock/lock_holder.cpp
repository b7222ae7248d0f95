#include "runtime/records/run_directory/lock/lock_holder.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <random>
#include <vector>

#include "runtime/system/files/proc.h"

namespace penstock {
namespace {

// Returns when a process started, in clock ticks since the boot, or 0 if there is no such process
// or it is a zombie. Returns nothing if it possibly exists, but /proc does not show it to this
// user.
std::optional<int64_t> start_of(int64_t process) {
  const std::vector<std::string> fields = process_fields(process);
  if (fields.size() <= kProcessStart) {
    return process_may_exist(process) ? std::nullopt : std::optional<int64_t>(0);
  }
  if (fields[kProcessState] == "Z" || fields[kProcessState] == "X") return 0;
  return std::strtoll(fields[kProcessStart].c_str(), nullptr, 10);
}

std::string machine() {
  std::error_code error;
  const auto processes = std::filesystem::read_symlink("/proc/self/ns/pid", error);
  return system_line("/proc/sys/kernel/random/boot_id") + " " + processes.string();
}

std::string random_token() {
  std::random_device random;
  return fmt::format("{:08x}{:08x}", random(), random());
}

}  // namespace

LockHolder this_holder() {
  LockHolder holder;
  std::array<char, 256> host{};
  if (gethostname(host.data(), host.size() - 1) == 0) holder.host = host.data();
  holder.machine = machine();
  holder.process = getpid();
  holder.started = start_of(holder.process).value_or(0);
  holder.token = random_token();
  return holder;
}

std::string encode(const LockHolder& holder) {
  const nlohmann::ordered_json json = {{"host", holder.host},
                                       {"process", holder.process},
                                       {"started", holder.started},
                                       {"machine", holder.machine},
                                       {"token", holder.token}};
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

LockHolder parse_holder(const std::string& text) {
  const auto json = nlohmann::json::parse(text, nullptr, false);
  LockHolder holder;
  if (!json.is_object()) return holder;
  const auto words = [&](const char* key) {
    const auto found = json.find(key);
    return found != json.end() && found->is_string() ? found->get<std::string>() : "";
  };
  const auto number = [&](const char* key) {
    const auto found = json.find(key);
    return found != json.end() && found->is_number_integer() ? found->get<int64_t>() : 0;
  };
  const std::string token = words("token");
  // The token becomes part of a file's name, so untrusted characters are refused.
  if (token.find_first_not_of("0123456789abcdef") != std::string::npos) return holder;
  return {words("host"), words("machine"), number("process"), number("started"), token};
}

std::optional<bool> is_alive(const LockHolder& holder) {
  if (holder.process <= 0 || holder.machine != machine()) return std::nullopt;
  const std::optional<int64_t> started = start_of(holder.process);
  if (!started || holder.started == 0) return std::nullopt;
  return *started == holder.started;
}

}  // namespace penstock
