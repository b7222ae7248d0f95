// kernels/cuda/queue/queue.h -- Queue: the order in which one device computes, and the CUDA graphs
// that replay it.
//
// An op submits commands: a kernel launch or a library call, packed with its arguments into plain
// bytes. Outside a section a command is issued at once. Inside, commands gather until the section
// ends and are compared with what the same section submitted a step ago: tensors of a fixed shape
// come back at fixed addresses (Memory::order_cache), so from the second step on they are the same
// bytes. They are then captured into a graph once, and one launch per step replaces hundreds. Where
// only arguments of our own kernels differ (a dropout's random stream), the graph's nodes are
// patched; where anything else does, the commands are issued one by one. Nothing is assumed: every
// byte is compared in every step.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <tuple>
#include <type_traits>
#include <unordered_map>
#include <vector>

#include "kernels/cuda/queue/host_waits.h"
#include "kernels/cuda/queue/stream.h"

namespace penstock {

// The operations on the packed bytes of a command; one static object per kernel signature or
// library function.
struct CommandKind {
  // Issues the command to the stream.
  void (*issue)(cudaStream_t stream, const std::byte* packed);
  // Gives a kernel node of an instantiated graph new arguments; null for library calls.
  void (*patch)(cudaGraphExec_t graph, cudaGraphNode_t node, const std::byte* packed);
};

// Reads packed values back in the order they were written.
class Unpacker {
 public:
  explicit Unpacker(const std::byte* at) : at_(at) {}
  // NOLINTBEGIN(bugprone-sizeof-expression): where T is a pointer, its own size is what is meant
  template <class T>
  [[nodiscard]] T next() {
    T value;
    std::memcpy(&value, at_, sizeof(T));
    at_ += sizeof(T);
    return value;
  }
  // NOLINTEND(bugprone-sizeof-expression)

 private:
  const std::byte* at_;
};

// Counts since the start: parts of sections that were replayed as graphs, and commands that were
// issued one by one.
struct QueueCounts {
  int64_t replayed = 0, issued = 0;
};

class Queue {
 public:
  // `graphs`: false issues every command at once.
  explicit Queue(bool graphs) : graphs_(graphs) {}
  ~Queue();
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;

  // The stream that computes. After flush() it has everything that was submitted before.
  [[nodiscard]] cudaStream_t stream() const { return stream_.get(); }

  // Submits a command whose packed bytes are `values`. They must be trivially copyable and, since
  // they are compared as bytes, have no padding whose bytes may differ.
  // NOLINTBEGIN(bugprone-sizeof-expression): as in Unpacker
  template <class... Values>
  void submit(const CommandKind& kind, const Values&... values) {
    static_assert((std::is_trivially_copyable_v<Values> && ...));
    const size_t first = bytes_.size();
    bytes_.resize(first + (sizeof(Values) + ... + 0));
    std::byte* at = bytes_.data() + first;
    ((std::memcpy(at, &values, sizeof(Values)), at += sizeof(Values)), ...);
    commands_.push_back({&kind, first});
    if (!in_section_) issue_pending();
  }
  // NOLINTEND(bugprone-sizeof-expression)

  // Submits a library call: Function(stream, values...) is called when the command is issued. What
  // pointers in `values` point at (plans, descriptors) must live as long as the queue. A workspace
  // is a scratch tensor that the op may release once it has submitted the call: whoever gets its
  // memory next uses it later in the stream.
  template <auto Function, class... Values>
  void call(const Values&... values) {
    submit(call_kind<Function, Values...>, values...);
  }

  // Begin and end the section named `key`: the caller submits the same commands in the same order
  // there in every step. Sections do not nest.
  void begin_section(int64_t key);
  void end_section();
  // Issues what has been submitted, also inside a section (which goes on as another part): before
  // an event is recorded on the stream, or another stream is joined to it.
  void flush();
  // Returns when everything submitted has ended on the device.
  void synchronize();
  // Returns when the device has passed the event.
  void wait_on_host(const Event& event);
  // The waits that synchronize() and wait_on_host() go through.
  [[nodiscard]] HostWaits& host_waits() { return host_waits_; }

  // record() flushes and records this point of the queue in `event`, for another stream or the host
  // to wait for. wait() flushes and makes the commands submitted from here on start after the point
  // that `event` recorded; the host does not wait.
  void record(Event& event) {
    flush();
    event.record(stream());
  }
  void wait(const Event& event) {
    flush();
    event.hold_back(stream());
  }

  [[nodiscard]] QueueCounts counts() const { return counts_; }

 private:
  struct Command {
    const CommandKind* kind;
    size_t first;  // of its bytes
    bool operator==(const Command&) const = default;
  };
  // The commands between two flushes of one section, as last submitted, and their graph.
  struct Part {
    std::vector<Command> commands;
    std::vector<std::byte> bytes;
    cudaGraphExec_t graph = nullptr;
    cudaGraph_t captured = nullptr;      // the source of `graph` and `nodes`
    std::vector<cudaGraphNode_t> nodes;  // one per command; null where it is no single kernel
    int replays = 0;                     // of this graph
    int failures = 0;                    // graphs thrown away before they had saved time
  };
  enum class Match : uint8_t { Same, Patchable, Different };

  template <auto Function, class... Values>
  static void issue_call(cudaStream_t stream, const std::byte* packed) {
    Unpacker in(packed);
    // Braces fix the order in which the values are read.
    const std::tuple<Values...> values{in.next<Values>()...};
    std::apply([&](const Values&... each) { Function(stream, each...); }, values);
  }
  template <auto Function, class... Values>
  static constexpr CommandKind call_kind{&issue_call<Function, Values...>, nullptr};

  void issue_pending();  // each command by itself
  void finish_part();    // the pending commands, as a part of the section
  [[nodiscard]] Match compare(const Part& part) const;
  [[nodiscard]] size_t end_of(size_t command, const std::vector<Command>& commands,
                              size_t total) const;
  void capture(Part& part);
  void patch(Part& part);
  void remember(Part& part);
  static void drop(Part& part);

  Stream stream_;
  HostWaits host_waits_;
  bool graphs_;
  bool in_section_ = false;
  int64_t key_ = 0;
  size_t part_ = 0;
  std::vector<Command> commands_;  // pending
  std::vector<std::byte> bytes_;
  std::unordered_map<int64_t, std::vector<Part>> sections_;
  QueueCounts counts_;
};

}  // namespace penstock
