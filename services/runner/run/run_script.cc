#include "services/runner/run/run_script.h"

#include "services/runner/run/child_environment.h"
#include "services/storage/store_settings.h"

namespace espalier::run {

Status CheckScriptPlace(const job::Program& program) {
  if (!program.script.has_value() || program.script->config_map.empty()) return Status();
  const job::Script& script = *program.script;
  return InvalidArgument("spec.trainers.program.script.configMapKeyRef: only a cluster has ConfigMaps: save " +
                         script.key + " as a file (kubectl get configmap " + script.config_map +
                         " -o yaml) and run that file, with --set " + "'trainers.program.script={uri: FILE" +
                         (script.entrypoint.empty() ? std::string() : ", entrypoint: " + script.entrypoint) + "}'");
}

Result<script::ScriptFile> ReadRunScript(const job::Script& script, const job::S3Storage& s3,
                                         const EnvironmentMap& environment) {
  EnvironmentMap of_stores = environment;
  for (const auto& [name, value] : StoreEnvironment(s3)) of_stores[name] = value;
  ASSIGN_OR_RETURN(storage::StoreSettings settings, storage::ParseStoreSettings(of_stores));
  const std::string doing = "spec.trainers.program.script";
  ASSIGN_OR_RETURN(script::ScriptFile file,
                   script::ReadScript(script.uri, storage::OpenerWith(std::move(settings))).While(doing));
  RETURN_IF_ERROR(script::CheckScriptDigest(file, script.uri, script.sha256).While(doing));
  return file;
}

}  // namespace espalier::run
