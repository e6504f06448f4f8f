#!/usr/bin/env bash
# One handler of the MCP server library answers "Accept: */*" in the revision 2026-07-28 and refuses it in the revisions before.
#
# Package: @modelcontextprotocol/server 2.4.0 (npm), Node.js 20 or later.
# Expected: "*/*" allows every media type (RFC 9110, 12.5.1), so a client that sends it, as many HTTP libraries do by default, is
#   answered in each revision that createMcpHandler serves.
# What happens: a request of the revision 2026-07-28 is answered; initialize, with which older revisions begin, is 406. It is
#   answered once both media types are named.
# Seen on 2026-11-29:
#   2026-07-28, */*: 200
#   2025-11-25, */*: 406
#   2025-11-25, application/*, text/*: 406
#   2025-11-25, application/json, text/event-stream: 200
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm install --silent --no-audit --no-fund @modelcontextprotocol/server@2.4.0 >/dev/null
cat >accept.mjs <<'JS'
import { createMcpHandler, McpServer } from "@modelcontextprotocol/server";

const handler = createMcpHandler(() => new McpServer({ name: "example", version: "1.0.0" }, { capabilities: { tools: {} } }));
async function ask(revision, accept, message, meta = {}) {
  const headers = { "content-type": "application/json", accept, "mcp-protocol-version": revision, ...meta };
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, ...message });
  const answer = await handler.fetch(new Request("http://127.0.0.1/mcp", { method: "POST", headers, body }));
  console.log(`${revision}, ${accept}: ${answer.status}`);
  await answer.body?.cancel();
}
const clientInfo = { name: "example", version: "1.0.0" };
const named = "io.modelcontextprotocol/";
const _meta = {
  [`${named}protocolVersion`]: "2026-07-28",
  [`${named}clientInfo`]: clientInfo,
  [`${named}clientCapabilities`]: {},
};
const listed = { method: "server/discover", params: { _meta } };
const begun = { method: "initialize", params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo } };
await ask("2026-07-28", "*/*", listed, { "mcp-method": "server/discover" });
for (const accept of ["*/*", "application/*, text/*", "application/json, text/event-stream"])
  await ask("2025-11-25", accept, begun);
JS
node accept.mjs | tee seen
diff seen - <<'SEEN'
2026-07-28, */*: 200
2025-11-25, */*: 406
2025-11-25, application/*, text/*: 406
2025-11-25, application/json, text/event-stream: 200
SEEN
