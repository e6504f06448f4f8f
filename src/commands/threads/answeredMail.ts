import { readEvents } from "#src/eventStore/eventStore.ts";
import type { Draft } from "#streams/draft/draft.ts";
import type { Recorded } from "#streams/event.ts";
import { hasEntry } from "#streams/idMap.ts";
import { isWord } from "#streams/inbox/mailKinds.ts";
import { awaitsAuthentication } from "#streams/thread/authentication.ts";
import {
  type InboundMessage,
  type MessageBody,
  type MessagePlace,
  type ThreadEvent,
  threadStream,
} from "#streams/thread/events.ts";
import type { Dependencies } from "../dependencies.ts";

/** The mail that is being answered, read from the log, so its content is exactly what was filed. */
export type FiledMail = InboundMessage & { workspaceId: string; threadId: string };

/** Authentication of a mail. `said`: event with its result, if any. `isAwaited`: true if a result is still expected. */
export type AuthenticationState = { said: Recorded<AuthenticatedEvent> | null; isAwaited: boolean };
export type AuthenticatedEvent = Extract<ThreadEvent, { type: "MessageAuthenticated" }>;

type Ports = Pick<Dependencies, "store" | "threads">;
type MessageRef = { workspaceId: string; messageId: string };

/**
 * Returns the mail at this place in the log; undefined if the place holds another mail, or another workspace's. What a person filed as a
 * message since is of that kind.
 */
export async function readFiledMail(
  { store, threads }: Ports,
  place: MessagePlace,
  { workspaceId, messageId }: MessageRef,
): Promise<FiledMail | undefined> {
  const only = { from: place.revision, count: 1 };
  const [event] = await readEvents<ThreadEvent>(store, threadStream(place.threadId), only);
  if (event?.type !== "MessageReceived" || event.data.messageId !== messageId) return undefined;
  if (event.metadata.workspaceId !== workspaceId) return undefined;
  const mail = { ...event.data, workspaceId, threadId: place.threadId };
  if (isWord(mail) || !(await wasFiledByHand({ threads }, mail))) return mail;
  return { ...mail, classification: "person", kind: "filed_by_hand" };
}

/**
 * Returns the mail that a draft answers; null if it answers none. Throws MailNotFound if the log does not contain that mail; decisions that
 * depend on the mail are then left to a person.
 */
export async function mailAnsweredBy(
  deps: Ports,
  { workspaceId, basedOnMessageId: messageId, answers }: Pick<Draft, "workspaceId" | "basedOnMessageId" | "answers">,
): Promise<FiledMail | null> {
  if (messageId === null) return null;
  const found = answers && (await readFiledMail(deps, answers, { workspaceId, messageId }));
  if (!found) throw new MailNotFound("the message that it answers was not found in the log");
  return found;
}

/** Thrown if the log does not contain the mail that a draft answers. */
export class MailNotFound extends Error {
  override readonly name = "MailNotFound";
}

/** Finds the authentication result of a mail, on the thread that it was filed on or on a thread into which that was merged. */
export async function findAuthentication(
  { threads, store }: Pick<Dependencies, "threads" | "store">,
  { threadId, number }: Pick<FiledMail, "threadId" | "number">,
): Promise<AuthenticationState> {
  let isAwaited = false;
  for (let id: string | null = threadId; id !== null; ) {
    const { state } = await threads.load(id);
    const place = state.proofs.find((proof) => proof.number === number);
    if (place) {
      const only = { from: place.revision, count: 1 };
      const [said] = await readEvents<AuthenticatedEvent>(store, threadStream(id), only);
      return { said: said ?? null, isAwaited: false };
    }
    isAwaited ||= awaitsAuthentication(state, number);
    id = state.mergedInto;
  }
  return { said: null, isAwaited };
}

/** Returns true if a person filed the message as mail of its sender, on its thread or on one into which that was merged. */
export async function wasFiledByHand(
  { threads }: Pick<Dependencies, "threads">,
  { threadId, messageId }: Pick<FiledMail, "threadId" | "messageId">,
): Promise<boolean> {
  for (let id: string | null = threadId; id !== null; ) {
    const { state } = await threads.load(id);
    if (hasEntry(state.filedByHand, messageId)) return true;
    id = state.mergedInto;
  }
  return false;
}

/** Returns the whole text part of a mail; null if it has none, or its content was deleted. */
export async function textOfMail(
  { blobs }: Pick<Dependencies, "blobs">,
  { body, bodyBlob }: Pick<FiledMail, "body" | "bodyBlob">,
): Promise<string | null> {
  if (bodyBlob === null) return body?.text ?? null;
  const bytes = await blobs.get(bodyBlob);
  return bytes ? (JSON.parse(bytes.toString("utf8")) as MessageBody).text : null;
}
