// Measures the download of one partition into an empty data directory. download_bench.py compares it with curl.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "services/base/clock.h"
#include "services/base/environment.h"
#include "services/format/partition/partition_copies.h"
#include "services/storage/open_store.h"

namespace espalier::benchmarks {
namespace {

struct Options {
  std::string uri;
  uint32_t partition = 0;
  std::string data_dir;
  int parallel_requests = format::LoadOptions().parallel_requests;
  int threads = 1;
};

std::vector<const format::FileEntry*> ListFiles(const format::Manifest& manifest, uint32_t partition) {
  const format::PartitionEntry& entry = manifest.partitions.at(partition);
  return {&entry.graph, &entry.node_columns, &entry.edge_columns};
}

// Returns {"downloadSeconds", "loadSeconds", "bytes", "files": [{"key", "bytes"}]} with keys relative to the URI.
// loadSeconds is the time to map the downloaded files and check them, except for their checksums.
Result<nlohmann::ordered_json> Measure(const Options& options) {
  ASSIGN_OR_RETURN(const storage::StoreSettings settings, storage::ParseStoreSettings(ReadEnvironment()));
  ASSIGN_OR_RETURN(const storage::StoreLocation at, storage::OpenStore(options.uri, settings));
  ASSIGN_OR_RETURN(const format::Manifest manifest, format::ReadManifest(*at.store, at.prefix));
  if (options.partition >= manifest.partitions.size()) {
    return OutOfRange("partition " + std::to_string(options.partition) + " does not exist: expected a number below " +
                      std::to_string(manifest.partitions.size()));
  }
  format::LoadOptions load;
  load.edge_columns = true;
  load.threads = options.threads;
  load.data_dir = options.data_dir;
  load.parallel_requests = options.parallel_requests;

  nlohmann::ordered_json json;
  uint64_t bytes = 0;
  const Timer download;
  {
    format::PartitionCopies copies(*at.store, at.prefix, manifest, load);
    for (const format::FileEntry* file : ListFiles(manifest, options.partition)) {
      RETURN_IF_ERROR(copies.Get(*file).status());
      bytes += file->size_bytes;
      json["files"].push_back({{"key", file->key}, {"bytes", file->size_bytes}});
    }
  }
  json["downloadSeconds"] = download.Seconds();
  load.checksums = format::Checksums::kSkip;  // checksums were verified during the download
  const Timer mapping;
  RETURN_IF_ERROR(format::LoadPartition(*at.store, at.prefix, manifest, PartitionId(options.partition), load).status());
  json["loadSeconds"] = mapping.Seconds();
  json["bytes"] = bytes;
  return json;
}

int Main(int argc, char** argv) {
  CLI::App app{"Downloads a partition into an empty data directory and prints the time that it took."};
  Options options;
  app.add_option("uri", options.uri, "URI of the folder with manifest.json")->required();
  app.add_option("--data-dir", options.data_dir, "Folder for the copies")->required();
  app.add_option("--partition", options.partition, "Partition to download, from 0")->capture_default_str();
  app.add_option("--parallel", options.parallel_requests, "Concurrent requests")->capture_default_str();
  app.add_option("--threads", options.threads, "Threads that verify mapped files")->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  const Result<nlohmann::ordered_json> measured = Measure(options);
  if (!measured.ok()) {
    std::fprintf(stderr, "download_bench: %s\n", measured.status().ToString().c_str());
    return 1;
  }
  std::printf("%s\n", measured->dump().c_str());
  return 0;
}

}  // namespace
}  // namespace espalier::benchmarks

int main(int argc, char** argv) { return espalier::benchmarks::Main(argc, argv); }
