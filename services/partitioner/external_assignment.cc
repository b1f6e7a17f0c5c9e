#include "services/partitioner/external_assignment.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "services/base/sha256.h"
#include "services/format/source/csv_table.h"
#include "services/format/source/npy_file.h"

namespace espalier::partitioner {
namespace {

// Returns the file itself, or the files of the folder sorted by name: .npy if there are any, else .txt.
Result<std::vector<std::filesystem::path>> ListFiles(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_directory(path, error)) return std::vector<std::filesystem::path>{path};
  std::vector<std::filesystem::path> arrays, texts;
  for (auto entry = std::filesystem::directory_iterator(path, error); !error && entry != end(entry);
       entry.increment(error)) {
    if (entry->path().extension() == ".npy") arrays.push_back(entry->path());
    if (entry->path().extension() == ".txt") texts.push_back(entry->path());
  }
  if (error) return FromErrno(error.value(), "listing " + path);
  std::vector<std::filesystem::path>& files = arrays.empty() ? texts : arrays;
  std::sort(files.begin(), files.end());
  return std::move(files);
}

Result<Tensor> ReadFile(const std::string& file, uint64_t num_nodes, uint32_t num_partitions) {
  if (!file.ends_with(".txt")) return format::ReadNpy(file);
  ASSIGN_OR_RETURN(std::vector<uint64_t> partition_of,
                   format::ReadCsvIds(file, num_partitions, /*max_rows=*/num_nodes));
  return Tensor::FromVector(std::move(partition_of));
}

// Adds the name, size and content of the file to the digest.
Status AddFile(const std::filesystem::path& file, Sha256* digest) {
  std::ifstream in(file, std::ios::binary);
  if (!in) return FromErrno(errno, "opening the assignment " + file.string());
  std::error_code error;
  digest->Update(file.filename().string() + '\n' + std::to_string(std::filesystem::file_size(file, error)) + '\n');
  if (error) return FromErrno(error.value(), "reading the assignment " + file.string());
  std::vector<char> block(1 << 20);
  while (in.read(block.data(), static_cast<std::streamsize>(block.size())) || in.gcount() > 0) {
    digest->Update(std::string_view(block.data(), static_cast<size_t>(in.gcount())));
  }
  return in.bad() ? FromErrno(errno, "reading the assignment " + file.string()) : Status();
}

}  // namespace

Result<format::LocatedSource> FindExternalAssignment(const std::string& uri, const format::SourceAccess& access) {
  const auto is_assignment = [](const std::string& name) {
    return (name.ends_with(".npy") || name.ends_with(".txt")) && name.find('/') == std::string::npos;
  };
  return format::LocatedSource::Find(uri, access, is_assignment).While("the given assignment to partitions");
}

Result<std::vector<Tensor>> ReadExternalAssignment(const std::string& path, const graph::SourceGraph& graph,
                                                   uint32_t num_partitions) {
  const graph::GraphSchema& schema = graph.schema;
  std::error_code error;
  const bool is_folder = std::filesystem::is_directory(path, error);
  if (!is_folder && schema.num_node_types() != 1) {
    return InvalidArgument("the graph has " + std::to_string(schema.num_node_types()) +
                           " node types: expected a folder with <node type>.npy or .txt for each, found " + path);
  }
  std::string ending;  // extension of the folder's files
  if (is_folder) {
    ASSIGN_OR_RETURN(const std::vector<std::filesystem::path> files, ListFiles(path));
    ending = files.empty() ? ".npy" : files.front().extension().string();
  }
  std::vector<Tensor> assignment;
  for (size_t t = 0; t < schema.num_node_types(); ++t) {
    const std::string& type = schema.node_types()[t];
    const std::string file = is_folder ? path + "/" + type + ending : path;
    ASSIGN_OR_RETURN(Tensor of_type, ReadFile(file, graph.nodes[t].count, num_partitions)
                                         .While("reading the assignment of node type '" + type + "'"));
    assignment.push_back(std::move(of_type));
  }
  return assignment;
}

Result<std::string> ExternalAssignmentDigest(const std::string& path) {
  ASSIGN_OR_RETURN(const std::vector<std::filesystem::path> files, ListFiles(path));
  Sha256 digest;
  for (const std::filesystem::path& file : files) RETURN_IF_ERROR(AddFile(file, &digest));
  return digest.HexDigest();
}

}  // namespace espalier::partitioner
