// Reads the script of a document's program (spec.trainers.program.script) for runs outside clusters.
#pragma once

#include "services/base/environment.h"
#include "services/job/dist_training.h"
#include "services/job/script/fetch_script.h"

namespace espalier::run {

// Returns InvalidArgument for a script in a ConfigMap, which exists only in clusters. The message names an alternative.
Status CheckScriptPlace(const job::Program& program);

// Reads the script from the store that the document and the environment configure, and compares it with the digest in
// the document.
// Errors are those of storage::ParseStoreSettings, script::ReadScript and script::CheckScriptDigest.
Result<script::ScriptFile> ReadRunScript(const job::Script& script, const job::S3Storage& s3,
                                         const EnvironmentMap& environment);

}  // namespace espalier::run
