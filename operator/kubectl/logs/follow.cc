// The calling thread looks for new pods every two seconds and starts one thread per log. When a log ends, breaks off or
// stays silent, its thread asks the API server for the container's state: a container that still runs is read again,
// one that has ended is read to its end, one that is gone is dropped. End() stops all threads; the reason of its
// first call is the result.
#include "operator/kubectl/logs/follow.h"

#include <list>
#include <string>
#include <system_error>
#include <thread>
#include <tuple>
#include <utility>

namespace espalier::ctl::logs {
namespace {

class Following {
 public:
  Following(client::HttpTransport& transport, const PodFinder& finder, const FollowOptions& options,
            const LogPrinter& printer, const std::stop_token& stop)
      : transport_(transport),
        finder_(finder),
        options_(options),
        printer_(printer),
        stop_callback_(stop, OnStop{this}) {}

  Status Run() {
    int num_failures = 0;
    while (true) {
      const Result<PodFinder::Found> found = finder_.find();
      if (found.ok()) {
        num_failures = 0;
        for (const LogSource& source : found->sources) Begin(source);
      } else if (++num_failures >= options_.max_tries || !IsRetryable(found.status().code())) {
        End(found.status());
      }
      MutexLock lock(&mutex_);
      const bool no_more = found.ok() && found->no_more;
      const auto is_over = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
        return num_running_ == 0 && (no_more || is_ending_);
      };
      mutex_.AwaitBefore(Deadline::After(options_.probe_interval),
                         [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return is_over() || is_ending_; });
      if (is_ending_) mutex_.Await(is_over);
      if (is_over()) return reason_;
    }
  }

 private:
  struct OnStop {
    Following* following;
    void operator()() const { following->End(Cancelled("asked to stop")); }
  };

  // Makes every thread end. Run returns the reason of the first call.
  void End(Status reason) {
    {
      MutexLock lock(&mutex_);
      if (!std::exchange(is_ending_, true)) reason_ = std::move(reason);
    }
    stop_.request_stop();
  }

  void Begin(const LogSource& source) {
    bool is_one_too_many = false;
    {
      MutexLock lock(&mutex_);
      if (is_ending_ || !begun_.insert({source.pod, source.uid, source.container}).second) return;
      is_one_too_many = num_running_ == options_.max_logs;
      if (!is_one_too_many) ++num_running_;
    }
    if (is_one_too_many) {
      return End(ResourceExhausted("more than " + std::to_string(options_.max_logs) +
                                   " logs to follow at once: choose with --role and --rank, or raise --max-pods"));
    }
    try {
      threads_.emplace_back([this, source] {
        FollowOne(source);
        MutexLock lock(&mutex_);
        --num_running_;
      });
    } catch (const std::system_error& error) {
      {
        MutexLock lock(&mutex_);
        --num_running_;
      }
      End(ResourceExhausted(std::string("cannot start a thread for another log: ") + error.what()));
    }
  }

  void FollowOne(const LogSource& source) {
    LogOptions log_options = options_.log;
    log_options.follow = true;
    PodLog log(transport_, source, log_options);
    int num_failures = 0;
    while (!stop_.stop_requested()) {
      const Status read = PrintRest(log, &num_failures);
      if (stop_.stop_requested()) return;
      const Result<ContainerLife> life = finder_.check(source);
      if (life.ok() && *life != ContainerLife::kActive) {
        if (*life == ContainerLife::kEnded) PrintEnd(log);
        return;
      }
      const Status failure = life.ok() ? ToFailure(read) : life.status();
      if (!failure.ok() && ++num_failures >= options_.max_tries) {
        if (!stop_.stop_requested()) Report(source, failure);
        return;
      }
      if (read.ok() && life.ok()) num_failures = 0;
      Pause();
    }
  }

  // Returns the error that counts as a failure to read the log of a container that still runs. DeadlineExceeded does
  // not count, because a container may print nothing for hours. OK is no failure either: while the container waits for
  // a restart, each read of its log ends normally.
  static Status ToFailure(const Status& read) { return read.code() == StatusCode::kDeadlineExceeded ? Status() : read; }

  // Prints lines until the stream ends. Returns DeadlineExceeded if it is silent and still open.
  Status PrintRest(PodLog& log, int* num_failures) {
    while (true) {
      const Deadline deadline = Deadline::After(options_.longest_silence);
      const Result<std::optional<LogLine>> line = log.Next(deadline, stop_.get_token());
      if (!line.ok()) return line.status();
      if (!line->has_value()) return {};
      *num_failures = 0;
      if (!Print(log.source(), **line)) return Cancelled("printing has failed");
    }
  }

  // Prints the rest of the log of a container that has ended: the stream may have been cut before the last lines. The
  // log is complete by now, so DeadlineExceeded means that the node does not respond.
  void PrintEnd(PodLog& log) {
    log.StopFollowing();
    int num_failures = 0;
    const Status read = PrintRest(log, &num_failures);
    if (!read.ok() && !stop_.stop_requested()) Report(log.source(), read);
  }

  bool Print(const LogSource& source, const LogLine& line) {
    Status printed;
    {
      MutexLock lock(&printing_);
      printed = printer_.line(source, line);
    }
    if (!printed.ok()) End(printed);
    return printed.ok();
  }

  void Report(const LogSource& source, const Status& status) {
    MutexLock lock(&printing_);
    printer_.problem(source, status);
  }

  void Pause() {
    MutexLock lock(&mutex_);
    mutex_.AwaitBefore(Deadline::After(options_.between_tries),
                       [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return is_ending_; });
  }

  client::HttpTransport& transport_;  // these four must outlive this
  const PodFinder& finder_;
  const FollowOptions& options_;
  const LogPrinter& printer_;
  std::stop_source stop_;
  Mutex printing_;
  Mutex mutex_;
  // The logs that are or were followed, which Begin does not start again: pod, uid and container.
  std::set<std::tuple<kube::ObjectKey, std::string, std::string>> begun_ ABSL_GUARDED_BY(mutex_);
  size_t num_running_ ABSL_GUARDED_BY(mutex_) = 0;
  bool is_ending_ ABSL_GUARDED_BY(mutex_) = false;
  Status reason_ ABSL_GUARDED_BY(mutex_);
  std::stop_callback<OnStop> stop_callback_;
  std::list<std::jthread> threads_;  // last: they are joined before the other members are destroyed
};

}  // namespace

Status Follow(client::HttpTransport& transport, const PodFinder& finder, const FollowOptions& options,
              const LogPrinter& printer, const std::stop_token& stop) {
  return Following(transport, finder, options, printer, stop).Run();
}

}  // namespace espalier::ctl::logs
