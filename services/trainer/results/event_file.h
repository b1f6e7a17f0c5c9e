// TensorBoard event files. A file is a sequence of records, each of which contains one Event
// (proto/espalier/events/v1/event.proto):
//   u64 length | u32 masked CRC-32C of the length | the event | u32 masked CRC-32C of the event      (little-endian)
// The first record contains the version of the file format.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace espalier::trainer {

struct Scalars {
  double wall_seconds = 0;  // since the Unix epoch
  int64_t global_step = 0;
  std::vector<std::pair<std::string, double>> values;  // tag and value; stored as float
};

// Returns the first record of a file.
std::string EventFileHeader(double wall_seconds);
// Returns a record that contains the scalars.
std::string ScalarsRecord(const Scalars& scalars);

// Returns a file name, for example "events.out.tfevents.0000000003.espalier". TensorBoard reads every file with
// "tfevents" in its name, in the order of names.
std::string EventFileName(uint64_t incarnation);

// Returns the CRC-32C (Castagnoli, RFC 3720). Example: Crc32c("123456789") is 0xE3069283.
uint32_t Crc32c(std::string_view bytes);

}  // namespace espalier::trainer
