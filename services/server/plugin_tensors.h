// The mutable tensors of a job as one call of a plugin's function sees them. Rows are read as they are; changes wait
// until the function has returned, so that all that a call asks for is done, or nothing.
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

// What a function may do to tensors.
enum class TensorUse { kReads, kChanges };

// Of one thread. Whatever a plugin passes is checked, but for pointers that lead nowhere.
class PluginTensors {
 public:
  struct Caller {
    std::string job;  // as sampler::TensorId has it
    uint64_t incarnation = 0;
    Deadline deadline;
  };
  // tensors, book and limits outlive this. `partition` is whose rows the tensors have.
  PluginTensors(sampler::PartitionTensors& tensors, const graph::PartitionBook& book, PartitionId partition,
                Caller caller, TensorUse use, const ServiceLimits& limits);

  // The three functions of EspalierHost, which says what they answer. What they answer with is good as long as this.
  Status Find(uint32_t rows_of, uint32_t type, const char* name, EspalierTensor* out);
  Status Read(uint32_t tensor, const EspalierTensorRows& rows);
  Status Change(uint32_t tensor, uint32_t how, const EspalierTensorRows& rows);

  // Makes the changes that were asked for, in their order, each under its tensor's lock; those of a tensor that has
  // been dropped since go with it. DeadlineExceeded, and none is made: the caller's time is over. Once.
  Status Apply();

 private:
  struct Known {
    sampler::TensorId id;  // with its creation
    sampler::TensorDescription description;
    uint64_t first = 0, count = 0, total = 0;  // as EspalierTensor's
    uint64_t row_bytes = 0;
    size_t changes_seen = 0;         // of changes_: those whose rows are marked in is_changed
    std::vector<bool> is_changed{};  // [count] by row, once a read has followed a change; empty: none is changed
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
  // The rows, which exist; values and dtype fit the tensor.
  Result<std::vector<LocalRowId>> CheckRows(const Known& known, const EspalierTensorRows& rows) const;
  Status CheckUnchanged(uint32_t tensor, Known& known, const std::vector<LocalRowId>& rows);

  sampler::PartitionTensors& tensors_;
  const graph::PartitionBook& book_;
  const PartitionId partition_;
  const Caller caller_;
  const TensorUse use_;
  const ServiceLimits& limits_;
  std::deque<Known> known_;  // by number; they stay where they are, because plugins hold their shapes
  std::vector<RowChange> changes_;
  uint64_t change_bytes_ = 0;
};

}  // namespace espalier::server
