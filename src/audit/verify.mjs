// Checks evidence from Countersign: `node verify.mjs [FOLDER] [--expect CHECKPOINT_FILE] [--key KEY]`. Needs Node.js 20, no package
// and no network. Exit code 1 if anything is wrong. Formats: RFC 6962, RFC 9901; C2SP signed-note, tlog-checkpoint, tlog-proof, tlog-policy.
import { createHash, createPublicKey, verify } from "node:crypto";
import { createReadStream, existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { parseArgs } from "node:util";

const options = { expect: { type: "string" }, key: { type: "string" } };
const { values: given, positionals } = parseArgs({ options, allowPositionals: true });
const [faults, proven, notShown] = [[], ["Proven:"], ["Not shown by these files:", "What happened after this head."]];
const fault = (sentence) => faults.push(sentence);
const pathOf = (name) => join(positionals[0] ?? ".", name);
const has = (name) => existsSync(pathOf(name));
const textOf = (name) => readFileSync(pathOf(name), "utf8");
const listOf = (name) => readdirSync(pathOf(name));
const linesOf = (name) => createInterface({ input: createReadStream(pathOf(name)) });
const sha256 = (...parts) => parts.reduce((hash, part) => hash.update(part), createHash("sha256")).digest();
const hexOf = (...parts) => sha256(...parts).toString("hex");
/** Text by others as a terminal may print it. */
const said = (text) =>
  JSON.stringify(String(text)).replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (c) => `\\u{${c.codePointAt(0).toString(16)}}`);

/** Reads a verifier key of signed-note: `name+id+base64`. */
function readKey(text) {
  const [, name, id, encoded = ""] = /^([^\s+]+)\+([0-9a-f]{8})\+(\S+)$/.exec(text) ?? [];
  const typed = Buffer.from(encoded, "base64");
  const isOwnId = name && sha256(`${name}\n`, typed).toString("hex", 0, 4) === id;
  if (!isOwnId || typed.length !== 33 || typed[0] !== 1) throw new Error(`${said(text)} is no verifier key of Ed25519`);
  const der = Buffer.concat([Buffer.from("302a300506032b6570032100", "hex"), typed.subarray(1)]);
  return { text, name, id, publicKey: createPublicKey({ key: der, format: "der", type: "spki" }) };
}

/** Opens a checkpoint, which one of the keys has to have signed. Its first line is the name of that key. */
function openCheckpoint(note, keys) {
  const end = note.lastIndexOf("\n\n");
  const text = note.slice(0, end + 1);
  const [origin, size = "", root = ""] = text.split("\n");
  if (!/^\d+$/.test(size) || !/^[\w+/]{43}=$/.test(root)) throw new Error("a checkpoint is damaged");
  const signatures = note.slice(end + 2).split("\n");
  const isSigned = signatures.some((line) => {
    const [, signer, encoded = ""] = line.split(" ");
    const bytes = Buffer.from(encoded, "base64");
    const key = keys.find(({ name, id }) => name === signer && name === origin && bytes.toString("hex", 0, 4) === id);
    return key && verify(null, Buffer.from(text), key.publicKey, bytes.subarray(4));
  });
  if (!isSigned) throw new Error("a checkpoint is not signed by the key in the file policy");
  return { origin, size: Number(size), root };
}

/** Returns the root that a proof of inclusion leads to (RFC 9162, 2.1.3.2); undefined if it has not the length that it must have. */
function rootByProof(bytes, { entry, size, hashes }) {
  let [at, last, root] = [entry, size - 1, sha256(Buffer.of(0), bytes)];
  if (!Number.isInteger(entry) || entry < 0 || entry > last) return undefined;
  for (const hash of hashes.map((each) => Buffer.from(each, "base64"))) {
    if (last === 0) return undefined;
    const isRight = at % 2 === 1 || at === last;
    root = isRight ? sha256(Buffer.of(1), hash, root) : sha256(Buffer.of(1), root, hash);
    while (isRight && at % 2 === 0 && at > 0) [at, last] = [at / 2, Math.floor(last / 2)];
    [at, last] = [Math.floor(at / 2), Math.floor(last / 2)];
  }
  return last === 0 ? root.toString("base64") : undefined;
}

