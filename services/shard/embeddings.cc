// Creating and dropping an embedding takes several calls to MutableTensors, so these operations are serialized by name:
// RunInTurn queues an operation behind the running one of the same name, and the thread that finishes one runs the
// next. No lock is held while an operation runs. rows_ holds the embeddings that can be found; destroying an
// EmbeddingRows ends its waiting requests, so it is released outside mutex_.
#include "services/shard/embeddings.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace espalier::shard {
namespace {

// Returns the optimizer, with torch's default epsilon if it has none. RPCs always send an epsilon, so specifications
// are compared in this form.
sampler::SparseOptimizer WithEpsilon(sampler::SparseOptimizer optimizer) {
  optimizer.epsilon = sampler::EpsilonFor(optimizer);
  return optimizer;
}

bool IsSame(const sampler::EmbeddingSpec& a, const sampler::EmbeddingSpec& b) {
  return a.dtype == b.dtype && a.width == b.width && a.initializer == b.initializer &&
         WithEpsilon(a.optimizer) == WithEpsilon(b.optimizer) && a.num_trainers == b.num_trainers &&
         a.first_version == b.first_version && a.incarnation == b.incarnation && a.id.creation == b.id.creation;
}

Status MakeOtherRunError(const sampler::TensorId& embedding) {
  return Aborted("learnable rows '" + embedding.name + "' belong to another run that uses these servers");
}

Status MakeQueueFullError(const sampler::TensorId& embedding) {
  return Unavailable("too many requests to create or drop learnable rows '" + embedding.name + "' are waiting");
}

}  // namespace

Embeddings::Embeddings(MutableTensors& tensors, const EmbeddingLimits& limits)
    : tensors_(tensors), limits_(limits), budgets_(limits.max_waiting_bytes) {}

Result<std::shared_ptr<EmbeddingRows>> Embeddings::Find(const sampler::TensorId& embedding) const {
  MutexLock lock(&mutex_);
  const auto found = rows_.find(ToKey(embedding));
  if (found == rows_.end()) return NotFound("there are no learnable rows '" + embedding.name + "'");
  if (found->second->spec().id.creation == embedding.creation) return found->second;
  return MakeOtherRunError(embedding);
}

void Embeddings::Create(const sampler::EmbeddingSpec& spec, Deadline deadline, sampler::DoneStatus done) {
  if (const Status valid = sampler::CheckEmbedding(spec); !valid.ok()) return done(valid);
  const bool is_accepted =
      RunInTurn(ToKey(spec.id), [this, spec, deadline, done] { done(CreateInTurn(spec, deadline)); });
  if (!is_accepted) done(MakeQueueFullError(spec.id));
}

bool Embeddings::RunInTurn(const Key& key, std::function<void()> work) {
  {
    MutexLock lock(&mutex_);
    const auto [turn, is_free] = turns_.try_emplace(key);
    if (!is_free && turn->second.size() == kMaxWaiting) return false;
    if (!is_free) {
      turn->second.push_back(std::move(work));
      return true;
    }
  }
  for (;;) {
    work();
    work = nullptr;  // destroys its captures while the lock is not held
    MutexLock lock(&mutex_);
    const auto turn = turns_.find(key);
    if (turn->second.empty()) {
      turns_.erase(turn);
      return true;
    }
    work = std::move(turn->second.front());
    turn->second.pop_front();
  }
}

Status Embeddings::CreateInTurn(const sampler::EmbeddingSpec& spec, Deadline deadline) {
  std::shared_ptr<EmbeddingRows> other_run;
  {
    MutexLock lock(&mutex_);
    const auto found = rows_.find(ToKey(spec.id));
    if (found != rows_.end() && found->second->spec().incarnation == spec.incarnation) {
      const sampler::EmbeddingSpec& known = found->second->spec();
      const bool are_runs_known = known.id.creation != 0 && spec.id.creation != 0;
      if (IsSame(known, spec)) return Status();
      if (!are_runs_known || known.id.creation == spec.id.creation) {
        return AlreadyExists("learnable rows '" + spec.id.name + "' exist with another specification");
      }
      // A late message of a run whose rows were replaced or dropped must not remove another run's rows of this name.
      if (tensors_.WasDropped(spec.id.creation)) return MakeOtherRunError(spec.id);
      other_run = std::move(found->second);
      rows_.erase(found);
    }
  }
  if (other_run != nullptr) Drop(std::move(other_run));
  return CreateNew(spec, deadline);
}

Result<std::shared_ptr<TensorRows>> Embeddings::NewTensor(const sampler::TensorSpec& spec, Deadline deadline) {
  // The tensor has the run's creation number, so that a late message of another run does not find it.
  const uint64_t creation = spec.id.creation != 0 ? spec.id.creation : next_creation_++;
  std::optional<Result<sampler::TensorDescription>> made;
  // The caller's deadline applies only to plugins: built-in initializers finish soon.
  const bool may_take_long = spec.initializer.kind == sampler::Initializer::Kind::kPlugin;
  tensors_.Create(spec, creation, may_take_long ? deadline : Deadline::After(std::chrono::hours(1)),
                  [&](Result<sampler::TensorDescription> description) { made.emplace(std::move(description)); });
  // NotFound: the name belongs to a tensor of another creator, whose creation number differs in the upper 32 bits
  // (MutableTensors::registry_).
  const bool is_taken = made->status().code() == StatusCode::kNotFound;
  if (!is_taken && !made->ok()) return made->status();
  if (is_taken || (*made)->creation != creation)
    return AlreadyExists("there is a tensor '" + spec.id.name + "' already");
  return tensors_.Find(spec.id);
}

