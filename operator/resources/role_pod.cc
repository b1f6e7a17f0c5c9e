// The builder functions fill pod_, a pod template with one program container. The function Template then merges into
// it, in this order: the administrator's defaults, the script's init container, the document's fields, the further
// program containers (copies of the first), the user's template, and the placement. So the copies have the defaults
// too, and the user's template can address each container by its name.
#include "operator/resources/role_pod.h"

#include <utility>

#include "operator/api/program_container.h"
#include "operator/resources/addresses.h"
#include "operator/resources/labels.h"
#include "operator/resources/names.h"
#include "operator/resources/pod_template.h"
#include "services/pki/peer_identity.h"

namespace espalier::ctl::resources {

using kube::Json;

namespace {

// How long pods stay on a lost node. Kubernetes' default, 300 s, is long for a job that cannot continue without these
// pods.
constexpr int kLostNodeSeconds = 30;
// How long to try to connect to servers, so that a lost server has time to load its partition again. Equal to the time
// that a trainer waits for a mini-batch (--data-timeout-seconds).
constexpr int kConnectSeconds = 600;
constexpr char kTerminationLog[] = "/dev/termination-log";
constexpr char kJobFolder[] = "/etc/espalier/job";  // job.json
constexpr char kTlsFolder[] = "/etc/espalier/tls";  // ca.crt, tls.crt, tls.key
constexpr char kCacheFolder[] = "/var/cache/espalier";

Json LostNodeTolerations() {
  Json tolerations = Json::array();
  for (const char* const taint : {"node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"}) {
    tolerations.push_back(
        {{"key", taint}, {"operator", "Exists"}, {"effect", "NoExecute"}, {"tolerationSeconds", kLostNodeSeconds}});
  }
  return tolerations;
}

// The pod's part of the restricted standard. It requires an image whose user is a number other than 0.
Json PodSecurity() { return {{"runAsNonRoot", true}, {"seccompProfile", {{"type", "RuntimeDefault"}}}}; }

Json ContainerSecurity() {
  return {{"allowPrivilegeEscalation", false},
          {"readOnlyRootFilesystem", true},
          {"capabilities", {{"drop", Json::array({"ALL"})}}}};
}

// Delay of the first probe. It is longer for trainers, which load large libraries before they listen. A late probe of a
// trainer delays only the phase that users see.
int InitialProbeDelaySeconds(api::Role role) { return role == api::Role::kTrainer ? 5 : 2; }

// The container is ready once its startup probe succeeds. There is no readiness probe, because every failed probe would
// be a Warning event, also during the start and after the program's end. The process answers "/readyz?wait" when it is
// ready (services/telemetry/admin_server.h), or with 503 after 600 s; a process of an older image answers at once. The
// kubelet ends a container whose process refuses connections for five minutes (kStartupFailures periods). A process
// that listens has kStartupFailures times 600 s to become ready.
constexpr int kStartupFailures = 150;
Json StartupProbe(api::Role role, const std::string& port) {
  return {{"httpGet", {{"path", "/readyz?wait"}, {"port", port}}},
          {"initialDelaySeconds", InitialProbeDelaySeconds(role)},
          {"periodSeconds", 2},
          {"timeoutSeconds", 630},
          {"failureThreshold", kStartupFailures}};
}

Json LivenessProbe(const std::string& port) {
  return {{"httpGet", {{"path", "/livez"}, {"port", port}}},
          {"periodSeconds", 10},
          {"timeoutSeconds", 5},
          {"failureThreshold", 6}};
}

Json Port(const std::string& name, int number) {
  return {{"name", name}, {"containerPort", number}, {"protocol", "TCP"}};
}

// Sets the container's ports and probes. A program that runs to completion, such as a trainer, has no liveness probe:
// the probe would fail between the end of the program and the time at which the kubelet notices it.
void SetPorts(api::Role role, const std::string& name, int port, uint32_t number, Json* container) {
  const std::string admin = PortName("admin", number);
  const int offset = static_cast<int>(number);
  (*container)["ports"] = Json::array({Port(PortName(name, number), port + offset), Port(admin, kAdminPort + offset)});
  (*container)["startupProbe"] = StartupProbe(role, admin);
  if (role != api::Role::kTrainer) (*container)["livenessProbe"] = LivenessProbe(admin);
}

void SetVariable(const std::string& name, const std::string& value, Json* container) {
  for (Json& variable : (*container)["env"]) {
    if (variable["name"] == name) variable["value"] = value;
  }
}

// Returns a copy of `partial` that repeats, for every program container, the entry for the first one, which is named
// after the role. The other entries come after these, so that they are merged later.
Json RepeatForPrograms(const Json& partial, const std::vector<std::string>& names) {
  const Json* const containers = kube::Find(partial, {"spec", "containers"});
  if (names.size() == 1 || containers == nullptr || !containers->is_array()) return partial;
  const auto is_for_all = [&](const Json& item) { return kube::StringAt(item, {"name"}) == names.front(); };
  Json repeated = Json::array();
  for (const Json& item : *containers) {
    for (const std::string& name : names) {
      if (!is_for_all(item)) break;
      repeated.push_back(item);
      repeated.back()["name"] = name;
    }
  }
  for (const Json& item : *containers) {
    if (!is_for_all(item)) repeated.push_back(item);
  }
  Json result = partial;
  result["spec"]["containers"] = std::move(repeated);
  return result;
}

Json LiteralWords(const std::vector<std::string>& words) {
  Json literal = Json::array();
  for (const std::string& word : words) literal.push_back(Literal(word));
  return literal;
}

// Gives the script's init container the resources of the program, except GPUs, unless a template sets its resources. A
// quota may require resources of every container. The pod as a whole does not need more, because the two containers do
// not run at the same time.
void ShareResources(const std::string& gpu_resource, Json* pod) {
  const Json& containers = kube::ListAt(*pod, {"spec", "containers"});
  // A template may have replaced the lists by other types, which the API server rejects.
  if (containers.empty() || kube::ListAt(*pod, {"spec", "initContainers"}).empty()) return;
  const Json* const resources = kube::Find(containers[0], {"resources"});
  if (resources == nullptr) return;
  for (Json& container : (*pod)["spec"]["initContainers"]) {
    if (kube::StringAt(container, {"name"}) == api::kScriptContainer && !container.contains("resources")) {
      container["resources"] = *resources;
      for (Json& part : container["resources"]) {
        if (part.is_object()) part.erase(gpu_resource);
      }
    }
  }
}

// Leaves the field unset if the document has no value, so that the default of the image or of the operator applies.
void SetUnlessEmpty(const std::string& name, const Json& value, Json* object) {
  if (!value.empty()) (*object)[name] = value;
}

}  // namespace

std::string AllAddresses(int port) { return "[::]:" + std::to_string(port); }

std::string Literal(const std::string& text) {
  std::string literal;
  for (const char c : text) literal += c == '$' ? "$$" : std::string(1, c);
  return literal;
}

RolePod::RolePod(const Context& context, api::Role role, const job::Program& program) : RolePod(context, role, "") {
  container()["command"] = LiteralWords(program.CommandWords(api::kScriptFolder));
  if (!program.args.empty()) container()["args"] = LiteralWords(program.args);
}

RolePod::RolePod(const Context& context, api::Role role, const std::string& program) : context_(context), role_(role) {
  Labels labels = MakeLabels(context.training, api::ToString(role));
  // Labels in the role's template take precedence over inherited ones.
  for (const auto& [label, value] : InheritedLabels(context.training)) {
    const Json& own = context.training.spec->role(role).pod_template;
    if (kube::Find(own, {"metadata", "labels", label}) == nullptr) labels.emplace(label, value);
  }
  pod_["metadata"]["labels"] = std::move(labels);
  pod_["spec"] = {{"serviceAccountName", ServiceAccountName(context.training.meta.key.name)},
                  {"automountServiceAccountToken", false},
                  // Variables for the services of the namespace could collide with variables of the program.
                  {"enableServiceLinks", false},
                  // The kernel drops signals to process 1 if it has no handler. In a shared namespace the pause
                  // container is process 1, so that SIGTERM ends a program that has no handler or is still loading its
                  // libraries.
                  {"shareProcessNamespace", true},
                  // The architecture of the images; the document's nodeSelector may override it.
                  {"nodeSelector", {{"kubernetes.io/arch", "amd64"}}},
                  {"tolerations", LostNodeTolerations()},
                  {"securityContext", PodSecurity()}};
  Json main = {{"name", api::ToString(role)},
               {"imagePullPolicy", context.image_pull.policy},
               {"command", Json::array({program})},
               {"env", Json::array()},
               {"securityContext", ContainerSecurity()},
               {"terminationMessagePath", kTerminationLog},
               {"terminationMessagePolicy", "File"}};
  if (const auto image = context.status.images.find(api::ToString(role)); image != context.status.images.end()) {
    main["image"] = image->second;
  }
  for (const std::string& secret : context.image_pull.secrets) {
    pod_["spec"]["imagePullSecrets"].push_back({{"name", secret}});
  }
  pod_["spec"]["containers"] = Json::array({std::move(main)});
  Variable("ESPALIER_TERMINATION_LOG", kTerminationLog);
  Variable("OMP_WAIT_POLICY", "passive");  // spinning idle threads would take processor time from other pods
  Mount("tmp", "/tmp", /*read_only=*/false, {{"emptyDir", Json::object()}});
}

RolePod& RolePod::Argument(const std::string& argument) {
  container()["args"].push_back(argument);
  return *this;
}

RolePod& RolePod::Variable(const std::string& name, const std::string& value) {
  container()["env"].push_back({{"name", name}, {"value", Literal(value)}});
  return *this;
}

RolePod& RolePod::VariableOfPod(const std::string& name, const std::string& field_path) {
  container()["env"].push_back({{"name", name}, {"valueFrom", {{"fieldRef", {{"fieldPath", field_path}}}}}});
  return *this;
}

RolePod& RolePod::ThreadsByProcessorLimit() {
  container()["env"].push_back(
      {{"name", "ESPALIER_THREADS"}, {"valueFrom", {{"resourceFieldRef", {{"resource", "limits.cpu"}}}}}});
  return *this;
}

RolePod& RolePod::Label(const std::string& name, const std::string& value) {
  pod_["metadata"]["labels"][name] = value;
  return *this;
}

void RolePod::Mount(const std::string& name, const std::string& path, bool read_only, Json source) {
  source["name"] = name;
  pod_["spec"]["volumes"].push_back(std::move(source));
  Json mount = {{"name", name}, {"mountPath", path}};
  if (read_only) mount["readOnly"] = true;
  container()["volumeMounts"].push_back(std::move(mount));
}

RolePod& RolePod::Document(const std::string& config_map) {
  Mount("job", kJobFolder, /*read_only=*/true, {{"configMap", {{"name", config_map}}}});
  return Variable("ESPALIER_JOB", std::string(kJobFolder) + "/job.json");
}

RolePod& RolePod::Graph() {
  Variable("ESPALIER_SERVERS", ServerAddresses(context_));
  // For the servers, the name suffices to identify the job: each server belongs to one job, and a job that is created
  // again has new servers.
  Variable("ESPALIER_JOB_NAME", context_.training.meta.key.name);
  Variable("ESPALIER_CONNECT_SECONDS", std::to_string(kConnectSeconds));
  return Variable("ESPALIER_ACCESS", "rpc");  // pods share no files
}

RolePod& RolePod::ObjectStorage() {
  const job::S3Storage& s3 = context_.training.spec->job.s3;
  if (!s3.endpoint.empty()) Variable("AWS_ENDPOINT_URL_S3", s3.endpoint);
  if (!s3.region.empty()) Variable("AWS_REGION", s3.region);
  if (s3.credentials_secret.empty()) return *this;
  const auto add = [&](const char* key, bool optional) {
    Json reference = {{"name", s3.credentials_secret}, {"key", key}};
    if (optional) reference["optional"] = true;
    container()["env"].push_back({{"name", key}, {"valueFrom", {{"secretKeyRef", std::move(reference)}}}});
  };
  add("AWS_ACCESS_KEY_ID", /*optional=*/false);
  add("AWS_SECRET_ACCESS_KEY", /*optional=*/false);
  add("AWS_SESSION_TOKEN", /*optional=*/true);
  return *this;
}

// Cached files in memory count towards the container's memory limit. The page cache of files on disk can be evicted.
RolePod& RolePod::Cache() {
  Json source = {{"emptyDir", Json::object()}};
  if (context_.training.spec->role(role_).cache_in_memory) source["emptyDir"]["medium"] = "Memory";
  Mount("cache", kCacheFolder, /*read_only=*/false, std::move(source));
  return Variable("ESPALIER_DATA_DIR", kCacheFolder);
}

RolePod& RolePod::Script(const job::Script& script) {
  const auto add_volume = [this](const char* name, const char* type, Json source) {
    pod_["spec"]["volumes"].push_back({{"name", name}, {type, std::move(source)}});
  };
  std::string uri = script.uri;
  if (!script.config_map.empty()) {
    uri = std::string(api::kScriptSourceFolder) + "/" + script.key;
    add_volume(api::kScriptSourceVolume, "configMap",
               {{"name", script.config_map}, {"items", Json::array({{{"key", script.key}, {"path", script.key}}})}});
  }
  std::vector<std::string> words = {"fetch-script",     uri,          "--folder",
                                    api::kScriptFolder, "--shown-as", script.Describe()};
  if (!script.entrypoint.empty()) words.insert(words.end(), {"--entrypoint", script.entrypoint});
  if (context_.status.script) words.insert(words.end(), {"--sha256", context_.status.script->sha256});
  script_arguments_ = LiteralWords(words);
  add_volume(api::kScriptVolume, "emptyDir", Json::object());
  if (role_ == api::Role::kTrainer) {
    container()["volumeMounts"].push_back(
        {{"name", api::kScriptVolume}, {"mountPath", api::kScriptFolder}, {"readOnly", true}});
  }
  return *this;
}

// Returns the init container, with the operator's core image. It has the variables and volumes that the operator and
// the administrator's defaults give to `program`, such as settings and credentials of object storage and a company's CA
// certificates, but not the volumes of the job document, the job's TLS certificates and the cache. The document's
// fields for the program's container do not apply to it. A template can change it with an init container of the same
// name.
Json RolePod::ScriptContainer(const Json& program) const {
  Json script = {{"name", api::kScriptContainer},
                 {"imagePullPolicy", context_.image_pull.policy},
                 {"command", Json::array({"espalier"})},
                 {"args", script_arguments_},
                 {"env", program["env"]},
                 {"securityContext", ContainerSecurity()},
                 {"terminationMessagePath", kTerminationLog},
                 {"terminationMessagePolicy", "File"},
                 {"volumeMounts", Json::array()}};
  const auto image = context_.status.images.find(api::kScriptContainer);
  if (image != context_.status.images.end()) script["image"] = image->second;
  for (const Json& mount : program["volumeMounts"]) {
    const std::string name = kube::StringAt(mount, {"name"});
    if (name == "job" || name == "tls" || name == "cache" || name == api::kScriptVolume) continue;
    script["volumeMounts"].push_back(mount);
  }
  script["volumeMounts"].push_back({{"name", api::kScriptVolume}, {"mountPath", api::kScriptFolder}});
  for (const Json& volume : kube::ListAt(pod_, {"spec", "volumes"})) {
    if (volume["name"] != api::kScriptSourceVolume) continue;
    script["volumeMounts"].push_back(
        {{"name", api::kScriptSourceVolume}, {"mountPath", api::kScriptSourceFolder}, {"readOnly", true}});
  }
  return script;
}

// The device plugin sets NVIDIA_VISIBLE_DEVICES or passes device files. NVIDIA_DRIVER_CAPABILITIES has the values for
// compute programs; images based on nvidia/cuda set it too.
RolePod& RolePod::Gpus(uint32_t count) {
  gpus_ = count;
  if (context_.gpu_resource.starts_with("nvidia.com/")) Variable("NVIDIA_DRIVER_CAPABILITIES", "compute,utility");
  return *this;
}

// Used memory counts towards the container's memory limit.
RolePod& RolePod::SharedMemory() {
  Mount("shared-memory", "/dev/shm", /*read_only=*/false, {{"emptyDir", {{"medium", "Memory"}}}});
  return *this;
}

RolePod& RolePod::Peers(const std::string& port_name, int port) {
  port_name_ = port_name;
  port_ = port;
  SetPorts(role_, port_name, port, /*number=*/0, &container());
  Variable("ESPALIER_ADMIN_LISTEN", AllAddresses(kAdminPort));
  return Transport();
}

RolePod& RolePod::Listen(const std::string& variable) {
  listen_variable_ = variable;
  return Variable(variable, AllAddresses(port_));
}

RolePod& RolePod::ContainerNumber(const std::string& variable) {
  number_variable_ = variable;
  return Variable(variable, "0");
}

RolePod& RolePod::AdminPort() {
  container()["ports"] = Json::array({Port(PortName("admin", 0), kAdminPort)});
  return Variable("ESPALIER_ADMIN_LISTEN", AllAddresses(kAdminPort));
}

Json RolePod::FurtherContainer(Json container, uint32_t number) const {
  const int offset = static_cast<int>(number);
  container["name"] = api::ProgramContainerName(role_, number);
  SetPorts(role_, port_name_, port_, number, &container);
  SetVariable(listen_variable_, AllAddresses(port_ + offset), &container);
  SetVariable(number_variable_, std::to_string(number), &container);
  SetVariable("ESPALIER_ADMIN_LISTEN", AllAddresses(kAdminPort + offset), &container);
  return container;
}

RolePod& RolePod::Transport() {
  const api::DistTraining& training = context_.training;
  if (training.spec->tls == api::TlsMode::kDisabled) return Variable("ESPALIER_INSECURE_LISTEN_ANY", "true");
  const std::string folder = kTlsFolder;
  Variable("ESPALIER_TLS_CA", folder + "/ca.crt");
  Variable("ESPALIER_TLS_CERTIFICATE", folder + "/tls.crt");
  Variable("ESPALIER_TLS_KEY", folder + "/tls.key");
  Variable("ESPALIER_TLS_JOB", pki::ToString({training.meta.key.name_space, training.meta.uid}));
  const std::string role = api::ToString(role_);
  const std::string& given = training.spec->tls_secret;
  Json secret = {{"secretName", given.empty() ? TlsSecretName(training.meta.key.name, role_) : given}};
  if (!given.empty()) {  // one Secret for all roles: each mounts its own pair
    const auto item = [](const std::string& key, const std::string& path) {
      return Json{{"key", key}, {"path", path}};
    };
    secret["items"] =
        Json::array({item("ca.crt", "ca.crt"), item(role + ".crt", "tls.crt"), item(role + ".key", "tls.key")});
  }
  Mount("tls", folder, /*read_only=*/true, {{"secret", std::move(secret)}});
  return *this;
}

RolePod& RolePod::GracePeriod(std::chrono::seconds grace) {
  return Field("terminationGracePeriodSeconds", grace.count());
}

RolePod& RolePod::Field(const std::string& name, Json value) {
  pod_["spec"][name] = std::move(value);
  return *this;
}

Json RolePod::FieldsOfDocument() const {
  const api::RoleSpec& role = context_.training.spec->role(role_);
  Json container = {{"name", api::ToString(role_)}};
  Json resources = role.resources;
  // Kubernetes requires equal requests and limits of extended resources.
  for (const char* const part : {"requests", "limits"}) {
    if (gpus_ > 0) resources[part][context_.gpu_resource] = std::to_string(gpus_);
  }
  SetUnlessEmpty("resources", resources, &container);
  SetUnlessEmpty("env", role.env, &container);
  Json spec = {{"containers", Json::array({std::move(container)})}};
  SetUnlessEmpty("nodeSelector", role.node_selector, &spec);
  SetUnlessEmpty("tolerations", role.tolerations, &spec);
  if (!role.service_account_name.empty()) spec["serviceAccountName"] = role.service_account_name;
  return {{"spec", std::move(spec)}};
}

Json RolePod::Template() const {
  const api::RoleSpec& role = context_.training.spec->role(role_);
  Json pod = pod_;
  if (context_.gangs.count(role_) > 0) {
    pod["spec"]["schedulingGroup"] = {{"podGroupName", CurrentPodGroupName(context_, role_)}};
  }
  if (context_.defaults != nullptr) {
    for (const Json& partial : context_.defaults->templates[static_cast<size_t>(role_)]) {
      pod = MergePodTemplate(pod, partial);
    }
  }
  if (!script_arguments_.is_null()) {  // before init containers of defaults, which may be sidecars
    Json& init_containers = pod["spec"]["initContainers"];
    if (!init_containers.is_array()) init_containers = Json::array();
    init_containers.insert(init_containers.begin(), ScriptContainer(pod["spec"]["containers"][0]));
  }
  pod = MergePodTemplate(pod, FieldsOfDocument());
  // If the document names a service account, the program needs the account's token.
  if (!role.service_account_name.empty()) pod["spec"].erase("automountServiceAccountToken");
  std::vector<std::string> names = {api::ProgramContainerName(role_, 0)};
  const uint32_t count = api::CountProgramContainers(*context_.training.spec, role_);
  Json& containers = pod["spec"]["containers"];
  for (uint32_t number = 1; number < count; ++number) {
    names.push_back(api::ProgramContainerName(role_, number));
    // Inserted before the sidecars of defaults.
    containers.insert(containers.begin() + number, FurtherContainer(containers[0], number));
  }
  pod = MergePodTemplate(pod, RepeatForPrograms(role.pod_template, names), names.size());
  if (const auto placement = context_.placements.find(role_); placement != context_.placements.end()) {
    pod = MergePodTemplate(pod, placement->second, names.size());
  }
  if (!script_arguments_.is_null()) ShareResources(context_.gpu_resource, &pod);
  return pod;
}

}  // namespace espalier::ctl::resources
