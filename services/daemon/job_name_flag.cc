#include "services/daemon/job_name_flag.h"

#include "services/graph/schema.h"

namespace espalier::daemon {

void AddJobNameFlag(CLI::App& app, std::string* name, const std::string& help) {
  app.add_option("--job-name", *name, help)->envname("ESPALIER_JOB_NAME")->check([](const std::string& text) {
    return graph::CheckName("job", text).message();
  });
}

}  // namespace espalier::daemon
