import { createHash } from "node:crypto";
import { relayIdIn } from "#src/mail/in/messageIds.ts";
import { reactionIn } from "#src/mail/in/reactions.ts";
import { isSameSubject } from "#src/mail/in/text/subjects.ts";
import { composeBodies } from "#src/mail/out/bodies.ts";
import { filesOf } from "#src/mail/out/render.ts";
import type { DraftContent } from "#streams/draft/content.ts";
import { handOverReason } from "#streams/filing/events.ts";
import type { Classification, MailHeaders } from "#streams/inbox/events.ts";
import type { MailKind } from "#streams/inbox/mailKinds.ts";
import type { Dependencies } from "../../dependencies.ts";
import { loadContent } from "../../drafts/draftContents.ts";
import { type ReadMail, readMail, withMemoryFor } from "../readMail.ts";
import { ownerOfAddress } from "../recipients.ts";
import { isInfrastructure } from "./failures.ts";
import { areForwarders } from "./forwarders.ts";
import { type Judged, type OwnMail, ownMail, renamedByRelay } from "./ownMail.ts";

/** Whose mail a received mail is: the one answer that filing, and everything after it, goes by. */
export type MailJudgement = {
  kind: MailKind;
  classification: Classification;
  /** The mail of ours that it copies or reacts to. */
  ours?: OwnMail;
  /** Sign of a reaction. */
  emoji?: string;
  /** Reason why a person should review its thread. */
  reviewReason?: string;
};

/** The id of the mail that a mail may react to. */
const reactedTo = ({ mayReact, inReplyTo, references }: MailHeaders): string | undefined =>
  mayReact && (inReplyTo ?? references.at(-1));

/** The Message-IDs by which a mail is judged, in the forms in which a relay may have told them. */
export const idsToJudge = (headers: MailHeaders): string[] =>
  [headers.messageId, reactedTo(headers)].flatMap((id) => (id === undefined ? [] : [id, ...relayIdIn(id)]));

/**
 * Decides whose mail a received mail is (src/mailKinds.md), by its headers, by the Message-IDs of our own mail, and for a mail that may be
 * our own or a reaction also by its text. In doubt it is its sender's. Throws Unavailable while the mail cannot be read.
 */
export async function judgeMail(deps: Dependencies, judged: Judged): Promise<MailJudgement> {
  const { headers, identityId } = judged.mail.data;
  const copied = await ownMail(deps, judged, headers.messageId);
  if (copied) return judgeCopy(deps, judged, copied);
  const renamed = await renamedByRelay(deps, judged);
  if (renamed && (await hasOurWords(deps, judged, renamed)))
    return { kind: "own_copy", classification: "person", ours: renamed };
  const id = reactedTo(headers);
  const answered = id === undefined ? undefined : await ownMail(deps, judged, id);
  if (answered?.identityId === identityId) {
    const emoji = await reactionTo(deps, judged, answered);
    if (emoji !== null) return { kind: "reaction", classification: "person", ours: answered, emoji };
  }
  return judgeByHeaders(headers, isAnswerToOurs(deps, judged));
}

/** Returns the sign of a mail that does nothing but react to this one of ours; null for any other mail. */
async function reactionTo(deps: Dependencies, judged: Judged, { draftId }: OwnMail): Promise<string | null> {
  const { headers } = judged.mail.data;
  const content = await contentOf(deps, draftId);
  if (!content || !isSameSubject(headers.subject, content.subject)) return null;
  return reactionIn((await readNow(deps, judged)).parsed, headers);
}

function judgeByHeaders(headers: MailHeaders, answersOurs: boolean): MailJudgement {
  const { classification, generated = false, automaticIfOurs = false, isReport = false } = headers;
  if (isReport || classification === "bounce") return { kind: "report", classification };
  if (classification === "auto_reply" || (automaticIfOurs && answersOurs))
    return { kind: "automatic_reply", classification: "auto_reply" };
  return { kind: generated ? "program" : "customer", classification };
}

/** True if the mail names or encloses a mail that its recipient sent. */
const isAnswerToOurs = (deps: Dependencies, { mail, chains }: Judged): boolean =>
  [...mail.data.headers.threadIds, ...mail.data.headers.reportedMessageIds].some(
    (id) => deps.messageIds.open(id)?.identityId === mail.data.identityId || chains.attemptOf.has(id),
  );

/**
 * Judges a mail that came under a Message-ID of ours. If its words are those that were sent, it is our own copy or a colleague's mail; any
 * other word makes it its sender's mail.
 */
async function judgeCopy(deps: Dependencies, judged: Judged, ours: OwnMail): Promise<MailJudgement> {
  const { headers, identityId, workspaceId } = judged.mail.data;
  if (!(await hasOurWords(deps, judged, ours))) {
    const classification = headers.classification === "list" ? "list" : "person";
    return { kind: "altered_copy", classification, ours, reviewReason: "a mail of ours came back with other words" };
  }
  if (ours.identityId === identityId) return { kind: "own_copy", classification: "person", ours };
  if (headers.classification === "auto_reply") return { kind: "automatic_reply", classification: "auto_reply", ours };
  const isHandedOver = await areAllOurs(deps, workspaceId, headers.to);
  return {
    kind: "colleague",
    classification: headers.classification === "list" ? "list" : "person",
    ours,
    ...(isHandedOver && { reviewReason: handOverReason }),
  };
}

/**
 * True if the mail has the subject and the whole text that was sent, no file besides those that were sent, and beside them only lines below
 * a rule or lines that its forwarder put into another mail too.
 */
async function hasOurWords(deps: Dependencies, judged: Judged, { draftId }: OwnMail): Promise<boolean> {
  const { parsed } = await readNow(deps, judged);
  if (parsed.unreadable !== null || parsed.cut !== null) return false;
  const content = await contentOf(deps, draftId);
  const sent = new Set(content ? filesOf(content) : []);
  if (!content || !isSameSubject(judged.mail.data.headers.subject, content.subject)) return false;
  if (parsed.attachments.some(({ bytes }) => !sent.has(sha256Of(bytes)))) return false;
  const turn = judged.mail.data.identityId;
  const beside = await deps.parser.linesBesideOurs({ sent: composeBodies(content), came: parsed }, { turn });
  return beside !== null && (await areForwarders(deps, judged.mail, beside));
}

/** Returns what was sent; undefined if its stored bytes are missing or damaged, for which no received mail may wait. */
async function contentOf(deps: Dependencies, draftId: string): Promise<DraftContent | undefined> {
  const { state: draft } = await deps.drafts.load(draftId);
  try {
    return await loadContent(deps.blobs, draft.stored);
  } catch (error) {
    if (isInfrastructure(error)) throw error;
    return undefined;
  }
}

const sha256Of = (bytes: Buffer): string => createHash("sha256").update(bytes).digest("hex");

/** Reads the mail, once there is room in memory. It is read again, from the parser's cache, when it is filed. */
const readNow = (deps: Dependencies, { mail }: Judged): Promise<ReadMail> =>
  withMemoryFor(deps, [mail], () => readMail(deps, mail));

/** True if every one of these addresses is an identity's of this workspace. */
async function areAllOurs(deps: Dependencies, workspaceId: string, addresses: readonly string[]): Promise<boolean> {
  for (const address of addresses) {
    const owner = await ownerOfAddress(deps, address);
    if (owner?.workspaceId !== workspaceId) return false;
  }
  return addresses.length > 0;
}
