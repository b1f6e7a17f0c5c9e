// Encoding and transport of messages (message.h). The decoder keeps undecoded bytes in one buffer and removes decoded
// ones only when it needs more input, so bytes are not moved for every message. The lengths of a message are checked
// against limits as soon as they are known, so a broken peer cannot exhaust the memory.
#include "services/runner/launch/message.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace espalier::launch {
namespace {

constexpr size_t kLengthsBytes = 8;
constexpr size_t kMaxBeforeGreeting = size_t{64} << 10;
// Receive returns after about this many bytes, so that a peer that sends without end does not block the caller.
constexpr size_t kMaxReceiveBytes = size_t{4} << 20;

void AppendLength(size_t length, std::string* bytes) {
  for (int shift = 0; shift < 32; shift += 8) bytes->push_back(static_cast<char>((length >> shift) & 0xff));
}

size_t LengthAt(std::string_view bytes, size_t offset) {
  size_t length = 0;
  for (size_t i = 0; i < 4; ++i)
    length |= static_cast<size_t>(static_cast<unsigned char>(bytes[offset + i])) << (8 * i);
  return length;
}

}  // namespace

std::string Message::Text(const char* field) const {
  const auto found = head.find(field);
  return found != head.end() && found->is_string() ? found->get<std::string>() : std::string();
}

int64_t Message::Number(const char* field) const {
  const auto found = head.find(field);
  return found != head.end() && found->is_number_integer() ? found->get<int64_t>() : 0;
}

bool Message::Flag(const char* field) const {
  const auto found = head.find(field);
  return found != head.end() && found->is_boolean() && found->get<bool>();
}

std::string Encode(const Message& message) {
  const std::string head = message.head.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  ESPALIER_CHECK(head.size() <= kMaxHeadBytes && message.body.size() <= kMaxBodyBytes) << "a message too long";
  std::string bytes;
  bytes.reserve(kLengthsBytes + head.size() + message.body.size());
  AppendLength(head.size(), &bytes);
  AppendLength(message.body.size(), &bytes);
  return bytes + head + message.body;
}

std::string OneLine(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.pop_back();
  std::replace_if(
      text.begin(), text.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; }, ' ');
  return text;
}

Result<std::optional<Message>> MessageDecoder::Next() {
  const std::string_view left = std::string_view(buffer_).substr(begin_);
  const size_t head_bytes = left.size() < kLengthsBytes ? 0 : LengthAt(left, 0);
  const size_t body_bytes = left.size() < kLengthsBytes ? 0 : LengthAt(left, 4);
  if (head_bytes > kMaxHeadBytes || body_bytes > kMaxBodyBytes) {
    return InvalidArgument("the other end announced a message that exceeds the size limit");
  }
  if (left.size() < kLengthsBytes || left.size() - kLengthsBytes < head_bytes + body_bytes) {
    buffer_.erase(0, begin_);  // only here, so that bytes are not moved for every message
    begin_ = 0;
    return std::optional<Message>();
  }
  Message message;
  message.head = nlohmann::json::parse(left.substr(kLengthsBytes, head_bytes), nullptr, /*allow_exceptions=*/false);
  message.body = left.substr(kLengthsBytes + head_bytes, body_bytes);
  begin_ += kLengthsBytes + head_bytes + body_bytes;
  if (!message.head.is_object()) return InvalidArgument("the other end sent an invalid message");
  return std::optional<Message>(std::move(message));
}

MessagePipe::MessagePipe(int input, int output, Greeting greeting)
    : input_(input), output_(output), has_greeting_(greeting == Greeting::kNone) {
  for (const int descriptor : {input, output}) fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK);
}

Status MessagePipe::Send(const Message& message, Deadline deadline) { return SendBytes(Encode(message), deadline); }

Status MessagePipe::SendBytes(std::string_view bytes, Deadline deadline) {
  while (!bytes.empty()) {
    const ssize_t count = write(output_, bytes.data(), bytes.size());
    if (count > 0) bytes.remove_prefix(static_cast<size_t>(count));
    if (count >= 0 || errno == EINTR) continue;
    if (errno == EPIPE) return Unavailable("the connection was closed by the other end");
    if (errno != EAGAIN) return FromErrno(errno, "writing to the other end");
    pollfd polled{output_, POLLOUT, 0};
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline.Remaining());
    if (poll(&polled, 1, static_cast<int>(left.count())) == 0)
      return Unavailable("the other end does not read any more");
  }
  return Status();
}

Result<std::vector<Message>> MessagePipe::Receive() {
  std::vector<Message> messages;
  std::array<char, 65536> bytes;
  for (size_t taken = 0; !ended_ && invalid_.ok() && taken < kMaxReceiveBytes;) {
    const ssize_t count = read(input_, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) break;
    if (count <= 0) {
      ended_ = true;
      break;
    }
    taken += static_cast<size_t>(count);
    bytes_received_ += static_cast<size_t>(count);
    invalid_ = Decode({bytes.data(), static_cast<size_t>(count)});
    while (invalid_.ok()) {
      Result<std::optional<Message>> message = decoder_.Next();
      invalid_ = message.status();
      if (!message.ok() || !message->has_value()) break;
      messages.push_back(**std::move(message));
    }
  }
  if (messages.empty() && !invalid_.ok()) return invalid_;
  if (messages.empty() && ended_) return Unavailable("the other end has closed the connection");
  return messages;
}

Status MessagePipe::Decode(std::string_view bytes) {
  if (has_greeting_) {
    decoder_.Feed(bytes);
    return Status();
  }
  before_greeting_ += bytes;
  const size_t found = before_greeting_.find(kGreeting);
  if (found == std::string::npos) {
    if (before_greeting_.size() <= kMaxBeforeGreeting) return Status();
    return InvalidArgument("the host's shell printed too much output before Espalier started");
  }
  has_greeting_ = true;
  decoder_.Feed(std::string_view(before_greeting_).substr(found + kGreeting.size()));
  before_greeting_.clear();
  return Status();
}

}  // namespace espalier::launch
