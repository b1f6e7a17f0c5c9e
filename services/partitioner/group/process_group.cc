// Objects below the group's folder: markers/size, markers/rank-NNNN/<what>, alive/rank-NNNN (heartbeats) and
// failed/rank-NNNN. All but the heartbeats are created with PutIfAbsent and never change. A heartbeat is a number that
// changes; a waiting process measures with its own clock how long the number has stayed the same, so clocks of hosts
// need not agree. Waits poll with exponential backoff and jitter.
#include "services/partitioner/group/process_group.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <random>
#include <span>

#include "services/base/backoff.h"
#include "services/storage/object_key.h"
#include "services/telemetry/log.h"

namespace espalier::partitioner {
namespace {

using telemetry::Level;
using telemetry::Log;

constexpr RetryPolicy kPolling = {
    .max_attempts = 8, .initial_delay = std::chrono::milliseconds(5), .max_delay = std::chrono::milliseconds(1000)};
constexpr int kHeartbeatsPerTimeout = 6;
// Number of the first poll of a wait that also checks for the outcome. Most waits end earlier and save these requests.
constexpr int kFirstOutcomeCheck = 4;

std::string RankName(uint32_t rank) {
  std::string digits = std::to_string(rank);
  return "rank-" + std::string(digits.size() < 4 ? 4 - digits.size() : 0, '0') + digits;
}

std::string DescribeRank(uint32_t rank, uint32_t size) {
  return "rank " + std::to_string(rank) + " of " + std::to_string(size);
}

// Returns the text of the object, or nullopt if it does not exist.
Result<std::optional<std::string>> GetIfExists(storage::ObjectStore& store, const std::string& key) {
  Result<std::string> text = store.Get(key);
  if (text.ok()) return std::optional(*std::move(text));
  if (text.status().code() == StatusCode::kNotFound) return std::optional<std::string>();
  return std::move(text).status();
}

// Creates the object unless it exists.
Status PutIfMissing(storage::ObjectStore& store, const std::string& key, const std::string& text) {
  const Status put = store.PutIfAbsent(key, std::as_bytes(std::span(text)));
  return put.code() == StatusCode::kAlreadyExists ? Status() : put;
}

// Parses "<code>\n<message>", which Fail writes.
Status ParseStatus(const std::string& text) {
  int code = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), code);
  const bool is_valid = error == std::errc() && code > 0 && code <= static_cast<int>(StatusCode::kUnauthenticated);
  const size_t line_end = text.find('\n');
  return Status(is_valid ? static_cast<StatusCode>(code) : StatusCode::kUnknown,
                line_end == std::string::npos ? text : text.substr(line_end + 1));
}

// Returns whether the error is transient, so that the process may succeed after a restart: it was asked to stop, or the
// store was unavailable or did not respond in time.
bool IsTransient(StatusCode code) {
  return code == StatusCode::kCancelled || code == StatusCode::kUnavailable || code == StatusCode::kDeadlineExceeded;
}

}  // namespace

Status CheckGroup(const GroupOptions& options) {
  const auto refuse = [](const std::string& what) { return InvalidArgument("group of processes: " + what); };
  if (options.size == 0 || options.size > 4096) {
    return refuse(std::to_string(options.size) + " processes: expected 1 to 4096");
  }
  if (options.rank >= options.size) {
    return refuse("rank " + std::to_string(options.rank) + ": expected 0 to " + std::to_string(options.size - 1));
  }
  constexpr std::string_view kAllowed = "abcdefghijklmnopqrstuvwxyz0123456789-";
  if (options.name.empty() || options.name.size() > 64 ||
      options.name.find_first_not_of(kAllowed) != std::string::npos) {
    return refuse("the name '" + options.name.substr(0, 80) + "': expected 1 to 64 characters of a-z, 0-9 and -");
  }
  return {};
}

ProcessGroup::ProcessGroup(storage::ObjectStore& store, GroupPlace place, const GroupOptions& options,
                           std::function<bool()> stop_requested)
    : store_(store), place_(std::move(place)), options_(options), stop_requested_(std::move(stop_requested)) {}

