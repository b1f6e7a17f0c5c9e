#include "operator/kubectl/logs/merge.h"

#include <algorithm>

namespace espalier::ctl::logs {
namespace {

// Nothing is followed: silence is a kubelet that does not answer.
constexpr std::chrono::seconds kLongestSilence{60};

struct Head {
  PodLog log;
  std::optional<LogLine> line;
  kube::WallTime sorted_at{};  // the line's time, or of the one before where that is later
};

class Merge {
 public:
  Merge(const LogPrinter& printer, const std::stop_token& stop) : printer_(printer), stop_(stop) {}

  void Add(client::HttpTransport& transport, const LogSource& source, const LogOptions& options) {
    heads_.push_back({PodLog(transport, source, options), std::nullopt});
  }

  Status Run() {
    for (Head& head : heads_) {
      RETURN_IF_ERROR(Advance(&head));
      has_read_any_ = has_read_any_ || problem_of_last_.ok();
    }
    while (Head* const next = Earliest()) {
      RETURN_IF_ERROR(printer_.line(next->log.source(), *next->line));
      RETURN_IF_ERROR(Advance(next));
    }
    return has_read_any_ ? Status() : first_problem_;
  }

 private:
  Status Advance(Head* head) {
    head->line.reset();
    Result<std::optional<LogLine>> line = head->log.Next(Deadline::After(kLongestSilence), stop_);
    problem_of_last_ = line.status();
    if (line.ok()) {
      head->line = *std::move(line);
      if (head->line && head->line->time) head->sorted_at = std::max(head->sorted_at, *head->line->time);
      return {};
    }
    if (stop_.stop_requested()) return Cancelled("asked to stop");
    if (first_problem_.ok()) first_problem_ = line.status();
    printer_.problem(head->log.source(), line.status());
    return {};
  }

  Head* Earliest() {
    Head* earliest = nullptr;
    for (Head& head : heads_) {
      if (head.line && (earliest == nullptr || head.sorted_at < earliest->sorted_at)) earliest = &head;
    }
    return earliest;
  }

  const LogPrinter& printer_;
  const std::stop_token& stop_;
  std::vector<Head> heads_;
  Status problem_of_last_;
  Status first_problem_;
  bool has_read_any_ = false;
};

}  // namespace

Status PrintMerged(client::HttpTransport& transport, const std::vector<LogSource>& sources, const LogOptions& options,
                   const LogPrinter& printer, const std::stop_token& stop) {
  Merge merge(printer, stop);
  for (const LogSource& source : sources) merge.Add(transport, source, options);
  return merge.Run();
}

}  // namespace espalier::ctl::logs
