// Files of sources for tests: a folder that goes away, text and gzip.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace espalier::format::testing {

// A new, empty folder; removed with all that is in it at the end of its life.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::string& path() const { return path_; }

  // Write `name` below the folder and return its path; folders on the way are made.
  std::string Write(const std::string& name, const std::string& bytes) const;
  std::string WriteGzip(const std::string& name, const std::string& text) const;

  // The bytes of a file below the folder.
  std::string Read(const std::string& name) const;

 private:
  std::string path_;
};

// The bytes of a gzip file that holds `text`.
std::string Gzip(const std::string& text);

// A .npy file: version 1, this dictionary, these bytes.
std::string Npy(const std::string& dictionary, const std::string& data);

// The little-endian bytes of values.
template <class T>
std::string BytesOf(const std::vector<T>& values) {
  return std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
}

// A triangle 0 -> 1 -> 2 -> 0 and a lonely node 3, as OGB's raw CSV: two features, three classes, split "public".
void WriteOgbTriangle(const TemporaryFolder& folder);

}  // namespace espalier::format::testing
