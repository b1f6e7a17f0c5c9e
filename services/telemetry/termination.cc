// A termination message is a JSON document that is shortened until it fits into 4 KiB, because the kubelet reads no
// more. An uncaught std::bad_alloc reaches HandleUncaughtException through std::set_terminate.
#include "services/telemetry/termination.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <new>
#include <nlohmann/json.hpp>

#include "services/base/descriptor.h"
#include "services/base/shorten.h"
#include "services/base/write_all.h"

namespace espalier::telemetry {
namespace {

using Json = nlohmann::ordered_json;

// Returns the JSON text. Replaces invalid UTF-8 by U+FFFD, because dump would otherwise throw an exception.
std::string ToText(const Json& document) {
  return document.dump(-1, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace) + "\n";
}

Json ToDocument(const TerminationMessage& message) {
  Json document = {{"reason", TerminationReason(message.code)}, {"exitCode", static_cast<int>(message.code)}};
  document["message"] = message.message;
  if (message.partition.has_value()) {
    const TerminationMessage::Partition& partition = *message.partition;
    document["partition"] = {{"hash", partition.hash}, {"bytes", partition.bytes}, {"cut", partition.cut}};
  }
  if (!message.script_sha256.empty()) document["script"] = {{"sha256", message.script_sha256}};
  for (const Field& field : message.metrics) {
    std::visit([&](const auto& value) { document["metrics"][field.key] = value; }, field.value.variant());
  }
  return document;
}

Status WriteInPlace(const std::string& path, const std::string& text) {
  const Descriptor file(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  if (!file.is_open()) return FromErrno(errno, "opening " + path);
  return WriteAll(file.get(), text, path);
}

std::terminate_handler previous_handler = nullptr;  // written once, before threads start

[[noreturn]] void HandleUncaughtException() {
  try {
    if (const std::exception_ptr uncaught = std::current_exception()) std::rethrow_exception(uncaught);
  } catch (const std::bad_alloc& error) {
    // Large allocations report their size in the message (base/tensor.cc); others have only the standard text.
    std::fprintf(stderr, "out of memory: %s\n", error.what());
    WriteTermination(ResourceExhausted(std::string("out of memory: ") + error.what()), ExitCode::kUnavailable);
    _exit(static_cast<int>(ExitCode::kUnavailable));
  } catch (...) {  // any other exception is a bug
  }
  if (previous_handler != nullptr) previous_handler();
  std::abort();
}

}  // namespace

const char* TerminationReason(ExitCode code) {
  switch (code) {
    case ExitCode::kDone: return "Done";
    case ExitCode::kBadDocument: return "BadDocument";
    case ExitCode::kBadInput: return "BadInput";
    case ExitCode::kBug: return "Internal";
    case ExitCode::kUnavailable: return "Unavailable";
    case ExitCode::kAskedToStop: return "Stopped";
    case ExitCode::kBadCredentials: return "NotPermitted";
  }
  return "Internal";
}

std::string TerminationJson(const TerminationMessage& message) {
  Json document = ToDocument(message);
  std::string text = ToText(document);
  // Halves the message's length until the document fits, because an escaped character takes up to six bytes.
  for (size_t bytes = 3072; text.size() > kMaxTerminationBytes && bytes >= 48; bytes /= 2) {
    document["message"] = ShortenMiddle(message.message, bytes);
    if (bytes < 1024) document.erase("metrics");
    text = ToText(document);
  }
  if (text.size() <= kMaxTerminationBytes) return text;
  return ToText({{"reason", TerminationReason(message.code)}, {"exitCode", static_cast<int>(message.code)}});
}

void WriteTermination(const TerminationMessage& message) {
  const char* path = std::getenv("ESPALIER_TERMINATION_LOG");
  if (path == nullptr || *path == '\0') return;
  const Status written = WriteInPlace(path, TerminationJson(message));
  if (!written.ok()) Log(Level::kWarning, "the termination message was not written", {{"error", written}});
}

void WriteTermination(const Status& status, ExitCode code) {
  WriteTermination({.code = code, .message = status.ToString(), .partition = {}, .metrics = {}});
}

int Fail(const Status& status) { return Fail(status, ToExitCode(status.code())); }

int Fail(const Status& status, ExitCode code) {
  Log(Level::kError, "cannot continue", {{"error", status}, {"exit_code", static_cast<int>(code)}});
  WriteTermination(status, code);
  return static_cast<int>(code);
}

int EndOfProgram(const Status& status) {
  if (status.ok()) return static_cast<int>(ExitCode::kDone);
  std::fprintf(stderr, "%s\n", status.ToString().c_str());
  const ExitCode code = ToExitCode(status.code());
  WriteTermination(status, code);
  return static_cast<int>(code);
}

void InstallOutOfMemoryHandler() { previous_handler = std::set_terminate(HandleUncaughtException); }

std::string ReadTerminationMessage(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text(kMaxTerminationBytes, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<size_t>(file.gcount()));
  const auto document = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!document.is_object()) return {};
  const auto message = document.find("message");
  return message != document.end() && message->is_string() ? message->get<std::string>() : std::string();
}

}  // namespace espalier::telemetry
