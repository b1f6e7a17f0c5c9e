// The bucket is read from this machine, not through the API server. The endpoint comes from the flag, the environment
// or the document, in this order, because the service often has another address outside the cluster; the region comes
// from the document if it is set there. Credentials are the environment's, or with --use-job-credentials those of the
// job's Secret, which appear in no message.
#include "operator/kubectl/commands/commands.h"
#include "operator/kubectl/commands/job_reader.h"
#include "operator/kubectl/outputs/fetch.h"
#include "operator/kubectl/text/printable.h"
#include "operator/kubectl/view/status_json.h"
#include "operator/kubectl/view/status_text.h"
#include "services/base/base64.h"
#include "services/base/pluralize.h"
#include "services/storage/file_uri.h"
#include "services/storage/open_store.h"
#include "services/terminal/progress.h"

namespace espalier::ctl::kubectl {
namespace {

// Returns a field of a Secret, or "" if it is missing. The value must not appear in a message.
Result<std::string> SecretField(const kube::Json& secret, const std::string& name) {
  const std::string encoded = kube::StringAt(secret, {"data", name});
  const std::optional<std::string> value = DecodeBase64(encoded);
  if (!value) return InvalidArgument("field " + name + " is not valid base64");
  return *value;
}

// Reads the credentials that the job's own pods use.
Status UseJobCredentials(const api::DistTraining& job, const CommandContext& context,
                         storage::S3CredentialSettings* credentials) {
  const std::string& name = job.spec->job.s3.credentials_secret;
  if (name.empty()) {
    return FailedPrecondition("the job names no Secret (spec.storage.s3.credentials): omit --use-job-credentials");
  }
  ASSIGN_OR_RETURN(const kube::Json secret, context.api.Get(kube::kSecrets, {context.name_space, name}));
  const std::string where = "Secret " + context.name_space + "/" + name;
  *credentials = {};
  ASSIGN_OR_RETURN(credentials->access_key_id, SecretField(secret, "AWS_ACCESS_KEY_ID").While(where));
  ASSIGN_OR_RETURN(std::string key, SecretField(secret, "AWS_SECRET_ACCESS_KEY").While(where));
  ASSIGN_OR_RETURN(std::string token, SecretField(secret, "AWS_SESSION_TOKEN").While(where));
  if (credentials->access_key_id.empty() || key.empty()) {
    return InvalidArgument(where + " lacks AWS_ACCESS_KEY_ID or AWS_SECRET_ACCESS_KEY");
  }
  credentials->secret_access_key = telemetry::Secret(std::move(key));
  credentials->session_token = telemetry::Secret(std::move(token));
  return {};
}

// The user's endpoint comes first: outside the cluster the service often has another address.
Result<storage::StoreSettings> SettingsFor(const api::DistTraining& job, const FetchFlags& flags,
                                           const CommandContext& context) {
  ASSIGN_OR_RETURN(storage::StoreSettings settings, storage::ParseStoreSettings(context.environment));
  const job::S3Storage& s3 = job.spec->job.s3;
  if (!flags.endpoint.empty()) settings.s3.endpoint = flags.endpoint;
  if (settings.s3.endpoint.empty()) settings.s3.endpoint = s3.endpoint;
  if (!s3.region.empty()) settings.s3.region = s3.region;  // the bucket's, independent of this machine
  if (flags.use_job_credentials) RETURN_IF_ERROR(UseJobCredentials(job, context, &settings.s3.credentials));
  return settings;
}

// Returns the folder of --to, by default the job's name. Refuses a URI of object storage, which would otherwise name a
// local folder "s3:".
Result<std::string> SelectFolder(const FetchFlags& flags) {
  if (flags.folder.empty()) return flags.name;
  return storage::ToLocalPath(flags.folder).While("--to");
}

// Fetches with a progress bar, which is removed when this returns.
Result<outputs::FetchReport> FetchWithProgress(const storage::StoreLocation& place, const std::string& uri,
                                               const std::string& folder, const FetchFlags& flags,
                                               const CommandContext& context) {
  terminal::Progress progress(terminal::StyleFor(stderr, flags.quiet), stderr);
  progress.Begin("fetching " + text::Printable(uri));
  outputs::FetchOptions options;
  options.folder = folder;
  options.choices = flags.choices;
  options.stop_requested = [&] { return context.stop.stop_requested(); };
  options.progress = [&](const std::string& file, uint64_t present, uint64_t all) {
    const double fraction = all == 0 ? 1 : static_cast<double>(present) / static_cast<double>(all);
    progress.Update(fraction, text::Printable(file) + " (" + terminal::BytesText(present) + " of " +
                                  terminal::BytesText(all) + ")");
  };
  return outputs::FetchOutputs(*place.store, place.prefix, options);
}

std::string ReportText(const outputs::FetchReport& report, const std::string& folder) {
  std::string text;
  for (const std::string& file : report.files) text += folder + "/" + file + "\n";
  for (const auto& [what, reason] : report.not_written) text += "no " + what + ": " + reason + "\n";
  text += Pluralize(report.files.size(), "file") + " with " + terminal::BytesText(report.bytes) + ", of which " +
          terminal::BytesText(report.fetched_bytes) + " were fetched now; all match the checksums in the manifest\n";
  return text::Printable(text, text::Spacing::kKeepLinesTabs);
}

kube::Json ReportJson(const outputs::FetchReport& report, const std::string& folder, const std::string& uri) {
  return {{"folder", folder},
          {"uri", uri},
          {"incarnation", report.incarnation},
          {"files", report.files},
          {"bytes", report.bytes},
          {"fetchedBytes", report.fetched_bytes},
          {"notWritten", report.not_written}};
}

}  // namespace

Result<int> Fetch(const FetchFlags& flags, const CommandContext& context) {
  ASSIGN_OR_RETURN(const std::string folder, SelectFolder(flags));
  ASSIGN_OR_RETURN(const api::DistTraining job, ReadJob(context, flags.name));
  ASSIGN_OR_RETURN(const std::string uri, view::OutputsUri(job));
  ASSIGN_OR_RETURN(const storage::StoreSettings settings, SettingsFor(job, flags, context));
  ASSIGN_OR_RETURN(const storage::StoreLocation place, storage::OpenStore(uri, settings));

  const Result<outputs::FetchReport> report = FetchWithProgress(place, uri, folder, flags, context);
  if (!report.ok() && report.status().code() == StatusCode::kNotFound && !api::IsTrue(job.status, api::kSucceeded)) {
    return NotFound("no outputs are committed at " + uri + " yet: the job is " + api::ToString(job.status.phase) +
                    " (" + report.status().message() + ")");
  }
  if (!report.ok()) return report.status().While("fetching " + uri);
  RETURN_IF_ERROR(context.out.write(flags.as_json ? view::JsonText(ReportJson(*report, folder, uri))
                                                  : ReportText(*report, folder)));
  return 0;
}

}  // namespace espalier::ctl::kubectl
