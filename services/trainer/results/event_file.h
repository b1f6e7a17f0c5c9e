// TensorBoard's event files: records of one Event each (proto/espalier/events/v1/event.proto). A record is
//   u64 length | u32 masked CRC-32C of the length | the event | u32 masked CRC-32C of the event      (little-endian)
// and a file is records, one behind the other, the first of which says the version.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace espalier::trainer {

struct Scalars {
  double wall_seconds = 0;  // since 1970
  int64_t global_step = 0;
  std::vector<std::pair<std::string, double>> values;  // by tag; stored as float
};

// The record that a file begins with.
std::string EventFileHeader(double wall_seconds);
std::string ScalarsRecord(const Scalars& scalars);

// "events.out.tfevents.0000000003.espalier": TensorBoard takes every file with "tfevents" in its name, in the order of
// names.
std::string EventFileName(uint64_t incarnation);

// Castagnoli's CRC, as in RFC 3720: of "123456789" it is 0xE3069283.
uint32_t Crc32c(std::string_view bytes);

}  // namespace espalier::trainer
