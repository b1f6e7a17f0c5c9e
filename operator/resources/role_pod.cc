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

// Clusters default to 300: long for a job that stands still until the node is given up.
constexpr int kLostNodeSeconds = 30;
// As patient with servers as a trainer is with a mini-batch (--data-timeout-seconds): one that was lost comes back
// with its partition.
constexpr int kConnectSeconds = 600;
constexpr char kTerminationLog[] = "/dev/termination-log";
constexpr char kJobFolder[] = "/etc/espalier/job";  // job.json
constexpr char kTlsFolder[] = "/etc/espalier/tls";  // ca.crt, tls.crt, tls.key
constexpr char kCacheFolder[] = "/var/cache/espalier";

Json ToleratingLostNodes() {
  Json tolerations = Json::array();
  for (const char* const taint : {"node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"}) {
    tolerations.push_back(
        {{"key", taint}, {"operator", "Exists"}, {"effect", "NoExecute"}, {"tolerationSeconds", kLostNodeSeconds}});
  }
  return tolerations;
}

// The pod's part of the restricted standard; the image's user is a number that is not 0.
Json PodSecurity() { return {{"runAsNonRoot", true}, {"seccompProfile", {{"type", "RuntimeDefault"}}}}; }

Json ContainerSecurity() {
  return {{"allowPrivilegeEscalation", false},
          {"readOnlyRootFilesystem", true},
          {"capabilities", {{"drop", Json::array({"ALL"})}}}};
}

// Trainers load large libraries before they listen; only the job's phase depends on this probe.
int SecondsBeforeAProbe(api::Role role) { return role == api::Role::kTrainer ? 5 : 2; }

