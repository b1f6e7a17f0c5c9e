#include "services/runner/run/partitioner_group.h"

#include <algorithm>
#include <random>

#include "services/base/parallel.h"

namespace espalier::run {
namespace {

std::string MakeRunName() {
  constexpr char kDigits[] = "0123456789abcdef";
  std::random_device random;
  std::string name = "run-";
  for (int i = 0; i < 16; ++i) name += kDigits[random() % 16];
  return name;
}

}  // namespace

PartitionerGroup::PartitionerGroup(uint32_t size) : size_(size), name_(MakeRunName()) {}

void PartitionerGroup::NoteStart(uint32_t rank) { running_.insert(rank); }

void PartitionerGroup::NoteEnd(uint32_t rank, bool ok) {
  running_.erase(rank);
  if (ok) {
    done_.insert(rank);
  } else {
    has_failed_ = true;
  }
  // If a partitioner has succeeded, the partitioning exists, and its location may depend on the name (reuse: Never), so
  // the name must not change.
  if (!has_failed_ || !running_.empty() || !done_.empty()) return;
  ++try_;
  has_failed_ = false;
}

PartitionerPeers PartitionerGroup::PeersFor(uint32_t rank) const {
  if (size_ == 1) return {};
  const int share = AvailableProcessors() / static_cast<int>(size_);
  return {.rank = rank, .size = size_, .group = name_ + "-" + std::to_string(try_), .threads = std::max(1, share)};
}

}  // namespace espalier::run
