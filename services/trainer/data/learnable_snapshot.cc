// Learnable rows and their state in checkpoints and as a digest: in the order of original ids, so that any partitioning
// takes them, and ends with the same.
#include <algorithm>

#include "services/base/sha256.h"
#include "services/collective/agreement.h"
#include "services/trainer/data/learnable_rows.h"
#include "services/trainer/data/node_data.h"
#include "services/trainer/model/parameters.h"

namespace espalier::trainer {
namespace {

// Rows and state that are copied between two meetings of the ranks.
constexpr int64_t kChunkBytes = int64_t{16} << 20;

std::string ValuesName(const std::string& type) { return "rows." + type; }
std::string StateName(const std::string& type) { return "state." + type; }

torch::ScalarType TorchTypeOf(DType dtype) { return ToTorch(Tensor::Zeros(dtype, {0})).scalar_type(); }

const torch::Tensor* FindNamed(const NamedTensors& tensors, const std::string& name) {
  for (const auto& [known, tensor] : tensors) {
    if (known == name) return &tensor;
  }
  return nullptr;
}

// A chunk of a type's nodes, and where their rows stand: i64 [rows] original ids.
struct ChunkOfNodes {
  std::vector<GlobalNodeId> nodes;
  std::vector<GlobalRowId> rows;
  torch::Tensor original_ids;
};

Result<ChunkOfNodes> ChunkAt(const NodeData& data, NodeTypeId type, int64_t first, int64_t count, int64_t num_nodes,
                             Deadline deadline) {
  ChunkOfNodes chunk;
  for (int64_t node = first; node < first + count; ++node) {
    chunk.nodes.emplace_back(static_cast<uint64_t>(node));
    chunk.rows.emplace_back(static_cast<uint64_t>(node));
  }
  ASSIGN_OR_RETURN(chunk.original_ids, data.OriginalIds(type, chunk.nodes, deadline));
  if (chunk.original_ids.min().item<int64_t>() < 0 || chunk.original_ids.max().item<int64_t>() >= num_nodes) {
    return Internal("original ids outside of 0 to " + std::to_string(num_nodes - 1));
  }
  return chunk;
}

}  // namespace

int64_t LearnableRows::RowsPerChunk(const Table& table) {
  const size_t row_bytes =
      table.spec.width * SizeOf(table.spec.dtype) + sampler::StateRowWidth(table.spec) * sizeof(float);
  return std::max<int64_t>(1, kChunkBytes / static_cast<int64_t>(row_bytes));
}

Status LearnableRows::ForChunks(const Table& table, collective::Collective& collective,
                                const std::function<Status()>& before,
                                const std::function<Status(int64_t first)>& on_chunk) const {
  const auto num_nodes = static_cast<int64_t>(book_.num_nodes(table.type));
  int64_t first = -1;  // of the next chunk
  const auto step = [&]() -> Result<bool> {
    try {
      if (first < 0) {
        RETURN_IF_ERROR(before());
        first = 0;
      } else {
        RETURN_IF_ERROR(RestartWhereLost(on_chunk(first)));
        first += RowsPerChunk(table);
        if (on_progress_) on_progress_();
      }
    } catch (const std::exception& error) {  // torch, out of memory
      return ResourceExhausted(error.what());
    }
    return first < num_nodes;
  };
  return collective::WorkInSteps(Rank(0), step, collective, timeouts_.collective);
}

Result<LearnableRows::TableCopy> LearnableRows::MakeRoom(const Table& table) const {
  const auto num_nodes = static_cast<int64_t>(book_.num_nodes(table.type));
  const auto state_width = static_cast<int64_t>(sampler::StateRowWidth(table.spec));
  return TableCopy{torch::empty({num_nodes, int64_t{table.spec.width}}, TorchTypeOf(table.spec.dtype)),
                   torch::empty({num_nodes, state_width}, torch::kFloat)};
}

Status LearnableRows::CopyChunk(const Table& table, const NodeData& data, int64_t first, TableCopy* copy) const {
  const Deadline deadline = timeouts_.ForData();
  const auto num_nodes = static_cast<int64_t>(book_.num_nodes(table.type));
  const int64_t count = std::min(RowsPerChunk(table), num_nodes - first);
  ASSIGN_OR_RETURN(const ChunkOfNodes chunk, ChunkAt(data, table.type, first, count, num_nodes, deadline));
  // Rows first: their version is waited for, and this trainer keeps the next step from being taken.
  ASSIGN_OR_RETURN(const Tensor rows, store_.ReadEmbedding(table.spec, version_, chunk.rows, deadline));
  ASSIGN_OR_RETURN(const Tensor state_rows, store_.ReadState(table.spec, chunk.rows, deadline));
  copy->values.index_copy_(0, chunk.original_ids, ToTorch(rows));
  if (copy->state.size(1) > 0) copy->state.index_copy_(0, chunk.original_ids, ToTorch(state_rows));
  return Status();
}

Result<NamedTensors> LearnableRows::Snapshot(const NodeData& data, collective::Collective& collective) const {
  NamedTensors snapshot;
  for (const Table& table : tables_) {
    TableCopy copy;
    const auto make_room = [&]() -> Status {
      ASSIGN_OR_RETURN(copy, MakeRoom(table));
      return Status();
    };
    RETURN_IF_ERROR(ForChunks(table, collective, make_room, [&](int64_t first) {
                      return CopyChunk(table, data, first, &copy);
                    }).While("copying learnable rows of '" + table.type_name + "'"));
    if (rank_ != Rank(0)) continue;
    const bool has_state = copy.state.size(1) > 0;
    snapshot.emplace_back(ValuesName(table.type_name), std::move(copy.values));
    if (has_state) snapshot.emplace_back(StateName(table.type_name), std::move(copy.state));
  }
  return snapshot;
}

Result<std::string> LearnableRows::DigestOfChunk(const Table& table, int64_t first, sampler::SeedSource& seeds) const {
  const Deadline deadline = timeouts_.ForData();
  const auto num_nodes = static_cast<int64_t>(book_.num_nodes(table.type));
  std::vector<OriginalNodeId> originals;
  for (int64_t id = first; id < std::min(num_nodes, first + RowsPerChunk(table)); ++id) {
    originals.emplace_back(static_cast<uint64_t>(id));
  }
  ASSIGN_OR_RETURN(const std::vector<GlobalNodeId> nodes, seeds.LookUp(table.type, originals, deadline));
  std::vector<GlobalRowId> rows;
  for (const GlobalNodeId node : nodes) rows.emplace_back(node.value);
  ASSIGN_OR_RETURN(const Tensor values, store_.ReadEmbedding(table.spec, version_, rows, deadline));
  ASSIGN_OR_RETURN(const Tensor state, store_.ReadState(table.spec, rows, deadline));
  Sha256 digest;
  digest.Update(values.byte_span());
  digest.Update(state.byte_span());
  return digest.HexDigest();
}

Result<std::string> LearnableRows::Digest(sampler::SeedSource& seeds, collective::Collective& collective) const {
  constexpr size_t kDigits = 64;
  Sha256 whole;
  for (const Table& table : tables_) {
    const auto num_nodes = static_cast<int64_t>(book_.num_nodes(table.type));
    const int64_t num_chunks = (num_nodes + RowsPerChunk(table) - 1) / RowsPerChunk(table);
    if (num_chunks == 0) continue;
    const auto num_ranks = static_cast<int64_t>(collective.size());
    std::string mine;  // chunk c is rank c mod T's
    Status status;
    for (int64_t chunk = rank_.value; chunk < num_chunks && status.ok(); chunk += num_ranks) {
      Result<std::string> digest = DigestOfChunk(table, chunk * RowsPerChunk(table), seeds);
      status = RestartWhereLost(digest.status());
      if (digest.ok()) mine += *digest;
    }
    RETURN_IF_ERROR(
        collective::AgreeOn(status, collective, timeouts_.ForCollective()).While("digesting learnable rows"));
    const auto chunks_each = static_cast<size_t>((num_chunks + num_ranks - 1) / num_ranks);
    mine.resize(chunks_each * kDigits, ' ');
    ASSIGN_OR_RETURN(const std::vector<std::byte> all,
                     collective.AllGather(std::as_bytes(std::span<const char>(mine)), timeouts_.ForCollective()));
    whole.Update(std::to_string(table.type_name.size()) + ":" + table.type_name + " " + std::to_string(num_nodes) +
                 "\n");
    for (int64_t chunk = 0; chunk < num_chunks; ++chunk) {
      const auto place = static_cast<size_t>(chunk % num_ranks) * chunks_each + static_cast<size_t>(chunk / num_ranks);
      whole.Update(std::span(all).subspan(place * kDigits, kDigits));
    }
  }
  return whole.HexDigest();
}

Result<LearnableRows::TableCopy> LearnableRows::FindIn(const NamedTensors& snapshot, const Table& table) const {
  const auto num_nodes = static_cast<int64_t>(book_.num_nodes(table.type));
  const auto state_width = static_cast<int64_t>(sampler::StateRowWidth(table.spec));
  const auto fits = [&](const torch::Tensor* tensor, int64_t width, torch::ScalarType type) {
    return tensor != nullptr && tensor->scalar_type() == type &&
           tensor->sizes().vec() == std::vector<int64_t>{num_nodes, width};
  };
  const torch::Tensor* const values = FindNamed(snapshot, ValuesName(table.type_name));
  const torch::Tensor* const state = FindNamed(snapshot, StateName(table.type_name));
  if (!fits(values, int64_t{table.spec.width}, TorchTypeOf(table.spec.dtype)) ||
      (state_width > 0 && !fits(state, state_width, torch::kFloat))) {
    return InvalidArgument("the checkpoint has no learnable rows of '" + table.type_name + "' that fit: expected " +
                           NameOf(table.spec.dtype) + " [" + std::to_string(num_nodes) + ", " +
                           std::to_string(table.spec.width) + "] and a state of " + std::to_string(state_width) +
                           " values a row");
  }
  return TableCopy{*values, state_width > 0 ? *state : torch::empty({num_nodes, 0}, torch::kFloat)};
}

Status LearnableRows::RestoreChunk(const Table& table, const NodeData& data, int64_t first,
                                   const TableCopy& copy) const {
  const Deadline deadline = timeouts_.ForData();
  const auto num_nodes = static_cast<int64_t>(book_.num_nodes(table.type));
  const int64_t count = std::min(RowsPerChunk(table), num_nodes - first);
  ASSIGN_OR_RETURN(const ChunkOfNodes chunk, ChunkAt(data, table.type, first, count, num_nodes, deadline));
  const Tensor rows = FromTorch(copy.values.index_select(0, chunk.original_ids));
  const Tensor state_rows = FromTorch(copy.state.index_select(0, chunk.original_ids));
  return store_.Restore(table.spec, chunk.rows, rows, state_rows, deadline);
}

Status LearnableRows::CreateAt(uint64_t version, const NamedTensors& snapshot, const NodeData& data,
                               collective::Collective& collective) {
  version_ = version;
  for (Table& table : tables_) table.spec.first_version = version;
  RETURN_IF_ERROR(Create(collective));
  for (const Table& table : tables_) {
    TableCopy copy;
    const auto find = [&]() -> Status {
      ASSIGN_OR_RETURN(copy, FindIn(snapshot, table));
      return Status();
    };
    RETURN_IF_ERROR(ForChunks(table, collective, find, [&](int64_t first) {
                      return RestoreChunk(table, data, first, copy);
                    }).While("restoring learnable rows"));
  }
  return Status();
}

}  // namespace espalier::trainer
