// Rules of spec.trainers.program, its script, and of documents without spec.training.
#include "services/base/sha256.h"
#include "services/job/rules/rule_check.h"
#include "services/job/rules/script_path.h"

namespace espalier::job {
namespace {

constexpr char kProgramPath[] = "spec.trainers.program";
// The limit of spec.trainers.program as JSON. Pods get the document in a ConfigMap, which holds at most 1 MiB.
constexpr size_t kMaxProgramBytes = size_t{512} << 10;

std::vector<RuleFinding> FindNulBytes(const std::vector<std::string>& words, const std::string& list) {
  std::vector<RuleFinding> findings;
  for (size_t i = 0; i < words.size(); ++i) {
    if (words[i].find('\0') == std::string::npos) continue;
    findings.push_back({.field = list + "[" + std::to_string(i) + "]"});
  }
  return findings;
}

size_t CountJsonBytes(const RuleFields& value) {
  return value.dump(-1, ' ', false, RuleFields::error_handler_t::replace).size();
}

std::vector<Rule> WordRules() {
  const char* const nul = "has a NUL byte, at which a program's argument ends";
  return {
      {.at = kProgramPath,
       .cel = "has(self.command) || has(self.script)",
       .message = "expected the program and its arguments, or a script",
       .field = "command",
       .check = Holds([](const Program& self) { return !self.command.empty() || self.script.has_value(); }),
       .is_required = true},
      {kProgramPath, "!has(self.command) || size(self.command) == 0 || self.command[0] != ''",
       "expected the program as the first word, found an empty one", "command", Finds([](const Program& self) {
         const bool is_named = self.command.empty() || !self.command.front().empty();
         return is_named ? std::vector<RuleFinding>() : std::vector<RuleFinding>{{.field = "command[0]"}};
       })},
      {kProgramPath, R"(!has(self.command) || self.command.all(word, !word.contains('\u0000')))", nul, "command",
       Finds([](const Program& self) { return FindNulBytes(self.command, "command"); })},
      {kProgramPath, R"(!has(self.args) || self.args.all(word, !word.contains('\u0000')))", nul, "args",
       Finds([](const Program& self) { return FindNulBytes(self.args, "args"); })},
      {kProgramPath, "",
       "expected at most " + std::to_string(kMaxProgramBytes) +
           " bytes as JSON, because pods get the document in a ConfigMap of at most 1 MiB: put long words into a file "
           "that the program reads",
       "",
       Holds([](const RuleFields& self) { return CountJsonBytes(self) <= kMaxProgramBytes; },
             [](const RuleFields& self) { return "; found " + std::to_string(CountJsonBytes(self)); })},
  };
}

// Returns whether the URI names a file: not a folder, which ends in '/', and not "s3://bucket".
bool IsFileUri(std::string_view uri) {
  constexpr std::string_view kS3 = "s3://";
  const bool is_bucket = uri.starts_with(kS3) && uri.find('/', kS3.size()) == std::string_view::npos;
  return !uri.ends_with('/') && !is_bucket;
}

// Returns whether exactly one of uri and configMapKeyRef is set. If not, the rules for entrypoint and command that
// depend on the name of the script's file report nothing.
bool HasOneSource(const Script& script) { return script.uri.empty() != script.config_map.empty(); }

std::vector<Rule> ScriptRules() {
  const std::string script = std::string(kProgramPath) + ".script";
  const std::string has_not_one_source_or = "has(self.uri) == has(self.configMapKeyRef) || ";
  const std::string is_archive =
      R"((has(self.uri) ? self.uri : self.configMapKeyRef.key).matches('\\.(tar|tar\\.gz|tgz|zip)$'))";
  return {
      {script, "has(self.uri) != has(self.configMapKeyRef)", "expected either uri or configMapKeyRef", "",
       Holds([](const Script& self) { return HasOneSource(self); })},
      {.at = script,
       .cel = has_not_one_source_or + "has(self.entrypoint) || !" + is_archive,
       .message = "expected the path, within the archive, of the file to run",
       .field = "entrypoint",
       .check = Holds([](const Script& self) {
         return !HasOneSource(self) || !self.entrypoint.empty() || !IsArchiveName(self.FileName());
       }),
       .is_required = true},
      {script, has_not_one_source_or + "!has(self.entrypoint) || " + is_archive,
       "only for an archive (*.tar, *.tar.gz, *.tgz, *.zip): omit it", "entrypoint", Holds([](const Script& self) {
         return !HasOneSource(self) || self.entrypoint.empty() || IsArchiveName(self.FileName());
       })},
      {script + ".uri", R"(!self.endsWith('/') && !self.matches('^[sS]3[aA]?://[^/]*$'))",
       "names a folder: expected one file or archive", "",
       Holds([](const RuleFields& self) { return IsFileUri(self.get<std::string>()); })},
      {.at = script + ".uri",
       .cel = "self.matches('^[sS]3[aA]?://')",
       .message = "on a cluster, expected s3://bucket/key or configMapKeyRef; for a file on a volume, write its path "
                  "in spec.trainers.program.command",
       .check = Holds([](const RuleFields& self) { return self.get<std::string>().starts_with("s3://"); }),
       .on_cluster_only = true},
      {script + ".sha256", "self.matches('^[0-9a-f]{64}$')",
       "expected 64 lower-case hexadecimal digits, as sha256sum prints them", "",
       Holds([](const RuleFields& self) { return IsSha256Hex(self.get<std::string>()); })},
      {script + ".entrypoint",
       R"(self.matches('^[^/\\\\[:cntrl:]]+(/[^/\\\\[:cntrl:]]+)*$') && !self.matches('(^|/)\\.\\.?(/|$)'))",
       "expected a relative path without backslashes, and without parts that are empty, '.' or '..'", "",
       Holds([](const RuleFields& self) { return IsPathWithin(self.get<std::string>()); })},
      {.at = kProgramPath,
       .cel = "has(self.command) || !has(self.script) || has(self.script.uri) == has(self.script.configMapKeyRef) || "
              "(has(self.script.entrypoint) ? self.script.entrypoint : has(self.script.uri) ? self.script.uri : "
              "self.script.configMapKeyRef.key).endsWith('.py')",
       .message = "expected a command: only a script *.py runs without one",
       .field = "command",
       .check = Holds([](const Program& self) {
         return !self.command.empty() || !self.script.has_value() || !HasOneSource(*self.script) ||
                self.script->MainFile().ends_with(".py");
       }),
       .is_required = true},
  };
}

}  // namespace

std::vector<Rule> ProgramRules() {
  std::vector<Rule> rules = {
      // No C++ check: check_fields.cc reports a missing spec.training, because the caller decides whether the field is
      // required (SpecTraining in job/read_by.h).
      {.at = "spec",
       .cel = "has(self.training) || has(self.trainers.program)",
       .message = kTrainingOrProgram,
       .field = "training",
       .is_required = true},
      {"spec", "has(self.training) || self.samplers.replicas == 0", "sampler processes need spec.training.sampling",
       "samplers.replicas",
       Holds([](const DistTraining& self) { return self.has_training || self.sampler_replicas == 0; })},
      {"spec", "!has(self.trainers.program) || !has(self.checkpoint.resumeFrom)",
       "not supported for programs, which load their own checkpoints: omit it", "checkpoint.resumeFrom",
       Holds(
           [](const DistTraining& self) { return !self.program.has_value() || self.checkpoint.resume_from.empty(); })},
      {"spec", "!has(self.trainers.program) || !has(self.output.nodesUri)",
       "not supported for programs, which write their own outputs: omit it", "output.nodesUri",
       Holds([](const DistTraining& self) { return !self.program.has_value() || self.output_nodes_uri.empty(); })},
      {"spec", "!has(self.trainers.program) || !has(self.trainers.featureCache)",
       "not supported for programs, which fetch rows themselves: omit it", "trainers.featureCache",
       Holds([](const DistTraining& self) { return !self.program.has_value() || !self.feature_cache.has_value(); })},
      {"spec", IfTraining("!has(self.trainers.program) || self.training.precision == 'F32'"),
       "not supported for programs, which choose their own precision: omit it", "training.precision",
       Holds([](const DistTraining& self) {
         return !self.program.has_value() || !self.has_training || self.training.precision == Precision::kF32;
       })},
      {.at = "spec",
       .cel = "!has(self.trainers.program) || self.trainers.containersPerPod == 1",
       .message = "not supported for programs, because each pod runs one program: omit it, and start further processes "
                  "in the program",
       .field = "trainers.containersPerPod",
       .check = Holds(
           [](const DistTraining& self) { return !self.program.has_value() || self.trainer_containers_per_pod == 1; }),
       .on_cluster_only = true},
      {.at = "spec",
       .cel = "has(self.trainers.program) || self.trainers.gpus <= 1",
       .message = "a built-in trainer uses at most one GPU: expected 0 or 1; for more GPUs raise "
                  "spec.trainers.replicas",
       .field = "trainers.gpus",
       .check = Holds([](const DistTraining& self) { return self.program.has_value() || self.trainer_gpus <= 1; },
                      [](const DistTraining& self) { return "; found " + std::to_string(self.trainer_gpus); }),
       .on_cluster_only = true},
  };
  for (const std::vector<Rule>& part : {WordRules(), ScriptRules()})
    rules.insert(rules.end(), part.begin(), part.end());
  return rules;
}

}  // namespace espalier::job
