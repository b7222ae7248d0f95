#include "kernels/bit_flip.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <sstream>

#include "kernels/error.h"
#include "kernels/parse_number.h"

namespace penstock {
namespace {

constexpr const char* kVariable = "PENSTOCK_BIT_FLIPS";
constexpr const char* kForm =
    "write RANK STEP INSTRUCTION RESULT ELEMENT BIT, several separated by commas";

[[noreturn]] void refuse(const std::string& word, const std::string& order, const char* why) {
  std::ostringstream text;
  text << kVariable << ": '" << word << "' in '" << order << "' is " << why << "; " << kForm;
  fail_input(text.str());
}

uint64_t number_in(const std::string& word, const std::string& order) {
  const std::optional<uint64_t> value = parse_number<uint64_t>(word);
  if (!value) refuse(word, order, "not a number");
  return *value;
}

bool is_kept(const std::string& result) {
  return result == "weight" || result == "state";
}

}  // namespace

BitFlips& BitFlips::instance() {
  static BitFlips flips;
  return flips;
}

void BitFlips::arm(int rank) {
  rank_ = rank;
  orders_.clear();
  const char* all = std::getenv(kVariable);
  std::istringstream list(all == nullptr ? "" : all);
  for (std::string text; std::getline(list, text, ',');) {
    std::istringstream words(text);
    std::array<std::string, 6> word;
    for (std::string& each : word) words >> each;
    if (std::string more; words >> more) refuse(more, text, "one too many");
    const uint64_t of_rank = number_in(word[0], text);
    if (!is_kept(word[3])) (void)number_in(word[3], text);
    Order order{.step = static_cast<int64_t>(number_in(word[1], text)),
                .instruction = word[2],
                .result = word[3],
                .element = number_in(word[4], text),
                .bit = static_cast<int>(number_in(word[5], text) % 64)};
    if (of_rank == static_cast<uint64_t>(rank)) orders_.push_back(std::move(order));
  }
  armed_ = !orders_.empty();
}

void BitFlips::begin(int64_t step, const std::string& instruction, bool audited) {
  step_ = step;
  audited_ = audited;
  instruction_ = instruction;
  results_ = 0;
}

void BitFlips::end() {
  const auto named = [this](const Count& count) { return count.instruction == instruction_; };
  const auto known = std::ranges::find_if(counts_, named);
  if (known == counts_.end()) {
    counts_.push_back({instruction_, results_});
  } else {
    known->results = results_;
  }
  instruction_.clear();
}

uint64_t BitFlips::last_count() const {
  for (const Count& count : counts_) {
    if (count.instruction == instruction_) return count.results;
  }
  return 0;
}

void BitFlips::result(Device& device, const Tensor& made) {
  // instruction_ is empty between two instructions and in an audit's second execution. Results are
  // not counted then.
  if (instruction_.empty()) return;
  const uint64_t number = results_++;
  for (Order& order : orders_) {
    if (order.done || order.step != step_ || order.instruction != instruction_) continue;
    if (is_kept(order.result)) continue;
    const uint64_t wanted = std::strtoull(order.result.c_str(), nullptr, 10);
    const uint64_t count = last_count();
    if (number != (count == 0 ? wanted : wanted % count)) continue;
    order.done = true;
    flip(device, made, order.element, order.bit, "result " + std::to_string(number));
  }
}

std::vector<BitFlips::Kept> BitFlips::take_kept() {
  std::vector<Kept> all;
  for (Order& order : orders_) {
    if (order.done || order.step != step_ || order.instruction != instruction_) continue;
    if (!is_kept(order.result)) continue;
    order.done = true;
    all.push_back({order.result == "weight", order.element, order.bit});
  }
  return all;
}

void BitFlips::flip(Device& device, const Tensor& tensor, uint64_t element, int bit,
                    const std::string& what) const {
  if (tensor.elements() == 0) return;
  const auto at = static_cast<int64_t>(element % static_cast<uint64_t>(tensor.elements()));
  const size_t size_bytes = size_of(tensor.dtype());
  const auto in_element = static_cast<size_t>(bit) % (8 * size_bytes);
  Tensor one = tensor.view(at, {1});
  std::array<unsigned char, 8> bytes{};
  device.copy_to_host(bytes.data(), one, size_bytes);
  bytes[in_element / 8] ^= static_cast<unsigned char>(1U << (in_element % 8));
  device.copy_from_host(one, bytes.data(), size_bytes);
  std::fprintf(stderr, "bit flip: rank %d, step %lld, %s, %s, element %lld of %s, bit %zu%s\n",
               rank_, static_cast<long long>(step_), instruction_.c_str(), what.c_str(),
               static_cast<long long>(at), tensor.shape().text().c_str(), in_element,
               audited_ ? ", audited" : "");
}

}  // namespace penstock
