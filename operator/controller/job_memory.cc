// One entry per job. An entry belongs to a uid: a job that was deleted and created again under the same name starts
// with an empty entry. Certificates, events and flavors in it each have an expiry time, which is checked when they are
// read; expired events are removed when new ones are stored. A dry run does not expire: after its lifetime it is
// returned with is_due set, which means that it must be repeated. Refusals, and names that are taken by objects of
// other owners, do not expire.
#include "operator/controller/job_memory.h"

#include <algorithm>
#include <cctype>
#include <string_view>
#include <utility>

namespace espalier::ctl::controller {

namespace {

// Returns the text without words that contain a digit: ids, counts, times.
std::string RemoveNumbers(std::string_view text) {
  const auto is_word_character = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-'; };
  std::string rest, word;
  const auto end_word = [&] {
    if (std::none_of(word.begin(), word.end(), [](char c) { return c >= '0' && c <= '9'; })) rest += word;
    word.clear();
  };
  for (const char c : text) {
    if (is_word_character(c)) {
      word += c;
      continue;
    }
    end_word();
    rest += c;
  }
  end_word();
  return rest;
}

}  // namespace

JobMemory::Entry& JobMemory::FindOrAddEntry(const kube::ObjectKey& job, const std::string& uid) {
  Entry& entry = entries_[job];
  if (entry.uid == uid) return entry;
  entry = Entry();
  entry.uid = uid;
  return entry;
}

JobMemory::Entry* JobMemory::Find(const kube::ObjectKey& job, const std::string& uid) {
  const auto found = entries_.find(job);
  return found == entries_.end() || found->second.uid != uid ? nullptr : &found->second;
}

void JobMemory::RememberCertificates(const kube::ObjectKey& job, const std::string& uid, Certificates certificates,
                                     std::chrono::seconds lifetime) {
  MutexLock lock(&mutex_);
  Entry& entry = FindOrAddEntry(job, uid);
  entry.certificates = std::move(certificates);
  entry.certificates_read_at = wall_clock_();
  entry.certificates_until = entry.certificates_read_at + lifetime;
}

std::optional<Certificates> JobMemory::FindCertificates(const kube::ObjectKey& job, const std::string& uid,
                                                        std::optional<kube::WallTime> read_since) {
  MutexLock lock(&mutex_);
  const Entry* const entry = Find(job, uid);
  if (entry == nullptr || wall_clock_() >= entry->certificates_until) return std::nullopt;
  if (read_since && entry->certificates_read_at < *read_since) return std::nullopt;
  return entry->certificates;
}

void JobMemory::RememberLeaf(const kube::ObjectKey& job, const std::string& uid, api::Role role,
                             const resources::CertificateFacts& facts) {
  MutexLock lock(&mutex_);
  Entry* const entry = Find(job, uid);
  if (entry != nullptr && entry->certificates) entry->certificates->leaves[role] = facts;
}

void JobMemory::ForgetCertificates(const kube::ObjectKey& job) {
  MutexLock lock(&mutex_);
  if (const auto found = entries_.find(job); found != entries_.end()) found->second.certificates.reset();
}

void JobMemory::RememberEvents(const kube::ObjectKey& job, const std::string& uid, const std::string& about,
                               std::vector<std::string> messages, std::chrono::seconds lifetime) {
  MutexLock lock(&mutex_);
  const kube::WallTime now = wall_clock_();
  Entry& entry = FindOrAddEntry(job, uid);
  // Removes expired events, so that events of deleted pods do not accumulate.
  std::erase_if(entry.events, [now](const auto& events) { return now >= events.second.until; });
  entry.events[about] = {std::move(messages), now + lifetime};
}

std::optional<std::vector<std::string>> JobMemory::FindEvents(const kube::ObjectKey& job, const std::string& uid,
                                                              const std::string& about) {
  MutexLock lock(&mutex_);
  const Entry* const entry = Find(job, uid);
  if (entry == nullptr) return std::nullopt;
  const auto found = entry->events.find(about);
  if (found == entry->events.end() || wall_clock_() >= found->second.until) return std::nullopt;
  return found->second.messages;
}

void JobMemory::RememberFlavor(const kube::ObjectKey& job, const std::string& uid, const std::string& name,
                               plan::Observed::Queue::Flavor flavor, std::chrono::seconds lifetime) {
  MutexLock lock(&mutex_);
  FindOrAddEntry(job, uid).flavors[name] = {std::move(flavor), wall_clock_() + lifetime};
}

std::optional<plan::Observed::Queue::Flavor> JobMemory::FindFlavor(const kube::ObjectKey& job, const std::string& uid,
                                                                   const std::string& name) {
  MutexLock lock(&mutex_);
  const Entry* const entry = Find(job, uid);
  if (entry == nullptr) return std::nullopt;
  const auto found = entry->flavors.find(name);
  if (found == entry->flavors.end() || wall_clock_() >= found->second.until) return std::nullopt;
  return found->second.flavor;
}

void JobMemory::RememberDryRun(const kube::ObjectKey& job, const std::string& uid, plan::Observed::DryRun dry_run,
                               std::optional<std::chrono::seconds> lifetime) {
  MutexLock lock(&mutex_);
  Entry& entry = FindOrAddEntry(job, uid);
  entry.dry_run = std::move(dry_run);
  entry.dry_run_until.reset();
  if (lifetime) entry.dry_run_until = wall_clock_() + *lifetime;
}

std::optional<plan::Observed::DryRun> JobMemory::FindDryRun(const kube::ObjectKey& job, const std::string& uid) {
  MutexLock lock(&mutex_);
  const Entry* const entry = Find(job, uid);
  if (entry == nullptr || !entry->dry_run) return std::nullopt;
  plan::Observed::DryRun dry_run = *entry->dry_run;
  dry_run.is_due = entry->dry_run_until && wall_clock_() >= *entry->dry_run_until;
  return dry_run;
}

bool JobMemory::RememberRefusal(const kube::ObjectKey& job, const std::string& uid,
                                std::optional<plan::Observed::Refusal> refusal) {
  MutexLock lock(&mutex_);
  Entry* entry = Find(job, uid);
  if (entry == nullptr && !refusal) return false;
  if (entry == nullptr) entry = &FindOrAddEntry(job, uid);
  const auto to_comparable = [](const std::optional<plan::Observed::Refusal>& one) {
    return one ? one->child + '\n' + one->reason + '\n' + RemoveNumbers(one->message) : std::string();
  };
  // If only numbers differ, such as the request id of an admission webhook, the first message is kept.
  if (to_comparable(entry->refusal) == to_comparable(refusal)) return false;
  entry->refusal = std::move(refusal);
  return true;
}

std::optional<plan::Observed::Refusal> JobMemory::FindRefusal(const kube::ObjectKey& job, const std::string& uid) {
  MutexLock lock(&mutex_);
  const Entry* const entry = Find(job, uid);
  return entry == nullptr ? std::nullopt : entry->refusal;
}

void JobMemory::RememberTakenName(const kube::ObjectKey& job, const std::string& uid, const TakenName& name) {
  MutexLock lock(&mutex_);
  FindOrAddEntry(job, uid).taken.insert(name);
}

void JobMemory::ForgetTakenName(const kube::ObjectKey& job, const TakenName& name) {
  MutexLock lock(&mutex_);
  if (const auto found = entries_.find(job); found != entries_.end()) found->second.taken.erase(name);
}

std::vector<JobMemory::TakenName> JobMemory::FindTakenNames(const kube::ObjectKey& job, const std::string& uid) {
  MutexLock lock(&mutex_);
  const Entry* const entry = Find(job, uid);
  if (entry == nullptr) return {};
  return {entry->taken.begin(), entry->taken.end()};
}

void JobMemory::Forget(const kube::ObjectKey& job) {
  MutexLock lock(&mutex_);
  entries_.erase(job);
}

size_t JobMemory::size() {
  MutexLock lock(&mutex_);
  return entries_.size();
}

}  // namespace espalier::ctl::controller
