import { expiredDrafts } from "#projections/drafts/queries.ts";
import type { NoticeWords } from "#src/channels/email/noticeMail.ts";
import type { Dependencies } from "#src/commands/dependencies.ts";
import { derivedId } from "#src/commands/ids.ts";
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
    const { first } = await expiredDrafts(deps.reads, key, window);
    // Decided since.
    if (first === null) return undefined;
    if (first === idOf(event.stream)) {
      await tellOwners(key, { eventId: event.id, happenedAt: metadata.at, total: 1, first }, context);
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
    const others = await expiredDrafts(deps.reads, key, window);
    if (others.first === null) return undefined;
    const { total, first } = others;
    await tellOwners(key, { eventId: derivedId("expired requests", key, to), happenedAt: to, total, first }, context);
    return undefined;
  }

  async function tellOwners(
    workspaceId: string,
    { eventId, happenedAt, ...drafts }: { eventId: string; happenedAt: string; total: number; first: string },
    context: ProcessContext,
  ): Promise<void> {
    const { name: workspace } = (await deps.workspaces.load(workspaceId)).state;
    const words = letter({ ...drafts, workspace, publicUrl: deps.settings.publicUrl });
    await news.tell({ workspaceId, eventId, happenedAt, words }, context);
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

type ExpiredDrafts = { total: number; first: string; workspace: string; publicUrl: string };

/** Contains a number and the workspace's name, and nothing that a customer or an agent wrote. */
function letter({ total, first, workspace, publicUrl }: ExpiredDrafts): NoticeWords {
  const drafts = total === 1 ? "a draft" : counted(total, "draft");
  return {
    subject: `Nobody decided about ${drafts}`,
    paragraphs: [
      `In the workspace ${quoteName(workspace)} on Countersign, the requests to approve ${drafts} have expired without a decision. ${total === 1 ? "It still waits, and its conversation is" : "They still wait, and their conversations are"} marked for review.`,
      "The approvers are not asked again automatically. You can decide in the console, have the agent ask again, or name other approvers on the identity's page.",
    ],
    button: { label: total === 1 ? "Open the draft" : "Review the drafts", url: `${publicUrl}/review?draft=${first}` },
    facts: ["The page asks you to sign in. This mail decides nothing."],
  };
}
