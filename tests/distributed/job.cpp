#include "tests/distributed/job.h"

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>

#include "runtime/checkpoint/reader.h"

namespace penstock {

std::string penstock_program() {
  const char* told = std::getenv("PENSTOCK_PROGRAM");
  return told != nullptr ? told : program_beside("penstock");
}

std::string program_beside(const std::string& name) {
  return std::filesystem::read_symlink("/proc/self/exe").replace_filename(name).string();
}

JobResult run_penstock(int ranks, const std::string& arguments, int limit_s) {
  return run_ranks(penstock_program(), ranks, arguments, limit_s);
}

JobResult run_ranks(const std::string& program, int ranks, const std::string& arguments,
                    int limit_s) {
  // Also when a test is started by hand, without ctest's environment. Where there are more threads
  // than cores those that wait must not keep those that compute from it: runs of ranks with two
  // threads take fifty times as long.
  const std::string command =
      "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMP_WAIT_POLICY=passive timeout "
      "-k 5 " +
      std::to_string(limit_s) + " " PENSTOCK_MPIEXEC + " --oversubscribe --bind-to none -n " +
      std::to_string(ranks) + " " + program + " " + arguments + " 2>&1";
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

Scratch::Scratch(const std::string& name)
    : root_(std::filesystem::temp_directory_path() /
            ("penstock-" + name + "-" + std::to_string(getpid()))) {
  std::filesystem::remove_all(root_);
  std::filesystem::create_directories(root_);
}

Scratch::~Scratch() {
  std::error_code ignored;
  std::filesystem::remove_all(root_, ignored);
}

std::string Scratch::write(const std::string& file, const std::string& text) const {
  std::ofstream(root_ / file) << text;
  return path(file);
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
