// Frames, which ranks send to each other. A frame is a header of 48 bytes, all numbers little-endian, then its payload.
//
//   u32  magic          "RNG1"
//   u32  kind           FrameKind
//   u64  payload_bytes
//   u64  operation      number in the group, counted from 1         } only in segments; 0 in other frames
//   u64  total_bytes    size of one rank's values of the operation  }
//   u64  offset         of the payload in these values, in bytes    }
//   u64  origin         rank that sent the payload first            }
//
// A segment (kPartialFloat to kGather) carries a part of the values of a collective operation. Its payload is raw
// values, which are received directly into the memory of the operation. The payload of any other frame is a Protobuf
// message of proto/espalier/collective/v1/ring.proto.
#pragma once

#include <google/protobuf/message_lite.h>

#include <array>
#include <cstdint>
#include <span>
#include <string>

#include "services/base/status.h"
#include "services/client/ring/ring_socket.h"

namespace espalier::client {

enum class FrameKind : uint32_t {
  kJoin = 1,          // JoinRequest, to rank 0
  kJoined = 2,        // JoinResponse, from rank 0
  kGreeting = 3,      // Greeting, to the next rank: the first frame
  kEnd = 4,           // End: the last frame of either side
  kPartialFloat = 5,  // sums over ranks 0 .. sender; with two ranks, the sender's values
  kPartialDouble = 6,
  kSum = 7,  // sums over all ranks
  kBroadcast = 8,
  kGather = 9,
};

struct FrameHeader {
  FrameKind kind = FrameKind::kEnd;
  uint64_t payload_bytes = 0;
  uint64_t operation = 0;
  uint64_t total_bytes = 0;
  uint64_t offset = 0;
  uint64_t origin = 0;

  bool IsSegment() const { return kind >= FrameKind::kPartialFloat; }
};

inline constexpr size_t kFrameHeaderBytes = 48;
using FrameHeaderBytes = std::array<std::byte, kFrameHeaderBytes>;

FrameHeaderBytes EncodeFrameHeader(const FrameHeader& header);
// Inverse of EncodeFrameHeader. InvalidArgument: the bytes are not a header.
Result<FrameHeader> DecodeFrameHeader(const FrameHeaderBytes& bytes);
// Returns a frame with a message as its payload.
std::string EncodeMessageFrame(FrameKind kind, const google::protobuf::MessageLite& message);

// Receives a frame, possibly in several calls. Never reads beyond the end of the frame. For one thread.
class FrameReceiver {
 public:
  // `max_message_bytes` limits the payload of frames that are not segments; larger ones are InvalidArgument.
  explicit FrameReceiver(size_t max_message_bytes) : max_message_bytes_(max_message_bytes) {}

  // Receives the available bytes. Returns true when the header of a segment, or a complete frame of another kind, has
  // arrived. After false, wait for the socket's read_events() and call Receive again. InvalidArgument: not a frame.
  // Unavailable: the connection has ended.
  Result<bool> Receive(RingSocket& socket);
  const FrameHeader& header() const { return header_; }
  // Parses the payload of a complete frame. InvalidArgument: the frame has another kind than `expected`, or its payload
  // is malformed.
  Status ParseMessage(FrameKind expected, google::protobuf::MessageLite* message) const;
  // Discards the received frame, so that Receive begins the next one.
  void Reset();

 private:
  const size_t max_message_bytes_;
  FrameHeaderBytes header_bytes_{};
  size_t num_header_bytes_ = 0;
  FrameHeader header_;  // valid when all kFrameHeaderBytes have arrived
  std::string payload_;
  size_t num_payload_bytes_ = 0;
};

// Blocks until the receiver has a complete frame or segment header. Returns the error of `wait` if the wait ends first.
Status ReceiveFrame(RingSocket& socket, FrameReceiver& receiver, const RingWait& wait);
// Blocks until all bytes are sent. Returns the error of `wait` if the wait ends first.
Status SendAll(RingSocket& socket, std::string_view bytes, const RingWait& wait);

}  // namespace espalier::client
