// Exchange: for each endpoint of every edge of its share, a process sends the pair (position of the endpoint in the
// stream order, the other endpoint) to the process whose range contains the position. The receiver builds a CSR of
// neighbors by position. The number of repetitions of a neighbor is its weight. If all pairs of adjacent vertices have
// the same number of edges between them (multiplicity), all processes drop repetitions, as the algorithm Streaming does
// in one process, so that scores are bitwise equal to those of one process. Turns: every process keeps the whole state
// (Restream). In turn `rank`, the process with this rank assigns the vertices of its range and writes their partition
// numbers as a bundle; the other processes read the bundle and apply it.
#include "services/partitioner/group/turn_cut.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <utility>

#include "services/base/parallel.h"
#include "services/base/parse_number.h"
#include "services/format/files/file_entry_json.h"
#include "services/format/files/json_fields.h"
#include "services/format/files/strict_json.h"
#include "services/graph/id_values.h"
#include "services/partition/input_checks.h"
#include "services/partition/restream.h"
#include "services/partition/undirected_graph.h"

namespace espalier::partitioner {
namespace {

constexpr int kFilesDepth = 8;  // limit of the nesting of JSON
// Special values of the multiplicity of parallel edges: no edges so far, and several multiplicities.
constexpr uint32_t kNoEdges = 0;
constexpr uint32_t kDiffers = ~uint32_t{0};
constexpr uint16_t kNoProcess = 0xFFFF;  // for self loops

std::string FilesToJson(const std::vector<format::FileEntry>& files) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const format::FileEntry& file : files) list.push_back(format::FileEntryToJson(file));
  nlohmann::ordered_json document;
  document["files"] = std::move(list);
  return document.dump();
}

Result<std::vector<format::FileEntry>> ParseFiles(const std::string& text, size_t expected) {
  const auto parse = [&]() -> Result<std::vector<format::FileEntry>> {
    ASSIGN_OR_RETURN(const nlohmann::json document, format::ParseStrictJson(text, kFilesDepth));
    ASSIGN_OR_RETURN(const format::JsonFields fields, format::JsonFields::Of(document, ""));
    std::vector<format::FileEntry> files;
    RETURN_IF_ERROR(fields.ForEach("files", [&](const nlohmann::json& element, const std::string& path) -> Status {
      ASSIGN_OR_RETURN(const format::JsonFields file, format::JsonFields::Of(element, path));
      ASSIGN_OR_RETURN(format::FileEntry entry, format::FileEntryFromJson(file));
      files.push_back(std::move(entry));
      return {};
    }));
    if (files.size() != expected)
      return fields.InvalidField("files", "expected " + std::to_string(expected) + " files");
    return files;
  };
  Result<std::vector<format::FileEntry>> files = parse();
  if (!files.ok()) return DataLoss("a process's description of its files: " + files.status().message());
  return files;
}

// Returns the common multiplicity of edges with multiplicity `a` and edges with multiplicity `b`, or kDiffers.
uint32_t Combine(uint32_t a, uint32_t b) {
  if (a == kNoEdges || a == b) return b;
  return b == kNoEdges ? a : kDiffers;
}

// The neighbors of the vertices in one range of the stream order, as CSR by position in the range.
struct Neighbors {
  std::vector<uint64_t> offsets;    // [positions + 1]
  std::vector<uint32_t> neighbors;  // with repetitions; ascending for each vertex after SortEach

  std::span<const uint32_t> Of(uint64_t index) const {
    return std::span(neighbors).subspan(offsets[index], offsets[index + 1] - offsets[index]);
  }

  void SortEach() {
    for (size_t i = 0; i + 1 < offsets.size(); ++i) {
      std::sort(neighbors.begin() + static_cast<int64_t>(offsets[i]),
                neighbors.begin() + static_cast<int64_t>(offsets[i + 1]));
    }
  }

  // Returns how often each neighbor of a vertex occurs: kDiffers if the numbers differ, kNoEdges if there are none.
  uint32_t FindMultiplicity() const {
    uint32_t common = kNoEdges;
    for (size_t i = 0; i + 1 < offsets.size(); ++i) {
      const std::span<const uint32_t> row = Of(i);
      for (size_t k = 0; k < row.size() && common != kDiffers;) {
        size_t end = k;
        while (end < row.size() && row[end] == row[k]) ++end;
        common = Combine(common, static_cast<uint32_t>(end - k));
        k = end;
      }
    }
    return common;
  }

