import { createHash } from "node:crypto";
import { readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect } from "chai";
import { signNote } from "#src/audit/signedNote.ts";
import type { InProcess } from "#test/support/inProcess.ts";
import { type StoryTenant, startStory } from "#test/support/story/story.ts";
import {
  anotherSigner,
  approvedByMail,
  changeHead,
  download,
  type Folder,
  isFound,
  type Json,
  type LooseEntry,
  newFolder,
  openFolder,
  removeFolders,
  sentDraft,
  signAnew,
  verify,
} from "./evidenceSupport.ts";

describe("http: forgeries of evidence that leave its parts as they are, or that the service's key has signed", () => {
  let service: InProcess;
  let tenant: StoryTenant;
  let evidence: string;

  const evidenceOf = ({ id }: { id: string }) => download(`${service.url}/v1/drafts/${id}/evidence`, tenant.key);

  before(async () => {
    const settings = { AUDIT_HEAD_DIR: await newFolder() };
    ({ service, tenant } = await startStory(settings, { identity: approvedByMail }));
    evidence = await evidenceOf(await sentDraft(tenant));
  });
  after(async () => {
    await service.stop();
    await removeFolders();
  });

  describe("another key has signed", () => {
    const originOf = async ({ read }: Folder): Promise<string> => (await read("checkpoint")).split("\n")[0]!;
    const verifierKeyOf = async ({ read }: Folder): Promise<string> => /^log (\S+)$/m.exec(await read("policy"))![1]!;
    const publicKeyIn = (verifierKey: string): string => verifierKey.split("+").slice(2).join("+");

    /** Evidence that another key has signed under the service's name; the service's verifier key, and a head that it signed. */
    async function impostor(): Promise<{ folder: Folder; forged: string; own: string; kept: string }> {
      const folder = await openFolder(evidence);
      const signer = anotherSigner(await originOf(folder));
      const own = await verifierKeyOf(folder);
      const kept = join(await newFolder(), "head");
      await writeFile(kept, await folder.read("checkpoint"));
      await signAnew(folder, await folder.entries(), signer);
      return { folder, forged: signer.verifierKey, own, kept };
    }

    it("forged evidence is found: the key that the auditor gives stands behind the forger's", async () => {
      const { folder, forged, own } = await impostor();
      for (const between of ["=+", "+", "=", "==+"]) {
        await folder.write("policy", `log ${forged}${between}${publicKeyIn(own)}\nquorum none\n`);
        await isFound(folder, between, ["--key", publicKeyIn(own)]);
      }
    });

    it("forged evidence is found: the policy has the service's key and the forger's", async () => {
      const { folder, forged, own, kept } = await impostor();
      for (const keys of [
        [own, forged],
        [forged, own],
      ]) {
        await folder.write("policy", `${keys.map((key) => `log ${key}\n`).join("")}quorum none\n`);
        await isFound(folder, "with a head", ["--expect", kept]);
        await isFound(folder, "with a key", ["--key", publicKeyIn(own)]);
      }
    });

    it("forged evidence is found: an empty key is not no key", async () => {
      const { folder } = await impostor();
      await isFound(folder, "", ["--key", ""]);
    });

    it("a key is accepted as the service publishes it, or as the policy has it, and no part of it", async () => {
      const key = await verifierKeyOf(await openFolder(evidence));
      for (const whole of [key, publicKeyIn(key)]) expect((await verify(evidence, "--key", whole)).wrong).to.be.empty;
      expect((await verify(evidence, "--key", key.slice(-12))).code).to.equal(1);
    });
  });

  describe("files are added, taken away or written differently", () => {
    const forgeries: { [name: string]: (folder: Folder) => Promise<unknown> } = {
      "a changed mail is hidden behind the files of an export": async (folder) => {
        const disclosed = await folder.entries();
        const lines = await Promise.all(
          disclosed.map(async ({ entry }) => {
            const [head = ""] = (await folder.read(`proofs/${entry}.tlog-proof`)).split("\n\n");
            const text = await folder.read(`entries/${entry}.json`);
            return `${JSON.stringify({ entry, hashes: head.split("\n").slice(2), text })}\n`;
          }),
        );
        await folder.write("entries.jsonl", lines.join(""));
        await folder.write("mail.mbox", "");
        await folder.write("contents.jsonl", "");
        await folder.change("sent.eml", (text) => text.replace("tomorrow", "never"));
      },
      "a mail is added whose name differs in case": ({ write }) => write("SENT.EML", "Subject: another\r\n\r\n"),
      "a mail is added whose name ends with a space": ({ write }) => write("sent.eml ", "Subject: another\r\n\r\n"),
      "a mail is added whose name has a second ending": ({ write }) =>
        write("sent.eml.txt", "Subject: another\r\n\r\n"),
      "a proof's hash is followed by other characters": async ({ numberOf, change }) =>
        change(`proofs/${await numberOf("DraftApproved")}.tlog-proof`, (text) =>
          text.replace(/^([\w+/]{43}=)$/m, "$1!!"),
        ),
      "an entry's number has a zero in front": async ({ numberOf, read, remove, write }) => {
        const name = `entries/${await numberOf("DraftApproved")}.json`;
        const text = await read(name);
        await remove(name);
        await write(name.replace("/", "/0"), text);
      },
      "all proofs are of a newer head of the same log": async (folder) => {
        const newer = await openFolder(await evidenceOf(await tenant.draft(await tenant.mail())));
        const head = await newer.read("checkpoint");
        await changeHead(folder, () => head);
      },
      "the head has a second signature of the same key, which is false": (folder) =>
        changeHead(folder, (text) => `${text}${text.split("\n").at(-2)!.slice(0, -8)}AAAAAAA=\n`),
      "a value is there twice, the second time with other JSON around it": ({ disclose, read, write }) =>
        disclose((list) => list).then(async () =>
          write(
            "disclosures.jsonl",
            (await read("disclosures.jsonl")).replace(
              /^(\{"entry":)(.*)$/m,
              "$1$2\n$10,$1$2".replace("$10,$1", '{"x":1,"entry":'),
            ),
          ),
        ),
    };

    for (const [name, forge] of Object.entries(forgeries))
      it(`forged evidence is found: ${name}`, async () => {
        const folder = await openFolder(evidence);
        await forge(folder);
        await isFound(folder);
      });

    it("what is not checked is named: the page, and files that were added", async () => {
      const folder = await openFolder(evidence);
      await folder.change("index.html", (text) => text.replaceAll("jane@", "john@"));
      await folder.write("approval.pdf", "Approved by John.");
      const { code, said } = await verify(folder.folder);
      expect(code).to.equal(0);
      expect(said).to.contain('What other files say: "approval.pdf", "index.html", "verify.mjs".');
    });

    it("an answered mail that is taken away with its entry is named as missing", async () => {
      const folder = await openFolder(evidence);
      const entry = await folder.numberOf("MessageReceived");
      for (const name of ["answered.eml", `entries/${entry}.json`, `proofs/${entry}.tlog-proof`])
        await folder.remove(name);
      await folder.disclose((list) => list.filter((each) => each.entry !== entry));
      expect((await verify(folder.folder)).said).to.contain("The mail that the draft answers: it is not here.");
    });

    it("an approver who is not disclosed is named as such, with the entry", async () => {
      const folder = await openFolder(evidence);
      const entry = await folder.numberOf("DraftApproved");
      await folder.disclose((list) => list.filter((each) => each.entry !== entry));
      const { said } = await verify(folder.folder);
      expect(said).to.contain('by an actor who is not disclosed ("email_link")');
      expect(said).to.contain(`Values of which these entries have digests alone: ${entry}.`);
    });

    it("a line separator in a text ends no line of the disclosures", async () => {
      const made = await tenant.draft(await tenant.mail());
      await made.edit({ body_text: "One.\u2028Two.\u2029Three.\u0085Four." });
      expect((await verify(await evidenceOf(made))).wrong).to.deep.equal([]);
    });
  });

  describe("the head is signed, and says what no head says", () => {
    const signed = async (how: (text: string) => string): Promise<Folder> => {
      const folder = await openFolder(evidence);
      const signer = anotherSigner();
      await signAnew(folder, await folder.entries());
      await changeHead(folder, (note) => signNote(how(note.slice(0, note.lastIndexOf("\n\n") + 1)), signer));
      return folder;
    };
    const heads: { [name: string]: (text: string) => string } = {
      "a size with a zero in front": (text) => text.replace(/\n(\d+)\n/, "\n0$1\n"),
      "the size 0": (text) => text.replace(/\n\d+\n/, "\n0\n"),
      "a size that no number can hold": (text) => text.replace(/\n\d+\n/, "\n99999999999999999999999\n"),
      "a size in other digits": (text) => text.replace(/\n\d+\n/, "\n١٢\n"),
      "another name than its key": (text) => text.replace(/^.*\n/, "mail.example.com/audit/other/1\n"),
      "no root": (text) => text.split("\n").slice(0, 2).join("\n").concat("\n"),
    };
    for (const [name, how] of Object.entries(heads))
      it(`a signed head is refused: ${name}`, async () => isFound(await signed(how)));

    it("lines that extend a head change nothing", async () => {
      expect((await verify((await signed((text) => `${text}an extension\n`)).folder)).wrong).to.deep.equal([]);
    });

    it("a second signature, by a key that nobody asked for, changes nothing", async () => {
      const folder = await openFolder(evidence);
      await changeHead(
        folder,
        (note) =>
          note +
          signNote(`${note.slice(0, note.lastIndexOf("\n\n"))}\n`, anotherSigner())
            .split("\n\n")
            .at(-1),
      );
      expect((await verify(folder.folder)).wrong).to.deep.equal([]);
    });
  });

  describe("a history that is signed and tells what the service never does", () => {
    const indexOf = (entries: LooseEntry[], type: string): number =>
      entries.findIndex(({ event }) => event.type === type);
    const found = (entries: LooseEntry[], type: string): LooseEntry => entries[indexOf(entries, type)]!;

    /** Puts an event into the stream of another, after it, and numbers the later ones anew. */
    function insertAfter(entries: LooseEntry[], after: string, made: { type: string; data: Json }): LooseEntry {
      const at = indexOf(entries, after);
      const { event } = entries[at]!;
      const later = entries.slice(at + 1).filter((each) => each.event.stream === event.stream);
      for (const each of later) each.event.revision += 1;
      const entry = { entry: 0, event: { ...event, ...made, _sd: [], revision: event.revision + 1 }, disclosures: [] };
      entries.splice(at + 1, 0, entry);
      return entry;
    }

    /** Gives an entry a value with its digest. */
    function tell({ event, disclosures }: LooseEntry, path: string, value: unknown): void {
      const disclosure = JSON.stringify(["c2FsdA", path, value]);
      const encoded = Buffer.from(disclosure).toString("base64url");
      event._sd = [...event._sd, createHash("sha256").update(encoded).digest("base64url")].sort();
      disclosures.push(disclosure);
    }

    const another = "0".repeat(64);
    const lies: { [name: string]: (entries: LooseEntry[]) => unknown } = {
      "an entry has a name twice": (entries) => {
        const approved = found(entries, "DraftApproved");
        approved.text = JSON.stringify(approved.event).replace('"type":', '"type":"DraftRejected","type":');
      },
      "an entry is not in the canonical form": (entries) => {
        const approved = found(entries, "DraftApproved");
        approved.text = JSON.stringify(approved.event, null, 1);
      },
      "an entry has two actors": (entries) =>
        tell(found(entries, "DraftApproved"), "/actor", { id: "john@customer.example" }),
      "the version was written anew after its approval": (entries) => {
        insertAfter(entries, "DraftApproved", { type: "DraftEdited", data: { version: 2, contentSha256: another } });
        for (const type of ["SendClaimed", "DraftQueued", "DeliveryStarted"])
          found(entries, type).event.data.contentSha256 = another;
      },
      "a newer version was written between approval and hand-over": (entries) =>
        insertAfter(entries, "DraftApproved", { type: "DraftEdited", data: { version: 3, contentSha256: another } }),
      "the draft was rejected between approval and hand-over": (entries) =>
        insertAfter(entries, "DraftApproved", { type: "DraftRejected", data: { version: 2 } }),
      "the draft was stale before the hand-over": (entries) =>
        insertAfter(entries, "DraftQueued", { type: "DraftMarkedStale", data: {} }),
      "a version is left out": (entries) =>
        insertAfter(entries, "DraftApproved", { type: "DraftEdited", data: { version: 4, contentSha256: another } }),
      "the approval names no hash": (entries) => delete found(entries, "DraftApproved").event.data.contentSha256,
      "the hand-over names no hash": (entries) => delete found(entries, "DeliveryStarted").event.data.contentSha256,
      "another hand-over is of an attempt that the draft does not have": (entries) => {
        const { event } = found(entries, "DeliveryStarted");
        const stream = "delivery-00000000-0000-7000-8000-000000000003";
        entries.push({ entry: 0, event: { ...event, _sd: [], stream }, disclosures: [] });
      },
      "the mail was handed over twice in one attempt": (entries) =>
        insertAfter(entries, "DeliveryStarted", {
          type: "DeliveryStarted",
          data: found(entries, "DeliveryStarted").event.data,
        }),
      "the hand-over comes before the draft was queued": (entries) => {
        const [queued] = entries.splice(indexOf(entries, "DraftQueued"), 1);
        entries.splice(indexOf(entries, "DeliveryStarted") + 1, 0, queued!);
      },
      "the events of a conversation are exchanged": (entries) => {
        const [received] = entries.splice(indexOf(entries, "MessageReceived"), 1);
        entries.push(received!);
      },
      "a mail was received twice in one place": (entries) => entries.push({ ...found(entries, "MessageReceived") }),
      "a revision is a text": (entries) => {
        const { event } = found(entries, "DraftSubmitted");
        event.revision = "0";
      },
    };

    for (const [name, lie] of Object.entries(lies))
      it(`a signed history is refused: ${name}`, async () => {
        const folder = await openFolder(evidence);
        const entries = await folder.entries();
        await lie(entries);
        await signAnew(folder, entries);
        await isFound(folder);
      });

    const saidAbout = async (lie: (entries: LooseEntry[]) => unknown): Promise<string> => {
      const folder = await openFolder(evidence);
      const entries = await folder.entries();
      lie(entries);
      await signAnew(folder, entries);
      const { code, said, wrong } = await verify(folder.folder);
      expect([code, wrong]).to.deep.equal([0, []]);
      return said;
    };

    it("an event's time cannot add a line to what verify.mjs says", async () => {
      const said = await saidAbout((entries) => {
        found(entries, "DraftApproved").event.at = "2026\n- Approved by John.\u202e\u001b[2K";
      });
      expect(said).not.to.match(/^- Approved by John|\u202e/m);
      expect(said).not.to.contain("\u001b");
      expect(said).to.contain("2026\\u{a}- Approved by John.\\u{202e}\\u{1b}[2K");
    });

    it("an approver's address in letters that look alike is shown as such", async () => {
      const said = await saidAbout((entries) => {
        const approved = found(entries, "DraftApproved");
        approved.event._sd = [];
        approved.disclosures.length = 0;
        tell(approved, "/actor", { id: "j\u0430ne@customer.example" });
      });
      expect(said).to.contain('by "j\\u{430}ne@customer.example"');
    });

    it("an approval by a key is no person's", async () => {
      const said = await saidAbout((entries) => {
        found(entries, "DraftApproved").event.actor.kind = "api_key";
      });
      expect(said).to.match(/no person's approval, entry \d+, comes before it/);
    });
  });

  it("evidence has no file that this test does not know", async () => {
    expect((await readdir(evidence)).sort()).to.deep.equal([
      "answered.eml",
      "checkpoint",
      "content.json",
      "disclosures.jsonl",
      "entries",
      "index.html",
      "policy",
      "proofs",
      "sent.eml",
      "verify.mjs",
    ]);
  });
});
