#include "services/client/saved_tensors.h"

#include <algorithm>
#include <cstdio>
#include <set>
#include <utility>

#include "services/base/unique_number.h"
#include "services/client/row_order.h"
#include "services/format/saved_tensors.h"
#include "services/storage/object_key.h"
#include "services/storage/open_store.h"

namespace espalier::client {
namespace {

// However narrow rows are.
constexpr uint64_t kMostRowsPerFile = uint64_t{1} << 22;

std::string FiveDigits(size_t number) {
  char text[32];
  std::snprintf(text, sizeof(text), "%05zu", number);
  return text;
}

uint64_t RowsPerFile(const format::SavedTensorEntry& tensor, size_t bytes_per_file) {
  const uint64_t row_bytes = std::max<uint64_t>(1, sampler::RowBytes(tensor.dtype, tensor.row_shape));
  return std::clamp<uint64_t>(bytes_per_file / row_bytes, 1, kMostRowsPerFile);
}

// What one save puts into its folder, under a name that no other save has: of two into one folder, one commits, and
// neither has written over the other's files.
class Save {
 public:
  explicit Save(storage::StoreLocation at) : at_(std::move(at)), folder_(format::SaveFolderName(UniqueNumber())) {}
  // Files that nothing names are in nobody's way, so that errors of removing them are nobody's either.
  ~Save() {
    if (may_remove_) static_cast<void>(at_.store->DeleteMany(keys_));
  }
  Save(const Save&) = delete;
  Save& operator=(const Save&) = delete;

  Result<format::SavedTensorEntry> Put(const DistGraph& graph, const TensorName& named, size_t bytes_per_file) {
    ASSIGN_OR_RETURN(const DistTensor tensor, DistTensor::Open(graph, named.rows, named.name));
    const std::vector<int64_t> shape = tensor.shape();
    format::SavedTensorEntry entry{.rows = sampler::RowsName(tensor.rows(), graph.book()),
                                   .name = named.name,
                                   .dtype = tensor.dtype(),
                                   .row_shape = {shape.begin() + 1, shape.end()},
                                   .num_rows = tensor.num_rows()};
    const std::string folder = folder_ + "/" + FiveDigits(num_tensors_++) + "-" + named.name;
    RowOrder order(graph, tensor.rows());
    uint64_t num_rows = 0;
    while (num_rows < entry.num_rows) {
      ASSIGN_OR_RETURN(const std::vector<GlobalRowId> rows, order.Next(RowsPerFile(entry, bytes_per_file)));
      if (rows.empty()) break;
      ASSIGN_OR_RETURN(const Tensor values, RestartWhereLost(tensor.ReadRows(rows)));
      const std::string key = folder + "/" + FiveDigits(entry.files.size()) + ".safetensors";
      keys_.push_back(storage::JoinKey(at_.prefix, key));  // before it is there: an error need not mean that it is not
      ASSIGN_OR_RETURN(entry.files.emplace_back(), format::PutSavedRows(*at_.store, at_.prefix, key, values));
      num_rows += rows.size();
    }
    if (num_rows != entry.num_rows) {
      return Internal("the order of rows has " + std::to_string(num_rows) + " of the " +
                      std::to_string(entry.num_rows) + " rows of '" + named.name + "'");
    }
    if (tensor.rows().of == sampler::RowsOf::kEdges) entry.ends = order.ends();
    return entry;
  }

  Status Commit(const format::SavedTensorsManifest& manifest) {
    const Status committed = format::CommitSavedTensors(*at_.store, at_.prefix, manifest);
    // Somebody else's manifest is there, or none was asked to be; whatever else went wrong, ours may be there.
    const bool surely_not =
        committed.code() == StatusCode::kAlreadyExists || committed.code() == StatusCode::kInvalidArgument;
    may_remove_ = surely_not;
    return committed;
  }

