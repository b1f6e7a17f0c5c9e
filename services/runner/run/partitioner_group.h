// Chooses the name of the group in which the partitioners of a run exchange objects below the URI of the partitions.
//
// A partitioner that fails while others run is restarted with the same name and continues its earlier work. If all
// partitioners have ended and none succeeded, the group's folder may contain an error that ends every group of this
// name (partitioner/group/process_group.h). They are then restarted with a new name.
#pragma once

#include <set>
#include <string>

#include "services/runner/run/commands.h"

namespace espalier::run {

// Not thread-safe.
class PartitionerGroup {
 public:
  // Creates a group of `size` >= 1 partitioners. The name is unique to this run, so that the partitioners do not read
  // what those of earlier runs exchanged.
  explicit PartitionerGroup(uint32_t size);

  // Call these when a partitioner is started and when it has ended; `ok`: with exit code 0.
  void NoteStart(uint32_t rank);
  void NoteEnd(uint32_t rank, bool ok);

  // Returns the group of a process that is started now. With several partitioners, `threads` is the process's share of
  // this machine's processors.
  PartitionerPeers PeersFor(uint32_t rank) const;
  // Returns whether all partitioners have succeeded.
  bool all_done() const { return done_.size() == size_; }

 private:
  const uint32_t size_;
  const std::string name_;
  int64_t try_ = 1;
  bool has_failed_ = false;  // whether a partitioner of this try has failed
  std::set<uint32_t> running_, done_;
};

}  // namespace espalier::run
