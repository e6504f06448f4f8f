import { openedChannel } from "#src/commands/approvals/approvalChannels.ts";
import { channelOf } from "#src/commands/approvals/askApprovers.ts";
import type { Dependencies } from "#src/commands/dependencies.ts";
import { draftEvents } from "#src/commands/drafts/draftHistories.ts";
import { derivedId } from "#src/commands/ids.ts";
import type { Outlets } from "#src/commands/rules/ruleNotices.ts";
import { postNotice } from "#src/commands/serviceMail/postNotice.ts";
import { commandThread } from "#src/commands/threads/threads.ts";
import { shortLine } from "#src/html/visible.ts";
import { openChangesRequest } from "#streams/draft/draft.ts";
import type { DraftEvent } from "#streams/draft/events.ts";
import { idOf, type Recorded } from "#streams/event.ts";
import { createApproverNews, newsSource } from "./approverNews.ts";
import type { Process, ProcessContext, Timer } from "./process.ts";

const timer = "changes";

/** Milliseconds until the reminder if the identity has no escalation delay. */
const usualDelayMs = 24 * 3_600_000;

/**
 * Reminds the approver who asked for changes that the agent has not made them, once for each request, after the identity's escalation delay
 * or a day, and marks the thread for review. An approver known by a mailbox or an account gets a mail; one in a chat, a message there.
 */
export function remindOfChanges(deps: Dependencies, outlets: Outlets): Process {
  const news = createApproverNews(deps, outlets.provider);

  async function onRequested(event: Recorded<DraftEvent>, { timers }: ProcessContext): Promise<void> {
    const draftId = idOf(event.stream);
    const { state: draft } = await deps.drafts.load(draftId);
    const { state: identity } = await deps.identities.load(draft.identityId);
    const { escalationDelayMinutes: delay } = identity;
    const delayMs = delay === null ? usualDelayMs : delay * 60_000;
    const dueAt = new Date(Date.parse(event.metadata.at) + delayMs);
    await timers.set({ key: draftId, name: timer, dueAt, payload: { requestId: event.id } });
  }

  /** Does nothing if the request was answered or withdrawn, or if a newer request exists. */
  async function onDue(draftId: string, requestId: unknown, { cause }: ProcessContext): Promise<void> {
    const { state: draft } = await deps.drafts.load(draftId);
    if (openChangesRequest(draft) === null || (await newestRequest(deps, draftId))?.id !== requestId) return;
    await deps.drafts.handle(draftId, { type: "RemindOfChanges" }, cause);
  }

  async function onReminded(event: Recorded<DraftEvent>, context: ProcessContext): Promise<void> {
    const draftId = idOf(event.stream);
    const { state: draft } = await deps.drafts.load(draftId);
    const { threadId, identityId } = draft;
    const because = "the agent did not make the changes that an approver asked for";
    const command = { type: "UpdateThread", needsReview: true, because, once: event.id } as const;
    await commandThread(deps, { threadId, command }, context.cause);
    const request = await newestRequest(deps, draftId);
    if (!request) return;
    const { actor } = request.metadata;
    const words = [
      `The agent has not made these changes to a draft yet: “${shortLine(request.data.text, 300)}”`,
      "In the console you can withdraw the request, edit the draft or reject it.",
    ];
    const to = await mailboxOf(deps, actor);
    const subject = "The agent has not made the changes yet";
    if (to) {
      const mail = { identityId, threadId, draftId, ...newsSource(event), to, subject, text: words.join("\n\n") };
      return news.tell(mail, context);
    }
    await postInChat(identityId, actor.channel, { attemptId: derivedId("changes-reminder", event.id), lines: words });
  }

  /** Posts to the identity's chat of this type, once: a lost reminder is still visible as the thread's mark. */
  async function postInChat(
    identityId: string,
    type: string | undefined,
    notice: { attemptId: string; lines: readonly string[] },
  ): Promise<void> {
    const { state: identity } = await deps.identities.load(identityId);
    const { workspaceId } = identity;
    const slot = (["primary", "secondary"] as const).find((each) => channelOf(identity, each)?.type === type);
    const stored = slot && channelOf(identity, slot);
    if (!stored || stored.type === "email") return;
    const channel = openedChannel(deps, { workspaceId, slot }, stored);
    await postNotice(deps, outlets.channels, { kind: "outcome", workspaceId, channel, ...notice });
  }

  return {
    name: "remindOfChanges",
    categories: ["draft"],
    keyOf: (event) => idOf(event.stream),
    on: { ChangesRequested: onRequested, ChangesReminded: onReminded },
    onTimer: (due: Timer, context) =>
      due.name === timer ? onDue(due.key, due.payload.requestId, context) : news.onTimer(due, context),
  };
}

type RequestEvent = Recorded<Extract<DraftEvent, { type: "ChangesRequested" }>>;

const newestRequest = async (deps: Dependencies, draftId: string): Promise<RequestEvent | undefined> =>
  (await draftEvents(deps, draftId)).findLast((event): event is RequestEvent => event.type === "ChangesRequested");

/** Returns the address of a signed-in person, or of the mailbox whose link was used; undefined for others. */
async function mailboxOf(
  deps: Pick<Dependencies, "users">,
  { kind, id, channel }: RequestEvent["metadata"]["actor"],
): Promise<string | undefined> {
  if (kind === "session") return (await deps.users.load(id)).state.email ?? undefined;
  return kind === "email_link" && channel === "email" ? id : undefined;
}
