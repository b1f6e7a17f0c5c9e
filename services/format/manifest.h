// The manifest of a partitioned graph (docs/partition-format.md): what exists, how large, with which checksums.
// Written last: where there is no manifest there is no partitioning.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "services/graph/partition.h"
#include "services/graph/partition_book.h"

namespace espalier::format {

inline constexpr const char* kPartitionFormatName = "espalier.partitioned-graph";
inline constexpr int kPartitionFormatVersion = 1;
inline constexpr uint64_t kChecksumBlockBytes = uint64_t{4} << 20;

// One file of a partitioning, verified block by block: block i covers bytes
// [i * kChecksumBlockBytes, (i + 1) * kChecksumBlockBytes) and has XXH3-64 block_hashes[i].
struct FileEntry {
  std::string key;  // below the partitioning's root
  uint64_t size_bytes = 0;
  std::vector<uint64_t> block_hashes;
  friend bool operator==(const FileEntry&, const FileEntry&) = default;
};

struct ColumnEntry {
  std::string name;
  DType dtype = DType::kF32;
  std::vector<int64_t> row_shape;
  bool lacks_values = false;  // some value of the source is NaN, which only labels may have (graph/label_columns.h)
  // Of an edge column of one number for each edge: why it cannot weigh edges ("row 2 is -2.5"); empty: it can.
  std::string bad_weight = {};
  bool is_all_zero = false;  // of such a column with rows
  // Of a node column: the first value that is no feature, because it is F64 and infinite as F32, and the first that is
  // no time, because it is 2^63 or more ("row 2 is 1e+300"); empty: none.
  std::string bad_feature = {};
  std::string bad_time = {};
  friend bool operator==(const ColumnEntry&, const ColumnEntry&) = default;
};

struct PartitionEntry {
  FileEntry graph;              // structure, original ids, directory, splits
  FileEntry node_columns;       // features and labels
  FileEntry edge_columns;       // edge features; loaded on request
  FileEntry original_edge_ids;  // loaded on request

  std::array<const FileEntry*, 4> files() const { return {&graph, &node_columns, &edge_columns, &original_edge_ids}; }
  uint64_t size_bytes() const;  // of all of them
  friend bool operator==(const PartitionEntry&, const PartitionEntry&) = default;
};

// What the rows of a split hold in a column, read as labels of one kind.
struct LabelFacts {
  std::string wrong = {};  // the first value that is neither a label nor missing ("row 5 is 2.5"); empty: none
  bool has_label = true;   // in the training part, or that part is empty
  friend bool operator==(const LabelFacts&, const LabelFacts&) = default;
};
struct SplitLabels {
  LabelFacts classes;
  LabelFacts flags;    // 0 or 1 for each class
  LabelFacts numbers;  // of regression
  friend bool operator==(const SplitLabels&, const SplitLabels&) = default;
};

struct SplitEntry {
  std::string name;
  uint16_t node_type = 0;
  uint64_t train = 0, validation = 0, test = 0;    // nodes
  std::map<std::string, SplitLabels> labels = {};  // by column, of columns that may be labels
  friend bool operator==(const SplitEntry&, const SplitEntry&) = default;
};

// Pairs of nodes that are measured and are no edges.
struct HeldOut {
  std::optional<uint16_t> reverse;  // edge type that does not have them with their ends swapped either
  friend bool operator==(const HeldOut&, const HeldOut&) = default;
};

struct EdgeSplitEntry {
  std::string name;
  uint16_t edge_type = 0;
  uint64_t train = 0, validation = 0, test = 0;  // edges
  std::optional<HeldOut> held_out = {};          // none: validation and test pairs may be edges
  std::map<std::string, SplitLabels> labels = {};
  friend bool operator==(const EdgeSplitEntry&, const EdgeSplitEntry&) = default;
};

struct Quality {
  uint64_t cut_edges = 0;  // directed edges whose ends have different owners
  double cut_ratio = 0;    // cut_edges / edges
  double replication = 0;  // (owned + remote in-neighbours, distinct per partition) / nodes
  // constraint ("nodes", "edges", "train-nodes", "nodes:paper") -> largest partition / average
  std::map<std::string, double> balance;
  friend bool operator==(const Quality&, const Quality&) = default;
};

struct Manifest {
  int format_version = kPartitionFormatVersion;
  std::string partition_key;  // 64 hex digits: SHA-256 of sources, options, algorithm and format versions
  std::string attempt;        // the folder under the key that this manifest names
  std::string graph_name;
  std::string algorithm;  // "METIS", ...
  uint64_t seed = 0;
  std::string in_edge_order;                // "source,edge" or "time:<column>,source,edge"
  std::vector<std::string> source_columns;  // node columns that edges have copies of (graph::SourceColumnName)
  graph::PartitionBook book;
  std::vector<std::vector<ColumnEntry>> node_columns;  // by NodeTypeId, sorted by name
  std::vector<std::vector<ColumnEntry>> edge_columns;  // by EdgeTypeId
  std::vector<SplitEntry> splits;
  std::vector<EdgeSplitEntry> edge_splits;
  std::vector<PartitionEntry> partitions;
  Quality quality;
  double partition_seconds = 0;
  uint64_t peak_memory_bytes = 0;
  std::vector<std::string> warnings =
      {};  // of partitioning, one sentence each: input that was left out or is probably a mistake
};

std::string ManifestToJson(const Manifest& manifest);
// InvalidArgument names the field that is wrong; another format_version is refused by name. Untrusted input.
Result<Manifest> ManifestFromJson(const std::string& text);

}  // namespace espalier::format
