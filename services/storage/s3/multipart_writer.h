// A writer that uploads an object of any size while it is written, with bounded memory.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "services/storage/object_store.h"
#include "services/storage/s3/s3_client.h"

namespace espalier::storage {

// The sizes of parts. S3 allows 10 000 parts and objects of 5 TiB. Parts start small, so that common objects need
// little memory, and grow with the part number to reach the maximum object size. The first 1000 parts (7.8 GiB by
// default) have the same size, because some services require that of all parts.
struct PartSizes {
  uint64_t first_bytes = uint64_t{8} << 20;  // of the first 1000 parts; S3 itself requires at least 5 MiB

  // Returns the size of part `number`, which is from 1 to 10 000.
  uint64_t PartBytes(int number) const;
  // Returns how many parts of this size may be uploaded at a time: one to three; several only if they
  // have at most 256 MiB in total.
  static size_t MaxInFlight(uint64_t part_bytes);
};

// Returns a writer. An object of at most one part is uploaded with one PUT at Commit. Otherwise, parts are uploaded in
// the background while more is written. A failure is returned by a later Write or Commit and by all following calls.
// The destructor aborts an upload that Commit has not completed, so that the service deletes its parts.
std::unique_ptr<ObjectWriter> MakeS3Writer(std::shared_ptr<S3Client> client, S3Bucket bucket, std::string bucket_key,
                                           PartSizes part_sizes);

}  // namespace espalier::storage
