// Checks evidence from Countersign: `node verify.mjs [FOLDER] [--expect CHECKPOINT_FILE] [--key KEY]`. Needs Node.js 20, no package
// and no network. Exit code 1 if anything is wrong. Formats: RFC 6962, RFC 9901; C2SP signed-note, tlog-checkpoint, tlog-proof, tlog-policy.
import { createHash, createPublicKey, verify } from "node:crypto";
import { createReadStream, existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";

const options = { expect: { type: "string" }, key: { type: "string" } };
const { values: given, positionals } = parseArgs({ options, allowPositionals: true });
const [faults, proven, notShown] = [[], ["Proven:"], ["Not shown by these files:", "What happened after this head."]];
const fault = (sentence) => faults.push(visible(sentence));
const opened = new Set();
const pathOf = (name) => join(positionals[0] ?? ".", name);
const open = (name) => opened.add(name) && pathOf(name);
const has = (name) => existsSync(pathOf(name));
const textOf = (name) => readFileSync(open(name), "utf8");
const listOf = (name) => readdirSync(open(name));
const isExport = has("entries.jsonl");
/** Yields the lines of a file. Only a line feed ends one: newer versions of Node's own reader end lines at other characters too. */
async function* linesOf(name) {
  let rest = "";
  for await (const chunk of createReadStream(open(name), "utf8")) {
    const lines = (rest + chunk).split("\n");
    rest = lines.pop();
    yield* lines;
  }
  if (rest !== "") yield rest;
}
const sha256 = (...parts) => parts.reduce((hash, part) => hash.update(part), createHash("sha256")).digest();
const hexOf = (...parts) => sha256(...parts).toString("hex");
const isHash = (text) => /^[A-Za-z0-9+/]{43}=$/.test(text);
/** A text without what could make a terminal show another; an address without letters that look like others. */
const visible = (text, hidden = /[\p{C}\p{Zl}\p{Zp}]/gu) =>
  text.replace(hidden, (c) => `\\u{${c.codePointAt(0).toString(16)}}`);
const said = (text) => visible(JSON.stringify(String(text)), String(text).includes("@") ? /[^ -~]/gu : undefined);

/** Reads the only key of a policy, a verifier key of signed-note: `name+id+base64`. */
function readKey(policy) {
  const [text = "", another] = [...policy.matchAll(/^log (.*)$/gm)].map(([, key]) => key);
  const [, name, id, encoded = ""] = /^([^\s+]+)\+([0-9a-f]{8})\+([A-Za-z0-9+/]{44})$/.exec(text) ?? [];
  const typed = Buffer.from(encoded, "base64");
  const isOwnId = name && sha256(`${name}\n`, typed).toString("hex", 0, 4) === id;
  if (another || !isOwnId || typed[0] !== 1) throw new Error("the policy has not one verifier key of Ed25519");
  if (![undefined, text, encoded].includes(given.key)) fault("The policy has another key.");
  const der = Buffer.concat([Buffer.from("302a300506032b6570032100", "hex"), typed.subarray(1)]);
  return { text, name, id, publicKey: createPublicKey({ key: der, format: "der", type: "spki" }) };
}

const bytesOf = (signature) => Buffer.from(signature.split(" ")[2] ?? "", "base64");

/** Opens a checkpoint, which the key has to have signed. Its first line is the name of that key. */
function openCheckpoint(note, { name, id, publicKey }) {
  const end = note.lastIndexOf("\n\n");
  const text = note.slice(0, end + 1);
  const [origin, size = "", root = ""] = text.split("\n");
  if (!/^(0|[1-9]\d{0,14})$/.test(size) || !isHash(root)) throw new Error("a checkpoint is damaged");
  const lines = note.slice(end + 2).split("\n");
  const own = lines.filter((line) => line.split(" ")[1] === name && bytesOf(line).toString("hex", 0, 4) === id);
  const isSigned = (line) => verify(null, Buffer.from(text), publicKey, bytesOf(line).subarray(4));
  if (origin !== name || own.length === 0 || !own.every(isSigned))
    throw new Error("a checkpoint is not signed by the key in the file policy");
  return { origin, size: Number(size), root };
}

/** Returns the root that a proof of inclusion leads to (RFC 9162, 2.1.3.2); undefined if it has not the length that it must have. */
function rootByProof(bytes, { entry, size, hashes }) {
  let [at, last, root] = [entry, size - 1, sha256(Buffer.of(0), bytes)];
  if (!Number.isInteger(entry) || entry < 0 || entry > last || !hashes.every(isHash)) return undefined;
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
async function* provenEntries() {
  if (isExport) for await (const line of linesOf("entries.jsonl")) yield JSON.parse(line);
  if (isExport) return;
  const proofs = new Set(listOf("proofs"));
  for (const name of listOf("entries")) {
    const entry = Number(/^(0|[1-9]\d*)\.json$/.exec(name)?.[1]);
    const [begin, end] = [`c2sp.org/tlog-proof@v1\nindex ${entry}\n`, `\n${textOf("checkpoint")}`];
    const proof = proofs.delete(`${entry}.tlog-proof`) ? textOf(`proofs/${entry}.tlog-proof`) : "";
    const hashes = proof.slice(begin.length, -end.length).split("\n").slice(0, -1);
    if (proof.startsWith(begin) && proof.endsWith(end)) yield { entry, hashes, text: textOf(`entries/${name}`) };
    else fault(`Entry ${said(name)} has no proof of its own by this head.`);
  }
  for (const name of proofs) fault(`The proof ${said(name)} belongs to no entry.`);
}

/** Reads the values behind the entries' digests: by entry, then by path. Of the values themselves, keeps only the actors. */
async function readDisclosures() {
  const byEntry = new Map();
  for await (const line of linesOf("disclosures.jsonl")) {
    const { entry, disclosure } = JSON.parse(line);
    const [, path, value] = JSON.parse(disclosure);
    const digest = sha256(Buffer.from(disclosure).toString("base64url")).toString("base64url");
    const own = byEntry.get(entry) ?? new Map();
    if (own.has(path)) fault(`Entry ${entry} has the value of ${said(path)} twice.`);
    byEntry.set(entry, own.set(path, { digest, ...(path === "/actor" && { value }) }));
  }
  return byEntry;
}

/** Adds the actor to an event. A value must have its digest in the entry, and may replace nothing that the entry shows. */
function disclose(event, disclosed) {
  for (const [path, { digest, value }] of disclosed) {
    const shown = [event, ...path.slice(1).split("/")].reduce((at, name) => at?.[name]);
    if (!event._sd.includes(digest)) fault(`Entry ${event.entry} has not the digest of this value of ${said(path)}.`);
    else if (path === "/actor") event.person = value;
    else if (shown !== undefined) fault(`Entry ${event.entry} shows another value of ${said(path)}.`);
  }
}

async function readEvents(head) {
  const disclosures = await readDisclosures();
  const events = new Map();
  const hidden = [];
  for await (const { entry, hashes, text } of provenEntries()) {
    if (events.has(entry)) fault(`Entry ${entry} is here twice.`);
    const root = rootByProof(text, { entry, size: head.size, hashes });
    if (root !== head.root) fault(`Entry ${entry} is not in the signed tree.`);
    events.set(entry, { ...JSON.parse(text), entry, person: undefined, isChecked: false });
    if (JSON.stringify(JSON.parse(text)) !== text) fault(`Entry ${entry} has a name twice, or is no canonical JSON.`);
    const disclosed = disclosures.get(entry) ?? new Map();
    disclose(events.get(entry), disclosed);
    if (disclosed.size !== events.get(entry)._sd.length) hidden.push(entry);
    disclosures.delete(entry);
  }
  for (const entry of disclosures.keys()) fault(`A value belongs to entry ${said(entry)}, which is not proven here.`);
  if (hidden.length > 0) notShown.push(`Values of which these entries have digests alone: ${hidden.join(", ")}.`);
  return [...events.values()].sort((a, b) => a.entry - b.entry);
}

/** Groups events by stream, and finds missing ones of drafts and hand-overs. An export for a time may begin later. */
function byStream(events) {
  const streams = new Map();
  for (const event of events) streams.get(event.stream)?.push(event) ?? streams.set(event.stream, [event]);
  for (const [stream, own] of streams) {
    const isWhole = /^(draft|delivery)-/.test(stream);
    const first = isWhole && !isExport ? 0 : own[0].revision;
    const wrong = own.find(({ revision }, n) => (isWhole ? revision !== first + n : revision <= own[n - 1]?.revision));
    if (wrong) fault(`Before revision ${said(wrong.revision)} of ${said(stream)} one is missing, or there too late.`);
  }
  return streams;
}

function who({ actor, person }) {
  if (!person) return `an actor who is not disclosed (${said(actor.kind)})`;
  const { id, name = id, email, ip } = person;
  const known = [actor.kind.replaceAll("_", " "), email && said(email), ip && `from ${said(ip)}`];
  return `${said(name)} (${known.filter(Boolean).join(", ")})`;
}

/** Says what authorised a hand-over: an approval of its version that comes before it in the tree and had not ended. */
function authorisationOf(started, own) {
  const { version, contentSha256 } = started.data;
  const before = own.filter(({ entry }) => entry < started.entry);
  const isOfVersion = ({ data }) => data.version === version && data.contentSha256 === contentSha256;
  const last = (type) => before.findLast((event) => event.type === type && isOfVersion(event));
  const ended = before.findLast(({ type }) => ending.test(type))?.entry ?? -1;
  const [approved, queued] = [last("DraftApproved"), last("DraftQueued")];
  const attempts = before.filter(({ type }) => type === "DraftQueued" || type === "DraftRequeued");
  if (!attempts.some(({ data }) => `delivery-${data.attemptId}` === started.stream)) return undefined;
  const kind = queued?.data.authorisation?.kind;
  const whose = /^(session|email_link|slack|telegram)$/.test(approved?.actor.kind) ? "a person's" : "no person's";
  if (approved?.entry > ended) return `${whose} approval, entry ${approved.entry}, comes before it in the tree`;
  if (queued?.entry > ended && kind === "api_key") return `nobody approved it: ${who(queued)} sent it`;
  return kind === "auto" && own[0].data.autoApproved && ended < 0 ? "a setting approved it, nobody else" : undefined;
}

const ending = /^Draft(Edited|ReturnedToPending|Rejected|MarkedStale|Failed)$/;
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
    if (type === "DraftEdited" && version === hashes.size + 1) hashes.set(version, data.contentSha256);
    const hash = hashes.get(version);
    const about = `${event.at} ${type.replace(/\B[A-Z]/g, " $&").toLowerCase()}: version ${version}`;
    if ((data.contentSha256 ?? hash) !== hash) fault(`Entry ${entry} has another hash than version ${version}.`);
    if (act.test(type)) proven.push(`${about} (content hash ${hash}), by ${who(event)} (entry ${entry}).`);
    if (type === "DeliveryAccepted") proven.push(`${about}, by the provider (entry ${entry}).`);
    if (type === "DraftSent" && !started.some(({ stream }) => stream === `delivery-${data.attemptId}`))
      fault(`Entry ${entry} says that the draft was sent, but its hand-over is not here.`);
    if (type !== "DeliveryStarted") continue;
    event.isChecked = true;
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
    ...(answers ? [["answered.eml", answered?.data.rawSha256]] : []),
  ]);
}