// The container is ready once its startup probe succeeds; there is no readiness probe. Every failed probe would be a
// Warning event, also during start and after the program's end. The process answers "/readyz?wait" when it is ready
// (services/telemetry/admin_server.h), or with 503 after 600 s; one of an older image answers at once. The kubelet
// restarts a container whose process refuses connections for five minutes (kStartupFailures periods). A process that
// listens has kStartupFailures times 600 s to become ready.
constexpr int kStartupFailures = 150;
Json StartupProbe(api::Role role, const std::string& port) {
  return {{"httpGet", {{"path", "/readyz?wait"}, {"port", port}}},
          {"initialDelaySeconds", SecondsBeforeAProbe(role)},
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

// The container's ports, and the probes that go there. A program that works to its end, as a trainer does, has no
// liveness probe: it would fail between that end and the kubelet's notice of it.
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

// What a template says of the role's container it says of all that run the program; what it says of one of them by its
// own name comes on top.
Json OfEachContainer(const Json& partial, const std::vector<std::string>& names) {
  const Json* const containers = kube::Find(partial, {"spec", "containers"});
  if (names.size() == 1 || containers == nullptr || !containers->is_array()) return partial;
  const auto is_of_all = [&](const Json& item) { return kube::StringAt(item, {"name"}) == names.front(); };
  Json spread = Json::array();
  for (const Json& item : *containers) {
    for (const std::string& name : names) {
      if (!is_of_all(item)) break;
      spread.push_back(item);
      spread.back()["name"] = name;
    }
  }
  for (const Json& item : *containers) {
    if (!is_of_all(item)) spread.push_back(item);
  }
  Json of_each = partial;
  of_each["spec"]["containers"] = std::move(spread);
  return of_each;
}

Json LiteralWords(const std::vector<std::string>& words) {
  Json literal = Json::array();
  for (const std::string& word : words) literal.push_back(Literal(word));
  return literal;
}

// Gives the script's init container the program's resources where a template names none: a quota may require some of
// each container, and the pod needs no more, because the two do not run at the same time.
void ShareResources(Json* pod) {
  const Json& containers = kube::ListAt(*pod, {"spec", "containers"});
  // What a template has made no list of is refused by the API server.
  if (containers.empty() || kube::ListAt(*pod, {"spec", "initContainers"}).empty()) return;
  const Json* const resources = kube::Find(containers[0], {"resources"});
  if (resources == nullptr) return;
  for (Json& container : (*pod)["spec"]["initContainers"]) {
    if (kube::StringAt(container, {"name"}) == api::kScriptContainer && !container.contains("resources")) {
      container["resources"] = *resources;
    }
  }
}

// Unset where the document says nothing, so that the image's or the operator's default counts.
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
  // What the template says of a label is said of these pods.
  for (const auto& [label, value] : PassedOnLabels(context.training)) {
    const Json& own = context.training.spec->role(role).pod_template;
    if (kube::Find(own, {"metadata", "labels", label}) == nullptr) labels.emplace(label, value);
  }
  pod_["metadata"]["labels"] = std::move(labels);
  pod_["spec"] = {{"serviceAccountName", ServiceAccountName(context.training.meta.key.name)},
                  {"automountServiceAccountToken", false},
                  // Services of the namespace would become variables, some perhaps of our names.
                  {"enableServiceLinks", false},
                  // A signal that process 1 has no handler for is lost: that process is not ours, which ends of it
                  // while its libraries are still being loaded, too, and so does a user's program that has no handler.
                  {"shareProcessNamespace", true},
                  // What the images are built for; the document's nodeSelector comes over it.
                  {"nodeSelector", {{"kubernetes.io/arch", "amd64"}}},
                  {"tolerations", ToleratingLostNodes()},
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
  Variable("OMP_WAIT_POLICY", "passive");  // idle threads that spin take the processor from the node's other pods
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
  // Servers are of this job alone: a job that is created again has new ones.
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

// In memory its pages count towards the container's memory limit; on disk they are page cache, which gives way.
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

// Of the operator's core image, with the variables and volumes that the operator and its defaults give `program`: the
// store's settings and credentials, authorities of a company. What the document says of the program's container does
// not reach it; what a template says of an init container of its name does.
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

RolePod& RolePod::Peers(const std::string& port_name, int port) {
  port_name_ = port_name;
  port_ = port;
  SetPorts(role_, port_name, port, /*number=*/0, &container());
  Variable("ESPALIER_ADMIN_LISTEN", AllAddresses(kAdminPort));
  return Transport();
}

RolePod& RolePod::AdminPort() {
  container()["ports"] = Json::array({Port(PortName("admin", 0), kAdminPort)});
  return Variable("ESPALIER_ADMIN_LISTEN", AllAddresses(kAdminPort));
}

Json RolePod::Twin(Json container, uint32_t number) const {
  const int offset = static_cast<int>(number);
  container["name"] = api::ProgramContainer(role_, number);
  SetPorts(role_, port_name_, port_, number, &container);
  SetVariable("ESPALIER_LISTEN", AllAddresses(port_ + offset), &container);
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
  SetUnlessEmpty("resources", role.resources, &container);
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
  if (context_.defaults != nullptr) {
    for (const Json& partial : context_.defaults->templates[static_cast<size_t>(role_)]) {
      pod = MergePodTemplate(pod, partial);
    }
  }
  if (!script_arguments_.is_null()) {  // before init containers of defaults, which may run for ever
    Json& others = pod["spec"]["initContainers"];
    if (!others.is_array()) others = Json::array();
    others.insert(others.begin(), ScriptContainer(pod["spec"]["containers"][0]));
  }
  pod = MergePodTemplate(pod, FieldsOfDocument());
  // An account of the user's is there for its token.
  if (!role.service_account_name.empty()) pod["spec"].erase("automountServiceAccountToken");
  std::vector<std::string> names = {api::ProgramContainer(role_, 0)};
  const uint32_t count = api::CountProgramContainers(*context_.training.spec, role_);
  Json& containers = pod["spec"]["containers"];
  for (uint32_t number = 1; number < count; ++number) {
    names.push_back(api::ProgramContainer(role_, number));
    // Before sidecars that come with defaults.
    containers.insert(containers.begin() + number, Twin(containers[0], number));
  }
  pod = MergePodTemplate(pod, OfEachContainer(role.pod_template, names), names.size());
  if (!script_arguments_.is_null()) ShareResources(&pod);
  return pod;
}

}  // namespace espalier::ctl::resources
