// The learnable rows of one partition, by name. Each embedding is one mutable tensor, or two if it has a state
// (StateRowWidth). The tensors count toward the limits on tensors.
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "services/base/hash.h"
#include "services/base/mutex.h"
#include "services/sampler/access/partition_embeddings.h"
#include "services/shard/embedding_rows.h"
#include "services/shard/mutable_tensors.h"

namespace espalier::shard {

struct EmbeddingLimits {
  // Limit for the gradients of one step, over all embeddings, that are received and not yet applied.
  uint64_t max_waiting_bytes = 0;
  uint64_t max_rows_per_request = 0;  // read or pushed
  size_t max_embeddings_per_job = 1024;
};

// Thread-safe. Calls complete on the calling thread before they return, except those that have to wait: Read waits for
// a version, Push for the gradients of other trainers, and Create and Drop for an operation in progress on the same
// name. Waiting calls do not block a thread.
class Embeddings final : public sampler::PartitionEmbeddings {
 public:
  // `tensors` must outlive this object.
  Embeddings(MutableTensors& tensors, const EmbeddingLimits& limits);

  void Create(const sampler::EmbeddingSpec& spec, Deadline deadline, sampler::DoneStatus done) override;
  void Read(const sampler::TensorId& embedding, uint64_t version, std::span<const LocalRowId> rows,
            sampler::RowSink sink, Deadline deadline, sampler::DoneStatus done) override;
  void Push(const sampler::TensorId& embedding, sampler::GradientPiece piece, Deadline deadline,
            sampler::DoneStatus done) override;
  void Drop(const sampler::TensorId& embedding, Deadline deadline, sampler::DoneStatus done) override;

  // Returns the rows; NotFound if there are none of that name, Aborted if they belong to another run.
  Result<std::shared_ptr<EmbeddingRows>> Find(const sampler::TensorId& embedding) const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  using Key = std::tuple<std::string, sampler::RowSpace, std::string>;
  static Key ToKey(const sampler::TensorId& id) { return {id.job, id.rows, id.name}; }

  // Runs `work`; the operations of one name run one after another. If another operation of the name is running, `work`
  // is queued and runs later on the thread of that operation; otherwise it runs before this returns. Returns false,
  // without running `work`, if too many operations wait.
  bool RunInTurn(const Key& key, std::function<void()> work) ABSL_LOCKS_EXCLUDED(mutex_);
  static constexpr size_t kMaxWaiting = 4096;  // for one name
  // Called by RunInTurn.
  Status CreateInTurn(const sampler::EmbeddingSpec& spec, Deadline deadline) ABSL_LOCKS_EXCLUDED(mutex_);
  void DropInTurn(const sampler::TensorId& embedding) ABSL_LOCKS_EXCLUDED(mutex_);

  // Returns ResourceExhausted if the job already has max_embeddings_per_job others.
  Status CheckRoomFor(const sampler::EmbeddingSpec& spec) const ABSL_LOCKS_EXCLUDED(mutex_);
  Status CreateNew(const sampler::EmbeddingSpec& spec, Deadline deadline) ABSL_LOCKS_EXCLUDED(mutex_);
  // Forgets the job's rows of incarnations older than that of `spec`; their tensors have been dropped before.
  void ForgetOlderThan(const sampler::EmbeddingSpec& spec) ABSL_LOCKS_EXCLUDED(mutex_);
  // Creates a tensor; AlreadyExists if there is one of that name. A plugin's initializer must finish by the deadline.
  Result<std::shared_ptr<TensorRows>> NewTensor(const sampler::TensorSpec& spec, Deadline deadline);
  // Drops rows that are no longer in rows_, and their tensors.
  void Drop(std::shared_ptr<EmbeddingRows> embedding);
  void DropTensor(const sampler::TensorId& tensor);

  MutableTensors& tensors_;
  const EmbeddingLimits limits_;
  const StepBudgets budgets_;
  const std::shared_ptr<VersionWaits> waits_ = std::make_shared<VersionWaits>();
  // The next creation number for rows whose EmbeddingSpec has none. Its upper 32 bits differ from those of the numbers
  // that `tensors_` assigns. Atomic, because several creations may run at once.
  std::atomic<uint64_t> next_creation_ = Hash64("embeddings");
  mutable Mutex mutex_;
  // Waiting operations by name. A name is present as long as one of its operations runs; its queue may be empty.
  std::map<Key, std::deque<std::function<void()>>> turns_ ABSL_GUARDED_BY(mutex_);
  std::map<Key, std::shared_ptr<EmbeddingRows>> rows_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace espalier::shard
