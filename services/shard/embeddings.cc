#include "services/shard/embeddings.h"

#include <optional>
#include <utility>

#include "services/base/hash.h"

namespace espalier::shard {
namespace {

bool IsSame(const sampler::EmbeddingSpec& a, const sampler::EmbeddingSpec& b) {
  return a.dtype == b.dtype && a.width == b.width && a.initializer == b.initializer && a.optimizer == b.optimizer &&
         a.num_trainers == b.num_trainers && a.first_version == b.first_version && a.incarnation == b.incarnation;
}

}  // namespace

Embeddings::Embeddings(MutableTensors& tensors, const EmbeddingLimits& limits)
    : tensors_(tensors), limits_(limits), next_creation_(Hash64("embeddings")) {}

Result<std::shared_ptr<EmbeddingRows>> Embeddings::Find(const sampler::TensorId& embedding) const {
  MutexLock lock(&mutex_);
  const auto found = rows_.find(KeyOf(embedding));
  if (found != rows_.end()) return found->second;
  return NotFound("there are no learnable rows '" + embedding.name + "'");
}

void Embeddings::Create(const sampler::EmbeddingSpec& spec, Deadline, sampler::DoneStatus done) {
  if (const Status valid = sampler::CheckEmbedding(spec); !valid.ok()) return done(valid);
  Status created;
  {
    MutexLock lock(&creating_);
    const auto existing = Find(spec.id);
    if (!existing.ok() || (*existing)->spec().incarnation != spec.incarnation) {
      created = CreateNew(spec);
    } else if (!IsSame((*existing)->spec(), spec)) {
      created = AlreadyExists("learnable rows '" + spec.id.name + "' exist with another specification");
    }
  }
  done(created);
}

Result<std::shared_ptr<TensorRows>> Embeddings::NewTensor(const sampler::TensorSpec& spec) {
  const uint64_t creation = next_creation_++;
  std::optional<Result<sampler::TensorDescription>> made;
  tensors_.Create(spec, creation, Deadline::After(std::chrono::hours(1)),
                  [&](Result<sampler::TensorDescription> description) { made.emplace(std::move(description)); });
  // NotFound: tensors of other creators have numbers of other registers.
  const bool is_taken = made->status().code() == StatusCode::kNotFound;
  if (!is_taken && !made->ok()) return made->status();
  if (is_taken || (*made)->creation != creation)
    return AlreadyExists("there is a tensor '" + spec.id.name + "' already");
  return tensors_.Find(spec.id);
}

Status Embeddings::CreateNew(const sampler::EmbeddingSpec& spec) {
  // Refuses an incarnation that is older than one that was here, and drops the tensors of older ones.
  ASSIGN_OR_RETURN(std::shared_ptr<TensorRows> rows, NewTensor(sampler::RowsOfEmbedding(spec)));
  ForgetOlderThan(spec);
  std::shared_ptr<TensorRows> state;
  if (const size_t width = sampler::StateRowWidth(spec); width > 0) {
    const sampler::TensorId id = sampler::RowsOfEmbedding(spec).id;
    auto made = NewTensor(
        {.id = sampler::StateOfEmbedding(id), .dtype = DType::kF32, .row_shape = {static_cast<int64_t>(width)}});
    if (!made.ok()) {
      tensors_.Drop(id, Deadline::After(std::chrono::hours(1)), [](const Status&) {});
      return std::move(made).status();
    }
    state = *std::move(made);
    const TensorRows::Filling from(*rows), to(*state);
    FillState(spec, from.bytes(), rows->num_rows(), reinterpret_cast<float*>(to.bytes()));
  }
  auto embedding = std::make_shared<EmbeddingRows>(spec, std::move(rows), std::move(state), limits_.max_waiting_bytes);
  MutexLock lock(&mutex_);
  rows_[KeyOf(spec.id)] = std::move(embedding);
  return Status();
}

void Embeddings::ForgetOlderThan(const sampler::EmbeddingSpec& spec) {
  std::vector<std::shared_ptr<EmbeddingRows>> forgotten;  // let go without the lock: waiting reads are answered
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
    return done(ResourceExhausted(std::to_string(rows.size()) + " rows in one request"));
  }
  const auto found = Find(embedding);
  if (!found.ok()) return done(found.status());
  (*found)->Read(version, rows, sink, deadline, std::move(done));
}

void Embeddings::Push(const sampler::TensorId& embedding, sampler::GradientPiece piece, Deadline deadline,
                      sampler::DoneStatus done) {
  if (piece.rows.size() > limits_.max_rows_per_request) {
    return done(ResourceExhausted(std::to_string(piece.rows.size()) + " gradients in one request"));
  }
  const auto found = Find(embedding);
  if (!found.ok()) return done(found.status());
  (*found)->Push(std::move(piece), deadline, std::move(done));
}

void Embeddings::Drop(const sampler::TensorId& embedding, Deadline deadline, sampler::DoneStatus done) {
  std::shared_ptr<EmbeddingRows> dropped;  // let go without the lock: its waiting reads are answered
  {
    MutexLock lock(&mutex_);
    const auto found = rows_.find(KeyOf(embedding));
    if (found != rows_.end()) {
      dropped = std::move(found->second);
      rows_.erase(found);
    }
  }
  if (dropped == nullptr) return done(Status());
  const sampler::TensorId rows = sampler::RowsOfEmbedding(dropped->spec()).id;
  dropped.reset();
  tensors_.Drop(sampler::StateOfEmbedding(rows), deadline, [](const Status&) {});
  tensors_.Drop(rows, deadline, std::move(done));
}

}  // namespace espalier::shard