Result<std::unique_ptr<ProcessGroup>> ProcessGroup::Join(storage::ObjectStore& store, GroupPlace place,
                                                         const GroupOptions& options,
                                                         std::function<bool()> stop_requested) {
  RETURN_IF_ERROR(CheckGroup(options));
  std::unique_ptr<ProcessGroup> group(new ProcessGroup(store, std::move(place), options, std::move(stop_requested)));
  if (const Status failed = group->FindPublishedFailure(); !failed.ok()) {
    return failed.While("the group '" + options.name + "' has ended; its name cannot be used again");
  }
  RETURN_IF_ERROR(group->AgreeOnSize());
  RETURN_IF_ERROR(group->WriteHeartbeat(0));
  group->heartbeat_ = std::jthread([g = group.get()] { g->RenewHeartbeat(); });
  return group;
}

ProcessGroup::~ProcessGroup() {
  {
    MutexLock lock(&mutex_);
    ended_ = true;
  }
  if (!heartbeat_.joinable()) return;  // Join failed: an existing heartbeat is from another process with this rank
  heartbeat_.join();
  // Processes that wait for this one find its marker or its error, or detect the missing heartbeat.
  if (const Status deleted = store_.Delete(HeartbeatKey(rank())); !deleted.ok()) {
    Log(Level::kWarning, "the heartbeat object was not deleted", {{"error", deleted}});
  }
}

std::string ProcessGroup::MarkerKey(uint32_t rank, const std::string& what) const {
  return place_.folder + "/markers/" + RankName(rank) + "/" + what;
}

std::string ProcessGroup::HeartbeatKey(uint32_t rank) const { return place_.folder + "/alive/" + RankName(rank); }

// Without this check, the markers of a group of another size would be mistaken for those of this group.
Status ProcessGroup::AgreeOnSize() {
  const std::string key = place_.folder + "/markers/size";
  RETURN_IF_ERROR(PutIfMissing(store_, key, std::to_string(size())));
  ASSIGN_OR_RETURN(const std::string agreed, store_.Get(key));
  if (agreed == std::to_string(size())) return {};
  return InvalidArgument("the group '" + options_.name + "' was started with " + agreed +
                         " processes, but the world size of this process is " + std::to_string(size()) +
                         ": use another name");
}

// Join writes 0. The background thread then starts at a random number and adds 1 for each heartbeat.
Status ProcessGroup::WriteHeartbeat(uint64_t count) {
  const std::string text = std::to_string(count);
  ASSIGN_OR_RETURN(const std::unique_ptr<storage::ObjectWriter> writer, store_.Put(HeartbeatKey(rank())));
  RETURN_IF_ERROR(writer->Write(std::as_bytes(std::span(text))));
  return writer->Commit();
}

void ProcessGroup::RenewHeartbeat() {
  std::random_device random;
  const auto period = options_.peer_timeout / kHeartbeatsPerTimeout;
  for (uint64_t count = random();; ++count) {
    if (const Status written = WriteHeartbeat(count); !written.ok()) {
      Log(Level::kWarning, "the heartbeat could not be renewed", {{"error", written}});
    }
    MutexLock lock(&mutex_);
    const auto ended = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return ended_; };
    if (mutex_.AwaitBefore(Deadline::After(period), ended)) return;
  }
}

// Measures with this process's clock how long another process has had no new heartbeat.
class ProcessGroup::HeartbeatWatch {
 public:
  HeartbeatWatch(ProcessGroup& group, uint32_t rank)
      : group_(group), rank_(rank), deadline_(Deadline::After(group.options_.start_timeout)) {}

