#pragma once

#include <string>

#include "services/base/status.h"

namespace espalier::ctl::client {

// InvalidArgument, without the texts, where one of them is not PEM, the key has a password, or they do not belong
// together: cpprestsdk would then connect anonymously without a word.
Status CheckCertificatePair(const std::string& certificate_pem, const std::string& key_pem);

// InvalidArgument where there is not one certificate in `pem`.
Status CheckAuthorities(const std::string& pem);

}  // namespace espalier::ctl::client
