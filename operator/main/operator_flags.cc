// Flags are declared in groups, each flag with an environment variable. CLI11 checks ranges while it parses;
// CheckOperatorFlags checks other values, and combinations of flags. If a flag with a list of allowed names
// (--allowed-...) is absent, all names are allowed; the value "-" means an empty list.
#include "operator/main/operator_flags.h"

#include "operator/client/in_cluster.h"
#include "operator/client/kube_config.h"
#include "operator/client/yaml_json.h"
#include "services/base/file.h"
#include "services/base/host_port.h"
#include "services/base/uri_scheme.h"
#include "services/job/checks/check_uris.h"
#include "services/job/fields/field_table.h"
#include "services/telemetry/log.h"

namespace espalier::ctl::process {
namespace {

void AddClusterFlags(CLI::App& app, OperatorFlags* flags) {
  app.add_option("--namespace", flags->name_space,
                 "the namespace whose DistTrainings are run; by default the operator's own")
      ->envname("ESPALIER_NAMESPACE");
  app.add_flag("--cluster-wide", flags->cluster_wide, "run the DistTrainings of all namespaces")
      ->envname("ESPALIER_CLUSTER_WIDE");
  app.add_option("--kubeconfig", flags->kubeconfig,
                 "A kubeconfig file; by default the pod's service account, then $KUBECONFIG")
      ->envname("ESPALIER_KUBECONFIG");
  app.add_option("--context", flags->context, "a context of the kubeconfig; by default the current one")
      ->envname("ESPALIER_CONTEXT");
}

void AddElectionFlags(CLI::App& app, OperatorFlags* flags) {
  app.add_flag("--leader-elect,!--no-leader-elect", flags->leader_elect,
               "work only while holding a Lease, so that a second operator can take over (default)")
      ->envname("ESPALIER_LEADER_ELECT");
  app.add_option("--lease-name", flags->lease_name, "the Lease's name")
      ->envname("ESPALIER_LEASE_NAME")
      ->capture_default_str();
  app.add_option("--lease-namespace", flags->lease_namespace, "the Lease's namespace; by default the operator's own")
      ->envname("ESPALIER_LEASE_NAMESPACE");
  app.add_option("--lease-seconds", flags->lease_seconds, "how long the Lease is valid without a renewal")
      ->envname("ESPALIER_LEASE_SECONDS")
      ->check(CLI::Range(1, 3600))
      ->capture_default_str();
  app.add_option("--lease-renew-seconds", flags->lease_renew_seconds,
                 "a holder that could not renew the Lease for this time exits")
      ->envname("ESPALIER_LEASE_RENEW_SECONDS")
      ->check(CLI::Range(1, 3600))
      ->capture_default_str();
  app.add_option("--lease-retry-seconds", flags->lease_retry_seconds,
                 "time between two attempts to acquire or renew the Lease")
      ->envname("ESPALIER_LEASE_RETRY_SECONDS")
      ->check(CLI::Range(1, 3600))
      ->capture_default_str();
}

void AddWorkFlags(CLI::App& app, OperatorFlags* flags) {
  app.add_option(
         "--workers", flags->workers,
         "number of DistTrainings that are reconciled concurrently; with more than 4, --qps is usually the limit")
      ->envname("ESPALIER_WORKERS")
      ->check(CLI::Range(1, 256))
      ->capture_default_str();
  app.add_option("--qps", flags->qps, "requests to the API server per second; 0: no limit")
      ->envname("ESPALIER_QPS")
      ->check(CLI::Range(0.0, 100000.0))
      ->capture_default_str();
  app.add_option("--burst", flags->burst, "requests that may be sent at once after a pause")
      ->envname("ESPALIER_BURST")
      ->check(CLI::Range(1.0, 100000.0))
      ->capture_default_str();
  app.add_option("--drain-seconds", flags->drain_seconds, "how long running reconciles may take after SIGTERM")
      ->envname("ESPALIER_DRAIN_SECONDS")
      ->check(CLI::Range(0, 3600))
      ->capture_default_str();
  app.add_option("--core-image", flags->core_image, "image of partitioners, graph servers and samplers")
      ->envname("ESPALIER_CORE_IMAGE")
      ->capture_default_str();
  app.add_option("--trainer-image", flags->trainer_image, "image of trainers")
      ->envname("ESPALIER_TRAINER_IMAGE")
      ->capture_default_str();
  app.add_option("--trainer-cuda-image", flags->trainer_cuda_image,
                 "image of trainers with device CUDA, or with device Auto and a GPU; empty: --trainer-image")
      ->envname("ESPALIER_TRAINER_CUDA_IMAGE");
  app.add_option("--image-pull-policy", flags->image_pull_policy,
                 "pull policy of jobs' images: Always, IfNotPresent or Never")
      ->envname("ESPALIER_IMAGE_PULL_POLICY")
      ->check(CLI::IsMember({"Always", "IfNotPresent", "Never"}))
      ->capture_default_str();
  app.add_option("--image-pull-secrets", flags->image_pull_secrets,
                 "comma-separated Secrets in each job's namespace with which its pods pull images")
      ->envname("ESPALIER_IMAGE_PULL_SECRETS")
      ->delimiter(',')
      ->allow_extra_args(false);
  app.add_option("--cluster-domain", flags->cluster_domain, "the cluster's DNS domain")
      ->envname("ESPALIER_CLUSTER_DOMAIN")
      ->capture_default_str();
  app.add_option("--gpu-resource", flags->gpu_resource,
                 "extended resource that spec.trainers.gpus counts, as the nodes' device plugin names it")
      ->envname("ESPALIER_GPU_RESOURCE")
      ->capture_default_str();
}

void AddQueueFlags(CLI::App& app, OperatorFlags* flags) {
  app.add_flag(
         "--kueue", flags->kueue,
         "run DistTrainings with the label kueue.x-k8s.io/queue-name when Kueue admits them; needs permissions for "
         "Kueue's objects")
      ->envname("ESPALIER_KUEUE");
  app.add_flag("--gang-scheduling", flags->gang_scheduling,
               "start the pods of a role together or not at all, by PodGroups, where the API server serves "
               "scheduling.k8s.io/v1beta1; needs permissions for PodGroups")
      ->envname("ESPALIER_GANG_SCHEDULING");
}

void AddPortFlags(CLI::App& app, OperatorFlags* flags) {
  app.add_option("--admin-listen", flags->admin_listen, "host:port of /metrics, /livez, /readyz and /status")
      ->envname("ESPALIER_ADMIN_LISTEN")
      ->capture_default_str();
  app.add_option("--metrics-listen", flags->metrics_listen,
                 "host:port of /metrics over HTTPS, for clients whose bearer token permits GET of /metrics; empty: "
                 "--admin-listen serves /metrics")
      ->envname("ESPALIER_METRICS_LISTEN");
  app.add_option("--metrics-certificate", flags->metrics_certificate,
                 "PEM file of the certificate of --metrics-listen; empty: a generated certificate, which clients "
                 "cannot verify")
      ->envname("ESPALIER_METRICS_CERTIFICATE");
  app.add_option("--metrics-key", flags->metrics_key, "PEM file of the key of --metrics-certificate")
      ->envname("ESPALIER_METRICS_KEY");
}

void AddPolicyFlags(CLI::App& app, OperatorFlags* flags) {
  app.add_option("--allowed-service-accounts", flags->allowed_service_accounts,
                 "Comma-separated service accounts that a DistTraining may use besides the job's own; `-`: only the "
                 "job's own; default: all.")
      ->envname("ESPALIER_ALLOWED_SERVICE_ACCOUNTS")
      ->delimiter(',')
      ->allow_extra_args(false);
  app.add_option("--allowed-images", flags->allowed_images,
                 "comma-separated registries, repository paths or names of images that a DistTraining may use besides "
                 "the operator's own images; -: only the operator's own; by default all images")
      ->envname("ESPALIER_ALLOWED_IMAGES")
      ->delimiter(',')
      ->allow_extra_args(false);
  app.add_option(
         "--allowed-scripts", flags->allowed_scripts,
         "Comma-separated places of programs' scripts: s3://bucket/prefix, ConfigMap/NAME, or ConfigMap for all "
         "ConfigMaps of the job's namespace; `-`: none; default: all.")
      ->envname("ESPALIER_ALLOWED_SCRIPTS")
      ->delimiter(',')
      ->allow_extra_args(false);
  app.add_option("--script-endpoint", flags->script_endpoint,
                 "With --allowed-scripts: the spec.storage.s3.endpoint that a DistTraining with a script in object "
                 "storage must "
                 "have; empty: it must have neither an endpoint nor a region.")
      ->envname("ESPALIER_SCRIPT_ENDPOINT");
  app.add_option("--job-defaults", flags->job_defaults,
                 "a YAML or JSON file with partial pod templates for the pods of every job: `template` for all roles, "
                 "and for a single role, such as trainers, `trainers.template`")
      ->envname("ESPALIER_JOB_DEFAULTS");
  app.add_option("--secret-label", flags->secret_label,
                 "Label (`key` or `key=value`) that every Secret named by a DistTraining must have; empty: no "
                 "restriction.")
      ->envname("ESPALIER_SECRET_LABEL");
}

constexpr char kNothing[] = "-";

// Returns the allowed names of a flag; nullopt: all names.
std::optional<std::vector<std::string>> ParseAllowed(const std::vector<std::string>& words) {
  if (words.empty()) return std::nullopt;
  if (words.size() == 1 && words.front() == kNothing) return std::vector<std::string>();
  return words;
}

// Refuses "-" together with other words, and empty words.
Status CheckAllowed(const char* flag, const std::vector<std::string>& words) {
  for (const std::string& word : words) {
    if (word.empty()) return InvalidArgument(std::string(flag) + ": one of the names is empty");
    if (word == kNothing && words.size() > 1) {
      return InvalidArgument(std::string(flag) + ": '-' means none and must be the only name");
    }
  }
  return Status();
}

// Checks the name of an extended resource: DOMAIN/NAME, where the domain is neither kubernetes.io nor below it.
Status CheckGpuResource(const std::string& name) {
  const size_t slash = name.find('/');
  const std::string domain = name.substr(0, slash);
  const bool has_two_parts = slash != std::string::npos && job::ObjectNameProblem(domain).empty();
  constexpr std::string_view kNameCharacters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";
  constexpr size_t kMaxNameLength = 63;
  const std::string_view kind = has_two_parts ? std::string_view(name).substr(slash + 1) : std::string_view();
  const auto is_end = [](char c) { return c != '-' && c != '_' && c != '.'; };
  if (!kind.empty() && kind.size() <= kMaxNameLength && domain != "kubernetes.io" &&
      !domain.ends_with(".kubernetes.io") && kind.find_first_not_of(kNameCharacters) == std::string_view::npos &&
      is_end(kind.front()) && is_end(kind.back())) {
    return Status();
  }
  return InvalidArgument("--gpu-resource: '" + name +
                         "' is not an extended resource: expected DOMAIN/NAME such as nvidia.com/gpu, with a DOMAIN "
                         "other than kubernetes.io");
}

Status CheckMetricsFlags(const OperatorFlags& flags) {
  if (flags.metrics_certificate.empty() != flags.metrics_key.empty()) {
    return InvalidArgument("only one of --metrics-certificate and --metrics-key is set: set both, or neither");
  }
  if (!flags.metrics_listen.empty()) {
    return ParseHostPort(flags.metrics_listen).status().While("--metrics-listen");
  }
  if (!flags.metrics_certificate.empty()) return InvalidArgument("--metrics-certificate: needs --metrics-listen");
  return Status();
}

Status CheckScriptPlace(const std::string& place) {
  constexpr std::string_view kConfigMap = "ConfigMap/";
  if (place == kNothing || place == kConfigMap.substr(0, kConfigMap.size() - 1)) return Status();
  const bool is_config_map = place.starts_with(kConfigMap);
  std::string problem = is_config_map ? job::ObjectNameProblem(place.substr(kConfigMap.size()))
                                      : job::UriProblem(place, job::kMaxKeyBytes);
  if (problem.empty() && !is_config_map && !CanonicalUri(place).starts_with("s3://")) {
    problem = "expected s3://bucket/prefix, ConfigMap/NAME or ConfigMap";
  }
  return problem.empty() ? Status() : InvalidArgument("--allowed-scripts: '" + place + "': " + problem);
}

}  // namespace

void AddOperatorFlags(CLI::App& app, OperatorFlags* flags) {
  AddClusterFlags(app, flags);
  AddElectionFlags(app, flags);
  AddWorkFlags(app, flags);
  AddQueueFlags(app, flags);
  AddPolicyFlags(app, flags);
  AddPortFlags(app, flags);
  app.add_option("--log-format", flags->log_format, "text, json, or auto (text on a terminal)")
      ->envname("ESPALIER_LOG_FORMAT")
      ->capture_default_str();
}

Status CheckOperatorFlags(const OperatorFlags& flags) {
  RETURN_IF_ERROR(telemetry::ParseLogFormat(flags.log_format).status().While("--log-format"));
  RETURN_IF_ERROR(ParseHostPort(flags.admin_listen).status().While("--admin-listen"));
  RETURN_IF_ERROR(CheckMetricsFlags(flags));
  if (flags.cluster_wide && !flags.name_space.empty()) {
    return InvalidArgument("--namespace and --cluster-wide are both set: set only one of them");
  }
  if (flags.core_image.empty()) return InvalidArgument("--core-image is empty");
  if (flags.trainer_image.empty()) return InvalidArgument("--trainer-image is empty");
  for (const std::string& secret : flags.image_pull_secrets) {
    const std::string problem = job::ObjectNameProblem(secret);
    if (!problem.empty()) return InvalidArgument("--image-pull-secrets: '" + secret + "': " + problem);
  }
  RETURN_IF_ERROR(CheckAllowed("--allowed-service-accounts", flags.allowed_service_accounts));
  RETURN_IF_ERROR(CheckAllowed("--allowed-images", flags.allowed_images));
  RETURN_IF_ERROR(CheckAllowed("--allowed-scripts", flags.allowed_scripts));
  for (const std::string& place : flags.allowed_scripts) RETURN_IF_ERROR(CheckScriptPlace(place));
  if (!flags.script_endpoint.empty()) {
    if (flags.allowed_scripts.empty()) return InvalidArgument("--script-endpoint requires --allowed-scripts");
    const std::string problem = job::EndpointProblem(flags.script_endpoint);
    if (!problem.empty()) return InvalidArgument("--script-endpoint: " + problem);
  }
  if (flags.secret_label.starts_with('=')) return InvalidArgument("--secret-label: expected key or key=value");
  if (flags.cluster_domain.empty()) return InvalidArgument("--cluster-domain is empty");
  RETURN_IF_ERROR(CheckGpuResource(flags.gpu_resource));
  if (flags.leader_elect && flags.lease_name.empty()) return InvalidArgument("--lease-name is empty");
  // --lease-renew-seconds must leave a leader time for a second renewal if the first one hangs (LeaseCallTimeout), and
  // must be over before the Lease expires, because another process may lead then.
  const bool in_order =
      flags.lease_seconds > flags.lease_renew_seconds && flags.lease_renew_seconds > 2 * flags.lease_retry_seconds;
  if (flags.leader_elect && !in_order) {
    return InvalidArgument(
        "--lease-seconds must be more than --lease-renew-seconds, and --lease-renew-seconds more than twice "
        "--lease-retry-seconds");
  }
  return Status();
}

Result<client::Connection> MakeConnection(const OperatorFlags& flags, const EnvironmentMap& environment) {
  if (flags.kubeconfig.empty() && flags.context.empty()) {
    Result<client::Connection> pod = client::LoadInClusterConnection(environment);
    if (pod.ok() || pod.status().code() != StatusCode::kNotFound) return pod;
  }
  client::KubeConfigOptions options;
  options.paths = client::FindKubeConfigPaths(flags.kubeconfig, environment);
  options.context = flags.context;
  options.environment = environment;
  return client::LoadKubeConfig(options);
}

Result<resources::JobDefaults> ReadJobDefaults(const OperatorFlags& flags) {
  if (flags.job_defaults.empty()) return resources::JobDefaults();
  const std::string doing = "--job-defaults " + flags.job_defaults;
  ASSIGN_OR_RETURN(const std::string text,
                   ReadFile(flags.job_defaults, client::kMaxYamlBytes, FileKinds::kRegular).While(doing));
  ASSIGN_OR_RETURN(const kube::Json document, client::ParseYamlOrJson(text).While(doing));
  ASSIGN_OR_RETURN(resources::JobDefaults defaults, resources::ParseJobDefaults(document).While(doing));
  return defaults;
}

controller::PodPolicy MakePodPolicy(const OperatorFlags& flags) {
  return {.service_accounts = ParseAllowed(flags.allowed_service_accounts),
          .images = ParseAllowed(flags.allowed_images),
          .secret_label = flags.secret_label,
          .scripts = ParseAllowed(flags.allowed_scripts),
          .script_endpoint = flags.script_endpoint};
}

std::string WatchedNamespace(const OperatorFlags& flags, const client::Connection& connection) {
  if (flags.cluster_wide) return "";
  if (!flags.name_space.empty()) return flags.name_space;
  return connection.name_space.empty() ? "default" : connection.name_space;
}

}  // namespace espalier::ctl::process
