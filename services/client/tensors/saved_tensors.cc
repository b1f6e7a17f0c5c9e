// A save writes safetensors files of about bytes_per_file each, with rows in the partitioning-independent order of
// row_order.h, and the manifest last; a folder without a manifest is not a save
// (services/format/saved_tensors/saved_tensors.h). Loading reads the files in the same order and writes the rows under
// the ids of the current partitioning. Tensors are scoped while they are loaded, so an error drops all tensors of the
// call.
#include "services/client/tensors/saved_tensors.h"

#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "services/client/tensors/saved_rows.h"
#include "services/format/saved_tensors/saved_tensors.h"
#include "services/storage/open_store.h"

namespace espalier::client {
namespace {

// Loads one tensor, as a scoped tensor.
Result<DistTensor> LoadTensor(const DistGraph& graph, const storage::StoreLocation& at,
                              const format::SavedTensorEntry& saved) {
  ASSIGN_OR_RETURN(const std::unique_ptr<SavedRowsReader> rows, SavedRowsReader::Open(graph, at, {saved}));
  ASSIGN_OR_RETURN(DistTensor tensor, DistTensor::Create(graph, {.rows = rows->rows(),
                                                                 .row_shape = saved.row_shape,
                                                                 .dtype = saved.dtype,
                                                                 .name = saved.name,
                                                                 .lifetime = Lifetime::kScoped}));
  if (!tensor.made_by_this()) {
    return AlreadyExists("tensor '" + saved.name + "' of " + saved.rows +
                         " exists already: drop it before loading the saved one");
  }
  for (;;) {
    ASSIGN_OR_RETURN(const std::optional<SavedRowsReader::Piece> piece, rows->Next());
    if (!piece.has_value()) return tensor;
    RETURN_IF_ERROR(NotFoundToUnavailable(tensor.WriteRows(piece->rows, piece->columns.front())));
  }
}

}  // namespace

Status SaveTensors(const DistGraph& graph, const std::vector<TensorName>& tensors, const std::string& uri,
                   const SaveOptions& options) {
  if (options.bytes_per_file == 0 || options.bytes_per_file > format::kMaxSavedFileBytes / 2) {
    return InvalidArgument("bytes_per_file is " + std::to_string(options.bytes_per_file) + ", expected 1 to " +
                           std::to_string(format::kMaxSavedFileBytes / 2));
  }
  ASSIGN_OR_RETURN(storage::StoreLocation at, storage::OpenStore(uri, options.stores));
  RETURN_IF_ERROR(format::CheckNothingIsSaved(*at.store, at.prefix));
  format::SavedTensorsManifest manifest{.graph_name = graph.name(), .notes = options.notes};
  std::set<std::pair<std::string, std::string>> names;
  SavedRowsWriter save(std::move(at));
  for (const TensorName& named : tensors) {
    const std::string what = "saving tensor '" + named.name + "'";
    ASSIGN_OR_RETURN(manifest.tensors.emplace_back(),
                     save.PutTensor(graph, named.rows, named.name, options.bytes_per_file).While(what));
    if (names.emplace(manifest.tensors.back().rows, named.name).second) continue;
    return InvalidArgument(what + ": it is named twice");
  }
  names.clear();
  for (const sampler::EmbeddingAt& embedding : options.embeddings) {
    const std::string what = "saving the embedding '" + embedding.spec.id.name + "'";
    ASSIGN_OR_RETURN(manifest.embeddings.emplace_back(),
                     save.PutEmbedding(graph, embedding, options.bytes_per_file).While(what));
    if (names.emplace(manifest.embeddings.back().values.rows, embedding.spec.id.name).second) continue;
    return InvalidArgument(what + ": it is named twice");
  }
  return save.Commit(manifest).While("saving tensors in " + uri);
}

Result<LoadedTensors> LoadTensors(const DistGraph& graph, const std::string& uri, const LoadOptions& options) {
  ASSIGN_OR_RETURN(const storage::StoreLocation at, storage::OpenStore(uri, options.stores));
  ASSIGN_OR_RETURN(format::SavedTensorsManifest manifest,
                   format::ReadSavedTensors(*at.store, at.prefix).While("loading tensors of " + uri));
  LoadedTensors loaded{.tensors = {}, .notes = std::move(manifest.notes)};
  for (const format::SavedTensorEntry& saved : manifest.tensors) {
    ASSIGN_OR_RETURN(DistTensor tensor, LoadTensor(graph, at, saved).While("loading tensors of " + uri));
    loaded.tensors.push_back(std::move(tensor));
  }
  if (options.lifetime == Lifetime::kPersistent) {
    for (DistTensor& tensor : loaded.tensors) tensor.Keep();
  }
  return loaded;
}

Result<std::vector<std::string>> ListSavedTensors(const std::string& uri, const storage::StoreSettings& stores) {
  ASSIGN_OR_RETURN(const storage::StoreLocation at, storage::OpenStore(uri, stores));
  return format::ListSavedTensors(*at.store, at.prefix).While("listing saved tensors of " + uri);
}

Status RemoveSavedTensors(const std::string& uri, const storage::StoreSettings& stores) {
  ASSIGN_OR_RETURN(const storage::StoreLocation at, storage::OpenStore(uri, stores));
  return format::RemoveSavedTensors(*at.store, at.prefix).While("removing saved tensors of " + uri);
}

}  // namespace espalier::client