/** Yields the entries with their proofs: a file each in the evidence of a draft, a line each in an export. */
async function* provenEntries(checkpoint) {
  if (has("entries.jsonl")) {
    for await (const line of linesOf("entries.jsonl")) yield JSON.parse(line);
    return;
  }
  const proofs = new Set(listOf("proofs"));
  for (const name of listOf("entries")) {
    const entry = Number(/^(\d+)\.json$/.exec(name)?.[1]);
    const isThere = proofs.delete(`${entry}.tlog-proof`);
    const proof = isThere ? textOf(`proofs/${entry}.tlog-proof`) : "";
    const end = proof.indexOf("\n\n");
    const [header, index, ...hashes] = proof.slice(0, end).split("\n");
    if (!isThere) fault(`Entry ${said(name)} has no proof.`);
    else if (`${header} ${index}` !== `c2sp.org/tlog-proof@v1 index ${entry}`) fault(`${said(name)} has no own proof.`);
    else if (proof.slice(end + 2) !== checkpoint) fault(`The proof of entry ${entry} is of another head.`);
    else yield { entry, hashes, text: textOf(`entries/${name}`) };
  }
  for (const name of proofs) fault(`The proof ${said(name)} belongs to no entry.`);
}

/** Reads the values behind the entries' digests: by entry, then by digest. Of the values themselves, keeps only the actors. */
async function readDisclosures() {
  const byEntry = new Map();
  for await (const line of linesOf("disclosures.jsonl")) {
    const { entry, disclosure } = JSON.parse(line);
    const [, path, value] = JSON.parse(disclosure);
    const digest = sha256(Buffer.from(disclosure).toString("base64url")).toString("base64url");
    if (!byEntry.has(entry)) byEntry.set(entry, new Map());
    if (byEntry.get(entry).has(digest)) fault(`Entry ${entry} has the value of ${said(path)} twice.`);
    byEntry.get(entry).set(digest, { path, ...(path === "/actor" && { value }) });
  }
  return byEntry;
}

/** Adds the actor to an event. A disclosure must have its digest in the entry, and may replace nothing that the entry shows. */
function disclose(event, disclosed) {
  for (const [digest, { path, value }] of disclosed) {
    const open = [event, ...path.slice(1).split("/")].reduce((at, name) => at?.[name]);
    if (!event._sd.includes(digest)) fault(`Entry ${event.entry} has not the digest of this value of ${said(path)}.`);
    else if (path === "/actor") event.person = value;
    else if (open !== undefined) fault(`Entry ${event.entry} shows another value of ${said(path)}.`);
  }
  return event._sd.length - disclosed.size;
}

async function readEvents(head, checkpoint) {
  const disclosures = await readDisclosures();
  const events = new Map();
  let undisclosed = 0;
  for await (const { entry, hashes, text } of provenEntries(checkpoint)) {
    if (events.has(entry)) fault(`Entry ${entry} is here twice.`);
    if (rootByProof(text, { entry, size: head.size, hashes }) !== head.root)
      fault(`Entry ${entry} is not in the signed tree.`);
    events.set(entry, { ...JSON.parse(text), entry });
    undisclosed += disclose(events.get(entry), disclosures.get(entry) ?? new Map());
    disclosures.delete(entry);
  }
  for (const entry of disclosures.keys()) fault(`A value belongs to entry ${said(entry)}, which is not proven here.`);
  if (undisclosed > 0) notShown.push(`${undisclosed} values of which the entries have digests alone.`);
  return [...events.values()].sort((a, b) => a.entry - b.entry);
}

/** Groups events by stream, and finds missing ones of drafts and hand-overs. An export for a time may begin later. */
function byStream(events, isExport) {
  const streams = new Map();
  for (const event of events) streams.get(event.stream)?.push(event) ?? streams.set(event.stream, [event]);
  for (const [stream, own] of streams) {
    const wrong = own.find(({ revision }, n) => revision !== n + (isExport ? own[0].revision : 0));
    if (wrong && /^(draft|delivery)-/.test(stream))
      fault(`A revision of ${said(stream)} before ${wrong.revision} is missing.`);
  }
  return streams;
}

