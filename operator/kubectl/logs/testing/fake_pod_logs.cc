// Streams and the test share one state under one mutex. A stream waits on conditions over that state (a new line, the
// end, a break, silence), so tests need no sleeps.
#include "operator/kubectl/logs/testing/fake_pod_logs.h"

#include <cmath>
#include <cstdlib>
#include <deque>

#include "operator/kube/json.h"

namespace espalier::ctl::logs {
namespace {

using client::HttpResponse;

struct Line {
  kube::WallTime time;
  std::string text;
  bool is_whole = true;

  std::string Printed() const { return kube::FormatMicroTime(time) + " " + text; }
};

struct Container {
  std::vector<Line> lines;
  bool has_ended = false;
};

struct PodLogs {
  Container running;
  std::optional<Container> previous;
  std::string refusal;
  int num_cuts = 0;
  bool is_cut_broken = false;
  bool is_silent = false;
};

HttpResponse ErrorAnswer(int code, const std::string& reason, const std::string& message) {
  return {code,
          {{"Content-Type", "application/json"}},
          kube::Print({{"apiVersion", "v1"},
                       {"kind", "Status"},
                       {"status", "Failure"},
                       {"code", code},
                       {"reason", reason},
                       {"message", message}})};
}

// Returns the value of the query parameter `name`. The tests' values need no decoding except %3A.
std::optional<std::string> QueryOf(const std::string& target, const std::string& name) {
  for (const char before : {'?', '&'}) {
    const size_t at = target.find(before + name + "=");
    if (at == std::string::npos) continue;
    const size_t begin = at + name.size() + 2;
    std::string value = target.substr(begin, target.find('&', begin) - begin);
    for (size_t colon = 0; (colon = value.find("%3A")) != std::string::npos;) value.replace(colon, 3, ":");
    return value;
  }
  return std::nullopt;
}

std::optional<std::string> PodOfLogRequest(const std::string& target) {
  const size_t pods = target.find("/pods/"), log = target.find("/log?");
  if (pods == std::string::npos || log == std::string::npos) return std::nullopt;
  return target.substr(pods + 6, log - pods - 6);
}

// Returns the index of the first line that the request asks for.
size_t FirstLine(const Container& container, const std::string& target) {
  size_t first = 0;
  if (const auto since = QueryOf(target, "sinceTime")) {
    const Result<kube::WallTime> time = kube::ParseTime(*since);
    while (time.ok() && first < container.lines.size() && container.lines[first].time < *time) ++first;
  }
  if (const auto tail = QueryOf(target, "tailLines")) {
    const auto wanted = static_cast<size_t>(std::atoll(tail->c_str()));
    if (container.lines.size() > wanted) first = std::max(first, container.lines.size() - wanted);
  }
  return first;
}

}  // namespace

struct FakePodLogs::Shared {
  mutable Mutex mutex;
  std::map<std::string, PodLogs> pods ABSL_GUARDED_BY(mutex);
  std::vector<std::string> targets ABSL_GUARDED_BY(mutex);
  int num_open ABSL_GUARDED_BY(mutex) = 0;

  // Returns the response that explains why the requested log does not exist; nullopt: it exists.
  std::optional<HttpResponse> Refusal(const std::string& pod, const std::string& target)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    const auto found = pods.find(pod);
    if (found == pods.end()) return ErrorAnswer(404, "NotFound", "pods \"" + pod + "\" not found");
    if (!found->second.refusal.empty()) return ErrorAnswer(400, "BadRequest", found->second.refusal);
    if (QueryOf(target, "previous") && !found->second.previous) {
      return ErrorAnswer(400, "BadRequest", "previous terminated container in pod \"" + pod + "\" not found");
    }
    return std::nullopt;
  }
  bool IsSilent(const std::string& pod) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    const auto found = pods.find(pod);
    return found != pods.end() && found->second.is_silent;
  }
  const Container& ContainerOf(const std::string& pod, const std::string& target) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    return QueryOf(target, "previous") ? *pods[pod].previous : pods[pod].running;
  }
};

class FakePodLogs::Lines final : public client::LineStream {
 public:
  Lines(std::shared_ptr<Shared> shared, std::string pod, std::string target)
      : shared_(std::move(shared)), pod_(std::move(pod)), target_(std::move(target)) {
    MutexLock lock(&shared_->mutex);
    next_ = FirstLine(shared_->ContainerOf(pod_, target_), target_);
    num_cuts_ = shared_->pods[pod_].num_cuts;
    ++shared_->num_open;
  }
  ~Lines() override {
    MutexLock lock(&shared_->mutex);
    --shared_->num_open;
  }

