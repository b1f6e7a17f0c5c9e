// The script that a document's program runs (spec.trainers.program.script), outside clusters.
#pragma once

#include "services/base/environment.h"
#include "services/job/dist_training.h"
#include "services/job/script/fetch_script.h"

namespace espalier::run {

// InvalidArgument for a script in a ConfigMap, which only clusters have; the message says what to do instead.
Status CheckScriptPlace(const job::Program& program);

// Reads the script, by the stores that the document and the environment set up, and compares it with the document's
// digest. Errors are those of script::ReadScript and script::CheckScriptDigest.
Result<script::ScriptFile> ReadRunScript(const job::Script& script, const job::S3Storage& s3,
                                         const EnvironmentMap& environment);

}  // namespace espalier::run