  // Keeps one copy of each neighbor of each vertex.
  void DropRepetitions() {
    uint64_t kept = 0, begin = 0;
    for (size_t i = 0; i + 1 < offsets.size(); ++i) {
      const uint64_t end = offsets[i + 1];
      for (uint64_t k = begin; k < end; ++k) {
        if (k == begin || neighbors[k] != neighbors[k - 1]) scratch_.push_back(neighbors[k]);
      }
      std::copy(scratch_.begin(), scratch_.end(), neighbors.begin() + static_cast<int64_t>(kept));
      kept += scratch_.size();
      scratch_.clear();
      offsets[i + 1] = kept;
      begin = end;
    }
    neighbors.resize(kept);
  }

 private:
  std::vector<uint32_t> scratch_;
};

// The edges of one type in a share, grouped by the process whose range contains the edge's source. A second object
// groups them by destination in the same way.
struct EdgesByProcess {
  std::vector<uint64_t> first;  // [processes + 1]
  std::vector<uint32_t> edges;  // indices into the share, without self loops

  std::span<const uint32_t> Of(uint32_t process) const {
    return std::span(edges).subspan(first[process], first[process + 1] - first[process]);
  }
};

class TurnCut {
 public:
  TurnCut(ProcessGroup& group, const BundlePlace& place, const graph::SourceGraph& source,
          const std::vector<EdgeShare>& shares, const partition::PartitionOptions& options)
      : group_(group),
        place_(place),
        source_(source),
        shares_(shares),
        options_(options),
        vertex_first_(partition::VertexFirst(source)),
        order_(partition::StreamOrder(options.seed, vertex_first_.back())) {}

  Result<partition::Assignment> Run() {
    ASSIGN_OR_RETURN(const partition::VertexWeights weights, partition::MakeVertexWeights(source_, options_));
    RETURN_IF_ERROR(SendNeighbors());
    ASSIGN_OR_RETURN(Neighbors mine, ReceiveNeighbors());
    ASSIGN_OR_RETURN(const uint32_t multiplicity, AgreeOnMultiplicity(mine));
    // A single process drops repetitions if all multiplicities are equal. Doing the same here keeps scores bitwise
    // equal.
    if (multiplicity != kDiffers && multiplicity != kNoEdges) mine.DropRepetitions();
    partition::Restream stream(weights, vertex_first_.back(), options_.num_partitions);
    for (int pass = 0; pass < partition::kRestreamPasses; ++pass) {
      stream.StartPass();
      for (uint32_t rank = 0; rank < group_.size(); ++rank) RETURN_IF_ERROR(RunTurn(pass, rank, mine, &stream));
    }
    return partition::SplitByType(vertex_first_, std::move(stream).TakeResult());
  }

 private:
  partition::DirectoryRange PositionsFor(uint32_t rank) const {
    return partition::DirectoryRangeFor(vertex_first_.back(), group_.size(), PartitionId(rank));
  }

  // The edges of one type in this process's share: one endpoint of each edge as the vertex, the other as its neighbor.
  struct Endpoints {
    const Tensor& vertices;
    const Tensor& neighbors;  // has the same dtype
    uint64_t first_vertex = 0, first_neighbor = 0;
  };
  // Returns two Endpoints per edge type, because each endpoint of an edge is a neighbor of the other endpoint.
  std::vector<Endpoints> ListEndpoints() const {
    std::vector<Endpoints> endpoints;
    for (uint16_t type = 0; type < shares_.size(); ++type) {
      const graph::EdgeSet& edges = shares_[type].edges;
      const uint64_t first_source = vertex_first_[source_.schema.SourceOf(EdgeTypeId(type)).value];
      const uint64_t first_destination = vertex_first_[source_.schema.DestinationOf(EdgeTypeId(type)).value];
      endpoints.push_back({edges.sources, edges.destinations, first_source, first_destination});
      endpoints.push_back({edges.destinations, edges.sources, first_destination, first_source});
    }
    return endpoints;
  }

