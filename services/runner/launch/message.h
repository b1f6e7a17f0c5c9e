// What `espalier launch` and its process on a host say to each other, through ssh's standard input and output.
//
// clang-format off
//   greeting, once, host to launcher: "espalier host 1\n"; whatever the host's shell printed before is skipped
//   message: head bytes (u32), body bytes (u32), both little-endian; the head, a JSON object; the body
//
// launcher to host, by "do":
//   begin    folder, output, token, address, graceSeconds, lostSeconds, files {name: text}: makes the folder, and these in
//            it; the address is the host's own
//   start    child, life, program, arguments, environment, hasReadyFile, listen: answered by ready, ended or failed
//   signal   child, life, signal
//   sees     path, bytes, sha256: whether that file is there with these contents
//   receive  file, bytes, mode, blocks [xxh3]: a file to come (file_receiver.h); answered by wants, at last by received
//   block    index; the body: bytes of that file
//   ping     so that each knows that the other is there; answered by pong
// host to launcher, by "is":
//   hello    version, processors, missing [program]
//   begun    seesOutput: whether output/run/token holds the token; rendezvousPort: a free port of the host's address
//   ready    child, life, address, admin, rendezvous, pid
//   ended    child, life, code, signal, lastWords
//   log      child; the body: what the child wrote to its log
//   status   child; the body: what its admin port says
//   seen     there
//   wants    blocks [index]
//   received wasThere
//   failed   code, message; child, life of a start: what nothing started again will mend
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
constexpr size_t kMostHeadBytes = size_t{16} << 20;
constexpr size_t kMostBodyBytes = size_t{8} << 20;

struct Message {
  nlohmann::json head;
  std::string body = {};

  // The field, or a default where it is missing or of another type.
  std::string Text(const char* field) const;
  int64_t Number(const char* field) const;
  bool Flag(const char* field) const;
};

std::string Encode(const Message& message);

// What the other end says, on one line of a terminal: without control characters.
std::string OneLine(std::string text);

// Puts messages together from pieces. Owned by one thread.
class MessageDecoder {
 public:
  void Feed(std::string_view bytes) { buffer_ += bytes; }
  // nullopt: more bytes are needed. InvalidArgument: they are no messages, and nothing that follows makes sense.
  Result<std::optional<Message>> Next();

 private:
  std::string buffer_;
  size_t begin_ = 0;  // of what has not been taken
};

// Both ends of a conversation over two descriptors, which it does not own and makes non-blocking. One thread.
class MessagePipe {
 public:
  enum class Greeting { kExpected, kNone };
  MessagePipe(int input, int output, Greeting greeting);

  // Until the bytes are in the pipe, or Unavailable.
  Status Send(const Message& message, Deadline deadline);
  Status SendBytes(std::string_view bytes, Deadline deadline);
  // Reads what there is, without waiting. Unavailable once the other end is closed and all messages are taken.
  Result<std::vector<Message>> Receive();
  uint64_t bytes_received() const { return bytes_received_; }

 private:
  Status Take(std::string_view bytes);

  const int input_, output_;
  bool greeted_;
  bool ended_ = false;
  uint64_t bytes_received_ = 0;
  std::string before_greeting_;
  MessageDecoder decoder_;
};

}  // namespace espalier::launch
