// The protocol between `espalier launch` and its agent on a host (host_agent.h), over the standard input and output of
// ssh.
//
// clang-format off
//   greeting, once, host to launcher: "espalier host 1\n"; earlier output of the host's shell is skipped
//   message: size of the head (u32) and of the body (u32), little-endian; the head, a JSON object; the body, bytes
//
// launcher to host; the field "do" of the head is one of:
//   begin    folder, output, token, address, graceSeconds, lostSeconds, sharedRowBytes, files {name: text}: create the
//            folder with these files, and sharedRowBytes of memory that trainers share (0: none); address: the
//            host's own; response: begun
//   start    child, life, program, arguments, environment, workingFolder, hasReadyFile, listen: start a process of
//            the child; life: number of this start, unique in the run; listen: address that must be free ("": no
//            such condition); response: failed, or later ready (if hasReadyFile) and ended
//   signal   child, life, signal: send a signal to the process, if it is the child's latest
//   sees     path, bytes, sha256: check whether the file exists with this content; response: seen
//   receive  file, bytes, mode, blocks [xxh3]: start the transfer of a file (file_receiver.h); response: wants, then
//            `received` after the last block
//   block    index; body: the bytes of that block
//   ping     keeps the connection alive; response: pong
// host to launcher; the field "is" of the head is one of:
//   hello    version, processors, folder: where the binaries are; missing [program]: role binaries not in the folder
//   begun    seesOutput: whether output/run/token contains the token; rendezvousPort: a free port of the host's address
//   ready    child, life, address, admin, rendezvous, pid: the process has written its ready file
//   ended    child, life, code, signal, lastWords: exit state and termination message of the process
//   log      child; body: new output in the child's log
//   status   child; body: the JSON that its admin port serves at /status
//   seen     there: whether the file exists with this content
//   wants    blocks [index]: the missing blocks
//   received wasThere: whether the file existed with this content
//   failed   code, message, and for `start` also child, life: the request failed; the launcher ends the run
//   pong
// clang-format on
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "services/base/clock.h"
#include "services/base/status.h"

namespace espalier::launch {

constexpr std::string_view kGreeting = "espalier host 1\n";
constexpr size_t kMaxHeadBytes = size_t{16} << 20;
constexpr size_t kMaxBodyBytes = size_t{8} << 20;

struct Message {
  nlohmann::json head;
  std::string body = {};

  // Return the field of the head, or "", 0 or false if it is missing or has another type.
  std::string Text(const char* field) const;
  int64_t Number(const char* field) const;
  bool Flag(const char* field) const;
};

// Returns the bytes of the message. Its head and body must not exceed the limits above.
std::string Encode(const Message& message);

// Returns text from the other end as one line for a terminal: control characters become spaces.
std::string OneLine(std::string text);

// Decodes messages from a stream of bytes. Not thread-safe.
class MessageDecoder {
 public:
  void Feed(std::string_view bytes) { buffer_ += bytes; }
  // Returns the next message, or nullopt if more bytes are needed. After InvalidArgument (the bytes are not a message)
  // the stream cannot be decoded further.
  Result<std::optional<Message>> Next();

 private:
  std::string buffer_;
  size_t begin_ = 0;  // offset of the first byte that is not decoded
};

// Sends and receives messages over two descriptors, which it makes non-blocking and does not own. Not thread-safe.
class MessagePipe {
 public:
  enum class Greeting { kExpected, kNone };
  // With kExpected, skips all input up to and including the greeting.
  MessagePipe(int input, int output, Greeting greeting);

  // Block until all bytes are written to the descriptor. Unavailable if the other end is closed or the deadline passes.
  Status Send(const Message& message, Deadline deadline);
  Status SendBytes(std::string_view bytes, Deadline deadline);
  // Returns the messages that have arrived; does not block. Unavailable once the other end is closed and all messages
  // have been returned. InvalidArgument once the input is invalid and all messages before that have been returned.
  Result<std::vector<Message>> Receive();
  uint64_t bytes_received() const { return bytes_received_; }

 private:
  Status Decode(std::string_view bytes);

  const int input_, output_;
  bool has_greeting_;
  bool ended_ = false;
  Status invalid_;  // the error of the input; OK: none so far
  uint64_t bytes_received_ = 0;
  std::string before_greeting_;
  MessageDecoder decoder_;
};

}  // namespace espalier::launch
