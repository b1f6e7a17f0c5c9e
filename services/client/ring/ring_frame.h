// Messages between ranks. Each is a frame: a header of 48 bytes, all numbers little-endian, then its payload.
//
//   u32  magic          "RNG1"
//   u32  kind           FrameKind
//   u64  payload_bytes
//   u64  operation      counts the operations of the group from 1   } of segments; 0 in other frames
//   u64  total_bytes    of the operation's values                   }
//   u64  offset         of the payload in them, in bytes            }
//   u64  origin         rank whose values these are                 }
//
// The payload of a segment is raw values, so that they are received where they are needed. That of another frame is a
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
// InvalidArgument: the bytes are not a header.
Result<FrameHeader> DecodeFrameHeader(const FrameHeaderBytes& bytes);
// Returns a frame with a message as its payload.
std::string EncodeMessageFrame(FrameKind kind, const google::protobuf::MessageLite& message);

// Receives a frame piece by piece. Never reads beyond it. Owned by one thread.
class FrameReceiver {
 public:
  // Payloads of messages above `max_message_bytes` are refused.
  explicit FrameReceiver(size_t max_message_bytes) : max_message_bytes_(max_message_bytes) {}

  // Receives what has arrived. Returns whether the header of a segment, or another frame with its payload, is complete;
  // otherwise wait for read_events(). InvalidArgument: not a frame. Unavailable: the connection ended.
  Result<bool> Receive(RingSocket& socket);
  const FrameHeader& header() const { return header_; }
  // Parses the payload of a complete frame.
  Status ParseMessage(FrameKind expected, google::protobuf::MessageLite* message) const;
  // Begins the next frame.
  void Reset();

 private:
  const size_t max_message_bytes_;
  FrameHeaderBytes header_bytes_{};
  size_t num_header_bytes_ = 0;
  FrameHeader header_;  // once num_header_bytes_ is complete
  std::string payload_;
  size_t num_payload_bytes_ = 0;
};

// Receives a whole frame before the wait ends.
Status ReceiveFrame(RingSocket& socket, FrameReceiver& receiver, const RingWait& wait);
// Sends all bytes before the wait ends.
Status SendAll(RingSocket& socket, std::string_view bytes, const RingWait& wait);

}  // namespace espalier::client
