// Checks a parsed spec field by field and collects all violations, so that a user sees them at once. A local path is
// accepted if the pod template of every role that opens it mounts a volume there in the role's own container. For jobs
// with a script, volumes and mounts that could put other files in the script's place are refused.
#include "operator/api/check_cluster.h"

#include <algorithm>
#include <filesystem>
#include <optional>

#include "operator/api/program_container.h"

namespace espalier::ctl::api {
namespace {

struct Place {
  const char* field;
  const std::string& uri;
  std::vector<Role> users;  // roles whose pods open it
};

std::vector<Place> ListPlaces(const job::DistTraining& job) {
  std::vector<Role> of_output = {Role::kTrainer};
  if (job.graph.partitions.uri.empty()) of_output = {Role::kPartitioner, Role::kServer, Role::kTrainer};
  return {{"spec.graph.source.uri", job.graph.source.uri, {Role::kPartitioner}},
          {"spec.graph.partitions.uri", job.graph.partitions.uri, {Role::kPartitioner, Role::kServer}},
          {"spec.graph.partitions.assignmentUri", job.graph.partitions.assignment_uri, {Role::kPartitioner}},
          {"spec.training.model.uri", job.training.model.uri, {Role::kTrainer}},
          {"spec.checkpoint.resumeFrom", job.checkpoint.resume_from, {Role::kTrainer}},
          {"spec.output.uri", job.output_uri, std::move(of_output)},
          {"spec.output.nodesUri", job.output_nodes_uri, {Role::kTrainer}}};
}

std::filesystem::path PathTo(const std::string& uri) {
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

// Returns whether a mount is inside the folder or around it. The kubelet resolves a relative path from the root.
bool Overlaps(const std::string& mount_path, const std::filesystem::path& folder) {
  const std::filesystem::path path = PathTo(mount_path.starts_with('/') ? mount_path : "/" + mount_path);
  return IsWithin(path, folder) || IsWithin(folder, path);
}

// Returns the name of the volume mounted at `path` in the container that runs the role's program, which is named after
// the role; nullopt: none. The deepest mount hides those around it.
std::optional<std::string> VolumeAt(const std::filesystem::path& path, Role role, const RoleSpec& spec) {
  std::optional<std::string> volume;
  std::filesystem::path deepest;
  for (const kube::Json& container : kube::ListAt(spec.pod_template, {"spec", "containers"})) {
    if (kube::StringAt(container, {"name"}) != ToString(role)) continue;
    for (const kube::Json& mount : kube::ListAt(container, {"volumeMounts"})) {
      const std::string mount_path = kube::StringAt(mount, {"mountPath"});
      if (!mount_path.starts_with('/') || !IsWithin(path, PathTo(mount_path))) continue;
      if (volume && !IsWithin(PathTo(mount_path), deepest)) continue;
      volume = kube::StringAt(mount, {"name"});
      deepest = PathTo(mount_path);
    }
  }
  return volume;
}

bool IsMounted(const std::filesystem::path& path, Role role, const RoleSpec& spec) {
  return VolumeAt(path, role, spec).has_value();
}

// Returns whether each pod has its own instance of the volume.
bool IsOfEachPod(const std::string& name, const RoleSpec& spec) {
  for (const kube::Json& volume : kube::ListAt(spec.pod_template, {"spec", "volumes"})) {
    if (kube::StringAt(volume, {"name"}) != name) continue;
    return kube::Find(volume, {"emptyDir"}) != nullptr || kube::Find(volume, {"ephemeral"}) != nullptr;
  }
  return false;
}

// Several partitioners exchange files where the partitions are written, so they must share that folder.
void CheckRendezvousName(const Spec& spec, std::vector<std::string>* violations) {
  if (spec.job.partitioner_replicas == 1) return;
  const bool has_own = !spec.job.graph.partitions.uri.empty();
  const std::string& uri = has_own ? spec.job.graph.partitions.uri : spec.job.output_uri;
  if (uri.empty() || uri.starts_with("s3://")) return;
  const RoleSpec& role = spec.role(Role::kPartitioner);
  const std::optional<std::string> volume = VolumeAt(PathTo(uri), Role::kPartitioner, role);
  if (!volume || !IsOfEachPod(*volume, role)) return;
  violations->push_back(std::string(has_own ? "spec.graph.partitions.uri" : "spec.output.uri") +
                        ": several partitioners exchange data there, but every pod has the volume '" + *volume +
                        "' separately: mount a shared volume, or use s3://bucket/prefix");
}

void CheckPlace(const Place& place, const Spec& spec, std::vector<std::string>* violations) {
  if (place.uri.empty() || place.uri.starts_with("s3://")) return;
  const std::filesystem::path path = PathTo(place.uri);
  if (!path.is_absolute()) {
    violations->push_back(
        std::string(place.field) +
        ": a relative path is not supported on a cluster: expected s3://bucket/prefix, or an absolute path "
        "under a volumeMount");
    return;
  }
  for (const Role user : place.users) {
    if (IsMounted(path, user, spec.role(user))) continue;
    violations->push_back(std::string(place.field) + ": a path must lie under a volumeMount on a cluster, but spec." +
                          FieldName(user) + ".template mounts nothing there in its container '" + ToString(user) +
                          "': mount a volume, or use s3://bucket/prefix");
  }
}

// Refuses other containers with the names of program containers: their exit messages would be taken for those of the
// role's program.
void CheckContainerNames(const Spec& spec, Role role, std::vector<std::string>* violations) {
  const uint32_t programs = CountProgramContainers(spec, role);
  const std::string field = std::string("spec.") + FieldName(role);
  for (const char* const list : {"initContainers", "containers"}) {
    for (const kube::Json& container : kube::ListAt(spec.role(role).pod_template, {"spec", list})) {
      const std::string name = kube::StringAt(container, {"name"});
      if (NumberOfContainer(role, name).value_or(0) < programs) continue;
      violations->push_back(field + ".template: the container '" + name + "' has the name of a " + ToString(role) +
                            ", but " + field + ".containersPerPod is " + std::to_string(programs) + ": rename it");
    }
  }
}

// Refuses pod templates that could put other files in the script's place: volumes with the names of the script's
// volumes, and mounts inside or around the script's folders. A mount around a folder could later contain a symbolic
// link to other files.
void CheckScriptVolumes(Role role, const kube::Json& pod_template, std::vector<std::string>* violations) {
  const std::string field = std::string("spec.") + FieldName(role) + ".template: ";
  const auto is_reserved = [](const std::string& volume) {
    return volume == kScriptVolume || volume == kScriptSourceVolume;
  };
  for (const kube::Json& volume : kube::ListAt(pod_template, {"spec", "volumes"})) {
    const std::string name = kube::StringAt(volume, {"name"});
    if (!is_reserved(name)) continue;
    violations->push_back(field + "the volume '" + name + "' contains the program's script: use another name");
  }
  for (const char* const list : {"initContainers", "containers"}) {
    for (const kube::Json& container : kube::ListAt(pod_template, {"spec", list})) {
      const std::string name = kube::StringAt(container, {"name"});
      if (name == kScriptContainer && list == std::string_view("containers")) {
        violations->push_back(field + "the init container '" + name +
                              "' fetches the program's script: use another name");
      }
      const auto check = [&](const char* mounts, const char* path_field) {
        for (const kube::Json& mount : kube::ListAt(container, {mounts})) {
          const std::string path = kube::StringAt(mount, {path_field});
          const bool is_over_it =
              !path.empty() && (Overlaps(path, kScriptFolder) || Overlaps(path, kScriptSourceFolder));
          if (!is_over_it && !is_reserved(kube::StringAt(mount, {"name"}))) continue;
          violations->push_back(field + "container '" + name +
                                "' mounts a volume of the program's script, or one over it, at '" + path +
                                "': use other volumes and paths");
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

espalier::Status CheckCluster(const Spec& spec) {
  std::vector<std::string> violations;
  for (const Place& place : ListPlaces(spec.job)) CheckPlace(place, spec, &violations);
  CheckScript(spec, &violations);
  CheckRendezvousName(spec, &violations);
  for (const Role role : {Role::kServer, Role::kTrainer}) CheckContainerNames(spec, role, &violations);
  if (violations.empty()) return {};
  std::string text;
  for (const std::string& violation : violations) text += (text.empty() ? "" : "\n") + violation;
  return InvalidArgument(text);
}

}  // namespace espalier::ctl::api
