#!/usr/bin/env bash
# stripe reports one kind of bad webhook signature by a plain Error instead of its own error class.
#
# Package: stripe 23.1.0 (npm), Node.js 20 or later.
# Expected: Stripe.webhooks.constructEvent throws StripeSignatureVerificationError for every header that does not verify, so that
#   a handler which answers 400 to that class, and 500 to anything else, answers 400 to all of them.
# What happens: a header whose signature is empty ("t=1,v1=") throws a plain Error.
# Seen on 2026-11-29:
#   no header: StripeSignatureVerificationError
#   wrong signature: StripeSignatureVerificationError
#   no signature: StripeSignatureVerificationError
#   empty signature: Error
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm install --silent --no-audit --no-fund stripe@23.1.0 >/dev/null
cat >verify.mjs <<'JS'
import Stripe from "stripe";

const headers = { "no header": "", "wrong signature": "t=1,v1=00", "no signature": "t=1", "empty signature": "t=1,v1=" };
for (const [what, header] of Object.entries(headers)) {
  try {
    Stripe.webhooks.constructEvent("{}", header, "whsec_example");
  } catch (error) {
    console.log(`${what}: ${error.constructor.name}`);
  }
}
JS
node verify.mjs | tee seen
diff seen - <<'SEEN'
no header: StripeSignatureVerificationError
wrong signature: StripeSignatureVerificationError
no signature: StripeSignatureVerificationError
empty signature: Error
SEEN
