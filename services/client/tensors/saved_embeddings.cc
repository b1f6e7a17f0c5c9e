// A saved embedding is one manifest entry for the values of the rows and, unless StateRowWidth is 0, a second entry for
// their state (the optimizer's state, preceded by F32 weights if the values are F16 or BF16). Both entries have the
// same number of files with the same rows. SavedRowsReader reads both entries together, file by file; RestoreSome
// writes the rows of one file of each entry per call.
#include "services/client/tensors/saved_embeddings.h"

#include <utility>
#include <vector>

#include "services/client/tensors/saved_rows.h"

namespace espalier::client {
namespace {

using Entries = std::vector<format::SavedTensorEntry>;

Entries MakeEntries(const format::SavedEmbeddingEntry& saved) {
  Entries entries = {saved.values};
  if (saved.state.has_value()) entries.push_back(*saved.state);
  return entries;
}

// Returns a description such as "1000 F32 rows of nodes/author, each with 64 values and 128 F32 values of state for
// Adam". CheckFits compares two of them.
std::string DescribeRows(const std::string& rows, uint64_t num_rows, DType dtype, int64_t width, int64_t state_width,
                         const std::string& optimizer) {
  return std::to_string(num_rows) + " " + ToString(dtype) + " rows of " + rows + ", each with " +
         std::to_string(width) + " values and " + std::to_string(state_width) + " F32 values of state for " + optimizer;
}

int64_t RowWidth(const format::SavedTensorEntry& entry) { return entry.row_shape.front(); }

}  // namespace

struct SavedEmbedding::Source {
  const DistGraph& graph;
  storage::StoreLocation at;
  std::string uri;
  format::SavedEmbeddingEntry saved;
};

SavedEmbedding::SavedEmbedding(std::unique_ptr<Source> source) : source_(std::move(source)) {}

SavedEmbedding::~SavedEmbedding() = default;

Result<std::unique_ptr<SavedEmbedding>> SavedEmbedding::Open(const DistGraph& graph, const std::string& uri,
                                                             const TensorName& name,
                                                             const storage::StoreSettings& stores) {
  ASSIGN_OR_RETURN(storage::StoreLocation at, storage::OpenStore(uri, stores));
  const std::string what = "loading the embedding '" + name.name + "' of " + uri;
  ASSIGN_OR_RETURN(const format::SavedTensorsManifest manifest,
                   format::ReadSavedTensors(*at.store, at.prefix).While(what));
  RETURN_IF_ERROR(sampler::CheckRowSpace(name.rows, graph.book()).While(what));
  const std::string rows = sampler::RowsName(name.rows, graph.book());
  std::string others;
  for (const format::SavedEmbeddingEntry& saved : manifest.embeddings) {
    if (saved.values.name != name.name || saved.values.rows != rows) {
      others += (others.empty() ? "'" : ", '") + saved.values.name + "' of " + saved.values.rows;
      continue;
    }
    RETURN_IF_ERROR(SavedRowsReader::Open(graph, at, MakeEntries(saved)).status().While(what));
    return std::unique_ptr<SavedEmbedding>(
        new SavedEmbedding(std::unique_ptr<Source>(new Source{graph, std::move(at), uri, saved})));
  }
  return NotFound(what + ": no embedding with this name and the rows " + rows +
                  " is saved there; saved embeddings: " + (others.empty() ? "none" : others));
}

uint64_t SavedEmbedding::version() const { return source_->saved.version; }

Status SavedEmbedding::CheckFits(const sampler::EmbeddingSpec& spec) const {
  const format::SavedEmbeddingEntry& saved = source_->saved;
  const graph::PartitionBook& book = source_->graph.book();
  RETURN_IF_ERROR(sampler::CheckRowSpace(spec.id.rows, book));
  const int64_t state_width = saved.state.has_value() ? RowWidth(*saved.state) : 0;
  const std::string found = DescribeRows(saved.values.rows, saved.values.num_rows, saved.values.dtype,
                                         RowWidth(saved.values), state_width, saved.optimizer);
  const std::string expected =
      DescribeRows(sampler::RowsName(spec.id.rows, book), sampler::FirstRows(spec.id.rows, book).back(), spec.dtype,
                   spec.width, static_cast<int64_t>(sampler::StateRowWidth(spec)), ToString(spec.optimizer.type));
  if (found == expected) return Status();
  return FailedPrecondition("the embedding '" + saved.values.name + "' was saved as " + found + "; expected " +
                            expected);
}

Result<bool> SavedEmbedding::RestoreSome(sampler::EmbeddingStore& store, const sampler::EmbeddingSpec& spec,
                                         Deadline deadline) {
  // After an error rows_ stays null, so the next call starts from the first file.
  std::unique_ptr<SavedRowsReader> rows = std::move(rows_);
  const std::string what = "loading the embedding '" + source_->saved.values.name + "' of " + source_->uri;
  if (rows == nullptr) {
    ASSIGN_OR_RETURN(rows, SavedRowsReader::Open(source_->graph, source_->at, MakeEntries(source_->saved)).While(what));
  }
  ASSIGN_OR_RETURN(const std::optional<SavedRowsReader::Piece> piece, rows->Next().While(what));
  if (!piece.has_value()) return false;
  const auto num_rows = static_cast<int64_t>(piece->rows.size());
  const Tensor state = piece->columns.size() > 1 ? piece->columns[1] : Tensor::Zeros(DType::kF32, {num_rows, 0});
  RETURN_IF_ERROR(
      NotFoundToUnavailable(store.Restore(spec, piece->rows, piece->columns[0], state, deadline)).While(what));
  rows_ = std::move(rows);
  return true;
}

}  // namespace espalier::client
