// A FrameReceiver keeps the received bytes of a frame between calls, because a nonblocking socket may deliver a frame
// in pieces. For a segment the receiver stops after the header, and its caller reads the payload into the memory of the
// operation.
#include "services/client/ring/ring_frame.h"

#include <bit>
#include <cstring>

namespace espalier::client {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr uint32_t kMagic = 0x31474e52;  // "RNG1"

// The layout of the header on the wire.
struct PackedHeader {
  uint32_t magic;
  uint32_t kind;
  uint64_t payload_bytes, operation, total_bytes, offset, origin;
};
static_assert(sizeof(PackedHeader) == kFrameHeaderBytes);

}  // namespace

FrameHeaderBytes EncodeFrameHeader(const FrameHeader& header) {
  return std::bit_cast<FrameHeaderBytes>(PackedHeader{.magic = kMagic,
                                                      .kind = static_cast<uint32_t>(header.kind),
                                                      .payload_bytes = header.payload_bytes,
                                                      .operation = header.operation,
                                                      .total_bytes = header.total_bytes,
                                                      .offset = header.offset,
                                                      .origin = header.origin});
}

Result<FrameHeader> DecodeFrameHeader(const FrameHeaderBytes& bytes) {
  const auto packed = std::bit_cast<PackedHeader>(bytes);
  if (packed.magic != kMagic) return InvalidArgument("received bytes that are not a message of a ring");
  if (packed.kind < static_cast<uint32_t>(FrameKind::kJoin) || packed.kind > static_cast<uint32_t>(FrameKind::kGather))
    return InvalidArgument("received a message of kind " + std::to_string(packed.kind) + ", expected 1 to 9");
  return FrameHeader{.kind = static_cast<FrameKind>(packed.kind),
                     .payload_bytes = packed.payload_bytes,
                     .operation = packed.operation,
                     .total_bytes = packed.total_bytes,
                     .offset = packed.offset,
                     .origin = packed.origin};
}

std::string EncodeMessageFrame(FrameKind kind, const google::protobuf::MessageLite& message) {
  const std::string payload = message.SerializeAsString();
  const FrameHeaderBytes header = EncodeFrameHeader({.kind = kind, .payload_bytes = payload.size()});
  return std::string(reinterpret_cast<const char*>(header.data()), header.size()) + payload;
}

Result<bool> FrameReceiver::Receive(RingSocket& socket) {
  while (num_header_bytes_ < kFrameHeaderBytes) {
    ASSIGN_OR_RETURN(const size_t received, socket.Read(std::span(header_bytes_).subspan(num_header_bytes_)));
    if (received == 0) return false;
    num_header_bytes_ += received;
    if (num_header_bytes_ < kFrameHeaderBytes) continue;
    ASSIGN_OR_RETURN(header_, DecodeFrameHeader(header_bytes_));
    if (header_.IsSegment()) return true;
    if (header_.payload_bytes > max_message_bytes_) {
      return InvalidArgument("received a message of " + std::to_string(header_.payload_bytes) +
                             " bytes, expected at most " + std::to_string(max_message_bytes_));
    }
    payload_.resize(header_.payload_bytes);
  }
  while (num_payload_bytes_ < payload_.size()) {
    ASSIGN_OR_RETURN(const size_t received,
                     socket.Read(std::as_writable_bytes(std::span(payload_)).subspan(num_payload_bytes_)));
    if (received == 0) return false;
    num_payload_bytes_ += received;
  }
  return true;
}

Status FrameReceiver::ParseMessage(FrameKind expected, google::protobuf::MessageLite* message) const {
  if (header_.kind != expected) {
    return InvalidArgument("received a message of kind " + std::to_string(static_cast<uint32_t>(header_.kind)) +
                           ", expected kind " + std::to_string(static_cast<uint32_t>(expected)));
  }
  if (!message->ParseFromString(payload_)) return InvalidArgument("received a malformed " + message->GetTypeName());
  return Status();
}

void FrameReceiver::Reset() {
  num_header_bytes_ = num_payload_bytes_ = 0;
  payload_.clear();
}

Status ReceiveFrame(RingSocket& socket, FrameReceiver& receiver, const RingWait& wait) {
  for (;;) {
    ASSIGN_OR_RETURN(const bool complete, receiver.Receive(socket));
    if (complete) return Status();
    pollfd events{.fd = socket.descriptor(), .events = socket.read_events(), .revents = 0};
    RETURN_IF_ERROR(wait.Poll({&events, 1}));
  }
}

Status SendAll(RingSocket& socket, std::string_view bytes, const RingWait& wait) {
  while (!bytes.empty()) {
    ASSIGN_OR_RETURN(const size_t sent, socket.Write(std::as_bytes(std::span(bytes))));
    bytes.remove_prefix(sent);
    if (sent > 0) continue;
    pollfd events{.fd = socket.descriptor(), .events = socket.write_events(), .revents = 0};
    RETURN_IF_ERROR(wait.Poll({&events, 1}));
  }
  return Status();
}

}  // namespace espalier::client