  // Calls body(endpoints_at), where endpoints_at(edge) returns {vertex, neighbor}.
  template <class Body>
  static void VisitEndpoints(const Endpoints& endpoints, const Body& body) {
    graph::VisitIds(endpoints.vertices, [&](auto vertices) {
      const auto neighbors = endpoints.neighbors.values<typename decltype(vertices)::value_type>();
      body([&](uint64_t edge) {
        return std::pair(endpoints.first_vertex + static_cast<uint64_t>(vertices[edge]),
                         endpoints.first_neighbor + static_cast<uint64_t>(neighbors[edge]));
      });
    });
  }

  Result<EdgesByProcess> SortByProcess(const Endpoints& endpoints) const {
    const auto num_edges = static_cast<uint64_t>(endpoints.vertices.num_rows());
    if (num_edges >= uint64_t{1} << 32) {
      return InvalidArgument("each process would read 2^32 or more edges of one type: use more processes");
    }
    std::vector<uint64_t> range_ends;  // the end of the range of positions of each process
    for (uint32_t rank = 0; rank < group_.size(); ++rank) range_ends.push_back(PositionsFor(rank).last);
    // Computing a position is expensive, so each edge's process is stored. A rank fits in 16 bits, because a
    // group has at most 4096 processes.
    std::vector<uint16_t> process_of(num_edges, kNoProcess);
    VisitEndpoints(endpoints, [&](const auto& endpoints_at) {
      ParallelFor(options_.threads, static_cast<int64_t>(num_edges), kCheapGrain, [&](int64_t begin, int64_t end) {
        for (auto edge = static_cast<uint64_t>(begin); edge < static_cast<uint64_t>(end); ++edge) {
          const std::pair<uint64_t, uint64_t> pair = endpoints_at(edge);
          if (pair.first == pair.second) continue;
          const auto process = std::upper_bound(range_ends.begin(), range_ends.end(), order_.Position(pair.first));
          process_of[edge] = static_cast<uint16_t>(process - range_ends.begin());
        }
      });
    });
    EdgesByProcess sorted{.first = std::vector<uint64_t>(group_.size() + 1, 0), .edges = {}};
    for (const uint16_t process : process_of) {
      if (process != kNoProcess) ++sorted.first[process + 1];
    }
    for (size_t i = 1; i < sorted.first.size(); ++i) sorted.first[i] += sorted.first[i - 1];
    sorted.edges.resize(sorted.first.back());
    std::vector<uint64_t> next(sorted.first.begin(), sorted.first.end() - 1);
    for (uint64_t edge = 0; edge < num_edges; ++edge) {
      if (process_of[edge] != kNoProcess) sorted.edges[next[process_of[edge]]++] = static_cast<uint32_t>(edge);
    }
    return sorted;
  }

  // Writes one bundle for each process, unless this rank did so before a restart. The arrays "positions" and
  // "neighbors" contain, for each endpoint that lies in that process's range, its position relative to the start of the
  // range, and the edge's other endpoint. Memory: one bundle at a time, and the bytes per edge that turn_cut.h names.
  Status SendNeighbors() {
    ASSIGN_OR_RETURN(const bool sent, group_.HasPublished("neighbors"));
    if (sent) return {};
    const std::vector<Endpoints> all_endpoints = ListEndpoints();
    std::vector<EdgesByProcess> sorted;
    for (const Endpoints& endpoints : all_endpoints) {
      ASSIGN_OR_RETURN(EdgesByProcess edges, SortByProcess(endpoints));
      sorted.push_back(std::move(edges));
    }
    std::vector<format::FileEntry> files;
    for (uint32_t to = 0; to < group_.size(); ++to) {
      const std::string name = "neighbors-" + std::to_string(group_.rank()) + "-to-" + std::to_string(to);
      ASSIGN_OR_RETURN(format::FileEntry entry,
                       WriteBundle(place_, name, MakeNeighborBundle(to, all_endpoints, sorted)));
      files.push_back(std::move(entry));
    }
    return group_.Publish("neighbors", FilesToJson(files));
  }

