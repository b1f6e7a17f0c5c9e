// A k-way merge: one line of each log is in memory, and the earliest is printed and replaced by the next line of its
// log. A line's sort key is the latest time in its log so far, because a line may lack a time and a node's clock may be
// set back. The first lines are read in parallel, so that the logs of an unreachable node cost only one timeout.
#include "operator/kubectl/logs/merge.h"

#include <algorithm>
#include <system_error>
#include <thread>

namespace espalier::ctl::logs {
namespace {

// Logs are not followed here, so a read without a line in this time means that the kubelet does not respond.
constexpr std::chrono::seconds kMaxSilence{60};

struct Head {
  PodLog log;
  std::optional<LogLine> line;
  kube::WallTime sorted_at{};  // the latest time of the log's lines so far
};

class Merge {
 public:
  Merge(const LogPrinter& printer, const std::stop_token& stop) : printer_(printer), stop_(stop) {}

  void Add(client::HttpTransport& transport, const LogSource& source, const LogOptions& options) {
    heads_.push_back({PodLog(transport, source, options), std::nullopt});
  }

  Status Run() {
    std::vector<NextLine> first = FirstLines();
    for (size_t i = 0; i < heads_.size(); ++i) {
      has_read_any_ = has_read_any_ || first[i].ok();
      RETURN_IF_ERROR(Take(&heads_[i], std::move(first[i])));
    }
    while (Head* const next = Earliest()) {
      RETURN_IF_ERROR(printer_.line(next->log.source(), *next->line));
      RETURN_IF_ERROR(Take(next, Read(next)));
    }
    return has_read_any_ ? Status() : first_problem_;
  }

 private:
  using NextLine = Result<std::optional<LogLine>>;

  NextLine Read(Head* head) { return head->log.Next(Deadline::After(kMaxSilence), stop_); }

  // Reads the first line of every log in parallel.
  std::vector<NextLine> FirstLines() {
    std::vector<NextLine> lines(heads_.size(), NextLine(std::nullopt));
    std::vector<std::jthread> readers;
    for (size_t i = 0; i < heads_.size(); ++i) {
      const auto read = [this, &lines, i] { lines[i] = Read(&heads_[i]); };
      try {
        readers.emplace_back(read);
      } catch (const std::system_error&) {  // no thread can be started: the calling thread reads
        read();
      }
    }
    readers.clear();
    return lines;
  }

  Status Take(Head* head, NextLine line) {
    head->line.reset();
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
