#include "services/server/answer_cache.h"

namespace espalier::server {

AnswerCache::Answers::iterator AnswerCache::Erase(Answers::iterator entry) {
  size_bytes_ -= SizeBytes(entry->second.answer);
  oldest_first_.erase(entry->second.position);
  return answers_.erase(entry);
}

void AnswerCache::Keep(const AppliedWrites::Number& change, Tensor answer) {
  MutexLock lock(&mutex_);
  for (auto ended = answers_.lower_bound({change.client_id, 0});
       ended != answers_.end() && ended->first < Key(change.client_id, change.lowest_in_flight);) {
    ended = Erase(ended);
  }
  const Key key(change.client_id, change.sequence);
  if (const auto earlier = answers_.find(key); earlier != answers_.end()) Erase(earlier);
  if (SizeBytes(answer) > max_bytes_) return;
  size_bytes_ += SizeBytes(answer);
  answers_.emplace(key, Entry{std::move(answer), oldest_first_.insert(oldest_first_.end(), key)});
  while (size_bytes_ > max_bytes_) Erase(answers_.find(oldest_first_.front()));
}

std::optional<Tensor> AnswerCache::Find(const AppliedWrites::Number& change) const {
  MutexLock lock(&mutex_);
  const auto entry = answers_.find({change.client_id, change.sequence});
  if (entry == answers_.end()) return std::nullopt;
  return entry->second.answer;
}

size_t AnswerCache::SizeBytes() const {
  MutexLock lock(&mutex_);
  return size_bytes_;
}

}  // namespace espalier::server
