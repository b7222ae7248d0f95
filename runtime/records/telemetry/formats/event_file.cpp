#include "runtime/records/telemetry/formats/event_file.h"

#include <fmt/format.h>

#include <bit>
#include <boost/crc.hpp>
#include <chrono>
#include <filesystem>

#include "kernels/error.h"

namespace penstock {
namespace {

// These are the wire types of protocol buffers.
enum class Wire : uint8_t { Varint = 0, Fixed64 = 1, Bytes = 2, Fixed32 = 5 };

template <class T>
std::string little_endian(T value) {
  std::string bytes;
  for (size_t i = 0; i < sizeof(T); ++i) bytes += static_cast<char>(value >> (8 * i));
  return bytes;
}

std::string varint(uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes += static_cast<char>(value | 0x80);
  return bytes + static_cast<char>(value);
}

std::string key_of(int field, Wire wire) {
  return varint(static_cast<uint64_t>(field) << 3 | static_cast<uint64_t>(wire));
}

std::string number_field(int field, int64_t value) {
  return key_of(field, Wire::Varint) + varint(static_cast<uint64_t>(value));
}

std::string bytes_field(int field, const std::string& bytes) {
  return key_of(field, Wire::Bytes) + varint(bytes.size()) + bytes;
}

std::string double_field(int field, double value) {
  return key_of(field, Wire::Fixed64) + little_endian(std::bit_cast<uint64_t>(value));
}

std::string float_field(int field, float value) {
  return key_of(field, Wire::Fixed32) + little_endian(std::bit_cast<uint32_t>(value));
}

// Returns the masked CRC-32C, which is the checksum of TFRecords. A CRC without the mask is weak
// for data that contain such checksums themselves.
uint32_t masked_crc(const std::string& bytes) {
  boost::crc_optimal<32, 0x1EDC6F41, 0xFFFFFFFF, 0xFFFFFFFF, true, true> crc;  // Castagnoli
  crc.process_bytes(bytes.data(), bytes.size());
  return std::rotr(crc.checksum(), 15) + 0xa282ead8U;
}

// These are the field numbers of the message Event.
constexpr int kWallTime = 1;
constexpr int kStep = 2;
constexpr int kFileVersion = 3;
constexpr int kSummary = 5;
constexpr int kSessionLog = 7;

std::string event_now(int64_t step) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return double_field(kWallTime, std::chrono::duration<double>(now).count()) +
         number_field(kStep, step);
}

// Creates the folder of the file, and returns the path of the file.
std::string with_folder(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), error);
  if (error) fail_resource(path + ": its folder cannot be made: " + error.message());
  return path;
}

}  // namespace

EventFile::EventFile(const std::string& path)
    : path_(path), file_(with_folder(path), TornLine::IsNone) {
  write_version();
}

void EventFile::begin_anew() {
  (void)with_folder(path_);
  file_.begin_anew();
  write_version();
}

void EventFile::write_version() {
  write(event_now(0) + bytes_field(kFileVersion, "brain.Event:2"));
}

void EventFile::restart(int64_t step) {
  constexpr int kStatus = 1;
  constexpr int kStart = 1;
  write(event_now(step) + bytes_field(kSessionLog, number_field(kStatus, kStart)));
}

void EventFile::add(int64_t step, std::span<const EventScalar> scalars) {
  constexpr int kValue = 1;  // a field of Summary
  constexpr int kTag = 1;    // a field of Summary.Value
  constexpr int kSimpleValue = 2;
  std::string summary;
  for (const EventScalar& scalar : scalars) {
    summary += bytes_field(kValue, bytes_field(kTag, scalar.tag) +
                                       float_field(kSimpleValue, static_cast<float>(scalar.value)));
  }
  write(event_now(step) + bytes_field(kSummary, summary));
}

void EventFile::write(const std::string& event) {
  const std::string length = little_endian(static_cast<uint64_t>(event.size()));
  file_.write(length + little_endian(masked_crc(length)) + event +
              little_endian(masked_crc(event)));
}

std::string event_file_path(const std::string& directory, int64_t attempt) {
  return fmt::format("{}/tensorboard/events.out.tfevents.{:010}.penstock", directory, attempt);
}

}  // namespace penstock