  Status Check(const std::string& what) {
    ASSIGN_OR_RETURN(std::optional<std::string> heartbeat, GetIfExists(group_.store_, group_.HeartbeatKey(rank_)));
    if (heartbeat && heartbeat != last_) {
      last_ = std::move(heartbeat);
      deadline_ = Deadline::After(group_.options_.peer_timeout);
    }
    if (!deadline_.HasPassed()) return {};
    group_.found_silence_ = true;
    return DeadlineExceeded(DescribeRank(rank_, group_.size()) +
                            (last_ ? " sends no heartbeat" : " has sent no heartbeat yet") +
                            ": it has not published '" + what + "'");
  }

 private:
  ProcessGroup& group_;  // outlives this
  const uint32_t rank_;
  Deadline deadline_;  // of the next heartbeat
  std::optional<std::string> last_;
};

Status ProcessGroup::Publish(const std::string& what, const std::string& text) {
  return PutIfMissing(store_, MarkerKey(rank(), what), text).While("publishing '" + what + "'");
}

Result<bool> ProcessGroup::HasPublished(const std::string& what) {
  const Result<storage::ObjectInfo> marker = store_.Head(MarkerKey(rank(), what));
  if (marker.ok()) return true;
  return marker.status().code() == StatusCode::kNotFound ? Result<bool>(false) : marker.status();
}

Result<std::string> ProcessGroup::Await(uint32_t rank, const std::string& what) {
  std::optional<std::string> text;
  RETURN_IF_ERROR(AwaitCondition(rank, what, [&]() -> Result<bool> {
    ASSIGN_OR_RETURN(text, GetIfExists(store_, MarkerKey(rank, what)));
    return text.has_value();
  }));
  return *std::move(text);
}

Status ProcessGroup::AwaitCondition(uint32_t rank, const std::string& what,
                                    const std::function<Result<bool>()>& holds) {
  HeartbeatWatch heartbeats(*this, rank);
  std::random_device random;
  for (int attempt = 1;; attempt = std::min(attempt + 1, kPolling.max_attempts)) {
    bool has_outcome = false;
    if (attempt >= kFirstOutcomeCheck) {
      ASSIGN_OR_RETURN(has_outcome, HasOutcome());
    }
    // Evaluated after the outcome, because the outcome may be what the caller waits for.
    ASSIGN_OR_RETURN(const bool is_true, holds());
    if (is_true) return {};
    if (has_outcome) {
      is_over_ = true;
      return Aborted(place_.outcome + " exists already: no need to wait for '" + what + "' of " +
                     DescribeRank(rank, size()));
    }
    RETURN_IF_ERROR(FindPublishedFailure());
    if (stop_requested_ && stop_requested_()) return Cancelled("asked to stop while waiting for '" + what + "'");
    RETURN_IF_ERROR(heartbeats.Check(what));
    Clock::Real().SleepFor(DelayBefore(attempt, kPolling, static_cast<uint32_t>(random())));
  }
}

Result<bool> ProcessGroup::HasOutcome() {
  const Result<storage::ObjectInfo> outcome = store_.Head(place_.outcome);
  if (outcome.ok()) return true;
  return outcome.status().code() == StatusCode::kNotFound ? Result<bool>(false) : outcome.status();
}

Status ProcessGroup::FindPublishedFailure() {
  ASSIGN_OR_RETURN(const std::vector<storage::ObjectInfo> failures, store_.List(place_.folder + "/failed/"));
  if (failures.empty()) return {};
  is_over_ = true;
  const std::string& key = failures.front().key;
  ASSIGN_OR_RETURN(const std::string text, store_.Get(key));
  return ParseStatus(text).While(key.substr(key.rfind('/') + 1) + " of " + std::to_string(size()) + " processes");
}

void ProcessGroup::Fail(const Status& status) {
  if (is_over_ || (IsTransient(status.code()) && !found_silence_)) return;
  const std::string text = std::to_string(static_cast<int>(status.code())) + "\n" + status.message();
  const Status written = PutIfMissing(store_, place_.folder + "/failed/" + RankName(rank()), text);
  if (!written.ok()) Log(Level::kWarning, "the other processes could not be notified", {{"error", written}});
}

}  // namespace espalier::partitioner
