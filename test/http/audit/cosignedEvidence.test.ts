import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect } from "chai";
import { cosignatureIn, readCosignerKey } from "#src/audit/cosignature.ts";
import { splitNote } from "#src/audit/signedNote.ts";
import { announceHeads } from "#src/commands/audit/announceHeads.ts";
import { originNow, signerOf, signHead } from "#src/commands/audit/signHead.ts";
import { httpWitnesses } from "#src/platform/audit/httpWitnesses.ts";
import { deskOf } from "#test/support/desk.ts";
import type { InProcess } from "#test/support/inProcess.ts";
import { startLoopbackWitness } from "#test/support/loopbackWitness.ts";
import { type StoryTenant, startStory } from "#test/support/story/story.ts";
import { download, newFolder, removeFolders, verify } from "./evidenceSupport.ts";

describe("http: evidence by a head that witnesses have cosigned", () => {
  let service: InProcess;
  let tenant: StoryTenant;
  let witness: Awaited<ReturnType<typeof startLoopbackWitness>>;

  before(async () => {
    witness = await startLoopbackWitness();
    const settings = { AUDIT_HEAD_DIR: await newFolder(), AUDIT_WITNESSES: witness.setting };
    ({ service, tenant } = await startStory(settings));
  });
  after(async () => {
    await service?.stop();
    await witness?.stop();
    await removeFolders();
  });

  it("evidence has the cosignatures of its head and the keys of the witnesses, verify.mjs accepts it, and lists of heads name the witnesses", async () => {
    const { deps } = service;
    const draft = await tenant.draft(await tenant.mail());
    await service.caughtUp();
    const { origin } = await originNow(deps, tenant.id);
    witness.logs.set(origin, signerOf(deps, origin).verifierKey);
    await signHead(deps, tenant.id);
    const clients = httpWitnesses(deps.settings.auditWitnesses ?? []);
    await announceHeads(
      { ...deps, deliveries: service.webhookDeliveries, witnesses: clients.all },
      {
        onError: (error) => expect.fail(String(error)),
        onRefusal: () => undefined,
        stopping: new AbortController().signal,
      },
    );
    await clients.close();
    const folder = await download(`${service.url}/v1/drafts/${draft.id}/evidence`, tenant.key);
    const { text, signatures } = splitNote(await readFile(join(folder, "checkpoint"), "utf8"))!;
    const lines = signatures.map(({ line }) => line).join("");
    expect(cosignatureIn(lines, { text, cosigner: readCosignerKey(witness.verifierKey) })).to.be.a("string");
    const policy = await readFile(join(folder, "policy"), "utf8");
    expect(policy.split("\n").slice(1)).to.deep.equal([
      `witness ${witness.name} ${witness.verifierKey}`,
      "quorum none",
      "",
    ]);
    expect((await verify(folder)).wrong).to.deep.equal([]);
    const [newest] = (await tenant.ask("GET /v1/audit/heads")).json.data;
    expect(newest.witnesses).to.deep.equal([witness.name]);
    const auditor = await deskOf(service, tenant.id, { role: "auditor" });
    expect((await auditor.get("/audit/heads")).page).to.include(`Witnesses ${witness.name}`);
  });
});
