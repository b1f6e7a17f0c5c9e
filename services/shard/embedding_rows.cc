// How a step is applied. Pieces for step version_ are collected in current_, pieces of trainers that are one step ahead
// in next_. The thread that completes current_ sets is_applying_, updates the rows without holding mutex_ (no other
// thread changes the complete current_, and TensorRows has its own lock), then moves next_ to current_, increments the
// version, and wakes its waiters. If the new current_ is complete too, the same thread continues. Hence steps are
// applied one at a time and in order, whatever the order in which pieces arrive.
#include "services/shard/embedding_rows.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "services/base/check.h"
#include "services/shard/default_floats.h"

namespace espalier::shard {
namespace {

bool IsRounded(const sampler::EmbeddingSpec& spec) { return spec.dtype != DType::kF32; }

float Widen(DType dtype, uint16_t bits) { return dtype == DType::kF16 ? HalfToFloat(bits) : BFloat16ToFloat(bits); }

}  // namespace

void FillState(const sampler::EmbeddingSpec& spec, const std::byte* rows, uint64_t count, float* state) {
  const float initial = InitialState(spec.optimizer);
  const size_t state_width = StateWidth(spec.optimizer.type, spec.width);
  const auto* rounded = reinterpret_cast<const uint16_t*>(rows);
  for (uint64_t row = 0; row < count; ++row) {
    if (IsRounded(spec)) {
      for (size_t i = 0; i < spec.width; ++i) *state++ = Widen(spec.dtype, *rounded++);
    }
    state = std::fill_n(state, state_width, initial);
  }
}

Result<std::shared_ptr<EmbeddingRows>> EmbeddingRows::Make(sampler::EmbeddingSpec spec,
                                                           std::shared_ptr<TensorRows> rows,
                                                           std::shared_ptr<TensorRows> state,
                                                           std::shared_ptr<VersionWaits> waits, StepBudgets budgets) {
  ASSIGN_OR_RETURN(const uint64_t id_in_waits, waits->Open(spec.first_version));
  return std::shared_ptr<EmbeddingRows>(new EmbeddingRows(std::move(spec), std::move(rows), std::move(state),
                                                          std::move(waits), id_in_waits, std::move(budgets)));
}

EmbeddingRows::EmbeddingRows(sampler::EmbeddingSpec spec, std::shared_ptr<TensorRows> rows,
                             std::shared_ptr<TensorRows> state, std::shared_ptr<VersionWaits> waits,
                             uint64_t id_in_waits, StepBudgets budgets)
    : spec_(std::move(spec)),
      budgets_(std::move(budgets)),
      rows_(rows),
      state_(state),
      num_rows_(rows->num_rows()),
      has_state_(state != nullptr),
      version_(spec_.first_version),
      current_(std::make_unique<StepGradients>(spec_.num_trainers, budgets_.ForStep(version_))),
      next_(std::make_unique<StepGradients>(spec_.num_trainers, budgets_.ForStep(version_ + 1))),
      waits_(std::move(waits)),
      id_in_waits_(id_in_waits) {
  ESPALIER_CHECK(has_state_ != (sampler::StateRowWidth(spec_) == 0)) << "the state tensor does not match StateRowWidth";
}

EmbeddingRows::~EmbeddingRows() { waits_->Close(id_in_waits_); }

uint64_t EmbeddingRows::version() const {
  MutexLock lock(&mutex_);
  return version_;
}

Status EmbeddingRows::CheckPiece(const sampler::GradientPiece& piece) const {
  const std::vector<int64_t> shape = {static_cast<int64_t>(piece.rows.size()), int64_t{spec_.width}};
  if (piece.gradients.dtype() != DType::kF32 || piece.gradients.shape() != shape) {
    return InvalidArgument("gradients of '" + spec_.id.name + "' are " + piece.gradients.ToString() +
                           ", expected F32 [" + std::to_string(shape[0]) + ", " + std::to_string(shape[1]) + "]");
  }
  for (const LocalRowId row : piece.rows) {
    if (row.value >= num_rows_) {
      return InvalidArgument("gradients of '" + spec_.id.name + "': row " + std::to_string(row.value) +
                             " is out of range [0, " + std::to_string(num_rows_) + ") on this partition");
    }
  }
  return Status();
}

Result<EmbeddingRows::Tensors> EmbeddingRows::HoldTensors() const {
  Tensors tensors{rows_.lock(), state_.lock()};
  if (tensors.rows != nullptr && has_state_ == (tensors.state != nullptr)) return tensors;
  return NotFound("learnable rows '" + spec_.id.name + "' have been dropped");
}

Result<EmbeddingRows::StepState> EmbeddingRows::AddPiece(sampler::GradientPiece piece) {
  RETURN_IF_ERROR(HoldTensors().status());
  RETURN_IF_ERROR(CheckPiece(piece));
  MutexLock lock(&mutex_);
  // This is a repeated message that arrives late: its step has been applied with this piece.
  if (piece.step < version_) return StepState::kIncompleteOrApplied;
  if (piece.step > version_ + 1) {
    return FailedPrecondition("gradients of step " + std::to_string(piece.step) + " for rows of version " +
                              std::to_string(version_) + ", expected step " + std::to_string(version_) + " or " +
                              std::to_string(version_ + 1) + ": a trainer did not wait for its previous step");
  }
  const bool is_current = piece.step == version_;
  const Rank rank = piece.rank;
  StepGradients& step = is_current ? *current_ : *next_;
  RETURN_IF_ERROR(step.Add(std::move(piece)).While("gradients of '" + spec_.id.name + "'"));
  if (!step.IsComplete()) {
    return is_current || !step.HasAllPieces(rank) ? StepState::kIncompleteOrApplied : StepState::kAwaitsOthers;
  }
  if (is_applying_ || !current_->IsComplete()) return StepState::kComplete;
  is_applying_ = true;
  return StepState::kToBeApplied;
}

void EmbeddingRows::Push(sampler::GradientPiece piece, Deadline deadline, sampler::DoneStatus done) {
  const uint64_t number = piece.step;
  const Result<StepState> step = AddPiece(std::move(piece));
  if (!step.ok() || *step == StepState::kIncompleteOrApplied) return done(step.status());
  // A trainer that is one step ahead is acknowledged when the rows reach its step, and until then sends no further
  // gradients.
  const uint64_t acknowledged_at = *step == StepState::kAwaitsOthers ? number : number + 1;
  waits_->Await(id_in_waits_, acknowledged_at, deadline, std::move(done));
  if (*step != StepState::kToBeApplied) return;
  while (ApplyStep()) {
  }
}

LearnableTable EmbeddingRows::MakeTable(std::byte* rows, std::byte* state) const {
  const size_t width = spec_.width, state_row_width = sampler::StateRowWidth(spec_);
  auto* const floats = reinterpret_cast<float*>(rows);
  auto* const state_floats = reinterpret_cast<float*>(state);
  LearnableTable table{.num_rows = num_rows_, .width = width};
  table.state_width = StateWidth(spec_.optimizer.type, width);
  if (IsRounded(spec_)) {
    table.weights = {state_floats, state_row_width};
    table.state = {state_floats + width, state_row_width};
    table.rounded = reinterpret_cast<uint16_t*>(rows);
    table.rounded_dtype = spec_.dtype;
  } else {
    table.weights = {floats, width};
    table.state = {state_floats, state_row_width};
  }
  return table;
}

void EmbeddingRows::GiveUp() {
  {
    MutexLock lock(&mutex_);
    is_applying_ = false;
  }
  waits_->Close(id_in_waits_);
}

bool EmbeddingRows::ApplyStep() {
  const Result<Tensors> tensors = HoldTensors();
  if (!tensors.ok()) {
    GiveUp();
    return false;
  }
  const StepGradients* gradients = nullptr;
  uint64_t new_version = 0;
  {
    MutexLock lock(&mutex_);
    gradients = current_.get();  // complete, so it does not change until this thread replaces it
    new_version = version_ + 1;
  }
  const std::vector<RowGradients> parts = gradients->GetOrdered();
  if (!parts.empty()) {
    const TensorRows::ExclusiveAccess rows(*tensors->rows);
    std::optional<TensorRows::ExclusiveAccess> state;
    if (has_state_) state.emplace(*tensors->state);
    const DefaultFloats floats;
    const RowUpdate update(spec_.optimizer, spec_.width, gradients->learning_rate(), new_version);
    step_.Apply(update, spec_.optimizer.duplicates,
                MakeTable(rows.bytes(), state.has_value() ? state->bytes() : nullptr), parts);
  }
  std::unique_ptr<StepGradients> applied;  // destroyed outside the lock
  bool more = false;
  {
    MutexLock lock(&mutex_);
    auto after_next = std::make_unique<StepGradients>(spec_.num_trainers, budgets_.ForStep(new_version + 1));
    applied = std::exchange(current_, std::exchange(next_, std::move(after_next)));
    version_ = new_version;
    more = is_applying_ = current_->IsComplete();
  }
  applied.reset();  // releases the budget before trainers are notified
  waits_->Reach(id_in_waits_, new_version);
  return more;
}

Status EmbeddingRows::Gather(uint64_t version, std::span<const LocalRowId> rows, const sampler::RowSink& sink) {
  ASSIGN_OR_RETURN(const Tensors tensors, HoldTensors());
  RETURN_IF_ERROR(tensors.rows->Gather(rows, sink));
  // The version is checked after the read: a step that started in the meantime may have changed some of the rows that
  // were read. While a trainer still has to read this version, no step can start, because the trainer sends its
  // gradients only after it has its rows.
  MutexLock lock(&mutex_);
  if (version_ == version && !is_applying_) return Status();
  const std::string now =
      version_ == version ? "the next step is being applied" : "the rows are at version " + std::to_string(version_);
  return FailedPrecondition("version " + std::to_string(version) + " of '" + spec_.id.name +
                            "' is no longer available: " + now);
}

void EmbeddingRows::Read(uint64_t version, std::span<const LocalRowId> rows, const sampler::RowSink& sink,
                         Deadline deadline, sampler::DoneStatus done) {
  waits_->Await(id_in_waits_, version, deadline,
                [this, version, rows, sink, done = std::move(done)](const Status& reached) {
                  done(reached.ok() ? Gather(version, rows, sink) : reached);
                });
}

}  // namespace espalier::shard