  TensorBundle MakeNeighborBundle(uint32_t to, const std::vector<Endpoints>& all_endpoints,
                                  const std::vector<EdgesByProcess>& sorted) const {
    const uint64_t first_position = PositionsFor(to).first;
    uint64_t count = 0;
    for (const EdgesByProcess& edges : sorted) count += edges.Of(to).size();
    TensorBundle bundle;
    Tensor& positions = bundle["positions"] = Tensor::Zeros(DType::kU32, {static_cast<int64_t>(count)});
    Tensor& neighbors = bundle["neighbors"] = Tensor::Zeros(DType::kU32, {static_cast<int64_t>(count)});
    std::span<uint32_t> to_positions = positions.mutable_values<uint32_t>();
    std::span<uint32_t> to_neighbors = neighbors.mutable_values<uint32_t>();
    for (size_t i = 0; i < sorted.size(); ++i) {
      const std::span<const uint32_t> edges = sorted[i].Of(to);
      VisitEndpoints(all_endpoints[i], [&](const auto& endpoints_at) {
        ParallelFor(options_.threads, static_cast<int64_t>(edges.size()), kCheapGrain, [&](int64_t begin, int64_t end) {
          for (auto k = static_cast<size_t>(begin); k < static_cast<size_t>(end); ++k) {
            const std::pair<uint64_t, uint64_t> pair = endpoints_at(edges[k]);
            to_positions[k] = static_cast<uint32_t>(order_.Position(pair.first) - first_position);
            to_neighbors[k] = static_cast<uint32_t>(pair.second);
          }
        });
      });
      to_positions = to_positions.subspan(edges.size());
      to_neighbors = to_neighbors.subspan(edges.size());
    }
    return bundle;
  }

  // Calls body(positions, neighbors) for the bundle that each process has sent to this one, in the order of ranks.
  template <class Body>
  Status ForReceivedBundles(const Body& body) {
    const partition::DirectoryRange range = PositionsFor(group_.rank());
    for (uint32_t from = 0; from < group_.size(); ++from) {
      ASSIGN_OR_RETURN(const std::string text, group_.Await(from, "neighbors"));
      ASSIGN_OR_RETURN(const std::vector<format::FileEntry> files, ParseFiles(text, group_.size()));
      const format::FileEntry& entry = files[group_.rank()];
      ASSIGN_OR_RETURN(const TensorBundle bundle, ReadBundle(place_, entry));
      const auto found = bundle.find("positions");
      if (found == bundle.end()) return DataLoss(entry.key + " has no tensor 'positions'");
      const std::vector<int64_t> shape = {found->second.num_rows()};
      ASSIGN_OR_RETURN(const Tensor positions, TakeTensor(bundle, entry, "positions", DType::kU32, shape));
      ASSIGN_OR_RETURN(const Tensor neighbors, TakeTensor(bundle, entry, "neighbors", DType::kU32, shape));
      for (const uint32_t position : positions.values<uint32_t>()) {
        if (position >= range.last - range.first)
          return DataLoss(entry.key + ": position " + std::to_string(position) +
                          " is outside of the range of process " + std::to_string(group_.rank()));
      }
      for (const uint32_t neighbor : neighbors.values<uint32_t>()) {
        if (neighbor >= vertex_first_.back())
          return DataLoss(entry.key + ": neighbor " + std::to_string(neighbor) +
                          " does not exist, expected a number below " + std::to_string(vertex_first_.back()));
      }
      body(positions.values<uint32_t>(), neighbors.values<uint32_t>());
    }
    return {};
  }

  Result<Neighbors> ReceiveNeighbors() {
    const partition::DirectoryRange range = PositionsFor(group_.rank());
    Neighbors mine;
    mine.offsets.assign(range.last - range.first + 1, 0);
    RETURN_IF_ERROR(ForReceivedBundles([&](std::span<const uint32_t> positions, std::span<const uint32_t>) {
      for (const uint32_t position : positions) ++mine.offsets[position + 1];
    }));
    for (size_t i = 1; i < mine.offsets.size(); ++i) mine.offsets[i] += mine.offsets[i - 1];
    mine.neighbors.resize(mine.offsets.back());
    std::vector<uint64_t> next(mine.offsets.begin(), mine.offsets.end() - 1);
    RETURN_IF_ERROR(ForReceivedBundles([&](std::span<const uint32_t> positions, std::span<const uint32_t> neighbors) {
      for (size_t i = 0; i < positions.size(); ++i) mine.neighbors[next[positions[i]]++] = neighbors[i];
    }));
    mine.SortEach();
    return mine;
  }

