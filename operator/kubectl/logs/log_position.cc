// Several lines may have the same time, so the position is the newest time and the number of lines read with that time.
// After Resume, Accept skips the lines with an older time, and as many lines with exactly that time as were read
// before.
#include "operator/kubectl/logs/log_position.h"

namespace espalier::ctl::logs {

void LogPosition::Resume() {
  is_catching_up_ = last_.has_value();
  num_to_skip_ = num_at_last_;
}

bool LogPosition::Accept(const LogLine& line) {
  if (!line.time) return true;
  if (is_catching_up_) {
    if (*line.time < *last_) return false;
    if (*line.time == *last_ && num_to_skip_-- > 0) return false;
    is_catching_up_ = false;
  }
  if (!last_ || *line.time > *last_) {  // the time may also be older, after a node's clock was set back
    last_ = line.time;
    num_at_last_ = 0;
  }
  if (*line.time == *last_) ++num_at_last_;
  return true;
}

}  // namespace espalier::ctl::logs
