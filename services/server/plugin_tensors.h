// The mutable tensors of a job as one call of a plugin's function sees them. Reads return the current rows. Changes are
// deferred until the function has returned, so that either all changes of a call are made or none.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "services/base/clock.h"
#include "services/graph/partition_book.h"
#include "services/plugin/espalier_plugin.h"
#include "services/sampler/access/partition_tensors.h"
#include "services/server/limits.h"

namespace espalier::server {

// Whether a function only reads tensors or also changes them.
enum class TensorUse { kReads, kChanges };

// Used by one thread. Everything that a plugin passes is checked, except for invalid pointers.
class PluginTensors {
 public:
  struct Caller {
    std::string job;  // as in sampler::TensorId
    uint64_t incarnation = 0;
    Deadline deadline;
  };
  // `tensors`, `book` and `limits` outlive this. `partition` is the one whose rows `tensors` holds.
  PluginTensors(sampler::PartitionTensors& tensors, const graph::PartitionBook& book, PartitionId partition,
                Caller caller, TensorUse use, const ServiceLimits& limits);

  // The three tensor functions of EspalierHost, which documents their results. Returned pointers are valid until this
  // object is destroyed.
  Status Find(uint32_t rows_of, uint32_t type, const char* name, EspalierTensor* out);
  Status Read(uint32_t tensor, const EspalierTensorRows& rows);
  Status Change(uint32_t tensor, uint32_t how, const EspalierTensorRows& rows);

  // Makes the requested changes in order, each under its tensor's lock; changes of a tensor that has been dropped
  // meanwhile are skipped. Returns DeadlineExceeded, and makes none, if the caller's deadline has passed. Called at
  // most once.
  Status Apply();

 private:
  struct Known {
    sampler::TensorId id;  // creation included
    sampler::TensorDescription description;
    uint64_t first = 0, count = 0, total = 0;  // as in EspalierTensor
    uint64_t row_bytes = 0;
    size_t changes_seen = 0;         // how many of changes_ are marked in is_changed
    std::vector<bool> is_changed{};  // [count] by row; empty until the first read after a change
  };
  struct RowChange {
    uint32_t tensor = 0;
    sampler::RowWrite write = sampler::RowWrite::kAssign;
    std::vector<LocalRowId> rows;
    Tensor values;
  };

  static EspalierTensor MakeView(uint32_t number, const Known& known);
  Result<Known> Described(const sampler::TensorId& id);
  Result<Known*> Numbered(uint32_t tensor);
  // Returns the rows after checking that they exist and that values and dtype fit the tensor.
  Result<std::vector<LocalRowId>> CheckRows(const Known& known, const EspalierTensorRows& rows) const;
  Status CheckUnchanged(uint32_t tensor, Known& known, const std::vector<LocalRowId>& rows);

  sampler::PartitionTensors& tensors_;
  const graph::PartitionBook& book_;
  const PartitionId partition_;
  const Caller caller_;
  const TensorUse use_;
  const ServiceLimits& limits_;
  std::deque<Known> known_;  // by number; a deque, because plugins hold pointers to the shapes
  std::vector<RowChange> changes_;
  uint64_t change_bytes_ = 0;
};

}  // namespace espalier::server
