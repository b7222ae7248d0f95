#include "tests/distributed/job.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <future>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>
#include <thread>

#include "runtime/records/checkpoint/reader.h"

namespace penstock {

std::string penstock_program() {
  const char* told = std::getenv("PENSTOCK_PROGRAM");
  return told != nullptr ? told : program_beside("penstock");
}

std::string program_beside(const std::string& name) {
  return std::filesystem::read_symlink("/proc/self/exe").replace_filename(name).string();
}

std::string ranks_script() {
  const char* told = std::getenv("PENSTOCK_RANKS");
  return told != nullptr ? told : PENSTOCK_RANKS;
}

JobResult run_penstock(int ranks, const std::string& arguments, int limit_s) {
  return run_ranks(penstock_program(), ranks, arguments, limit_s);
}

JobResult run_words(const std::string& words, int limit_s) {
  // The variables are set here as well for tests that are started by hand, without ctest's
  // environment. Where there are more threads than cores, waiting threads must soon give way: three
  // ranks of two threads on two cores take ten times as long while libgomp's threads spin for as
  // long as they do by default.
  const std::string command =
      "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 GOMP_SPINCOUNT=300 timeout "
      "-k 5 " +
      std::to_string(limit_s) + " " + words + " 2>&1";
  const auto start = std::chrono::steady_clock::now();
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) throw std::runtime_error("cannot run " + command);
  JobResult result;
  std::array<char, 4096> buffer{};
  while (const size_t n = fread(buffer.data(), 1, buffer.size(), pipe)) {
    result.output.append(buffer.data(), n);
  }
  const int status = pclose(pipe);
  result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return result;
}

JobResult run_ranks(const std::string& program, int ranks, const std::string& arguments,
                    int limit_s) {
  return run_words(
      ranks_script() + " -n " + std::to_string(ranks) + " " + program + " " + arguments, limit_s);
}

JobResult run_alone(const std::string& arguments, int limit_s) {
  return run_words(penstock_program() + " " + arguments, limit_s);
}

namespace {

// Process ids of the ranks whose command line names this directory, by rank.
std::vector<pid_t> ranks_naming(const std::string& directory) {
  std::vector<pid_t> found;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    std::ifstream in(entry.path() / "cmdline");
    std::string line((std::istreambuf_iterator<char>(in)), {});
    if (line.rfind(penstock_program(), 0) == 0 && line.find(directory) != std::string::npos) {
      found.push_back(static_cast<pid_t>(std::stoi(name)));
    }
  }
  std::sort(found.begin(), found.end());
  return found;
}

bool has_trained(const std::string& out) {
  constexpr size_t kSomeSteps = 3000;  // bytes of metrics
  std::error_code error;
  const auto size = std::filesystem::file_size(out + "/metrics.jsonl", error);
  return !error && size > kSomeSteps;
}

}  // namespace

JobResult run_and_signal(int ranks, const std::string& arguments, const std::string& out,
                         int signal, size_t rank) {
  auto job = std::async(std::launch::async, [&] { return run_penstock(ranks, arguments, 120); });
  for (int i = 0; i < 3000 && !has_trained(out); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  const std::vector<pid_t> processes = ranks_naming(out);
  EXPECT_EQ(processes.size(), static_cast<size_t>(ranks));
  const auto start = std::chrono::steady_clock::now();
  if (rank < processes.size()) (void)kill(processes[rank], signal);
  JobResult result = job.get();
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  std::printf("signal %d to rank %zu, job over after %.1f s\n", signal, rank, result.seconds);
  for (int i = 0; i < 100 && !ranks_naming(out).empty(); ++i) {  // the last may be just leaving
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  EXPECT_TRUE(ranks_naming(out).empty());
  return result;
}

std::string read_file(const std::string& path) {
  std::ifstream in(path);
  if (!in) throw std::runtime_error("cannot read " + path);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

Trajectory read_trajectory(const std::string& run_directory) {
  Trajectory trajectory;
  std::istringstream lines(read_file(run_directory + "/metrics.jsonl"));
  for (std::string line; std::getline(lines, line);) {
    const auto json = nlohmann::json::parse(line);
    if (json.contains("eval")) continue;
    trajectory.losses.push_back(json.at("loss").get<double>());
    trajectory.gradient_norms.push_back(json.at("grad_norm").get<double>());
    if (json.contains("auxiliary_loss")) {
      trajectory.auxiliary_losses.push_back(json.at("auxiliary_loss").get<double>());
    }
  }
  std::filesystem::path last;
  for (const auto& entry : std::filesystem::directory_iterator(run_directory + "/checkpoints")) {
    if (last.empty() || entry.path() > last) last = entry.path();
  }
  trajectory.tensors = read_checkpoint(last.string());
  const auto manifest = nlohmann::json::parse(read_file(last.string() + "/manifest.json"));
  for (const auto& [file, digest] : manifest.at("files").items()) {
    if (file.ends_with(".safetensors")) trajectory.shards[file] = digest.at("xxh3_64");
  }
  return trajectory;
}

std::map<std::string, std::vector<std::byte>> read_checkpoint(const std::string& step_directory) {
  std::map<std::string, std::vector<std::byte>> tensors;
  CheckpointReader reader(step_directory);
  auto stored = reader.model();
  const auto more = reader.optimizer();
  stored.insert(stored.end(), more.begin(), more.end());
  for (const auto& entry : stored) {
    std::vector<std::byte> bytes(entry.tensor.end - entry.tensor.begin);
    reader.read(entry.tensor.name, bytes);
    tensors.emplace(entry.tensor.name, std::move(bytes));
  }
  return tensors;
}

}  // namespace penstock
