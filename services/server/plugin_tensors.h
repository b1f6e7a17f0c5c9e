// Access of one call of a plugin's function to the mutable tensors of a job. Reads return the current rows; a row that
// the same call has changed cannot be read. Changes are deferred until the function has returned, so that either all
// changes of a call are made or none.
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

// Not thread-safe. Everything that a plugin passes is checked, except that its pointers are assumed to be valid.
class PluginTensors {
 public:
  struct Caller {
    std::string job;  // as in sampler::TensorId
    uint64_t incarnation = 0;
    Deadline deadline;
  };
  // `tensors`, `book` and `limits` outlive this object. `tensors` holds the rows of `partition`.
  PluginTensors(sampler::PartitionTensors& tensors, const graph::PartitionBook& book, PartitionId partition,
                Caller caller, TensorUse use, const ServiceLimits& limits);

  // The three tensor functions of EspalierHost, which documents their results. Returned pointers are valid until this
  // object is destroyed.
  Status Find(uint32_t rows_of, uint32_t type, const char* name, EspalierTensor* out);
  Status Read(uint32_t tensor, const EspalierTensorRows& rows);
  Status Change(uint32_t tensor, uint32_t how, const EspalierTensorRows& rows);

  // Makes the requested changes in order, each under its tensor's lock; changes of a tensor that has been dropped since
  // are skipped. DeadlineExceeded: the caller's deadline has passed, and no change is made. Called at most once.
  Status Apply();

 private:
  // A tensor that the plugin has found.
  struct Known {
    sampler::TensorId id;  // with the creation number
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
  Result<Known> Describe(const sampler::TensorId& id);
  Result<Known*> FindByNumber(uint32_t tensor);
  // Returns the rows after checking that they exist and that values and dtype fit the tensor.
  Result<std::vector<LocalRowId>> CheckRows(const Known& known, const EspalierTensorRows& rows) const;
  // FailedPrecondition: this call has requested a change of one of the rows.
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
