#include "services/trainer/results/event_file.h"

#include <array>
#include <cstdio>

#include "espalier/events/v1/event.pb.h"

namespace espalier::trainer {
namespace {

namespace pb = espalier::events::v1;

constexpr std::array<uint32_t, 256> MakeCrcTable() {
  constexpr uint32_t kReflectedPolynomial = 0x82F63B78;
  std::array<uint32_t, 256> table{};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? kReflectedPolynomial : 0);
    table[byte] = crc;
  }
  return table;
}

template <class T>
std::string ToLittleEndian(T number) {
  std::string bytes;
  for (size_t i = 0; i < sizeof(T); ++i) bytes += static_cast<char>(number >> (8 * i) & 0xFF);
  return bytes;
}

// Returns the masked checksum of the TFRecord format. The rotation and the added constant mask the CRC, because the CRC
// of data that contains CRCs is weak.
std::string ComputeMaskedCrc(std::string_view bytes) {
  const uint32_t crc = Crc32c(bytes);
  return ToLittleEndian<uint32_t>(((crc >> 15) | (crc << 17)) + 0xA282EAD8u);
}

std::string MakeRecord(const pb::Event& event) {
  const std::string payload = event.SerializeAsString();
  const std::string length = ToLittleEndian<uint64_t>(payload.size());
  return length + ComputeMaskedCrc(length) + payload + ComputeMaskedCrc(payload);
}

}  // namespace

std::string EventFileHeader(double wall_seconds) {
  pb::Event event;
  event.set_wall_time(wall_seconds);
  event.set_file_version("brain.Event:2");
  return MakeRecord(event);
}

std::string ScalarsRecord(const Scalars& scalars) {
  pb::Event event;
  event.set_wall_time(scalars.wall_seconds);
  event.set_step(scalars.global_step);
  for (const auto& [tag, number] : scalars.values) {
    pb::Summary::Value* value = event.mutable_summary()->add_value();
    value->set_tag(tag);
    value->set_simple_value(static_cast<float>(number));
  }
  return MakeRecord(event);
}

std::string EventFileName(uint64_t incarnation) {
  char name[64];
  std::snprintf(name, sizeof(name), "events.out.tfevents.%010llu.espalier",
                static_cast<unsigned long long>(incarnation));
  return name;
}

uint32_t Crc32c(std::string_view bytes) {
  static constexpr std::array<uint32_t, 256> kTable = MakeCrcTable();
  uint32_t crc = ~uint32_t{0};
  for (const char c : bytes) crc = (crc >> 8) ^ kTable[(crc ^ static_cast<uint8_t>(c)) & 0xFF];
  return ~crc;
}

}  // namespace espalier::trainer
