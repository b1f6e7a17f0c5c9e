// How far a log has been read, so that it can be asked for once more from there: an API server knows no offsets, only
// "since this second", and sends again what came in it.
#pragma once

#include "operator/kubectl/logs/log_line.h"

namespace espalier::ctl::logs {

class LogPosition {
 public:
  // Where to ask from; nothing has come yet: from the start.
  std::optional<kube::WallTime> since() const { return last_; }
  // The lines that come next begin at since().
  void Resume();
  // Of each line in order: false where it has come before Resume.
  bool Takes(const LogLine& line);

 private:
  std::optional<kube::WallTime> last_;  // the newest
  int64_t num_at_last_ = 0;             // lines that had this time
  bool is_catching_up_ = false;
  int64_t num_to_skip_ = 0;  // of those at last_, while catching up
};

}  // namespace espalier::ctl::logs
