import { expect } from "chai";
import { projections } from "#projections/index.ts";
import { tablesFile } from "#src/runtime/projections/projectionTables.ts";
import { rebuild } from "#src/runtime/projections/rebuild.ts";
import { verify } from "#src/runtime/projections/verify.ts";
import type { InProcess } from "#test/support/inProcess.ts";
import { type StoryTenant, startStory } from "#test/support/story/story.ts";

describe("a rebuild of the read models of a running service", () => {
  let service: InProcess;
  let tenant: StoryTenant;
  before(async () => {
    ({ service, tenant } = await startStory());
  });
  after(() => service.stop());

  it("no request fails while all read models are rebuilt, what is written meanwhile is in them, and no row differs", async () => {
    const first = await tenant.mail({ subject: "Zebra" });
    await tenant.draft(first);
    const paths = ["threads", "threads?q=zebra", "drafts", "contacts", "inbound", `threads/${first.threadId}`];
    const failed: string[] = [];
    const asked = new Map<string, number>();
    let isOver = false;
    const reading = paths.map(async (path) => {
      while (!isOver) {
        const { status, text } = await tenant.ask(`GET /v1/${path}`);
        asked.set(path, (asked.get(path) ?? 0) + 1);
        if (status !== 200) failed.push(`${path}: ${status} ${text}`);
      }
    });
    let mails = 1;
    const writing = (async () => {
      for (; !isOver; mails++) await tenant.mail({ subject: "Zebra" });
    })();
    const { deps, database } = service;
    const replay = { store: deps.store, database, tablesSql: tablesFile, signal: new AbortController().signal };
    try {
      expect(await rebuild(replay, projections)).to.deep.equal(new Map());
    } finally {
      isOver = true;
      await Promise.all([...reading, writing]);
    }
    expect(failed).to.deep.equal([]);
    expect([...asked.keys()].sort()).to.deep.equal([...paths].sort());
    await service.caughtUp();
    expect((await tenant.ask("GET /v1/threads?q=zebra")).json.total).to.equal(mails);
    for (const projection of projections) {
      const { differences } = await verify(replay, projection);
      expect(differences, projection.name).to.deep.equal([]);
    }
  });
});
