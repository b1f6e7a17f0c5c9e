#include "services/partitioner/report.h"

#include <nlohmann/json.hpp>

#include "services/base/format_number.h"

namespace espalier::partitioner {

std::string ReportAsJson(const PartitionOutcome& outcome) {
  const format::Manifest& manifest = outcome.manifest;
  nlohmann::ordered_json json = {{"uri", outcome.uri},
                                 {"partitionKey", outcome.partition_key},
                                 {"reused", outcome.reused},
                                 {"graph", manifest.graph_name},
                                 {"algorithm", manifest.algorithm},
                                 {"partitions", manifest.book.num_partitions()},
                                 {"nodes", manifest.book.num_nodes()},
                                 {"edges", manifest.book.num_edges()},
                                 {"cutEdges", manifest.quality.cut_edges},
                                 {"cutRatio", manifest.quality.cut_ratio},
                                 {"replication", manifest.quality.replication},
                                 {"balance", manifest.quality.balance},
                                 {"seconds", manifest.partition_seconds},
                                 {"peakMemoryBytes", manifest.peak_memory_bytes},
                                 {"warnings", manifest.warnings}};
  // The name of a graph may contain any bytes. Invalid UTF-8 is replaced, because dump() would throw an exception for
  // it.
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string ReportAsText(const PartitionOutcome& outcome) {
  const format::Manifest& manifest = outcome.manifest;
  std::string text = manifest.graph_name + ": " + std::to_string(manifest.book.num_nodes()) + " nodes, " +
                     std::to_string(manifest.book.num_edges()) + " edges in " +
                     std::to_string(manifest.book.num_partitions()) + " partitions by " + manifest.algorithm +
                     (outcome.reused ? " (reused)" : "") + "\n";
  text += "  cut          " + FormatFixed(100 * manifest.quality.cut_ratio, 2) + " % of the edges (" +
          std::to_string(manifest.quality.cut_edges) + ")\n";
  text += "  replication  " + FormatFixed(manifest.quality.replication, 3) + "\n";
  for (const auto& [constraint, balance] : manifest.quality.balance) {
    text += "  balance      " + FormatFixed(balance, 3) + " " + constraint + "\n";
  }
  text += "  made in      " + FormatFixed(manifest.partition_seconds, 1) + " s, peak memory " +
          FormatFixed(static_cast<double>(manifest.peak_memory_bytes) / (1 << 20), 0) + " MiB\n";
  for (const std::string& warning : manifest.warnings) text += "  warning      " + warning + "\n";
  return text + "  at           " + outcome.uri + "\n";
}

}  // namespace espalier::partitioner