function checkFiles(expected) {
  for (const [name, hash] of expected) {
    const isIt = has(name) && hexOf(readFileSync(open(name))) === hash;
    if (isIt) proven.push(`${name} is what the entries name, byte for byte (SHA-256 ${hash}).`);
    else if (name === "answered.eml" && !has(name)) notShown.push("The mail that the draft answers: it is not here.");
    else fault(`${name} is ${has(name) ? "not the one whose SHA-256 the entries have" : "missing"}.`);
  }
}

/** Names the files that nothing checks. None of them may pass for one that is checked. */
function nameOthers() {
  const others = listOf(".").filter((name) => !opened.has(name));
  for (const name of others)
    if (/\.eml|^content\.json|^(entries|proofs)$/i.test(name)) fault(`${said(name)} is a file that no entry names.`);
  notShown.push(`What other files say: ${others.map(said).join(", ")}.`);
}

/** Finds hand-overs of which no history was checked. An export may begin after a draft did. */
function checkHandOvers(events, streams) {
  for (const { entry, data } of events.filter(({ type, isChecked }) => type === "DeliveryStarted" && !isChecked)) {
    const isLater = isExport && streams.get(`draft-${data.draftId}`)?.[0].revision !== 0;
    if (isLater) notShown.push(`What authorised the hand-over in entry ${entry}: its draft's beginning is not here.`);
    else fault(`The hand-over in entry ${entry} is in no draft's history.`);
  }
}

