#include "services/sampler/row_cache/eviction_order.h"

#include <vector>

namespace espalier::sampler {

void EvictionOrder::Append(Lists& lists, uint32_t key, CachedRow* row) {
  List& list = lists[key];
  row->before = list.last;
  row->after = nullptr;
  (list.last == nullptr ? list.first : list.last->after) = row;
  list.last = row;
}

void EvictionOrder::Unlink(Lists& lists, uint32_t key, CachedRow* row) {
  const auto found = lists.find(key);
  List& list = found->second;
  (row->before == nullptr ? list.first : row->before->after) = row->after;
  (row->after == nullptr ? list.last : row->after->before) = row->before;
  if (list.first == nullptr) lists.erase(found);
}

void EvictionOrder::Add(CachedRow* row) {
  if (row->next_step != kNoKnownStep) {
    Append(by_next_step_, row->next_step, row);
  } else {
    Append(by_num_uses_, row->num_uses, row);
  }
}

void EvictionOrder::Remove(CachedRow* row) {
  if (row->next_step != kNoKnownStep) {
    Unlink(by_next_step_, row->next_step, row);
  } else {
    Unlink(by_num_uses_, row->num_uses, row);
  }
}

CachedRow* EvictionOrder::First() const {
  if (!by_num_uses_.empty()) return by_num_uses_.begin()->second.first;
  return by_next_step_.empty() ? nullptr : by_next_step_.rbegin()->second.first;
}

void EvictionOrder::ForgetSteps() {
  std::vector<CachedRow*> rows;  // in the order of eviction, which does not depend on hashes
  for (CachedRow* row = First(); row != nullptr; row = First()) {
    Remove(row);
    rows.push_back(row);
  }
  for (CachedRow* const row : rows) {
    row->next_step = kNoKnownStep;
    Add(row);
  }
}

bool EvictionOrder::IsEvictedLater(uint32_t next_step, uint16_t num_uses, const CachedRow& row) {
  if (next_step != row.next_step) return next_step < row.next_step;  // kNoKnownStep is the largest number
  return next_step == kNoKnownStep && num_uses > row.num_uses;
}

}  // namespace espalier::sampler