Status Embeddings::CheckRoomFor(const sampler::EmbeddingSpec& spec) const {
  MutexLock lock(&mutex_);
  const auto of_job = std::count_if(rows_.begin(), rows_.end(), [&](const auto& entry) {
    return std::get<0>(entry.first) == spec.id.job && entry.first != ToKey(spec.id);
  });
  if (static_cast<size_t>(of_job) < limits_.max_embeddings_per_job) return Status();
  return ResourceExhausted("creating learnable rows '" + spec.id.name + "': the job already has " +
                           std::to_string(of_job) + " tables of learnable rows, which is the limit");
}

Status Embeddings::CreateNew(const sampler::EmbeddingSpec& spec, Deadline deadline) {
  // Tensors of older incarnations are freed first, so that the server does not need memory for old and new tensors.
  RETURN_IF_ERROR(tensors_.EnterIncarnation(spec.id.job, spec.incarnation));
  ForgetOlderThan(spec);
  RETURN_IF_ERROR(CheckRoomFor(spec));
  ASSIGN_OR_RETURN(std::shared_ptr<TensorRows> rows, NewTensor(sampler::ToRowsSpec(spec), deadline));
  const sampler::TensorId id = sampler::ToRowsSpec(spec).id;
  Status made;
  std::shared_ptr<TensorRows> state;
  if (const size_t width = sampler::StateRowWidth(spec); width > 0) {
    auto tensor = NewTensor(
        {.id = sampler::ToStateId(id), .dtype = DType::kF32, .row_shape = {static_cast<int64_t>(width)}}, deadline);
    made = tensor.status();
    if (tensor.ok()) {
      state = *std::move(tensor);
      const TensorRows::ExclusiveAccess from(*rows), to(*state);
      FillState(spec, from.bytes(), rows->num_rows(), reinterpret_cast<float*>(to.bytes()));
    }
  }
  if (made.ok()) {
    auto embedding = EmbeddingRows::Make(spec, std::move(rows), state, waits_, budgets_);
    made = embedding.status();
    MutexLock lock(&mutex_);
    if (embedding.ok()) rows_[ToKey(spec.id)] = *std::move(embedding);
  }
  if (!made.ok()) {
    DropTensor(id);
    if (state != nullptr) DropTensor(sampler::ToStateId(id));
  }
  return made;
}

void Embeddings::ForgetOlderThan(const sampler::EmbeddingSpec& spec) {
  std::vector<std::shared_ptr<EmbeddingRows>> forgotten;  // released outside the lock: ends waiting reads
  MutexLock lock(&mutex_);
  for (auto entry = rows_.begin(); entry != rows_.end();) {
    const sampler::EmbeddingSpec& known = entry->second->spec();
    const bool is_older = known.id.job == spec.id.job && known.incarnation < spec.incarnation;
    if (is_older) forgotten.push_back(std::move(entry->second));
    entry = is_older ? rows_.erase(entry) : std::next(entry);
  }
}

void Embeddings::Read(const sampler::TensorId& embedding, uint64_t version, std::span<const LocalRowId> rows,
                      sampler::RowSink sink, Deadline deadline, sampler::DoneStatus done) {
  if (rows.size() > limits_.max_rows_per_request) {
    return done(ResourceExhausted(std::to_string(rows.size()) + " rows in one request, the limit is " +
                                  std::to_string(limits_.max_rows_per_request)));
  }
  const auto found = Find(embedding);
  if (!found.ok()) return done(found.status());
  (*found)->Read(version, rows, sink, deadline, std::move(done));
}

void Embeddings::Push(const sampler::TensorId& embedding, sampler::GradientPiece piece, Deadline deadline,
                      sampler::DoneStatus done) {
  if (piece.rows.size() > limits_.max_rows_per_request) {
    return done(ResourceExhausted(std::to_string(piece.rows.size()) + " gradients in one request, the limit is " +
                                  std::to_string(limits_.max_rows_per_request)));
  }
  const auto found = Find(embedding);
  if (!found.ok()) return done(found.status());
  (*found)->Push(std::move(piece), deadline, std::move(done));
}

void Embeddings::Drop(const sampler::TensorId& embedding, Deadline, sampler::DoneStatus done) {
  const bool is_accepted = RunInTurn(ToKey(embedding), [this, embedding, done] {
    DropInTurn(embedding);
    done(Status());
  });
  if (!is_accepted) done(MakeQueueFullError(embedding));
}

void Embeddings::DropInTurn(const sampler::TensorId& embedding) {
  std::shared_ptr<EmbeddingRows> dropped;  // released outside the lock: ends its waiting reads
  {
    MutexLock lock(&mutex_);
    const auto found = rows_.find(ToKey(embedding));
    if (found == rows_.end() || found->second->spec().id.creation != embedding.creation) return;
    dropped = std::move(found->second);
    rows_.erase(found);
  }
  Drop(std::move(dropped));
}

void Embeddings::Drop(std::shared_ptr<EmbeddingRows> embedding) {
  const sampler::TensorId rows = sampler::ToRowsSpec(embedding->spec()).id;
  embedding.reset();
  DropTensor(sampler::ToStateId(rows));
  DropTensor(rows);
}

void Embeddings::DropTensor(const sampler::TensorId& tensor) {
  tensors_.Drop(tensor, Deadline::After(std::chrono::hours(1)), [](const Status&) {});
}

}  // namespace espalier::shard
