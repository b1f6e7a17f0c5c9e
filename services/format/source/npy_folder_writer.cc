// All files are written to a temporary folder next to the target, graph.yaml last, and the folder is renamed at the
// end. A crash leaves only the temporary folder. Arrays are written one after another directly from the tensors of the
// graph, so that a mapped graph does not have to fit into memory.
#include <fcntl.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "services/base/failpoint.h"
#include "services/base/make_folder.h"
#include "services/format/source/graph_description.h"
#include "services/format/source/npy_file.h"
#include "services/format/source/npy_folder.h"

namespace espalier::format {
namespace {

namespace fs = std::filesystem;
using graph::SourceGraph;

// Writes each array to its own file in one folder, and returns the descriptions with the file names.
class ArrayWriter {
 public:
  ArrayWriter(std::string directory, WorkMeter* meter) : directory_(std::move(directory)), meter_(meter) {}

  // Writes an array to a file that is named after `name`. The file name is truncated, because `name` may be too
  // long for a file name, and made unique, because names of types and columns (CheckName) may contain '.' and '_', so
  // that different arrays may have the same `name`.
  Result<ArrayFile> Write(const std::string& name, const Tensor& tensor) {
    ArrayFile file{.file = MakeUniqueName(name) + ".npy"};
    if (tensor.dtype() == DType::kBF16) file.dtype = DType::kBF16;
    RETURN_IF_ERROR(WriteNpy(directory_ + "/" + file.file, tensor, meter_));
    return file;
  }

  Status WriteColumns(const std::string& prefix, const std::map<std::string, Tensor>& columns,
                      std::map<std::string, ArrayFile>& files) {
    for (const auto& [name, column] : columns) {
      ASSIGN_OR_RETURN(files[name], Write(prefix + "." + name, column));
    }
    return {};
  }

  // Writes a part of a split, unless it is empty.
  Status WritePart(const std::string& name, const std::vector<uint64_t>& ids, std::optional<ArrayFile>& file) {
    if (ids.empty()) return {};
    ASSIGN_OR_RETURN(file, Write(name, Tensor::FromVector(ids)));
    return {};
  }

  // Writes a part of a split of edges, unless it is empty: U64 [2, k] with sources and destinations, or [3, k] with the
  // original edge ids as third row.
  Status WritePairs(const std::string& name, const graph::EdgePairs& pairs, std::optional<ArrayFile>& file) {
    if (pairs.size() == 0) return {};
    std::vector<uint64_t> rows(pairs.sources.begin(), pairs.sources.end());
    rows.insert(rows.end(), pairs.destinations.begin(), pairs.destinations.end());
    rows.insert(rows.end(), pairs.edge_ids.begin(), pairs.edge_ids.end());
    const int64_t num_rows = pairs.edge_ids.empty() ? 2 : 3;
    ASSIGN_OR_RETURN(file,
                     Write(name, Tensor::FromVector(std::move(rows), {num_rows, static_cast<int64_t>(pairs.size())})));
    return {};
  }

 private:
  // Returns a unique file name without ".npy". A repeated name gets '~' and a number. Names of types and columns do not
  // contain '~', so no array has such a name by itself.
  std::string MakeUniqueName(const std::string& name) {
    const std::string start = name.substr(0, kMaxStemBytes);
    std::string free = start;
    for (int number = 2; !taken_.insert(free).second; ++number) free = start + "~" + std::to_string(number);
    return free;
  }

