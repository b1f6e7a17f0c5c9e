// The partitioners of a run as one group: under which name they find each other in the store.
//
// A process that ends while others run is started again under the same name, and goes on behind what it has done. Where
// all have ended without success, a reason may stand in the store, which ends a group for good
// (partitioning/process_group.h): those that are started again make another group.
#pragma once

#include <set>
#include <string>

#include "services/runner/run/commands.h"

namespace espalier::run {

// Owned by one thread.
class PartitionerGroup {
 public:
  // Of `size` processes, at least 1. Names are of no other run, so that what an earlier one left is not taken up.
  explicit PartitionerGroup(uint32_t size);

  void NoteStart(uint32_t rank);
  void NoteEnd(uint32_t rank, bool ok);

  // For a process that is started now; threads are its share of the machine's where there are several.
  PartitionerPeers PeersFor(uint32_t rank) const;
  // Every one has ended well.
  bool all_done() const { return done_.size() == size_; }

 private:
  const uint32_t size_;
  const std::string name_;
  int64_t try_ = 1;
  bool has_failed_ = false;  // one of this try
  std::set<uint32_t> running_, done_;
};

}  // namespace espalier::run
