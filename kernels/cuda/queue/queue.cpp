#include "kernels/cuda/queue/queue.h"

#include <algorithm>

#include "kernels/error.h"

namespace penstock {
namespace {

// Making a graph takes as long as a few launches; it has paid after kPaidAfter replays. A part is
// not captured again if its graphs changed more than kPatience times before they had paid.
constexpr int kPaidAfter = 8;  // replays
constexpr int kPatience = 3;

}  // namespace

Queue::~Queue() {
  for (auto& [key, parts] : sections_) {
    for (Part& part : parts) drop(part);
  }
}

void Queue::begin_section(int64_t key) {
  if (in_section_) fail_internal("sections of a CUDA queue do not nest");
  if (!graphs_) return;
  in_section_ = true;
  key_ = key;
  part_ = 0;
}

void Queue::end_section() {
  if (!in_section_) return;
  finish_part();
  in_section_ = false;
}

void Queue::flush() {
  if (in_section_) finish_part();
}

void Queue::synchronize() {
  flush();
  if (!host_waits_.any()) {
    PENSTOCK_CUDA(cudaStreamSynchronize(stream()));
    return;
  }
  host_waits_.until([this] {
    const cudaError_t status = cudaStreamQuery(stream());
    if (status == cudaErrorNotReady) return false;
    check_status("cudaStreamQuery", status);
    return true;
  });
}

void Queue::wait_on_host(const Event& event) {
  if (!host_waits_.any()) return event.wait_on_host();
  host_waits_.until([&event] { return event.passed(); });
}

void Queue::issue_pending() {
  for (const Command& command : commands_) {
    command.kind->issue(stream(), bytes_.data() + command.first);
  }
  counts_.issued += static_cast<int64_t>(commands_.size());
  commands_.clear();
  bytes_.clear();
}

void Queue::finish_part() {
  if (commands_.empty()) return;
  std::vector<Part>& parts = sections_[key_];
  if (parts.size() == part_) parts.emplace_back();
  Part& part = parts[part_++];
  const Match match = compare(part);
  if (match == Match::Different || part.failures > kPatience) {
    if (part.graph != nullptr && part.replays < kPaidAfter) ++part.failures;
    drop(part);
    remember(part);
    issue_pending();
    return;
  }
  if (part.graph == nullptr) {
    remember(part);
    capture(part);
  } else if (match == Match::Patchable) {
    patch(part);
  }
  PENSTOCK_CUDA(cudaGraphLaunch(part.graph, stream()));
  ++part.replays;
  ++counts_.replayed;
  commands_.clear();
  bytes_.clear();
}

size_t Queue::end_of(size_t command, const std::vector<Command>& commands, size_t total) const {
  return command + 1 < commands.size() ? commands[command + 1].first : total;
}

// Returns how the part repeats the pending commands: not at all if kinds or places of commands
// differ, else exactly, or with other bytes in commands that can be patched.
Queue::Match Queue::compare(const Part& part) const {
  if (part.commands != commands_ || part.bytes.size() != bytes_.size()) return Match::Different;
  if (part.bytes == bytes_) return Match::Same;
  for (size_t c = 0; c < commands_.size(); ++c) {
    const size_t first = commands_[c].first;
    const size_t end = end_of(c, commands_, bytes_.size());
    const bool same =
        std::memcmp(part.bytes.data() + first, bytes_.data() + first, end - first) == 0;
    const bool patchable =
        commands_[c].kind->patch != nullptr && (part.graph == nullptr || part.nodes[c] != nullptr);
    if (!same && !patchable) return Match::Different;
  }
  return Match::Patchable;
}

void Queue::remember(Part& part) {
  part.commands = commands_;
  part.bytes = bytes_;
}

void Queue::capture(Part& part) {
  PENSTOCK_CUDA(cudaStreamBeginCapture(stream(), cudaStreamCaptureModeThreadLocal));
  part.nodes.clear();
  for (const Command& command : part.commands) {
    command.kind->issue(stream(), part.bytes.data() + command.first);
    // The node that the stream now ends in is kept. If the command launches one of our kernels, the
    // node is that kernel.
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    const cudaGraphNode_t* last = nullptr;
    size_t count = 0;
    PENSTOCK_CUDA(
        cudaStreamGetCaptureInfo(stream(), &status, nullptr, nullptr, &last, nullptr, &count));
    const bool kernel = command.kind->patch != nullptr && count == 1;
    part.nodes.push_back(kernel ? last[0] : nullptr);
  }
  PENSTOCK_CUDA(cudaStreamEndCapture(stream(), &part.captured));
  PENSTOCK_CUDA(cudaGraphInstantiate(&part.graph, part.captured, 0));
}

void Queue::patch(Part& part) {
  for (size_t c = 0; c < commands_.size(); ++c) {
    const size_t first = commands_[c].first;
    const size_t end = end_of(c, commands_, bytes_.size());
    if (std::memcmp(part.bytes.data() + first, bytes_.data() + first, end - first) == 0) continue;
    commands_[c].kind->patch(part.graph, part.nodes[c], bytes_.data() + first);
  }
  part.bytes = bytes_;
}

void Queue::drop(Part& part) {
  if (part.graph != nullptr) (void)cudaGraphExecDestroy(part.graph);
  if (part.captured != nullptr) (void)cudaGraphDestroy(part.captured);
  part.graph = nullptr;
  part.captured = nullptr;
  part.replays = 0;
  part.nodes.clear();
}

}  // namespace penstock
