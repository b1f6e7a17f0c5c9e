#include "services/storage/s3/service_traits.h"

namespace espalier::storage {

S3Bucket ServiceTraits::Locate(const S3Bucket& bucket) const {
  MutexLock lock(&mutex_);
  const auto found = regions_.find(bucket.name);
  return found == regions_.end() ? bucket : InRegion(bucket, found->second);
}

bool ServiceTraits::SetRegion(const std::string& bucket_name, const std::string& region) {
  MutexLock lock(&mutex_);
  std::string& known = regions_[bucket_name];
  if (known == region) return false;
  known = region;
  return true;
}

bool ServiceTraits::IsKnownToExist(const std::string& bucket_name) const {
  MutexLock lock(&mutex_);
  return known_buckets_.contains(bucket_name);
}

void ServiceTraits::RecordExistence(const std::string& bucket_name) {
  MutexLock lock(&mutex_);
  known_buckets_.insert(bucket_name);
}

}  // namespace espalier::storage