  Result<std::optional<std::string>> Next(Deadline deadline) override {
    MutexLock lock(&shared_->mutex);
    const auto has_line = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(shared_->mutex) {
      const std::vector<Line>& lines = shared_->ContainerOf(pod_, target_).lines;
      return next_ < lines.size() && lines[next_].is_whole;
    };
    const auto is_cut = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(shared_->mutex) {
      return shared_->pods[pod_].num_cuts != num_cuts_;
    };
    const auto is_at_end = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(shared_->mutex) {
      return !QueryOf(target_, "follow") || shared_->ContainerOf(pod_, target_).has_ended;
    };
    const auto is_silent = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(shared_->mutex) { return shared_->IsSilent(pod_); };
    const bool in_time = shared_->mutex.AwaitBefore(deadline, [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(shared_->mutex) {
      return is_cancelled_ || (!is_silent() && (has_line() || is_cut() || is_at_end()));
    });
    if (is_cancelled_) return Cancelled("the stream was cancelled");
    if (!in_time) return DeadlineExceeded("nothing came");
    if (is_cut() && shared_->pods[pod_].is_cut_broken) return Unavailable("the connection broke");
    if (is_cut() || !has_line()) return std::optional<std::string>();
    return std::optional(shared_->ContainerOf(pod_, target_).lines[next_++].Printed());
  }
  void Cancel() override {
    MutexLock lock(&shared_->mutex);
    is_cancelled_ = true;
  }

 private:
  const std::shared_ptr<Shared> shared_;
  const std::string pod_, target_;
  size_t next_ = 0;  // guarded by shared_->mutex, as the two below
  int num_cuts_ = 0;
  bool is_cancelled_ = false;
};

FakePodLogs::FakePodLogs(std::unique_ptr<client::HttpTransport> below)
    : below_(std::move(below)), shared_(std::make_shared<Shared>()) {}
FakePodLogs::~FakePodLogs() = default;

void FakePodLogs::Write(const std::string& pod, double second, const std::string& text) {
  MutexLock lock(&shared_->mutex);
  shared_->pods[pod].running.lines.push_back({LogSecond(second), text});
}

void FakePodLogs::WriteUnfinished(const std::string& pod, double second, const std::string& text) {
  MutexLock lock(&shared_->mutex);
  shared_->pods[pod].running.lines.push_back({LogSecond(second), text, false});
}

void FakePodLogs::End(const std::string& pod) {
  MutexLock lock(&shared_->mutex);
  shared_->pods[pod].running.has_ended = true;
}

void FakePodLogs::Restart(const std::string& pod) {
  MutexLock lock(&shared_->mutex);
  PodLogs& logs = shared_->pods[pod];
  logs.previous = std::exchange(logs.running, Container());
  logs.previous->has_ended = true;
  ++logs.num_cuts;
}

void FakePodLogs::Cut(const std::string& pod, bool broken) {
  MutexLock lock(&shared_->mutex);
  ++shared_->pods[pod].num_cuts;
  shared_->pods[pod].is_cut_broken = broken;
}

void FakePodLogs::Refuse(const std::string& pod, std::string why) {
  MutexLock lock(&shared_->mutex);
  shared_->pods[pod].refusal = std::move(why);
}

void FakePodLogs::Silence(const std::string& pod) {
  MutexLock lock(&shared_->mutex);
  shared_->pods[pod].is_silent = true;
}

std::vector<std::string> FakePodLogs::targets() const {
  MutexLock lock(&shared_->mutex);
  return shared_->targets;
}

bool FakePodLogs::AwaitRequests(size_t count) const {
  MutexLock lock(&shared_->mutex);
  return shared_->mutex.AwaitBefore(
      Deadline::After(std::chrono::seconds(10)),
      [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(shared_->mutex) { return shared_->targets.size() >= count; });
}

bool FakePodLogs::AwaitOpen(int count) const {
  MutexLock lock(&shared_->mutex);
  return shared_->mutex.AwaitBefore(
      Deadline::After(std::chrono::seconds(10)),
      [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(shared_->mutex) { return shared_->num_open >= count; });
}

Result<HttpResponse> FakePodLogs::Send(const kube::HttpRequest& request, Deadline deadline, std::stop_token stop) {
  const std::optional<std::string> pod = PodOfLogRequest(request.target);
  if (!pod) {
    if (below_ == nullptr) return ErrorAnswer(404, "NotFound", "the server could not find the requested resource");
    return below_->Send(request, deadline, stop);
  }
  MutexLock lock(&shared_->mutex);
  shared_->targets.push_back(request.target);
  if (std::optional<HttpResponse> refusal = shared_->Refusal(*pod, request.target)) return *std::move(refusal);
  const Container& container = shared_->ContainerOf(*pod, request.target);
  HttpResponse response{.code = 200};
  for (size_t i = FirstLine(container, request.target); i < container.lines.size(); ++i) {
    response.body += container.lines[i].Printed() + (container.lines[i].is_whole ? "\n" : "");
  }
  if (const auto limit = QueryOf(request.target, "limitBytes")) {
    response.body.resize(std::min(response.body.size(), static_cast<size_t>(std::atoll(limit->c_str()))));
  }
  return response;
}

Result<client::HttpTransport::Stream> FakePodLogs::Open(const kube::HttpRequest& request, Deadline deadline,
                                                        std::stop_token stop) {
  const std::optional<std::string> pod = PodOfLogRequest(request.target);
  if (!pod) {
    if (below_ == nullptr) return Unavailable("nothing else is served");
    return below_->Open(request, deadline, stop);
  }
  const std::stop_callback wake(stop, [this] { MutexLock lock(&shared_->mutex); });
  {
    MutexLock lock(&shared_->mutex);
    shared_->targets.push_back(request.target);
    if (shared_->IsSilent(*pod)) {
      const bool is_asked_to_stop = shared_->mutex.AwaitBefore(
          deadline, [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(shared_->mutex) { return stop.stop_requested(); });
      return is_asked_to_stop ? Cancelled("asked to stop") : DeadlineExceeded("no response in time");
    }
    if (std::optional<HttpResponse> refusal = shared_->Refusal(*pod, request.target)) {
      return Stream{*std::move(refusal), nullptr};
    }
  }
  return Stream{HttpResponse{.code = 200}, std::make_unique<Lines>(shared_, *pod, request.target)};
}

kube::WallTime LogSecond(double second) {
  return *kube::ParseTime("2026-01-02T03:00:00Z") + std::chrono::microseconds(std::llround(second * 1e6));
}

}  // namespace espalier::ctl::logs