function who({ actor, person }) {
  if (!person) return `an actor who is not disclosed (${said(actor.kind)})`;
  const { id, name = id, email, ip } = person;
  const known = [said(actor.kind).slice(1, -1).replaceAll("_", " "), email && said(email), ip && `from ${said(ip)}`];
  return `${said(name)} (${known.filter(Boolean).join(", ")})`;
}

/** Says what authorised a hand-over: an approval of its version that comes before it in the tree and was not taken back. */
function authorisationOf(started, own) {
  const before = own.filter(({ entry }) => entry < started.entry);
  const last = (type) => before.findLast((event) => event.type === type && event.data.version === started.data.version);
  const ended = before.findLast(({ type }) => type === "DraftReturnedToPending")?.entry ?? -1;
  const [approved, queued] = [last("DraftApproved"), last("DraftQueued")];
  const kind = queued?.data.authorisation?.kind;
  const whose = /^(session|email_link|slack|telegram)$/.test(approved?.actor.kind) ? "a person's" : "no person's";
  if (approved?.entry > ended) return `${whose} approval, entry ${approved.entry}, comes before it in the tree`;
  if (kind === "api_key") return `nobody approved it: ${who(queued)} sent it (entry ${queued.entry})`;
  return kind === "auto" && own[0].data.autoApproved && ended < 0 ? "a setting approved it, nobody else" : undefined;
}

const act = /^(Draft(Submitted|Edited|Approved|ReturnedToPending|Rejected)|Approval(Given|Withdrawn)|ChangesRequested)/;

/** Checks a draft: the hashes of its versions, and what comes before each hand-over. Returns what its files have to be. */
function checkDraft(own, streams, head) {
  const hashes = new Map([[1, own[0].data.contentSha256]]);
  const attempts = new Set(own.map(({ data }) => data.attemptId));
  const deliveries = [...attempts].flatMap((id) => streams.get(`delivery-${id}`) ?? []);
  const started = deliveries.filter(({ type }) => type === "DeliveryStarted").sort((a, b) => a.entry - b.entry);
  for (const event of [...own, ...deliveries].sort((a, b) => a.entry - b.entry)) {
    const { type, data, entry } = event;
    const version = data.version ?? [...hashes.keys()].at(-1);
    if (type === "DraftEdited") hashes.set(version, data.contentSha256);
    const hash = hashes.get(version);
    const about = `${event.at} ${type.replace(/\B[A-Z]/g, " $&").toLowerCase()}: version ${version}`;
    if ((data.contentSha256 ?? hash) !== hash) fault(`Entry ${entry} has another hash than version ${version}.`);
    if (act.test(type)) proven.push(`${about} (content hash ${hash}), by ${who(event)} (entry ${entry}).`);
    if (type === "DeliveryAccepted") proven.push(`${about}, by the provider (entry ${entry}).`);
    if (type === "DraftSent" && !started.some(({ stream }) => stream === `delivery-${data.attemptId}`))
      fault(`Entry ${entry} says that the draft was sent, but its hand-over is not here.`);
    if (type !== "DeliveryStarted") continue;
    const authorised = own[0].stream === `draft-${data.draftId}` && authorisationOf(event, own);
    if (!authorised) fault(`Nothing before the hand-over in entry ${entry} authorised version ${version}.`);
    proven.push(`${about}, as the mail with SHA-256 ${data.mimeSha256} (entry ${entry}); ${authorised}.`);
  }
  proven.push(`${own[0].stream} is complete to revision ${own.at(-1).revision} at the head of ${head.size} entries.`);
  const decided = started.at(-1) ?? own.findLast(({ type }) => type === "DraftQueued" || type === "DraftApproved");
  const { answers } = own[0].data;
  const answered = streams.get(`thread-${answers?.threadId}`)?.find(({ revision }) => revision === answers.revision);
  return new Map([
    ["content.json", hashes.get(decided?.data.version ?? Math.max(...hashes.keys()))],
    ...started.map((each) => [each === started.at(-1) ? "sent.eml" : `sent-${each.entry}.eml`, each.data.mimeSha256]),
    ...(answered ? [["answered.eml", answered.data.rawSha256]] : []),
  ]);
}