 private:
  const storage::StoreLocation at_;
  const std::string folder_;
  size_t num_tensors_ = 0;
  std::vector<std::string> keys_;
  bool may_remove_ = true;
};

// Of a name like "nodes/paper" in this graph.
Result<RowSpace> RowSpaceOf(const format::SavedTensorEntry& tensor, const graph::GraphSchema& schema) {
  const size_t slash = tensor.rows.find('/');
  const std::string of = tensor.rows.substr(0, slash);
  if (of == "own" && slash == std::string::npos) return RowSpace::Own(tensor.num_rows);
  if ((of != "nodes" && of != "edges") || slash == std::string::npos) {
    return InvalidArgument("'" + tensor.name + "' is of rows '" + tensor.rows + "', which there are not");
  }
  const std::string type = tensor.rows.substr(slash + 1);
  if (of == "nodes") {
    const Result<NodeTypeId> found = schema.FindNodeType(type);
    if (!found.ok()) return FailedPrecondition("'" + tensor.name + "': " + found.status().message());
    return RowSpace::Nodes(*found);
  }
  const Result<EdgeTypeId> found = schema.FindEdgeType(type);
  if (!found.ok()) return FailedPrecondition("'" + tensor.name + "': " + found.status().message());
  return RowSpace::Edges(*found);
}

Status DifferentGraph(const format::SavedTensorEntry& tensor, const std::string& how) {
  return FailedPrecondition("tensor '" + tensor.name + "' of " + tensor.rows + " was saved for another graph: " + how);
}

// A scoped tensor: where loading fails, its rows go.
Result<DistTensor> Load(const DistGraph& graph, const storage::StoreLocation& at,
                        const format::SavedTensorEntry& saved) {
  ASSIGN_OR_RETURN(const RowSpace rows_of, RowSpaceOf(saved, graph.schema()));
  RETURN_IF_ERROR(sampler::CheckRowSpace(rows_of, graph.book()));
  const uint64_t num_rows = graph.partitions().tensors().NumRows(rows_of);
  if (num_rows != saved.num_rows) {
    return DifferentGraph(saved,
                          "it has " + std::to_string(saved.num_rows) + " rows, this one " + std::to_string(num_rows));
  }
  ASSIGN_OR_RETURN(DistTensor tensor, DistTensor::Create(graph, {.rows = rows_of,
                                                                 .row_shape = saved.row_shape,
                                                                 .dtype = saved.dtype,
                                                                 .name = saved.name,
                                                                 .lifetime = Lifetime::kScoped}));
  if (!tensor.made_by_this()) {
    return AlreadyExists("there is a tensor '" + saved.name + "' of " + saved.rows +
                         ": drop it, and what was saved can take its place");
  }
  RowOrder order(graph, rows_of);
  uint64_t written = 0;
  for (const format::FileEntry& file : saved.files) {
    ASSIGN_OR_RETURN(const Tensor values, format::ReadSavedRows(*at.store, at.prefix, file, saved));
    ASSIGN_OR_RETURN(const std::vector<GlobalRowId> rows, order.Next(static_cast<uint64_t>(values.num_rows())));
    if (rows.size() != static_cast<size_t>(values.num_rows())) {
      return DataLoss(file.key + ": its rows are more than the " + std::to_string(num_rows) + " of '" + saved.name +
                      "'");
    }
    RETURN_IF_ERROR(RestartWhereLost(tensor.WriteRows(rows, values)));
    written += rows.size();
  }
  if (written != num_rows) {
    return DataLoss("the files of '" + saved.name + "' have " + std::to_string(written) + " of its " +
                    std::to_string(num_rows) + " rows");
  }
  if (rows_of.of == sampler::RowsOf::kEdges && saved.ends != order.ends()) {
    return DifferentGraph(saved, "its edges are others, or stand in another order");
  }
  return tensor;
}

}  // namespace

Status SaveTensors(const DistGraph& graph, const std::vector<TensorName>& tensors, const std::string& uri,
                   const SaveOptions& options) {
  if (options.bytes_per_file == 0 || options.bytes_per_file > format::kMaxSavedFileBytes / 2) {
    return InvalidArgument("files of " + std::to_string(options.bytes_per_file) + " bytes, expected 1 to " +
                           std::to_string(format::kMaxSavedFileBytes / 2));
  }
  ASSIGN_OR_RETURN(storage::StoreLocation at, storage::OpenStore(uri, options.stores));
  RETURN_IF_ERROR(format::CheckNothingIsSaved(*at.store, at.prefix));
  format::SavedTensorsManifest manifest{.graph_name = graph.name(), .notes = options.notes};
  std::set<std::pair<std::string, std::string>> names;
  Save save(std::move(at));
  for (const TensorName& named : tensors) {
    const std::string what = "saving tensor '" + named.name + "'";
    ASSIGN_OR_RETURN(manifest.tensors.emplace_back(), save.Put(graph, named, options.bytes_per_file).While(what));
    if (names.emplace(manifest.tensors.back().rows, named.name).second) continue;
    return InvalidArgument(what + ": it is named twice");
  }
  return save.Commit(manifest).While("saving tensors in " + uri);
}

Result<LoadedTensors> LoadTensors(const DistGraph& graph, const std::string& uri, const LoadOptions& options) {
  ASSIGN_OR_RETURN(const storage::StoreLocation at, storage::OpenStore(uri, options.stores));
  ASSIGN_OR_RETURN(format::SavedTensorsManifest manifest,
                   format::ReadSavedTensors(*at.store, at.prefix).While("loading tensors of " + uri));
  LoadedTensors loaded{.tensors = {}, .notes = std::move(manifest.notes)};
  for (const format::SavedTensorEntry& tensor : manifest.tensors) {
    ASSIGN_OR_RETURN(DistTensor made, Load(graph, at, tensor).While("loading tensors of " + uri));
    loaded.tensors.push_back(std::move(made));
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
