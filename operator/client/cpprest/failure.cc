#include "operator/client/cpprest/failure.h"

#include <cpprest/http_msg.h>
#include <openssl/err.h>

#include <string>

namespace espalier::ctl::client {
namespace {

// Returns the meaning of an error code. The library keeps only the number, not the category.
std::string DescribeErrorCode(int code) {
  if (code == 0) return "";
  if (code == 1 || code == 2) return "the connection was closed";  // Asio's stream_truncated and eof
  if (code == EHOSTUNREACH) return "connection refused, or no route";
  if (code > 0 && code < 4096) return std::error_code(code, std::generic_category()).message();
  if (const char* reason = ERR_reason_error_string(static_cast<unsigned int>(code))) return reason;
  return "code " + std::to_string(code);
}

// Returns the error of a broken connection. Its code depends only on `was_written`, not on the library's error: the
// library may have sent the request twice by itself, and then reports the error of the second attempt.
Status MakeConnectionError(std::string text, bool was_written) {
  return was_written ? Unavailable(std::move(text)) : FailedPrecondition(std::move(text));
}

}  // namespace

Status ToStatus(std::exception_ptr exception, const std::string& refusal, bool was_written) {
  if (!refusal.empty() && !was_written) {
    return Status(StatusCode::kUnauthenticated, "the server's certificate was rejected: " + refusal);
  }
  try {
    std::rethrow_exception(exception);
  } catch (const StatusException& e) {
    return was_written ? Unavailable(e.status().message()) : e.status();
  } catch (const web::http::http_exception& e) {
    const std::string meaning = DescribeErrorCode(e.error_code().value());
    return MakeConnectionError(std::string(e.what()) + (meaning.empty() ? "" : ": " + meaning), was_written);
  } catch (const std::exception& e) {
    return MakeConnectionError(e.what(), was_written);
  } catch (...) {
    return MakeConnectionError("an exception of an unknown type", was_written);
  }
}

}  // namespace espalier::ctl::client
