#include "operator/kubectl/logs/log_line.h"

namespace espalier::ctl::logs {

LogLine ParseLogLine(std::string_view line) {
  const size_t space = std::min(line.find(' '), line.size());
  const Result<kube::WallTime> time = kube::ParseTime(line.substr(0, space));
  if (!time.ok()) return {std::nullopt, std::string(line)};
  return {*time, std::string(line.substr(std::min(space + 1, line.size())))};
}

}  // namespace espalier::ctl::logs
