// The position up to which a log has been read, so that a new request can continue from there. An API server does not
// support offsets, only a time in seconds, and sends all lines of that second again.
#pragma once

#include "operator/kubectl/logs/log_line.h"

namespace espalier::ctl::logs {

class LogPosition {
 public:
  // Returns the time to request from; nullopt: no line with a time has been read, so from the start.
  std::optional<kube::WallTime> since() const { return last_; }
  // Announces that the next lines come from a new request with since().
  void Resume();
  // Records a line that was read; call it for each line in order. Returns false for a line that was already read before
  // Resume.
  bool Accept(const LogLine& line);

 private:
  std::optional<kube::WallTime> last_;  // the newest time
  int64_t num_at_last_ = 0;             // number of lines with that time
  bool is_catching_up_ = false;
  int64_t num_to_skip_ = 0;  // lines with time last_ to skip while catching up
};

}  // namespace espalier::ctl::logs
