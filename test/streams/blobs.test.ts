import { readdirSync, readFileSync } from "node:fs";
import { expect } from "chai";
import { blobsInContent, blobsOf, contentBlobOf, deliveriesExpiredBy, deliveryOf } from "#streams/blobs.ts";
import type { DraftContent } from "#streams/draft/content.ts";

const folder = new URL("../../streams/", import.meta.url);
const streams = readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isDirectory());
const text = (path: string): string => readFileSync(new URL(path, folder), "utf8");

type Sample = { type: string; data: Record<string, any> };
const samples: Sample[] = streams.flatMap(({ name }) => JSON.parse(text(`${name}/samples.json`)));

/** Fields with hashes of what is in no blob: contents that were approved, keys, tokens, codes, names. */
const noBlobs = [
  "contentSha256",
  "tokenSha256",
  "listSha256",
  "tokens",
  "confirmCode",
  "hash",
  "contentDigest",
  "quotaStream",
];

/** Every text of 64 hexadecimal digits inside a value, but for fields that name no blob. */
function hashesIn(value: unknown): string[] {
  if (typeof value === "string") return value.match(/(?<![0-9a-f])[0-9a-f]{64}(?![0-9a-f])/g) ?? [];
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([name, inner]) => (noBlobs.includes(name) ? [] : hashesIn(inner)));
}

const hash = (digit: string): string => digit.repeat(64);
const letter: DraftContent = {
  ...{ from: { name: "Support", address: "support@agents.localhost" }, reply_to: null, to: [], cc: [], bcc: [] },
  ...{ subject: "Re: My order", body_text: "Yes.", in_reply_to: null, references: [], signature_text: null },
  body_html: `<img src="cid:${hash("1")}"><a href="cid:x">`,
  signature_html: `<img src="cid:${hash("2")}">`,
  attachments: [{ filename: "a.pdf", content_type: "application/pdf", sha256: hash("3") }],
};

describe("blobs that events name", () => {
  it("the blobs of an event are all hashes that stored events hold, except those of other things", () => {
    const found = samples.filter(({ data }) => hashesIn(data).length > 0);
    expect(new Set(found.map(({ type }) => type))).to.include.all.keys(
      ...["MailReceived", "ApprovalReplyReceived", "MessageReceived", "DeliveryStarted"],
    );
    for (const sample of found) expect(blobsOf(sample), sample.type).to.include.members(hashesIn(sample.data));
  });

  it("every event field that may name a blob is known", () => {
    const declared = streams.flatMap(({ name }) =>
      [...text(`${name}/events.ts`).matchAll(/\b(\w*(?:[sS]ha256|[bB]lob|[hH]tml))\??:/g)].map((match) => match[1]),
    );
    expect(new Set(declared), "a field that may name a blob: see streams/blobs.ts").to.have.all.keys(
      ...["rawSha256", "mimeSha256", "sha256", "bodyBlob", "contentBlob", "contentSha256", "tokenSha256"],
      ...["html", "signatureHtml", "addressSha256", "listSha256", "mailboxSha256", "nameSha256"],
    );
  });

  it("blobs are those of mail contents, of their attachments and pictures, and of signatures", () => {
    const inLetter = [hash("3"), hash("1"), hash("2")];
    expect(blobsInContent(letter)).to.deep.equal(inLetter);
    for (const type of ["DraftSubmitted", "DraftEdited", "DraftQueued"]) {
      expect(blobsOf({ type, data: { content: letter, contentBlob: null } }), type).to.deep.equal(inLetter);
      expect(blobsOf({ type, data: { content: null, contentBlob: hash("4") } }), type).to.deep.equal([hash("4")]);
    }
    const pictures = [{ contentId: "logo", sha256: hash("5") }];
    for (const type of ["DraftSubmitted", "DraftEdited"]) {
      const event = { type, data: { content: null, contentBlob: hash("4"), pictures } };
      expect([blobsOf(event), contentBlobOf(event)], type).to.deep.equal([[hash("4"), hash("5")], hash("4")]);
      expect(contentBlobOf({ type, data: { content: letter, contentBlob: null } }), type).to.equal(null);
    }
    const signatureHtml = letter.signature_html;
    expect(blobsOf({ type: "IdentityCreated", data: { signatureHtml } })).to.deep.equal([hash("2")]);
    expect(blobsOf({ type: "IdentityUpdated", data: { changes: { signatureHtml } } })).to.deep.equal([hash("2")]);
    expect(blobsOf({ type: "IdentityUpdated", data: { changes: { displayName: "Support" } } })).to.deep.equal([]);
    const attachments = [{ sha256: hash("7") }];
    const mail = { type: "MessageReceived", data: { rawSha256: hash("6"), bodyBlob: hash("8"), attachments } };
    expect(blobsOf(mail)).to.deep.equal([hash("6"), hash("8"), hash("7")]);
  });

  it("the blobs of a received mail are known as such, so that its content can expire", () => {
    const about = samples.filter((sample) => deliveryOf(sample) !== undefined);
    expect(new Set(about.map(({ type }) => type))).to.deep.equal(new Set(["MailReceived", "MessageReceived"]));
    const ended = samples.filter((sample) => deliveriesExpiredBy(sample).length > 0);
    expect(new Set(ended.map(({ type }) => type))).to.have.all.keys("HeldMailExpired", "QuarantinedMailExpired");
    for (const sample of ended) expect(deliveriesExpiredBy(sample)).to.deep.equal(sample.data.deliveryIds);
  });
});