function checkFiles(expected) {
  for (const [name, hash] of expected) {
    const isIt = has(name) && hexOf(readFileSync(pathOf(name))) === hash;
    if (isIt) proven.push(`${name} is what the entries name, byte for byte (SHA-256 ${hash}).`);
    else if (!has(name) && name === "answered.eml") notShown.push("The mail that the draft answers: it is not here.");
    else fault(`${name} is ${has(name) ? "not the one whose SHA-256 the entries have" : "missing"}.`);
  }
  for (const name of listOf("."))
    if (name.endsWith(".eml") && !expected.has(name)) fault(`${said(name)} is a mail that no entry names.`);
}

/** Checks that each mail and each content of an export is named by an entry. A mailbox adds a line break to a mail without one. */
function checkParts(events) {
  const named = new Set(events.flatMap(({ data }) => [data.contentSha256, data.mimeSha256, data.rawSha256]));
  const [, ...mails] = readFileSync(pathOf("mail.mbox"), "latin1").split(/(?<![^\n])From [^\n]*\n/);
  const isNamed = (text, coding) => named.has(hexOf(Buffer.from(text, coding)));
  for (const mail of mails.map((text) => text.slice(0, -1).replace(/(?<![^\n])>(>*From )/g, "$1")))
    if (!isNamed(mail, "latin1") && !isNamed(mail.slice(0, -1), "latin1")) fault("No entry names a mail of mail.mbox.");
  for (const line of textOf("contents.jsonl").split("\n").slice(0, -1))
    if (!isNamed(line)) fault("No entry names a content of contents.jsonl.");
  proven.push(`${mails.length} mails of mail.mbox are named by entries, byte for byte.`);
}

/** Compares the head with a checkpoint that the auditor already had. */
function compareHeads(known, head) {
  if (known.origin !== head.origin) fault(`The expected checkpoint is of another log, ${said(known.origin)}.`);
  else if (known.size !== head.size) notShown.push(`That this continues your head: it needs a consistency proof.`);
  else if (known.root !== head.root) fault(`Two different trees of ${head.size} entries were signed.`);
  else proven.push("The head is the one that you had.");
}

try {
  const keys = [...textOf("policy").matchAll(/^log (\S+)$/gm)].map(([, text]) => readKey(text));
  if (given.key && keys.some(({ text }) => !`+${text}`.endsWith(`+${given.key}`))) fault("The policy has another key.");
  if (!/^quorum none$/m.test(textOf("policy"))) fault("The policy demands witnesses, whom this program does not know.");
  const head = openCheckpoint(textOf("checkpoint"), keys);
  if (given.expect) compareHeads(openCheckpoint(readFileSync(given.expect, "utf8"), keys), head);
  const isExport = has("entries.jsonl");
  const events = await readEvents(head, textOf("checkpoint"));
  const streams = byStream(events, isExport);
  const drafts = [...streams.values()].filter(([{ stream, revision }]) => /^draft-/.test(stream) && revision === 0);
  proven.push(`${events.length} entries are in the tree of ${head.size} entries that ${head.origin} signed.`);
  const files = drafts.map((own) => checkDraft(own, streams, head));
  if (isExport) checkParts(events);
  else if (files.length !== 1) fault("These files are not about one draft.");
  else checkFiles(files[0]);
  if (!given.key) notShown.push(`Whose key signed: compare ${keys[0].text} with the keys that the service publishes.`);
  notShown.push("That no later revision exists, and that a person was the one whom the service knew by that name.");
} catch (error) {
  fault(`The files cannot be checked: ${error.message}.`);
}
if (faults.length > 0) console.error(faults.map((sentence) => `WRONG: ${sentence}`).join("\n"));
else console.log(`${proven.join("\n- ")}\n\n${notShown.join("\n- ")}`);
process.exitCode = faults.length > 0 ? 1 : 0;
