import { expiredDrafts } from "#projections/drafts/queries.ts";
import type { NoticeWords } from "#src/channels/email/noticeMail.ts";
import type { Dependencies } from "#src/commands/dependencies.ts";
import { derivedId } from "#src/commands/ids.ts";
import { loadThread } from "#src/commands/threads/threads.ts";
import { counted } from "#src/html/counted.ts";
import type { MailProvider } from "#src/mail/mailProvider.ts";
import { idOf, type Recorded } from "#streams/event.ts";
import { createOwnerNews } from "./ownerNews.ts";
import type { Process, ProcessContext, Timer, WaitForModels } from "./process.ts";
import { quoteName } from "./sendMemberMail.ts";

/** Length of a window in milliseconds. Windows begin at full hours (UTC). */
const windowMs = 3_600_000;

/** Milliseconds between the end of a window, or a later event of it, and its mail, in which other events are handled. */
const graceMs = 10_000;

/**
 * Drafts whose requests expired at `from` or later and before `to` (ISO 8601). `told`: the first one, about which a mail was sent at once.
 * `position`: log position that the read model must have reached.
 */
type Window = { from: string; to: string; told: string; position: number };

/**
 * Mails every owner that nobody decided about a draft: at once about the first one in an hour, and at the end of the hour about all others,
 * so that thousands of drafts cause two mails.
 */
export function tellOfExpiry(deps: Dependencies, provider: MailProvider): Process {
  const news = createOwnerNews(deps, provider);

  async function onExpired(event: Recorded, context: ProcessContext): Promise<WaitForModels | undefined> {
    const { position, metadata } = event;
    const key = metadata.workspaceId as string;
    if (!(await context.reached(position, ["drafts"]))) return { waitFor: position, of: ["drafts"] };
    const window = windowOf(metadata.at);
    const [first] = (await expiredDrafts(deps.reads, key, window)).first;
    // Decided since.
    if (first === undefined) return undefined;
    if (first === idOf(event.stream)) {
      await tellOwners(key, { eventId: event.id, happenedAt: metadata.at, total: 1, first: [first] }, context);
      return undefined;
    }
    const payload: { window: Window } = { window: { ...window, told: first, position } };
    const dueAt = new Date(Math.max(Date.parse(window.to), deps.clock.now().getTime()) + graceMs);
    await context.timers.set({ key, name: window.to, dueAt, payload });
    return undefined;
  }

  async function onWindowEnd(key: string, window: Window, context: ProcessContext): Promise<WaitForModels | undefined> {
    const { position, to } = window;
    if (!(await context.reached(position, ["drafts"]))) return { waitFor: position, of: ["drafts"] };
    const { total, first } = await expiredDrafts(deps.reads, key, window);
    if (first.length === 0) return undefined;
    await tellOwners(key, { eventId: derivedId("expired requests", key, to), happenedAt: to, total, first }, context);
    return undefined;
  }

  async function tellOwners(
    workspaceId: string,
    { eventId, happenedAt, total, first }: { eventId: string; happenedAt: string; total: number; first: string[] },
    context: ProcessContext,
  ): Promise<void> {
    const { name: workspace } = (await deps.workspaces.load(workspaceId)).state;
    const named = await Promise.all(first.map(nameOf));
    const url = `${deps.settings.publicUrl}/review?draft=${first[0]}`;
    const words = letter({ total, named, workspace, url });
    await news.tell({ workspaceId, eventId, happenedAt, words }, context);
  }

  /** Returns the subject of a draft's conversation, and the address that the draft would be sent from. */
  async function nameOf(draftId: string): Promise<string> {
    const { state: draft } = await deps.drafts.load(draftId);
    const { subject } = (await loadThread(deps, draft.threadId)).state;
    const { emailAddress } = (await deps.identities.load(draft.identityId)).state;
    return `${quoteName(subject || "(no subject)")} from ${quoteName(emailAddress)}`;
  }

  return {
    name: "tellOfExpiry",
    begins: "now",
    onlyNews: true,
    categories: ["draft"],
    keyOf: ({ metadata }) => metadata.workspaceId as string,
    on: { RequestsExpired: onExpired },
    onTimer(timer: Timer, context) {
      const { window } = timer.payload as { window?: Window };
      return window ? onWindowEnd(timer.key, window, context) : news.onTimer(timer, context);
    },
  };
}

/** Returns the window that contains a time. */
function windowOf(at: string): Pick<Window, "from" | "to"> {
  const start = Math.floor(Date.parse(at) / windowMs) * windowMs;
  return { from: new Date(start).toISOString(), to: new Date(start + windowMs).toISOString() };
}

/** `named`: the first of them. `url`: the page of the first. */
type ExpiredDrafts = { total: number; named: readonly string[]; workspace: string; url: string };

/** Of what a customer or an agent wrote, it contains the beginnings of subjects alone. */
function letter({ total, named, workspace, url }: ExpiredDrafts): NoticeWords {
  const drafts = total === 1 ? "a draft" : counted(total, "draft");
  return {
    subject: `Nobody decided about ${drafts}`,
    paragraphs: [
      `In the workspace ${quoteName(workspace)} on Countersign, the requests to approve ${drafts} have expired without a decision. ${total === 1 ? "It still waits, and its conversation is" : "They still wait, and their conversations are"} marked for review.`,
      [...named, ...(total > named.length ? [`and ${total - named.length} more`] : [])].join("\n"),
      "The approvers are not asked again automatically. You can decide in the console, press “Remind approvers” there, have the agent ask again, or name other approvers on the identity's page.",
    ],
    button: { label: total === 1 ? "Open the draft" : "Review the drafts", url },
    facts: ["The page asks you to sign in. This mail decides nothing."],
  };
}
