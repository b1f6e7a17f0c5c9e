// An object of any size, uploaded while it is written, with bounded memory.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "services/storage/object_store.h"
#include "services/storage/s3/s3_client.h"

namespace espalier::storage {

// S3 allows 10 000 parts and objects of 5 TiB. Parts start small, so that common objects need little memory, and grow
// at the numbers where the small ones would not suffice. Up to 7.8 GiB all parts are of one size, which some services
// insist on.
struct PartSizes {
  uint64_t first_bytes = uint64_t{8} << 20;  // at least 5 MiB on S3 itself

  // Of part `number`, from 1 to 10 000.
  uint64_t PartBytes(int number) const;
  // How many parts of that size may be on their way at a time: at most three, and 256 MiB.
  static size_t MaxInFlight(uint64_t part_bytes);
};

// An object smaller than a part is one PUT at Commit. Otherwise parts are uploaded in the background while more is
// written; a failure shows at a later Write or at Commit, and from then on. Without Commit, and after a failure, the
// upload is aborted, so that the service forgets its parts.
std::unique_ptr<ObjectWriter> MakeS3Writer(std::shared_ptr<S3Client> client, S3Bucket bucket, std::string bucket_key,
                                           PartSizes part_sizes);

}  // namespace espalier::storage
