#include "services/partitioner/main/partitioner_flags.h"

#include <chrono>

namespace espalier::partitioner {

void AddPartitionerFlags(CLI::App* app, PartitionerFlags* flags) {
  app->description("Partitions the graph of a job document. Reuses an existing partitioning.");
  app->footer(
      "Examples:\n"
      "  espalier-partitioner --job cora.yaml --output file:///srv/partitions\n"
      "  espalier-partitioner --job large.yaml --output s3://bucket/partitions --rank 2 --world-size 4 --group "
      "monday-1");
  app->add_option("--job", flags->job_path, "The DistTraining document (YAML or JSON)")->required();
  app->add_option("--set", flags->overrides, "path=value: overrides a field, e.g. spec.graph.partitions.count=4");
  app->add_option("--output", flags->output_uri,
                  "Location of partitionings; default: spec.graph.partitions.uri, else <spec.output.uri>/partitions");
  app->add_option("--export-mappings", flags->mappings_folder,
                  "Also write the partition and the global id of each original id as .npy files into this folder")
      ->transform(LocalPath());
  AddCacheFlags(app, &flags->cache);
  app->add_option("--threads", flags->threads,
                  "Threads, by default one per processor; the number does not change results")
      ->check(CLI::Range(1, 1024));
  app->add_option("--rank", flags->group.rank, "Rank of this process: 0 to --world-size minus 1")
      ->envname("ESPALIER_PARTITIONER_RANK")
      ->capture_default_str();
  app->add_option("--world-size", flags->group.size, "Number of processes that make the partitioning")
      ->envname("ESPALIER_PARTITIONER_WORLD_SIZE")
      ->check(CLI::Range(1, 4096))
      ->capture_default_str();
  app->add_option("--group", flags->group.name,
                  "Name of the group of processes, unique for each attempt. Required if there are several processes")
      ->envname("ESPALIER_PARTITIONER_GROUP");
  app->add_option("--peer-timeout-seconds", flags->peer_timeout_seconds,
                  "How long another process may send no heartbeat before this one fails")
      ->check(CLI::Range(1, 86400))
      ->capture_default_str();
  app->add_option("--start-timeout-seconds", flags->start_timeout_seconds, "How long another process may take to start")
      ->check(CLI::Range(1, 86400))
      ->capture_default_str();
  app->add_flag_callback(
      "--trained-by-program", [flags] { flags->trained_by = TrainedBy::kProgram; },
      "A user's program trains: do not check that the graph has the types, columns and splits that spec.training "
      "names");
  app->add_flag(
      "--skip-start-files", flags->skip_start_file_checks,
      "Do not check that object storage has the files that trainers read at their start: spec.training.model.uri, "
      "spec.checkpoint.resumeFrom, spec.output.nodesUri");
  app->add_option("--admin-listen", flags->admin_listen, "host:port of /metrics, /livez, /readyz and /status")
      ->envname("ESPALIER_ADMIN_LISTEN")
      ->capture_default_str();
  app->add_option("--ready-file", flags->ready_file,
                  "Where to write {\"adminAddress\", \"pid\"} once the process is ready")
      ->envname("ESPALIER_READY_FILE");
  app->add_option("--log-format", flags->log_format, "auto, text or json")->capture_default_str();
  app->add_flag("--json", flags->json, "Write the report as one line of JSON, also to a terminal");
}

std::optional<GroupOptions> ToGroupOptions(const PartitionerFlags& flags) {
  if (flags.group.size <= 1 && flags.group.rank == 0) return std::nullopt;
  GroupOptions group = flags.group;
  group.peer_timeout = std::chrono::seconds(flags.peer_timeout_seconds);
  group.start_timeout = std::chrono::seconds(flags.start_timeout_seconds);
  return group;
}

}  // namespace espalier::partitioner
