import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect } from "chai";
import { type Browser, chromium } from "playwright-core";
import type { Document } from "#src/http/framework/openapi/openapi.ts";
import { type InProcess, startInProcess, type Workspace } from "#test/support/inProcess.ts";
import { rotated } from "#test/support/rotated.ts";

const run = promisify(execFile);
const executablePath = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].find(existsSync);

/** How a sample of each language is run; `check` tells whether this machine can. */
const runners: Record<string, { command: string; args: (source: string) => string[]; check: string[] }> = {
  curl: { command: "bash", args: (source) => ["-c", source], check: ["-c", "command -v curl"] },
  JavaScript: {
    command: process.execPath,
    args: (source) => ["--input-type=module", "-e", source],
    check: ["--version"],
  },
  Python: { command: "python3", args: (source) => ["-c", source], check: ["--version"] },
};

describe("the documentation", () => {
  let service: InProcess;
  let workspace: Workspace;
  let document: Document;
  let browser: Browser;
  before(async () => {
    const args = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-background-networking"];
    if (executablePath) browser = await chromium.launch({ executablePath, args });
    service = await startInProcess();
    workspace = await service.workspace();
    document = (await workspace.ask("GET /openapi.json")).json;
  });
  after(async () => {
    await browser?.close();
    await service.stop();
  });

  (executablePath ? describe : describe.skip)("in a browser", () => {
    it("opens at /docs with nothing but this service, without an error, and shows what is needed to begin", async () => {
      const page = await (await browser.newContext()).newPage();
      const elsewhere: string[] = [];
      const complaints: string[] = [];
      await page.route("**/*", (route) => {
        const { origin, protocol } = new URL(route.request().url());
        if (origin === new URL(service.url).origin || protocol === "data:") return route.continue();
        elsewhere.push(route.request().url());
        return route.abort();
      });
      page.on("console", (message) => {
        if (["error", "warning"].includes(message.type())) complaints.push(message.text());
      });
      page.on("pageerror", (error) => complaints.push(error.message));
      await page.goto(`${service.url}/docs`);
      await page.getByRole("heading", { name: "Ten minutes to your first reply" }).waitFor();
      for (const shown of ["read:audit", "stale_draft", "DraftMarkedStale", "webhook-signature", "Idempotency-Key"]) {
        expect(await page.getByText(shown).count(), shown).to.be.above(0);
      }
      await page.locator("#operations-drafts-post_drafts .opblock-summary-control").click();
      await page.locator("#operations-drafts-post_drafts summary", { hasText: "curl" }).click();
      const sample = await page.locator("#operations-drafts-post_drafts .sample[open] code").textContent();
      expect(sample).to.contain("/v1/drafts").and.to.contain('"based_on_message_id"');
      expect(elsewhere).to.deep.equal([]);
      expect(complaints).to.deep.equal([]);
    });

    it("asks this service where something is tried out", async () => {
      // In the context of the test before, which has loaded the page's script.
      const page = await (browser.contexts()[0] ?? (await browser.newContext())).newPage();
      await page.goto(`${service.url}/docs#/workspaces/get_workspaces_me`);
      const operation = page.locator("#operations-workspaces-get_workspaces_me");
      await operation.getByRole("button", { name: "Try it out" }).click();
      await operation.getByRole("button", { name: "Execute" }).click();
      await operation.locator(".live-responses-table .response .response-col_status", { hasText: "401" }).waitFor();
    });
  });

  it("has samples of every operation in three languages", () => {
    for (const [path, methods] of Object.entries(document.paths)) {
      for (const [method, operation] of Object.entries(methods)) {
        const labels = operation["x-codeSamples"].map(({ label }: { label: string }) => label);
        expect(labels, `${method} ${path}`).to.deep.equal(Object.keys(runners));
      }
    }
  });

  const sampled = [
    ["get", "/v1/workspaces/me", "slug"],
    ["patch", "/v1/workspaces/me", "slug"],
    ["get", "/v1/threads", "total"],
    ["post", "/v1/api-keys", "svc_live_"],
    ["post", "/v1/identities", "email_address"],
    ["delete", "/v1/api-keys/{key_id}", "deleted"],
  ] as const;
  for (const [turn, [label, { command, args, check }]] of Object.entries(runners).entries()) {
    it(`has samples that run as they stand: ${label}`, async function () {
      if (!(await run(command, check).then(Boolean, () => false))) this.skip();
      const directory = await mkdtemp(join(tmpdir(), "countersign-samples-"));
      const { id } = (await workspace.ask("POST /v1/api-keys", { json: { name: "to read" } })).json;
      const domain = (await workspace.ask("GET /v1/domains")).json.data[0].id;
      try {
        for (const [method, path, said] of rotated(sampled, turn, 2)) {
          const samples = document.paths[path]?.[method]["x-codeSamples"] as { label: string; source: string }[];
          const source = (samples.find((sample) => sample.label === label) as { source: string }).source
            .replaceAll(document.servers[0]?.url, service.url)
            .replaceAll("support", `support-${label.toLowerCase()}`)
            .replaceAll("0193a0aa-0000-7000-8000-000000000001", method === "delete" ? id : domain);
          const env = { ...process.env, COUNTERSIGN_KEY: workspace.key };
          const { stdout } = await run(command, args(source), { cwd: directory, env });
          expect(stdout, `${method} ${path}`).to.contain(said);
        }
      } finally {
        await rm(directory, { recursive: true, force: true });
      }
    });
  }
});
