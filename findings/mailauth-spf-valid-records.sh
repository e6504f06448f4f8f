#!/usr/bin/env bash
# mailauth calls some valid SPF records broken, and expands %{d} in an included record to the wrong domain.
#
# Package: mailauth 4.13.3 (npm), Node.js 20 or later.
# Expected (RFC 7208): host names compare without case; a domain may end in a dot (7.1, domain-end); an unknown modifier is
#   ignored, also an empty one (6); %{d} is the domain of the record in which it stands, inside an include the included one (7.2).
# What happens: a redirect to a name in capitals, a name with a final dot and an empty unknown modifier give permerror; %{d} in an
#   included record is the sender's domain.
# Seen on 2026-11-29:
#   redirect in capitals: permerror
#   final dot: permerror
#   empty unknown modifier: permerror
#   %{d} of the included domain: fail
#   %{d} of the sender's domain: pass
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm install --silent --no-audit --no-fund mailauth@4.13.3 >/dev/null
cat >spf.mjs <<'JS'
import { spf } from "mailauth/lib/spf/index.js";

const resolverOf = (zone) => async (name, type) => {
  const records = zone[`${name.toLowerCase()} ${type}`];
  if (records) return records;
  throw Object.assign(new Error("no such name"), { code: "ENOTFOUND" });
};
async function check(what, zone) {
  const sender = { sender: "a@x.test", ip: "192.0.2.1", helo: "h.x.test", mta: "m.test" };
  const { status } = await spf({ ...sender, resolver: resolverOf(zone) });
  console.log(`${what}: ${status.result}`);
}
const allowed = { "y.test TXT": [["v=spf1 ip4:192.0.2.1 -all"]] };
const listed = { "x.test TXT": [["v=spf1 include:y.test -all"]], "y.test TXT": [["v=spf1 exists:%{d}.l.test -all"]] };
await check("redirect in capitals", { "x.test TXT": [["v=spf1 redirect=Y.TEST"]], ...allowed });
const host = { "h.x.test A": ["192.0.2.1"], "h.x.test. A": ["192.0.2.1"] };
await check("final dot", { "x.test TXT": [["v=spf1 a:h.x.test. -all"]], ...host });
await check("empty unknown modifier", { "x.test TXT": [["v=spf1 hint= ip4:192.0.2.1 -all"]] });
await check("%{d} of the included domain", { ...listed, "y.test.l.test A": ["127.0.0.2"] });
await check("%{d} of the sender's domain", { ...listed, "x.test.l.test A": ["127.0.0.2"] });
JS
node spf.mjs | tee seen
diff seen - <<'SEEN'
redirect in capitals: permerror
final dot: permerror
empty unknown modifier: permerror
%{d} of the included domain: fail
%{d} of the sender's domain: pass
SEEN
