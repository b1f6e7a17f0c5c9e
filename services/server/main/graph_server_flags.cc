#include "services/server/main/graph_server_flags.h"

#include "services/daemon/job_name_flag.h"

namespace espalier::server {

void AddGraphServerFlags(CLI::App& app, GraphServerFlags* flags) {
  app.add_option("--partitions", flags->partitions_uri, "URI of the folder with manifest.json")
      ->envname("ESPALIER_PARTITIONS")
      ->required();
  app.add_option("--partition", flags->partition, "which partition to serve, from 0")
      ->envname("ESPALIER_PARTITION")
      ->required();
  daemon::AddJobNameFlag(app, &flags->job_name,
                         "name of the job that --incarnation belongs to, as in --job-name of its trainers; default: "
                         "the job without a name; requests of other jobs are served too");
  app.add_option("--incarnation", flags->incarnation,
                 "incarnation of the job --job-name; requests of its earlier incarnations are refused")
      ->envname("ESPALIER_INCARNATION")
      ->capture_default_str();
  app.add_option("--data-dir", flags->data_dir,
                 "folder for copies of files that cannot be mapped in place; default: the user's cache")
      ->envname("ESPALIER_DATA_DIR");
  app.add_option("--cache-size", flags->cache_bytes,
                 "maximum bytes of the copies in --data-dir, e.g. 20GiB; 0: no limit")
      ->envname("ESPALIER_CACHE_SIZE")
      ->transform(CLI::AsSizeValue(/*kb_is_1000=*/false))
      ->capture_default_str();
  app.add_option("--max-fanout", flags->max_fanout,
                 "maximum in-edges per node that a request may sample (a full neighborhood is always allowed)")
      ->envname("ESPALIER_MAX_FANOUT")
      ->check(CLI::Range(1, 1 << 30))
      ->capture_default_str();
  app.add_option("--max-rows", flags->max_rows, "maximum number of nodes or edges in one request")
      ->envname("ESPALIER_MAX_ROWS")
      ->check(CLI::Range(uint64_t{1}, uint64_t{1} << 28))
      ->capture_default_str();
  app.add_option("--max-streams", flags->max_streams, "concurrent calls per connection; further calls wait")
      ->envname("ESPALIER_MAX_STREAMS")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  app.add_flag("--no-mapping", flags->no_mapping, "do not offer the files to clients of the same host and user");
  app.add_option("--plugin", flags->plugins,
                 "NAME=PATH of a shared library whose functions clients may call, and which may initialize their "
                 "tensors; repeatable, or separated by commas")
      ->envname("ESPALIER_PLUGINS")
      ->delimiter(',')
      ->take_all()
      ->allow_extra_args(false);
  daemon::AddProcessFlags(app, &flags->process);
}

}  // namespace espalier::server
