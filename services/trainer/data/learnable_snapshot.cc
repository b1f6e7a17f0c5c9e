// Checkpoints and digests of learnable rows and their state. Rows are read and written in the order of original ids, in
// pieces of about 16 MiB. So a run with another partitioning can resume from the same checkpoint, and equal rows have
// the same digest under every partitioning. For checkpoints, rank 0 processes the pieces one after the other, and all
// ranks synchronize after each piece; digests are computed by all ranks, piece p by rank p mod T of T ranks.
#include <algorithm>

#include "services/base/sha256.h"
#include "services/collective/agreement.h"
#include "services/trainer/data/learnable_rows.h"

namespace espalier::trainer {
namespace {

// Approximate size of a piece.
constexpr int64_t kPieceBytes = int64_t{16} << 20;

std::string ValuesName(const std::string& type) { return "rows." + type; }
std::string StateName(const std::string& type) { return "state." + type; }

// Returns null if the piece has no such tensor.
const Tensor* FindTensor(const format::Safetensors& piece, const std::string& name) {
  const auto found = piece.tensors.find(name);
  return found == piece.tensors.end() ? nullptr : &found->second;
}

bool HasRows(const Tensor& tensor, DType dtype, int64_t num_rows, int64_t width) {
  return tensor.dtype() == dtype && tensor.shape() == std::vector<int64_t>{num_rows, width};
}

std::string DescribeTensor(const Tensor* tensor) { return tensor == nullptr ? "nothing" : tensor->ToString(); }

}  // namespace

int64_t LearnableRows::RowsPerPiece(const Table& table) {
  const size_t row_bytes =
      table.spec.width * ItemSize(table.spec.dtype) + sampler::StateRowWidth(table.spec) * sizeof(float);
  return std::max<int64_t>(1, kPieceBytes / static_cast<int64_t>(row_bytes));
}

int64_t LearnableRows::NumRows(const Table& table) const { return static_cast<int64_t>(book_.num_nodes(table.type)); }

Result<std::vector<GlobalRowId>> LearnableRows::FindRows(const Table& table, int64_t first, int64_t count,
                                                         Deadline deadline) const {
  std::vector<OriginalNodeId> originals;
  originals.reserve(static_cast<size_t>(count));
  for (int64_t id = first; id < first + count; ++id) originals.emplace_back(static_cast<uint64_t>(id));
  ASSIGN_OR_RETURN(const std::vector<GlobalNodeId> nodes, seeds_.ToGlobalIds(table.type, originals, deadline));
  return ToRowIds(nodes);
}

Result<LearnableRows::RowsAndState> LearnableRows::ReadPiece(const Table& table, int64_t first) const {
  const Deadline deadline = timeouts_.ForData();
  const int64_t count = std::min(RowsPerPiece(table), NumRows(table) - first);
  ASSIGN_OR_RETURN(const std::vector<GlobalRowId> rows, FindRows(table, first, count, deadline));
  RowsAndState read;
  // Reads the values first, because only ReadEmbedding waits until the rows have version_. The state is then of the
  // same version: the next version cannot follow before this trainer sends gradients.
  auto values = store_.ReadEmbedding(table.spec, version_, rows, deadline);
  if (!values.ok()) return NotFoundToUnavailable(std::move(values).status());
  auto state = store_.ReadState(table.spec, rows, deadline);
  if (!state.ok()) return NotFoundToUnavailable(std::move(state).status());
  return RowsAndState{*std::move(values), *std::move(state)};
}

Status LearnableRows::RunInSteps(const std::function<Result<bool>()>& step, collective::Collective& collective) const {
  const auto guarded = [&]() -> Result<bool> {
    try {
      ASSIGN_OR_RETURN(const bool has_more, step());
      if (on_progress_) on_progress_();
      return has_more;
    } catch (const std::exception& error) {  // for example out of memory
      return ResourceExhausted(error.what());
    }
  };
  return collective::WorkInSteps(Rank(0), guarded, collective, timeouts_.collective);
}

Status LearnableRows::Save(const TakePiece& take, collective::Collective& collective) const {
  std::optional<format::Safetensors> piece;  // read, but not taken yet
  auto table = tables_.begin();
  int64_t first = 0;  // of the next piece
  const auto step = [&]() -> Result<bool> {
    if (!piece.has_value()) {
      for (; table != tables_.end() && first >= NumRows(*table); ++table) first = 0;
      if (table == tables_.end()) return false;
      ASSIGN_OR_RETURN(RowsAndState read, ReadPiece(*table, first));
      first += read.values.num_rows();
      piece.emplace();
      piece->tensors[ValuesName(table->type_name)] = std::move(read.values);
      if (sampler::StateRowWidth(table->spec) > 0) piece->tensors[StateName(table->type_name)] = std::move(read.state);
    }
    ASSIGN_OR_RETURN(const bool is_taken, take(*piece));
    if (is_taken) piece.reset();
    return true;
  };
  return RunInSteps(step, collective).While("copying learnable rows");
}

Status LearnableRows::RestorePiece(const Table& table, const format::Safetensors& piece, int64_t* restored) const {
  const Tensor* const values = FindTensor(piece, ValuesName(table.type_name));
  if (values == nullptr) return Status();
  const Tensor* state = FindTensor(piece, StateName(table.type_name));
  const int64_t count = values->num_rows(), width = table.spec.width;
  const auto state_width = static_cast<int64_t>(sampler::StateRowWidth(table.spec));
  const Tensor none = Tensor::Zeros(DType::kF32, {count, 0});
  if (state_width == 0) state = &none;
  if (count > NumRows(table) - *restored || !HasRows(*values, table.spec.dtype, count, width) || state == nullptr ||
      !HasRows(*state, DType::kF32, count, state_width)) {
    return InvalidArgument("the checkpoint's learnable rows of '" + table.type_name + "' from row " +
                           std::to_string(*restored) + " on do not fit: expected " + ToString(table.spec.dtype) +
                           " [at most " + std::to_string(NumRows(table) - *restored) + ", " + std::to_string(width) +
                           "] and a state of " + std::to_string(state_width) + " values per row, found " +
                           DescribeTensor(values) + " and " + DescribeTensor(state));
  }
  const Deadline deadline = timeouts_.ForData();
  ASSIGN_OR_RETURN(const std::vector<GlobalRowId> rows, FindRows(table, *restored, count, deadline));
  RETURN_IF_ERROR(NotFoundToUnavailable(store_.Restore(table.spec, rows, *values, *state, deadline)));
  *restored += count;
  return Status();
}

Status LearnableRows::CheckComplete(const Table& table, int64_t restored) const {
  if (restored == NumRows(table)) return Status();
  return InvalidArgument("the checkpoint has " + std::to_string(restored) + " of the " +
                         std::to_string(NumRows(table)) + " learnable rows of '" + table.type_name + "'");
}

Status LearnableRows::CreateAt(uint64_t version, const NextPiece& next, collective::Collective& collective) {
  version_ = version;
  for (Table& table : tables_) table.spec.first_version = version;
  RETURN_IF_ERROR(Create(collective));
  std::vector<int64_t> restored(tables_.size(), 0);
  const auto step = [&]() -> Result<bool> {
    ASSIGN_OR_RETURN(const std::optional<format::Safetensors> piece, next());
    for (size_t t = 0; t < tables_.size(); ++t) {
      RETURN_IF_ERROR(piece.has_value() ? RestorePiece(tables_[t], *piece, &restored[t])
                                        : CheckComplete(tables_[t], restored[t]));
    }
    return piece.has_value();
  };
  return RunInSteps(step, collective).While("restoring learnable rows");
}

Result<std::string> LearnableRows::ComputePieceDigest(const Table& table, int64_t first) const {
  ASSIGN_OR_RETURN(const RowsAndState read, ReadPiece(table, first));
  Sha256 digest;
  digest.Update(read.values.byte_span());
  digest.Update(read.state.byte_span());
  return digest.HexDigest();
}

Result<std::string> LearnableRows::Digest(collective::Collective& collective) const {
  constexpr size_t kDigits = 64;
  Sha256 total;
  for (const Table& table : tables_) {
    const int64_t num_pieces = (NumRows(table) + RowsPerPiece(table) - 1) / RowsPerPiece(table);
    if (num_pieces == 0) continue;
    const auto num_ranks = static_cast<int64_t>(collective.size());
    std::string own_digests;  // of this rank's pieces
    Status status;
    for (int64_t piece = rank_.value; piece < num_pieces && status.ok(); piece += num_ranks) {
      const Result<std::string> digest = ComputePieceDigest(table, piece * RowsPerPiece(table));
      status = digest.status();
      if (digest.ok()) own_digests += *digest;
    }
    RETURN_IF_ERROR(
        collective::AgreeOn(status, collective, timeouts_.collective).While("computing the digest of learnable rows"));
    const auto pieces_each = static_cast<size_t>((num_pieces + num_ranks - 1) / num_ranks);
    own_digests.resize(pieces_each * kDigits, ' ');
    ASSIGN_OR_RETURN(
        const std::vector<std::byte> all,
        collective.AllGather(std::as_bytes(std::span<const char>(own_digests)), timeouts_.ForCollective()));
    total.Update(std::to_string(table.type_name.size()) + ":" + table.type_name + " " + std::to_string(NumRows(table)) +
                 "\n");
    for (int64_t piece = 0; piece < num_pieces; ++piece) {
      const auto place = static_cast<size_t>(piece % num_ranks) * pieces_each + static_cast<size_t>(piece / num_ranks);
      total.Update(std::span(all).subspan(place * kDigits, kDigits));
    }
  }
  return total.HexDigest();
}

}  // namespace espalier::trainer