  Result<uint32_t> AgreeOnMultiplicity(const Neighbors& mine) {
    RETURN_IF_ERROR(group_.Publish("multiplicity", std::to_string(mine.FindMultiplicity())));
    uint32_t common = kNoEdges;
    for (uint32_t rank = 0; rank < group_.size(); ++rank) {
      ASSIGN_OR_RETURN(const std::string text, group_.Await(rank, "multiplicity"));
      const std::optional<uint32_t> multiplicity = ParseNumber<uint32_t>(text);
      if (!multiplicity) {
        return DataLoss("process " + std::to_string(rank) + " published the multiplicity '" + text.substr(0, 40) +
                        "', expected a number");
      }
      common = Combine(common, *multiplicity);
    }
    return common;
  }

  // Assigns partitions to the vertices in the range of process `rank`. If `rank` is this process's rank, computes and
  // publishes the partitions, unless it published those of this pass before a restart. Otherwise waits for the
  // published partitions and applies them.
  Status RunTurn(int pass, uint32_t rank, const Neighbors& mine, partition::Restream* stream) {
    const partition::DirectoryRange range = PositionsFor(rank);
    const std::string what = "placed-" + std::to_string(pass);
    if (rank == group_.rank()) {
      ASSIGN_OR_RETURN(const bool placed, group_.HasPublished(what));
      if (!placed) return PlaceOwnRange(what, range, mine, stream);
    }
    ASSIGN_OR_RETURN(const std::string text, group_.Await(rank, what));
    ASSIGN_OR_RETURN(const std::vector<format::FileEntry> files, ParseFiles(text, 1));
    ASSIGN_OR_RETURN(const TensorBundle bundle, ReadBundle(place_, files[0]));
    ASSIGN_OR_RETURN(const Tensor partitions, TakeTensor(bundle, files[0], "partitions", DType::kU32,
                                                         {static_cast<int64_t>(range.last - range.first)}));
    const std::span<const uint32_t> partition_at = partitions.values<uint32_t>();
    for (uint64_t i = 0; i < partition_at.size(); ++i) {
      if (partition_at[i] >= options_.num_partitions)
        return DataLoss(files[0].key + ": partition " + std::to_string(partition_at[i]) +
                        " does not exist, expected a number below " + std::to_string(options_.num_partitions));
      stream->Assign(order_.At(range.first + i), partition_at[i]);
    }
    return {};
  }

  Status PlaceOwnRange(const std::string& what, const partition::DirectoryRange& range, const Neighbors& mine,
                       partition::Restream* stream) {
    std::vector<uint32_t> partitions;
    partitions.reserve(range.last - range.first);
    for (uint64_t position = range.first; position < range.last; ++position) {
      const uint64_t vertex = order_.At(position);
      stream->Place(vertex, mine.Of(position - range.first));
      partitions.push_back(stream->PartitionFor(vertex));
    }
    TensorBundle bundle;
    bundle["partitions"] = Tensor::FromVector(std::move(partitions));
    ASSIGN_OR_RETURN(format::FileEntry entry,
                     WriteBundle(place_, what + "-by-" + std::to_string(group_.rank()), std::move(bundle)));
    return group_.Publish(what, FilesToJson({std::move(entry)}));
  }

  ProcessGroup& group_;                         // outlives this
  const BundlePlace& place_;                    // outlives this
  const graph::SourceGraph& source_;            // outlives this
  const std::vector<EdgeShare>& shares_;        // outlives this
  const partition::PartitionOptions& options_;  // outlives this
  const std::vector<uint64_t> vertex_first_;
  const Permutation order_;
};

}  // namespace

Result<partition::Assignment> CutInTurns(ProcessGroup& group, const BundlePlace& place, const graph::SourceGraph& graph,
                                         const std::vector<EdgeShare>& shares,
                                         const partition::PartitionOptions& options) {
  const std::vector<uint64_t> vertex_first = partition::VertexFirst(graph);
  RETURN_IF_ERROR(partition::CheckNumPartitions(graph, options.num_partitions));
  RETURN_IF_ERROR(partition::CheckNumVertices(vertex_first.back()));
  if (options.num_partitions == 1) {
    return partition::SplitByType(vertex_first, std::vector<uint32_t>(vertex_first.back(), 0));
  }
  return TurnCut(group, place, graph, shares, options).Run();
}

}  // namespace espalier::partitioner
