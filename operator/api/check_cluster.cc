// Checks a parsed spec field by field and collects all violations, so that a user sees them together. A local path is
// accepted if, for every role that opens it, the pod template mounts a volume there in the role's program container.
// For jobs with a script, volumes and mounts that could put other files in the script's place are refused.
#include "operator/api/check_cluster.h"

#include <algorithm>
#include <filesystem>
#include <optional>

#include "absl/strings/str_join.h"
#include "operator/api/program_container.h"

namespace espalier::ctl::api {
namespace {

struct UriField {
  const char* name;
  const std::string& uri;
  std::vector<Role> roles;  // roles whose pods open the URI
};

std::vector<UriField> ListUriFields(const job::DistTraining& job) {
  std::vector<Role> output_roles = {Role::kTrainer};
  if (job.graph.partitions.uri.empty()) output_roles = {Role::kPartitioner, Role::kServer, Role::kTrainer};
  return {{"spec.graph.source.uri", job.graph.source.uri, {Role::kPartitioner}},
          {"spec.graph.partitions.uri", job.graph.partitions.uri, {Role::kPartitioner, Role::kServer}},
          {"spec.graph.partitions.assignmentUri", job.graph.partitions.assignment_uri, {Role::kPartitioner}},
          {"spec.training.model.uri", job.training.model.uri, {Role::kTrainer}},
          {"spec.checkpoint.resumeFrom", job.checkpoint.resume_from, {Role::kTrainer}},
          {"spec.output.uri", job.output_uri, std::move(output_roles)},
          {"spec.output.nodesUri", job.output_nodes_uri, {Role::kTrainer}}};
}

// Returns the path in `uri` (a plain path or a "file:" URI), normalized and without a trailing slash.
std::filesystem::path ToPath(const std::string& uri) {
  std::string path = uri;
  if (path.starts_with("file://")) {
    path = path.substr(7);
  } else if (path.starts_with("file:")) {
    path = path.substr(5);
  }
  // A trailing slash leaves an empty last component, which is removed.
  std::filesystem::path normal = std::filesystem::path(path).lexically_normal();
  return normal.has_filename() || normal == normal.root_path() ? normal : normal.parent_path();
}

bool IsWithin(const std::filesystem::path& path, const std::filesystem::path& folder) {
  return std::mismatch(folder.begin(), folder.end(), path.begin(), path.end()).first == folder.end();
}

// Returns whether the mount path is within the folder, or the folder within the mount path. The kubelet resolves a
// relative mount path from the root.
bool Overlaps(const std::string& mount_path, const std::filesystem::path& folder) {
  const std::filesystem::path path = ToPath(mount_path.starts_with('/') ? mount_path : "/" + mount_path);
  return IsWithin(path, folder) || IsWithin(folder, path);
}

// Returns the name of the volume that `path` lies on in the role's first program container (named after the role), or
// nullopt if no mount contains the path. If several mounts contain it, the deepest one counts.
std::optional<std::string> FindVolume(const std::filesystem::path& path, Role role, const RoleSpec& spec) {
  std::optional<std::string> volume;
  std::filesystem::path deepest;
  for (const kube::Json& container : kube::ListAt(spec.pod_template, {"spec", "containers"})) {
    if (kube::StringAt(container, {"name"}) != ToString(role)) continue;
    for (const kube::Json& mount : kube::ListAt(container, {"volumeMounts"})) {
      const std::string mount_path = kube::StringAt(mount, {"mountPath"});
      if (!mount_path.starts_with('/') || !IsWithin(path, ToPath(mount_path))) continue;
      if (volume && !IsWithin(ToPath(mount_path), deepest)) continue;
      volume = kube::StringAt(mount, {"name"});
      deepest = ToPath(mount_path);
    }
  }
  return volume;
}

bool IsMounted(const std::filesystem::path& path, Role role, const RoleSpec& spec) {
  return FindVolume(path, role, spec).has_value();
}

// Returns whether each pod has its own instance of the volume.
bool IsPerPod(const std::string& name, const RoleSpec& spec) {
  for (const kube::Json& volume : kube::ListAt(spec.pod_template, {"spec", "volumes"})) {
    if (kube::StringAt(volume, {"name"}) != name) continue;
    return kube::Find(volume, {"emptyDir"}) != nullptr || kube::Find(volume, {"ephemeral"}) != nullptr;
  }
  return false;
}

// Partitioners exchange files in the folder of the partitions. Refuses several partitioners if each pod has its own
// volume for this folder.
void CheckPartitionersShareFolder(const Spec& spec, std::vector<std::string>* violations) {
  if (spec.job.partitioner_replicas == 1) return;
  const bool has_partitions_uri = !spec.job.graph.partitions.uri.empty();
  const std::string& uri = has_partitions_uri ? spec.job.graph.partitions.uri : spec.job.output_uri;
  if (uri.empty() || uri.starts_with("s3://")) return;
  const RoleSpec& role = spec.role(Role::kPartitioner);
  const std::optional<std::string> volume = FindVolume(ToPath(uri), Role::kPartitioner, role);
  if (!volume || !IsPerPod(*volume, role)) return;
  violations->push_back(std::string(has_partitions_uri ? "spec.graph.partitions.uri" : "spec.output.uri") +
                        ": several partitioners exchange data there, but each pod has its own volume '" + *volume +
                        "': mount a shared volume, or use s3://bucket/prefix");
}

void CheckUri(const UriField& field, const Spec& spec, std::vector<std::string>* violations) {
  if (field.uri.empty() || field.uri.starts_with("s3://")) return;
  const std::filesystem::path path = ToPath(field.uri);
  if (!path.is_absolute()) {
    violations->push_back(
        std::string(field.name) +
        ": a relative path is not supported on a cluster: expected s3://bucket/prefix, or an absolute path "
        "under a volumeMount");
    return;
  }
  for (const Role role : field.roles) {
    if (IsMounted(path, role, spec.role(role))) continue;
    violations->push_back(std::string(field.name) + ": a path must lie under a volumeMount on a cluster, but spec." +
                          FieldName(role) + ".template mounts nothing there in its container '" + ToString(role) +
                          "': mount a volume, or use s3://bucket/prefix");
  }
}

// Refuses sidecars and init containers with names that program containers would get only with a larger
// containersPerPod, such as "trainer-1" if containersPerPod is 1: the operator would read their exit messages as those
// of the role's program.
void CheckContainerNames(const Spec& spec, Role role, std::vector<std::string>* violations) {
  const uint32_t programs = CountProgramContainers(spec, role);
  const std::string field = std::string("spec.") + FieldName(role);
  for (const char* const list : {"initContainers", "containers"}) {
    for (const kube::Json& container : kube::ListAt(spec.role(role).pod_template, {"spec", list})) {
      const std::string name = kube::StringAt(container, {"name"});
      if (FindContainerNumber(role, name).value_or(0) < programs) continue;
      violations->push_back(field + ".template: the container '" + name + "' has the name of a " + ToString(role) +
                            ", but " + field + ".containersPerPod is " + std::to_string(programs) + ": rename it");
    }
  }
}

// Refuses pod templates that could put other files in the script's place: volumes with the names of the script's
// volumes, and mounts at, below or above the script's folders. In a volume that is mounted above a script folder, a
// symbolic link could later replace the script folder and lead to other files.
void CheckScriptVolumes(Role role, const kube::Json& pod_template, std::vector<std::string>* violations) {
  const std::string field = std::string("spec.") + FieldName(role) + ".template: ";
  const auto is_reserved = [](const std::string& volume) {
    return volume == kScriptVolume || volume == kScriptSourceVolume;
  };
  for (const kube::Json& volume : kube::ListAt(pod_template, {"spec", "volumes"})) {
    const std::string name = kube::StringAt(volume, {"name"});
    if (!is_reserved(name)) continue;
    violations->push_back(field + "the volume name '" + name +
                          "' is reserved for the program's script: use another name");
  }
  for (const char* const list : {"initContainers", "containers"}) {
    for (const kube::Json& container : kube::ListAt(pod_template, {"spec", list})) {
      const std::string name = kube::StringAt(container, {"name"});
      if (name == kScriptContainer && list == std::string_view("containers")) {
        violations->push_back(
            field + "the container name '" + name +
            "' is reserved for the init container that fetches the program's script: use another name");
      }
      const auto check = [&](const char* mounts, const char* path_field) {
        for (const kube::Json& mount : kube::ListAt(container, {mounts})) {
          const std::string path = kube::StringAt(mount, {path_field});
          const bool overlaps_script =
              !path.empty() && (Overlaps(path, kScriptFolder) || Overlaps(path, kScriptSourceFolder));
          if (!overlaps_script && !is_reserved(kube::StringAt(mount, {"name"}))) continue;
          violations->push_back(field + "container '" + name + "' could change the program's script by its mount at '" +
                                path + "': use other volumes and paths");
        }
      };
      check("volumeMounts", "mountPath");
      check("volumeDevices", "devicePath");
    }
  }
}

void CheckScript(const Spec& spec, std::vector<std::string>* violations) {
  if (!spec.job.program || !spec.job.program->script) return;
  for (const Role role : {Role::kPartitioner, Role::kTrainer}) {
    CheckScriptVolumes(role, spec.role(role).pod_template, violations);
  }
}

}  // namespace

espalier::Status CheckSpecForCluster(const Spec& spec) {
  std::vector<std::string> violations;
  for (const UriField& field : ListUriFields(spec.job)) CheckUri(field, spec, &violations);
  CheckScript(spec, &violations);
  CheckPartitionersShareFolder(spec, &violations);
  for (const Role role : {Role::kServer, Role::kTrainer}) CheckContainerNames(spec, role, &violations);
  if (violations.empty()) return {};
  return InvalidArgument(absl::StrJoin(violations, "\n"));
}

}  // namespace espalier::ctl::api
