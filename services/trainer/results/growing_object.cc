#include "services/trainer/results/growing_object.h"

#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <system_error>

#include "services/base/hash.h"

namespace espalier::trainer {
namespace {

Status Put(storage::ObjectStore& store, const std::string& key, const std::string& content) {
  ASSIGN_OR_RETURN(const std::unique_ptr<storage::ObjectWriter> writer, store.Put(key));
  if (!content.empty()) RETURN_IF_ERROR(writer->Write(std::as_bytes(std::span(content))));
  return writer->Commit();
}

}  // namespace

Result<std::unique_ptr<GrowingObject>> GrowingObject::Open(storage::ObjectStore& store, const std::string& key) {
  std::unique_ptr<GrowingObject> object(new GrowingObject(store, key));
  RETURN_IF_ERROR(object->PutAll());
  if (const std::optional<std::string> path = store.LocalPath(key); path.has_value()) {
    object->file_.reset(std::fopen(path->c_str(), "a"));
    if (object->file_ == nullptr) return FromErrno(errno, "opening " + *path);
  }
  return object;
}

Status GrowingObject::Append(std::string_view bytes) {
  content_ += bytes;
  if (file_ == nullptr) return Status();
  if (std::fwrite(bytes.data(), 1, bytes.size(), file_.get()) != bytes.size() || std::fflush(file_.get()) != 0) {
    return FromErrno(errno, "appending to " + store_.Describe() + "/" + key_);
  }
  bytes_in_store_ = content_.size();
  return Status();
}

Status GrowingObject::Flush() {
  if (file_ != nullptr) {
    const int synced = fdatasync(fileno(file_.get()));
    return synced == 0 ? Status() : FromErrno(errno, "syncing " + store_.Describe() + "/" + key_);
  }
  if (upload_.valid()) upload_.wait();  // bounded by the store's own timeouts
  FinishUpload();
  return bytes_in_store_ == content_.size() ? Status() : PutAll();
}

void GrowingObject::FlushSoon() {
  if (file_ != nullptr || !FinishUpload() || bytes_in_store_ == content_.size()) return;
  bytes_in_upload_ = content_.size();
  try {
    upload_ = std::async(std::launch::async, [this, content = content_] { return Put(store_, key_, content); });
  } catch (const std::system_error&) {
    // The thread could not be started. A later FlushSoon may succeed, and Flush needs no thread.
  }
}

bool GrowingObject::FinishUpload() {
  if (!upload_.valid()) return true;
  if (upload_.wait_for(std::chrono::seconds(0)) != std::future_status::ready) return false;
  if (upload_.get().ok()) bytes_in_store_ = bytes_in_upload_;
  return true;
}

Status GrowingObject::PutAll() {
  RETURN_IF_ERROR(Put(store_, key_, content_));
  bytes_in_store_ = content_.size();
  return Status();
}

format::FileEntry GrowingObject::Entry() const {
  format::FileEntry entry{key_, content_.size(), {}};
  const std::string_view content = content_;
  for (size_t at = 0; at < content.size(); at += format::kChecksumBlockBytes) {
    entry.block_hashes.push_back(Hash64(content.substr(at, format::kChecksumBlockBytes)));
  }
  return entry;
}

}  // namespace espalier::trainer
