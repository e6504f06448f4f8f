import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect } from "chai";
import type { Browser } from "playwright-core";
import type { Document } from "#src/http/framework/openapi/openapi.ts";
import {
  axeFindings,
  complaintsOf,
  needsBrowser,
  openWindow,
  sidewaysScroll,
  startBrowser,
  type WindowOptions,
} from "#test/support/browser.ts";
import { type InProcess, startInProcess, type Workspace } from "#test/support/inProcess.ts";
import { rotated } from "#test/support/rotated.ts";

const run = promisify(execFile);

/** How a sample of each language is run; `check` succeeds if this machine can run it. */
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
  before(async () => {
    service = await startInProcess();
    workspace = await service.workspace();
    document = (await workspace.ask("GET /openapi.json")).json;
  });
  after(async () => {
    await service.stop();
  });

  describe("in a browser", () => {
    let browser: Browser;
    before(async function () {
      needsBrowser(this);
      browser = await startBrowser();
    });
    after(() => browser?.close());

    /** Opens a page; `elsewhere` collects requests to other hosts, which are refused. */
    async function open(path: string, window: WindowOptions) {
      const context = await openWindow(browser, window);
      const page = await context.newPage();
      const elsewhere: string[] = [];
      await page.route("**/*", (route) => {
        if (new URL(route.request().url()).origin === new URL(service.url).origin) return route.continue();
        elsewhere.push(route.request().url());
        return route.abort();
      });
      const complaints = complaintsOf(page);
      await page.goto(service.url + path);
      return { page, elsewhere, complaints, close: () => context.close() };
    }

    const windows: WindowOptions[] = [
      { size: "desktop", colours: "light" },
      { size: "desktop", colours: "dark" },
      { size: "phone", colours: "light" },
      { size: "phone", colours: "dark" },
      { size: "narrow", colours: "light", script: false },
    ];
    const paths = ["/docs", "/docs/api/members", "/docs/incidents", "/docs/reference"];
    for (const [turn, window] of windows.entries()) {
      const script = window.script !== false;
      const where = `on a ${window.size} window in ${window.colours} colours${script ? "" : ", without a script"}`;
      it(`a page of the documentation asks no other host, has no fault and is not too wide, ${where}`, async () => {
        for (const path of rotated(paths, turn, 1)) {
          const { page, elsewhere, complaints, close } = await open(path, window);
          expect(await sidewaysScroll(page), path).to.deep.equal([]);
          if (script) expect(await axeFindings(page), path).to.deep.equal([]);
          expect(elsewhere, path).to.deep.equal([]);
          expect(complaints, path).to.deep.equal([]);
          await close();
        }
      });
    }

    it("/docs shows what a beginner needs, and links to a call with its samples", async () => {
      const { page, close } = await open("/docs", { size: "desktop", colours: "light" });
      await page.getByRole("heading", { name: "Ten minutes to your first reply" }).waitFor();
      for (const shown of ["read:audit", "stale_draft", "DraftMarkedStale", "webhook-signature", "Idempotency-Key"]) {
        expect(await page.getByText(shown).count(), shown).to.be.above(0);
      }
      await page.getByRole("link", { name: "Submit a draft reply" }).click();
      const samples = page.locator("article", { has: page.locator("#post_drafts") }).locator(".sample");
      expect(await samples.first().locator("code").innerText()).to.contain('"based_on_message_id"');
      await samples.filter({ hasText: "Python" }).locator("summary").click();
      expect(await samples.filter({ hasText: "Python" }).locator("code").innerText()).to.contain("/v1/drafts");
      await close();
    });

    it("a call that is tried out is sent to this service, with the key that was typed", async () => {
      const { page, close } = await open("/docs/api/workspaces", { size: "desktop", colours: "light" });
      const call = page.locator("article", { has: page.locator("#get_workspaces_me") });
      await call.getByText("Try it").click();
      await call.getByRole("button", { name: "Send" }).click();
      await call.locator(".answer", { hasText: "401" }).waitFor();
      await call.getByLabel("API key").fill(workspace.key);
      await call.getByRole("button", { name: "Send" }).click();
      await call.locator(".answer", { hasText: '"slug"' }).waitFor();
      await close();
    });
  });

  it("every operation of the API has samples in three languages", () => {
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
    it(`the ${label} samples of the documentation run unchanged`, async function () {
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
