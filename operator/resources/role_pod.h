// The pod template of the four roles: one container with the role's program, or several for servers and trainers
// (`containersPerPod`), configured by environment variables, under the restricted Pod Security standard.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "operator/resources/builders.h"

namespace espalier::ctl::resources {

// Returns `text` escaped for a command, an argument or a variable, so that the kubelet does not expand $(NAME) in it.
std::string Literal(const std::string& text);

// Returns the address for listening on all addresses of the pod.
std::string AllAddresses(int port);

// Builds the pod template of one role. The functions add the parts that the role needs and return *this.
class RolePod {
 public:
  RolePod(const Context& context, api::Role role, const std::string& program);
  // Runs a user's program.
  RolePod(const Context& context, api::Role role, const job::Program& program);

  RolePod& Argument(const std::string& argument);                        // $(NAME) is expanded
  RolePod& Variable(const std::string& name, const std::string& value);  // literal
  // A variable with a field of the pod (downward API): "status.podIP", "metadata.labels['...']".
  RolePod& VariableOfPod(const std::string& name, const std::string& field_path);
  // Sets ESPALIER_THREADS to the processor limit, rounded up; without a limit, to the number of processors of the node.
  RolePod& ThreadsByProcessorLimit();
  RolePod& Label(const std::string& name, const std::string& value);

  RolePod& Document(const std::string& config_map);  // mounts job.json of the ConfigMap
  RolePod& Graph();                                  // addresses of the servers, and the job's name
  RolePod& ObjectStorage();                          // endpoint, region and credentials
  RolePod& Cache();                                  // a folder for copies of files in object storage
  // Adds an init container that fetches the script and compares its digest with status.script. If the status has no
  // digest yet, the container reports the script's digest in its termination message. The program of a trainer has the
  // script in api::kScriptFolder, read-only.
  RolePod& Script(const job::Script& script);
  // Gives the container `count` GPUs, of context.gpu_resource: they take precedence over the document's `resources`.
  RolePod& Gpus(uint32_t count);
  // Adds /dev/shm in memory, which the containers of the pod share, without the container runtime's limit of 64 MiB.
  RolePod& SharedMemory();
  // Adds the admin port with its probes and a port for connections from other pods, and calls Transport.
  RolePod& Peers(const std::string& port_name, int port);
  // Sets `variable` to the address at which the program listens on the port of Peers. Call it after Peers.
  RolePod& Listen(const std::string& variable);
  // Sets `variable` to the number of the program container in its pod, from 0.
  RolePod& ContainerNumber(const std::string& variable);
  // Adds the admin port without probes, for the partitioner: a failed probe must not end it.
  RolePod& AdminPort();
  // Adds mutual TLS, or, if the job disables TLS, the permission to listen without it. Peers calls Transport; call
  // Transport directly for a program whose ports are unknown.
  RolePod& Transport();
  RolePod& GracePeriod(std::chrono::seconds grace);
  RolePod& Field(const std::string& name, kube::Json value);  // sets a field of the pod's spec

  // Returns the pod template: the administrator's defaults, the role's fields in the document, its `template` in the
  // document and its placement (Context::placements) are merged into the pod, in this order. Further program containers
  // share the volumes of the first one and are copies of it, except for their names, their ports (also in
  // ESPALIER_ADMIN_LISTEN and the variable of Listen), and the value of the variable of ContainerNumber.
  kube::Json Template() const;

 private:
  kube::Json& container() { return pod_["spec"]["containers"][0]; }
  void Mount(const std::string& name, const std::string& path, bool read_only, kube::Json source);
  kube::Json FurtherContainer(kube::Json container, uint32_t number) const;
  kube::Json ScriptContainer(const kube::Json& program) const;
  kube::Json FieldsOfDocument() const;

  const Context& context_;  // must outlive this
  const api::Role role_;
  std::string port_name_;  // set by Peers
  int port_ = 0;
  std::string listen_variable_;  // set by Listen
  std::string number_variable_;  // set by ContainerNumber
  uint32_t gpus_ = 0;
  kube::Json script_arguments_;  // null: the pod needs no script
  kube::Json pod_;
};

}  // namespace espalier::ctl::resources
