// The log is read as a stream with the kubelet's timestamps. After a break it is requested again from the time of the
// last line, and LogPosition skips the lines that were read before. A stream yields only complete lines, so at the end
// of a log that is not followed the last line is requested once more, for the case that it has no newline.
#include "operator/kubectl/logs/pod_log.h"

#include <utility>

#include "operator/kube/api_error.h"

namespace espalier::ctl::logs {
namespace {

constexpr int kMaxAttempts = 3;
constexpr int64_t kMaxLastLineBytes = 64 << 10;

bool IsBroken(const Status& status) {
  return status.code() == StatusCode::kUnavailable || status.code() == StatusCode::kFailedPrecondition;
}

}  // namespace

PodLog::PodLog(client::HttpTransport& transport, LogSource source, LogOptions options)
    : transport_(transport), source_(std::move(source)), options_(std::move(options)) {
  options_.container = source_.container;
}

Result<std::optional<LogLine>> PodLog::Next(Deadline deadline, const std::stop_token& stop) {
  Result<std::optional<LogLine>> line = ReadFromStream(deadline, stop);
  for (int attempts = 1; !line.ok() && IsBroken(line.status()) && attempts < kMaxAttempts; ++attempts) {
    line = ReadFromStream(deadline, stop);
  }
  if (!line.ok()) return std::move(line).status().While("log of pod " + kube::ToString(source_.pod));
  return line;
}

Status PodLog::Open(Deadline deadline, const std::stop_token& stop) {
  RETURN_IF_ERROR(kube::CheckKey(kube::kPods, source_.pod));
  LogOptions options = options_;
  options.since = position_.since();
  // tailLines counts from the end of the log, and could omit lines written after that time.
  if (options.since) options.tail_lines.reset();
  ASSIGN_OR_RETURN(client::HttpTransport::Stream stream,
                   transport_.Open(LogRequest(source_.pod, options), deadline, stop));
  if (stream.head.code != 200) return kube::ToStatus(kube::ParseApiError(stream.head.code, stream.head.body));
  position_.Resume();
  lines_ = std::move(stream.lines);
  return {};
}

Result<std::optional<LogLine>> PodLog::ReadFromStream(Deadline deadline, const std::stop_token& stop) {
  if (std::exchange(has_ended_, false)) return std::optional<LogLine>();
  if (lines_ == nullptr) RETURN_IF_ERROR(Open(deadline, stop));
  const std::stop_callback cancel(stop, [lines = lines_] { lines->Cancel(); });
  while (true) {
    Result<std::optional<std::string>> text = lines_->Next(deadline);
    if (!text.ok()) {
      if (text.status().code() != StatusCode::kDeadlineExceeded) lines_.reset();
      return std::move(text).status();
    }
    if (!text->has_value()) break;
    LogLine line = ParseLogLine(**text);
    if (position_.Accept(line)) return std::optional(std::move(line));
  }
  lines_.reset();
  // A followed log that ends within a line is rare, and not worth a request.
  if (options_.follow) return std::optional<LogLine>();
  return ReadUnterminatedLine(deadline, stop);
}

// Returns the last line if it has no newline, because a stream drops it. It matters most if a process was killed while
// it wrote its error.
Result<std::optional<LogLine>> PodLog::ReadUnterminatedLine(Deadline deadline, const std::stop_token& stop) {
  LogOptions options = options_;
  options.tail_lines = 1;
  options.limit_bytes = kMaxLastLineBytes;
  ASSIGN_OR_RETURN(const client::HttpResponse response,
                   transport_.Send(LogRequest(source_.pod, options), deadline, stop));
  const bool has_none = response.code != 200 || response.body.empty() || response.body.ends_with('\n');
  if (has_none) return std::optional<LogLine>();
  LogLine line = ParseLogLine(response.body);
  position_.Resume();
  has_ended_ = position_.Accept(line);
  return has_ended_ ? std::optional(std::move(line)) : std::optional<LogLine>();
}

void PodLog::StopFollowing() {
  options_.follow = false;
  lines_.reset();
}

}  // namespace espalier::ctl::logs
