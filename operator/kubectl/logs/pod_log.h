// The log of one container, line by line, through broken connections.
#pragma once

#include <memory>
#include <stop_token>

#include "operator/client/transport.h"
#include "operator/kubectl/logs/log_position.h"
#include "operator/kubectl/logs/log_request.h"

namespace espalier::ctl::logs {

struct LogSource {
  kube::ObjectKey pod;
  std::string container;
  std::string label;  // "trainer-0": what stands before its lines
  std::string uid;    // the pod's: another one of the same name has another log
};

// Holds one line and what the transport has read ahead, whatever the log's size. Owned by one thread.
class PodLog {
 public:
  // `options.container` is the source's.
  PodLog(client::HttpTransport& transport, LogSource source, LogOptions options);

  const LogSource& source() const { return source_; }

  // The next line. nullopt: it ended; asked again, it goes on from there. A connection that breaks is made anew at
  // once, three times in a row. NotFound: no such pod; InvalidArgument: the container has no log, perhaps not yet;
  // DeadlineExceeded: nothing came by then; Cancelled; ResourceExhausted: a line over the transport's limit.
  Result<std::optional<LogLine>> Next(Deadline deadline, const std::stop_token& stop);

  // Of what has not been read yet, only what there is by now.
  void StopFollowing();

 private:
  Status Open(Deadline deadline, const std::stop_token& stop);
  Result<std::optional<LogLine>> NextOfStream(Deadline deadline, const std::stop_token& stop);
  Result<std::optional<LogLine>> LastWithoutNewline(Deadline deadline, const std::stop_token& stop);

  client::HttpTransport& transport_;  // outlives this
  const LogSource source_;
  LogOptions options_;
  LogPosition position_;
  std::shared_ptr<client::LineStream> lines_;  // null: not open
  bool has_ended_ = false;                     // said by the next Next
};

}  // namespace espalier::ctl::logs