/** Checks that each mail and each content of an export is named by an entry. A mailbox adds a line break to a mail without one. */
function checkParts(events) {
  const named = new Set(events.flatMap(({ data }) => [data.contentSha256, data.mimeSha256, data.rawSha256]));
  const [, ...mails] = readFileSync(open("mail.mbox"), "latin1").split(/(?<![^\n])From [^\n]*\n/);
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
  else if (known.size !== head.size)
    notShown.push(
      `That a tree of ${known.size} entries, your head, and this one are one: it needs a consistency proof.`,
    );
  else if (known.root !== head.root) fault(`Two different trees of ${head.size} entries were signed.`);
  else proven.push("The head is the one that you had.");
}

try {
  const key = readKey(textOf("policy"));
  if (!/^quorum none$/m.test(textOf("policy"))) fault("The policy demands witnesses, whom this program does not know.");
  const head = openCheckpoint(textOf("checkpoint"), key);
  if (given.expect !== undefined) compareHeads(openCheckpoint(readFileSync(given.expect, "utf8"), key), head);
  const events = await readEvents(head);
  const streams = byStream(events);
  const drafts = [...streams.values()].filter(([{ stream, revision }]) => /^draft-/.test(stream) && revision === 0);
  proven.push(`${events.length} entries are in the tree of ${head.size} entries that ${head.origin} signed.`);
  const files = drafts.map((own) => checkDraft(own, streams, head));
  checkHandOvers(events, streams);
  if (isExport) checkParts(events);
  else if (files.length !== 1) fault("These files are not about one draft.");
  else checkFiles(files[0]);
  nameOthers();
  if (!given.key) notShown.push(`Whose key signed: compare ${key.text} with the keys that the service publishes.`);
  notShown.push("That no later revision exists, and that a person was the one whom the service knew by that name.");
} catch (error) {
  fault(`The files cannot be checked: ${error.message}.`);
}
if (faults.length > 0) console.error(faults.map((sentence) => `WRONG: ${sentence}`).join("\n"));
else console.log([proven, notShown].map((list) => list.map((each) => visible(each)).join("\n- ")).join("\n\n"));
process.exitCode = faults.length > 0 ? 1 : 0;