  static constexpr size_t kMaxStemBytes = 200;  // file names are limited to 255 bytes
  std::string directory_;
  WorkMeter* meter_;
  std::set<std::string> taken_;
};

// Returns the number of bytes of columns and edges. Ignores splits, which are small in comparison.
uint64_t CountArrayBytes(const SourceGraph& graph) {
  uint64_t bytes = 0;
  const auto add_columns = [&](const std::map<std::string, Tensor>& columns) {
    for (const auto& [name, column] : columns) bytes += column.size_bytes();
  };
  for (const graph::NodeSet& nodes : graph.nodes) add_columns(nodes.columns);
  for (const graph::EdgeSet& edges : graph.edges) {
    bytes += edges.sources.size_bytes() + edges.destinations.size_bytes() + edges.original_ids.size_bytes();
    add_columns(edges.columns);
  }
  return bytes;
}

std::string ToFileStem(const graph::CanonicalEdgeType& type) {
  return "edges." + type.source + "___" + type.relation + "___" + type.destination;
}

Status WriteNodes(const SourceGraph& graph, ArrayWriter& writer, GraphDescription& description) {
  for (size_t t = 0; t < graph.nodes.size(); ++t) {
    ESPALIER_CHECK(graph.nodes[t].scales.empty()) << "graph.yaml cannot store scales of columns";
    NodeDescription nodes{.type = graph.schema.node_types()[t], .count = graph.nodes[t].count};
    RETURN_IF_ERROR(writer.WriteColumns("nodes." + nodes.type, graph.nodes[t].columns, nodes.columns));
    description.nodes.push_back(std::move(nodes));
  }
  return {};
}

Status WriteEdges(const SourceGraph& graph, ArrayWriter& writer, GraphDescription& description) {
  for (size_t t = 0; t < graph.edges.size(); ++t) {
    const graph::EdgeSet& set = graph.edges[t];
    EdgeDescription edges{.type = graph.schema.edge_types()[t]};
    const std::string stem = ToFileStem(edges.type);
    ASSIGN_OR_RETURN(edges.sources, writer.Write(stem + ".sources", set.sources));
    ASSIGN_OR_RETURN(edges.destinations, writer.Write(stem + ".destinations", set.destinations));
    if (!set.original_ids.empty()) {
      ASSIGN_OR_RETURN(edges.original_ids, writer.Write(stem + ".original_ids", set.original_ids));
    }
    RETURN_IF_ERROR(writer.WriteColumns(stem + ".column", set.columns, edges.columns));
    description.edges.push_back(std::move(edges));
  }
  return {};
}

Status WriteSplits(const SourceGraph& graph, ArrayWriter& writer, GraphDescription& description) {
  for (const auto& [name, by_type] : graph.splits) {
    for (const auto& [type, parts] : by_type) {
      SplitDescription split{.name = name, .type = graph.schema.node_types()[type]};
      const std::string stem = "split." + name + "." + split.type;
      RETURN_IF_ERROR(writer.WritePart(stem + ".train", parts.train, split.train));
      RETURN_IF_ERROR(writer.WritePart(stem + ".validation", parts.validation, split.validation));
      RETURN_IF_ERROR(writer.WritePart(stem + ".test", parts.test, split.test));
      description.splits.push_back(std::move(split));
    }
  }
  return {};
}

Status WriteEdgeSplits(const SourceGraph& graph, ArrayWriter& writer, GraphDescription& description) {
  for (const auto& [name, by_type] : graph.edge_splits) {
    for (const auto& [type, parts] : by_type) {
      SplitDescription split{.name = name};
      split.edge_type = graph.schema.edge_types()[type];
      const std::string stem = "split." + name + "." + ToFileStem(*split.edge_type);
      RETURN_IF_ERROR(writer.WritePairs(stem + ".train", parts.train, split.train));
      RETURN_IF_ERROR(writer.WritePairs(stem + ".validation", parts.validation, split.validation));
      RETURN_IF_ERROR(writer.WritePairs(stem + ".test", parts.test, split.test));
      description.splits.push_back(std::move(split));
    }
  }
  return {};
}

Status WriteText(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << text;
  file.close();
  return file ? Status() : ResourceExhausted("writing " + path + " failed: is the disk full?");
}

Status WriteNames(const SourceNames& names, const std::string& directory) {
  if (names.empty()) return Status();
  const std::string folder = directory + "/names";
  std::error_code error;
  fs::create_directory(folder, error);
  if (error) return FromErrno(error.value(), "creating " + folder);
  for (const auto& [type, node_names] : names.nodes) {
    std::string lines;
    for (const std::string& name : node_names) lines += name + "\n";
    RETURN_IF_ERROR(WriteText(folder + "/" + type + ".txt", lines));
  }
  std::string lines;
  for (const auto& [type, relation] : names.relations) lines += type + "\t" + relation + "\n";
  return WriteText(folder + "/relations.tsv", lines);
}

Status WriteContent(const SourceGraph& graph, const SourceNames& names, const std::string& directory,
                    WorkMeter* meter) {
  GraphDescription description{.name = graph.name};
  ArrayWriter writer(directory, meter);
  AddExpected(meter, CountArrayBytes(graph));
  RETURN_IF_ERROR(WriteNodes(graph, writer, description));
  RETURN_IF_ERROR(WriteEdges(graph, writer, description));
  RETURN_IF_ERROR(WriteSplits(graph, writer, description));
  RETURN_IF_ERROR(WriteEdgeSplits(graph, writer, description));
  RETURN_IF_ERROR(WriteNames(names, directory));
  return WriteText(directory + "/" + kDescriptionFile, GraphDescriptionToYaml(description));
}

// A folder with a temporary name. The destructor removes it unless it was renamed.
class TemporaryFolder {
 public:
  explicit TemporaryFolder(std::string path) : path_(std::move(path)) {}
  ~TemporaryFolder() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::string& path() const { return path_; }
  Status RenameTo(const std::string& target) {
    std::error_code error;
    fs::rename(path_, target, error);  // replaces an empty folder
    if (error) return FromErrno(error.value(), "renaming " + path_ + " to " + target);
    path_.clear();
    return {};
  }

 private:
  std::string path_;
};

// Removes a trailing slash: "graph/" -> "graph".
fs::path WithoutSlash(const std::string& directory) {
  const fs::path path(directory);
  return path.has_filename() ? path : path.parent_path();
}

}  // namespace

std::string UnfinishedNpyFolder(const std::string& directory) {
  return WithoutSlash(directory).string() + ".partial-" + std::to_string(getpid());
}

Status WriteNpyFolder(const SourceGraph& graph, const std::string& directory, const SourceNames& names,
                      WorkMeter* meter) {
  const fs::path target = WithoutSlash(directory);
  std::error_code error;
  if (fs::exists(target, error) && !(fs::is_directory(target, error) && fs::is_empty(target, error))) {
    return AlreadyExists(target.string() + " exists already: name another folder or remove it");
  }
  if (target.has_parent_path()) RETURN_IF_ERROR(MakeFolder(target.parent_path()));
  TemporaryFolder temporary(UnfinishedNpyFolder(directory));
  fs::remove_all(temporary.path(), error);
  fs::create_directory(temporary.path(), error);
  if (error) return FromErrno(error.value(), "creating " + temporary.path());
  RETURN_IF_ERROR(WriteContent(graph, names, temporary.path(), meter));
  RETURN_IF_ERROR(Failpoint("graph.before_rename"));
  return temporary.RenameTo(target.string());
}

}  // namespace espalier::format
