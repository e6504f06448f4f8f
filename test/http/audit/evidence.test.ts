import { createHash } from "node:crypto";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect } from "chai";
import { writeCheckpoint } from "#src/audit/checkpoint.ts";
import { hashEntry } from "#src/audit/merkle.ts";
import { readVerifierKey, signNote } from "#src/audit/signedNote.ts";
import { originNow, signerOf } from "#src/commands/audit/signHead.ts";
import { allScopes } from "#src/http/framework/keys/scopes.ts";
import { asking } from "#test/support/asking.ts";
import { openNote, readProof, rootByInclusion } from "#test/support/auditReading.ts";
import type { InProcess } from "#test/support/inProcess.ts";
import type { StoryDraft } from "#test/support/story/draft.ts";
import { openTenant, type StoryTenant, startStory } from "#test/support/story/story.ts";
import {
  anotherSigner,
  approver,
  changeHead,
  download,
  type Folder,
  approvedByMail as identity,
  isFound,
  type LooseEntry,
  newFolder,
  openFolder,
  removeFolders,
  sentDraft,
  signAnew,
  verify,
} from "./evidenceSupport.ts";

describe("http: the evidence of a draft", () => {
  let service: InProcess;
  let tenant: StoryTenant;
  /** A draft whose second version was approved by link and sent; its evidence. */
  let draft: StoryDraft;
  let evidence: string;

  before(async () => {
    ({ service, tenant } = await startStory({ AUDIT_HEAD_DIR: await newFolder() }, { identity }));
    draft = await sentDraft(tenant);
    evidence = await download(urlOf(draft), tenant.key);
  });
  after(async () => {
    await service.stop();
    await removeFolders();
  });

  const urlOf = ({ id }: { id: string }): string => `${service.url}/v1/drafts/${id}/evidence`;

  const sha256 = async (name: string) =>
    createHash("sha256")
      .update(await readFile(join(evidence, name)))
      .digest("hex");

  it("the evidence of a sent draft proves who approved which version before it was handed over", async () => {
    const { code, said, wrong } = await verify(evidence);
    expect(wrong).to.deep.equal([]);
    expect(code).to.equal(0);
    expect(said).to.match(/draft approved: version 2 \(content hash [0-9a-f]{64}\), by "jane@customer\.example"/);
    expect(said).to.match(
      /delivery started: version 2, as the mail with SHA-256 .*a person's approval, entry \d+, comes before it/,
    );
    expect(said).to.match(/is complete to revision \d+ at the head of \d+ entries/);
    expect(said).to.contain("What happened after this head");
  });

  it("the evidence has each event of the history, the mails and the content by their hashes", async () => {
    const history = await draft.history();
    const entries = await (await openFolder(evidence)).entries();
    expect(entries.map(({ event }) => event.id)).to.include.members(history.map(({ id }) => id));
    expect(entries.filter(({ event }) => event.type === "MessageReceived")).to.have.length(1);
    const { content_sha256: approved } = await draft.read();
    expect(await sha256("content.json")).to.equal(approved);
    const started = history.find(({ type }) => type === "DeliveryStarted");
    expect(await sha256("sent.eml")).to.equal(started.data.mime_sha256);
    expect(await readFile(join(evidence, "answered.eml"), "utf8")).to.contain("Message-ID");
  });

  it("a proof of the evidence is accepted by the formats' other readers", async () => {
    const [log = ""] = (await readFile(join(evidence, "policy"), "utf8")).split("\n");
    for (const name of await readdir(join(evidence, "entries"))) {
      const bytes = await readFile(join(evidence, "entries", name));
      const proof = readProof(await readFile(join(evidence, "proofs", name.replace(".json", ".tlog-proof")), "utf8"))!;
      const text = openNote(proof.checkpoint, [readVerifierKey(log.slice("log ".length))])!;
      const [, size, root] = text.split("\n");
      const found = rootByInclusion(hashEntry(bytes), { entry: proof.entry, size: Number(size), proof: proof.hashes });
      expect(found?.toString("base64"), name).to.equal(root);
    }
  });

  it("the page of the evidence says who decided what, and has no script and nothing from elsewhere", async () => {
    const page = await readFile(join(evidence, "index.html"), "utf8");
    expect(page).to.contain("version 2 was approved").and.to.contain(approver).and.to.contain("It arrives tomorrow.");
    expect(page).to.match(/complete to revision \d+ at the head of \d+ entries/);
    expect(page).not.to.match(/<script|src=|https?:\/\//);
  });

  it("the evidence of a draft that was not approved proves what there is", async () => {
    const waiting = await tenant.draft(await tenant.mail());
    const { wrong, said } = await verify(await download(urlOf(waiting), tenant.key));
    expect(wrong).to.deep.equal([]);
    expect(said).to.contain("draft submitted: version 1").and.not.to.contain("approved");
  });

  it("evidence of a draft that a key wrote and sent says that no person approved it", async () => {
    const free = await openTenant(service);
    const { json } = await free.ask("POST /v1/emails/reply", {
      json: { thread_id: (await free.mail()).threadId, body_text: "Yes." },
    });
    const sent = await free.draftWithId(json.draft_id);
    await sent.becomes("sent");
    const { wrong, said } = await verify(await download(urlOf(sent), free.key));
    expect(wrong).to.deep.equal([]);
    expect(said).to.match(/delivery started: version 1, .*; no person.s approval, entry \d+, comes before it/);
  });

  it("of several hand-overs of a draft, the evidence has the mail of each", async () => {
    const { store, blobs } = service.deps;
    const retried = await sentDraft(tenant);
    const replaces = (await retried.history()).find(({ type }) => type === "DraftSent").data.attempt_id;
    const [first] = await store.read(`delivery-${replaces}`);
    const attemptId = "00000000-0000-7000-8000-00000000000a";
    const { metadata, schemaVersion } = first!;
    const mime = Buffer.from("Subject: again\r\n\r\nIt arrives tomorrow.\r\n");
    const own = await store.readLast(`draft-${retried.id}`);
    const requeued = { attemptId, replaces, tries: 1 };
    await store.append(`draft-${retried.id}`, own!.revision, [
      { id: attemptId.replace("a", "c"), type: "DraftRequeued", schemaVersion, metadata, data: requeued },
    ]);
    const started = { ...first!.data, mimeSha256: await blobs.put(mime) };
    await store.append(`delivery-${attemptId}`, -1, [
      { id: attemptId.replace("a", "b"), type: "DeliveryStarted", schemaVersion, metadata, data: started },
    ]);
    const folder = await download(urlOf(retried), tenant.key);
    const { wrong, said } = await verify(folder);
    expect(wrong).to.deep.equal([]);
    expect(said.match(/delivery started/g)).to.have.length(2);
    expect(await readFile(join(folder, "sent.eml"))).to.deep.equal(mime);
    const earlier = (await readdir(folder)).find((name) => /^sent-\d+\.eml$/.test(name))!;
    const { folder: forged, change } = await openFolder(folder);
    await change(earlier, (text) => `${text} `);
    expect((await verify(forged)).wrong).to.have.length(1);
  });

  it("evidence needs read:audit, and a draft of the own workspace", async () => {
    const ask = asking(service.url, await tenant.keyOf(allScopes.filter((scope) => scope !== "read:audit")));
    expect((await ask(`GET /v1/drafts/${draft.id}/evidence`)).outcome).to.equal("401 insufficient_scope");
    const stranger = await openTenant(service);
    expect((await stranger.ask(`GET /v1/drafts/${draft.id}/evidence`)).outcome).to.equal("404 not_found");
  });

  it("a mail with an approval link is in the evidence for keys that may decide alone", async () => {
    const other = await openTenant(service, identity);
    const asked = await other.draft(await other.mail());
    const link = (await asked.approvalMail(approver)).link();
    const answering = await other.draft(await other.mail({ text: `Look: ${link}` }));
    const auditor = await other.keyOf(["read:audit", "read:threads"]);
    const folder = await download(urlOf(answering), auditor);
    expect(await readdir(folder)).not.to.include("answered.eml");
    for (const name of ["index.html", "disclosures.jsonl", "content.json"])
      expect(await readFile(join(folder, name), "utf8"), name).not.to.contain(new URL(link).pathname);
    const { wrong, said } = await verify(folder);
    expect(wrong).to.deep.equal([]);
    expect(said).to.contain("The mail that the draft answers: it is not here.");
    expect(await readdir(await download(urlOf(answering), other.key))).to.include("answered.eml");
  });

  it("a history that contradicts a signed head gives no evidence, and the refusal says what the operator does", async () => {
    const other = await openTenant(service, identity);
    const made = await other.draft(await other.mail());
    const newest = { size: 10_000, root: Buffer.alloc(32, 1), position: 1 };
    const head = { ...newest, treeId: other.id, epoch: 1, checkpoint: "another", signedAt: service.clock.now() };
    await service.deps.auditHeads.record({ ...head, verifierKey: anotherSigner().verifierKey }, undefined);
    const { status, json } = await other.ask(`GET /v1/drafts/${made.id}/evidence`);
    expect([status, json.error]).to.deep.equal([409, "invalid_request"]);
    expect(json.message).to.contain("new-epoch");
  });

  describe("forged evidence is found", () => {
    /** Each forgery changes a copy of true evidence. */
    const forgeries: { [name: string]: (folder: Folder) => Promise<unknown> } = {
      "an entry's contents are exchanged with another's": async ({ numberOf, exchange }) =>
        exchange(`entries/${await numberOf("DraftApproved")}.json`, `entries/${await numberOf("DraftEdited")}.json`),
      "an entry in the middle is removed": async (folder) => {
        const entry = await folder.numberOf("DraftEdited");
        await folder.remove(`entries/${entry}.json`);
        await folder.remove(`proofs/${entry}.tlog-proof`);
        await folder.disclose((list) => list.filter((each) => each.entry !== entry));
      },
      "an entry is removed, and its proof stays": async ({ numberOf, remove }) =>
        remove(`entries/${await numberOf("DraftEdited")}.json`),
      "the approval is removed": async (folder) => {
        const entry = await folder.numberOf("DraftApproved");
        await folder.remove(`entries/${entry}.json`);
        await folder.remove(`proofs/${entry}.tlog-proof`);
        await folder.disclose((list) => list.filter((each) => each.entry !== entry));
      },
      "the hand-over is removed": async (folder) => {
        for (const { entry, event } of await folder.entries()) {
          if (!event.stream.startsWith("delivery-")) continue;
          await folder.remove(`entries/${entry}.json`);
          await folder.remove(`proofs/${entry}.tlog-proof`);
          await folder.disclose((list) => list.filter((each) => each.entry !== entry));
        }
      },
      "an entry is doubled under another number": async ({ numberOf, read, write }) => {
        const entry = await numberOf("DraftApproved");
        await write(`entries/${entry + 1_000}.json`, await read(`entries/${entry}.json`));
        await write(`proofs/${entry + 1_000}.tlog-proof`, await read(`proofs/${entry}.tlog-proof`));
      },
      "a doubled entry's proof names the new number": async ({ numberOf, read, write }) => {
        const entry = await numberOf("DraftApproved");
        const proof = await read(`proofs/${entry}.tlog-proof`);
        await write("entries/0.json", await read(`entries/${entry}.json`));
        await write("proofs/0.tlog-proof", proof.replace(`index ${entry}\n`, "index 0\n"));
      },
      "an entry is invented, without a proof": ({ write }) => write("entries/1.json", '{"type":"DraftApproved"}'),
      "proofs are exchanged": async ({ numberOf, exchange }) =>
        exchange(
          `proofs/${await numberOf("DraftApproved")}.tlog-proof`,
          `proofs/${await numberOf("DraftEdited")}.tlog-proof`,
        ),
      "a proof's number is changed": async ({ numberOf, change }) =>
        change(`proofs/${await numberOf("DraftApproved")}.tlog-proof`, (text) => text.replace(/index \d+/, "index 1")),
      "a hash of a proof is changed": async ({ numberOf, change }) =>
        change(`proofs/${await numberOf("DraftApproved")}.tlog-proof`, (text) =>
          text.replace(/^[\w+/]{43}=$/m, Buffer.alloc(32).toString("base64")),
        ),
      "a hash of a proof is removed": async ({ numberOf, change }) =>
        change(`proofs/${await numberOf("DraftApproved")}.tlog-proof`, (text) => text.replace(/^[\w+/]{43}=\n/m, "")),
      "a hash of a proof is doubled": async ({ numberOf, change }) =>
        change(`proofs/${await numberOf("DraftApproved")}.tlog-proof`, (text) =>
          text.replace(/^([\w+/]{43}=\n)/m, "$1$1"),
        ),
      "a proof is removed": async ({ numberOf, remove }) =>
        remove(`proofs/${await numberOf("DraftApproved")}.tlog-proof`),
      "a proof has another format": async ({ numberOf, change }) =>
        change(`proofs/${await numberOf("DraftApproved")}.tlog-proof`, (text) => text.replace("@v1", "@v2")),
      "a proof has another head": async ({ numberOf, change }) =>
        change(`proofs/${await numberOf("DraftApproved")}.tlog-proof`, (text) => text.replace(/\n— /, "\n— a b\n— ")),
      "the approver's name is changed in the disclosure": ({ disclose }) =>
        disclose((list) =>
          list.map(({ entry, disclosure }) => ({ entry, disclosure: disclosure.replaceAll("jane@", "john@") })),
        ),
      "a disclosed text is changed": ({ disclose }) =>
        disclose((list) =>
          list.map(({ entry, disclosure }) => ({ entry, disclosure: disclosure.replace("tomorrow", "never") })),
        ),
      "a disclosure's salt is changed": ({ disclose }) =>
        disclose(([first, ...rest]) => [
          { ...first!, disclosure: first!.disclosure.replace(/^\["(.)/, (_, c) => `["${c === "_" ? "A" : "_"}`) },
          ...rest,
        ]),
      "a disclosure's path is changed": ({ disclose }) =>
        disclose((list) =>
          list.map((each) => ({ ...each, disclosure: each.disclosure.replace("/actor", "/data/by") })),
        ),
      "a disclosure is moved to another entry": async ({ numberOf, disclose }) => {
        const entry = await numberOf("DraftEdited");
        await disclose(([first, ...rest]) => [{ ...first!, entry }, ...rest]);
      },
      "disclosed actors of two entries are exchanged": async ({ numberOf, disclose }) => {
        const [one, other] = [await numberOf("DraftEdited"), await numberOf("DraftApproved")];
        const swapped = new Map([
          [one, other],
          [other, one],
        ]);
        await disclose((list) =>
          list.map((each) =>
            each.disclosure.includes('"/actor"') ? { ...each, entry: swapped.get(each.entry) ?? each.entry } : each,
          ),
        );
      },
      "a disclosure is doubled": ({ disclose }) => disclose((list) => [...list, list[0]!]),
      "a disclosure is invented": async ({ numberOf, disclose }) => {
        const entry = await numberOf("DraftApproved");
        await disclose((list) => [...list, { entry, disclosure: '["c2FsdA","/data/comment","Yes!"]' }]);
      },
      "a disclosure replaces a field that the entry shows": async ({ numberOf, disclose }) => {
        const entry = await numberOf("DraftApproved");
        await disclose((list) => [...list, { entry, disclosure: '["c2FsdA","/data/version",1]' }]);
      },
      "a disclosure belongs to an entry that is not there": ({ disclose }) =>
        disclose((list) => [...list, { entry: 100_000, disclosure: list[0]!.disclosure }]),
      "approver, digest and disclosure are made anew, with the old proof": async (folder) => {
        const entry = await folder.numberOf("DraftApproved");
        const forged = JSON.stringify(["c2FsdA", "/actor", { id: "john@customer.example" }]);
        const digest = createHash("sha256").update(Buffer.from(forged).toString("base64url")).digest("base64url");
        await folder.change(`entries/${entry}.json`, (text) => JSON.stringify({ ...JSON.parse(text), _sd: [digest] }));
        await folder.disclose((list) => [
          ...list.filter((each) => each.entry !== entry),
          { entry, disclosure: forged },
        ]);
      },
      "the root of the head is changed": (folder) =>
        changeHead(folder, (text) => text.replace(/\n[\w+/]{43}=\n/, `\n${Buffer.alloc(32).toString("base64")}\n`)),
      "the size of the head is changed": (folder) => changeHead(folder, (text) => text.replace(/\n\d+\n/, "\n10000\n")),
      "the head has no signature": (folder) => changeHead(folder, (text) => text.slice(0, text.indexOf("—"))),
      "the head is signed by another key": (folder) =>
        changeHead(folder, (text) => {
          const body = text.slice(0, text.lastIndexOf("\n\n") + 1);
          return signNote(body, anotherSigner(body.slice(0, body.indexOf("\n"))));
        }),
      "the head is another workspace's, with its key": async (folder) => {
        const stranger = await openTenant(service, identity);
        const other = await openFolder(
          await download(urlOf(await stranger.draft(await stranger.mail())), stranger.key),
        );
        const head = await other.read("checkpoint");
        await changeHead(folder, () => head);
        await folder.write("policy", await other.read("policy"));
      },
      "the policy has another key": ({ write }) => write("policy", `log ${anotherSigner().verifierKey}\nquorum none\n`),
      "the policy has no key": ({ write }) => write("policy", "quorum none\n"),
      "the policy demands witnesses": ({ change }) =>
        change("policy", (text) => text.replace("quorum none", "quorum all-of-them")),
      "a byte of the mail that left is changed": ({ change }) =>
        change("sent.eml", (text) => text.replace("tomorrow", "Tomorrow")),
      "the mail that left is removed": ({ remove }) => remove("sent.eml"),
      "the two mails are exchanged": ({ exchange }) => exchange("sent.eml", "answered.eml"),
      "the answered mail is changed": ({ change }) => change("answered.eml", (text) => `${text}\r\n`),
      "a mail is added": ({ write }) => write("sent-1.eml", "Subject: another\r\n\r\n"),
      "the content is changed": ({ change }) => change("content.json", (text) => text.replace("tomorrow", "Tomorrow")),
      "the content is that of another version": ({ change }) =>
        change("content.json", (text) => text.replace("It arrives tomorrow.", "On its way.")),
      "the content is removed": ({ remove }) => remove("content.json"),
      "another draft's evidence is mixed in": async (folder) => {
        const other = await openFolder(await download(urlOf(await tenant.draft(await tenant.mail())), tenant.key));
        for (const { entry } of await other.entries()) {
          await folder.write(`entries/${entry}.json`, await other.read(`entries/${entry}.json`));
          await folder.write(`proofs/${entry}.tlog-proof`, await other.read(`proofs/${entry}.tlog-proof`));
        }
      },
      "a file is no JSON": async ({ numberOf, write }) => write(`entries/${await numberOf("DraftApproved")}.json`, "{"),
      "the list of disclosures is removed": ({ remove }) => remove("disclosures.jsonl"),
    };

    for (const [name, forge] of Object.entries(forgeries))
      it(`forged evidence is found: ${name}`, async () => {
        const folder = await openFolder(evidence);
        await forge(folder);
        await isFound(folder);
      });

    it("forged evidence is found: any field of any entry is changed", async () => {
      let tried = 0;
      for (const { entry, event } of await (await openFolder(evidence)).entries()) {
        if (!["DraftSubmitted", "DraftApproved", "DeliveryStarted", "MessageReceived"].includes(event.type)) continue;
        for (const [at, name] of fieldsOf(event)) {
          const folder = await openFolder(evidence);
          await folder.change(`entries/${entry}.json`, (text) => {
            const changed = JSON.parse(text);
            const holder = at === "data" ? changed.data : changed;
            holder[name] = another(holder[name]);
            return JSON.stringify(changed);
          });
          await isFound(folder, `${event.type} ${at} ${name}`);
          tried += 1;
        }
      }
      expect(tried).to.be.above(60);
    });

    const fieldsOf = (event: LooseEntry["event"]): [at: string, name: string][] => [
      ...Object.keys(event).map((name): [string, string] => ["", name]),
      ...Object.keys(event.data).map((name): [string, string] => ["data", name]),
    ];

    const another = (value: unknown): unknown => {
      if (typeof value === "number") return value + 1;
      if (typeof value === "boolean") return !value;
      return typeof value === "string" ? `${value}0` : "another";
    };

    it("evidence that another key signed, in head, proofs and policy, is found by a key or a head from elsewhere", async () => {
      const folder = await openFolder(evidence);
      const kept = join(await newFolder(), "head");
      await writeFile(kept, await folder.read("checkpoint"));
      const [key = ""] = /\S+\+\S+/.exec(await folder.read("policy")) ?? [];
      await signAnew(folder, await folder.entries());
      expect((await verify(folder.folder)).code).to.equal(0);
      expect((await verify(folder.folder, "--key", key)).wrong).to.deep.equal(["WRONG: The policy has another key."]);
      const published = await (await fetch(`${service.url}/.well-known/countersign-audit-keys`)).text();
      const ownKey = key.split("+").slice(2).join("+");
      expect(published).to.contain(`${ownKey} since `);
      expect((await verify(evidence, "--key", ownKey)).wrong).to.deep.equal([]);
      expect((await verify(folder.folder, "--key", ownKey)).code).to.equal(1);
      expect((await verify(folder.folder, "--expect", kept)).code).to.equal(1);
    });
  });

  describe("a signed history that breaks a rule is found", () => {
    const indexOf = (entries: LooseEntry[], type: string): number =>
      entries.findIndex(({ event }) => event.type === type);
    const eventOf = (entries: LooseEntry[], type: string) => entries[indexOf(entries, type)]!.event;

    /** Each changes the entries of true evidence before they are signed by a key that verify.mjs accepts. */
    const lies: { [name: string]: (entries: LooseEntry[]) => LooseEntry[] | undefined } = {
      "the hand-over comes before the approval": (entries) => {
        const [started] = entries.splice(indexOf(entries, "DeliveryStarted"), 1);
        entries.splice(indexOf(entries, "DraftApproved"), 0, started!);
        return undefined;
      },
      "another version was approved": (entries) => {
        eventOf(entries, "DraftApproved").data.version = 1;
        return undefined;
      },
      "the approval names another hash": (entries) => {
        eventOf(entries, "DraftApproved").data.contentSha256 = "0".repeat(64);
        return undefined;
      },
      "another content was handed over": (entries) => {
        eventOf(entries, "DeliveryStarted").data.contentSha256 = "0".repeat(64);
        return undefined;
      },
      "another mail was handed over": (entries) => {
        eventOf(entries, "DeliveryStarted").data.mimeSha256 = "0".repeat(64);
        return undefined;
      },
      "the hand-over is of another draft": (entries) => {
        eventOf(entries, "DeliveryStarted").data.draftId = "00000000-0000-7000-8000-000000000002";
        return undefined;
      },
      "the approval ended before the hand-over": (entries) => {
        eventOf(entries, "DraftQueued").type = "DraftReturnedToPending";
        return undefined;
      },
      "a revision is left out": (entries) => entries.filter(({ event }) => event.type !== "ApproversAsked"),
      "a revision is there twice": (entries) => [...entries, entries[indexOf(entries, "DraftEdited")]!],
      "the mail was sent without a hand-over": (entries) =>
        entries.filter(({ event }) => !event.stream.startsWith("delivery-")),
      "a disclosure replaces what the entry shows": (entries) => {
        const found = entries[indexOf(entries, "DraftApproved")]!;
        const disclosure = JSON.stringify(["c2FsdA", "/data/version", 1]);
        found.event._sd.push(
          createHash("sha256").update(Buffer.from(disclosure).toString("base64url")).digest("base64url"),
        );
        found.disclosures.push(disclosure);
        return undefined;
      },
      "the answered mail has another hash": (entries) => {
        eventOf(entries, "MessageReceived").data.rawSha256 = "0".repeat(64);
        return undefined;
      },
    };

    it("a history that is signed anew without a change breaks no rule", async () => {
      const folder = await openFolder(evidence);
      await signAnew(folder, await folder.entries());
      expect((await verify(folder.folder)).wrong).to.deep.equal([]);
    });

    for (const [name, lie] of Object.entries(lies))
      it(`a signed history is refused: ${name}`, async () => {
        const folder = await openFolder(evidence);
        const entries = await folder.entries();
        await signAnew(folder, lie(entries) ?? entries);
        await isFound(folder);
      });
  });

  describe("a head that the auditor had", () => {
    const headOf = async (size: number, root: Buffer, of = tenant.id): Promise<string> => {
      const { origin } = await originNow(service.deps, of);
      const file = join(await newFolder(), "head");
      await writeFile(file, signNote(writeCheckpoint({ origin, size, root }), signerOf(service.deps, origin)));
      return file;
    };
    const shownHead = async () => {
      const [, size, root] = (await readFile(join(evidence, "checkpoint"), "utf8")).split("\n");
      return { size: Number(size), root: Buffer.from(root!, "base64") };
    };

    it("the same head is confirmed", async () => {
      const { size, root } = await shownHead();
      const { wrong, said } = await verify(evidence, "--expect", await headOf(size, root));
      expect(wrong).to.deep.equal([]);
      expect(said).to.contain("The head is the one that you had.");
    });

    it("another root of the same size is a fault: two histories were signed", async () => {
      const { size } = await shownHead();
      const { code, wrong } = await verify(evidence, "--expect", await headOf(size, Buffer.alloc(32, 3)));
      expect(code).to.equal(1);
      expect(wrong).to.deep.equal([`WRONG: Two different trees of ${size} entries were signed.`]);
    });

    it("a head of another size needs a consistency proof, and that is said", async () => {
      const { code, said } = await verify(evidence, "--expect", await headOf(3, Buffer.alloc(32, 3)));
      expect(code).to.equal(0);
      expect(said).to.contain("it needs a consistency proof");
    });

    it("a head of another log is a fault", async () => {
      const stranger = await openTenant(service);
      const { code } = await verify(evidence, "--expect", await headOf(3, Buffer.alloc(32, 3), stranger.id));
      expect(code).to.equal(1);
    });
  });
});
