import { waitingNews } from "#projections/drafts/queries.ts";
import type { NoticeWords } from "#src/channels/email/noticeMail.ts";
import type { Dependencies } from "#src/commands/dependencies.ts";
import { derivedId } from "#src/commands/ids.ts";
import { type DraftMailReader, draftMailReaders, draftMailWindowMs } from "#src/commands/members/draftMail.ts";
import { counted } from "#src/html/counted.ts";
import type { MailProvider } from "#src/mail/mailProvider.ts";
import type { Recorded } from "#streams/event.ts";
import { isOldNews } from "./oldNews.ts";
import type { Process, ProcessContext, Timer, WaitForModels } from "./process.ts";
import { quoteName, retryMemberMail, sendMemberMail } from "./sendMemberMail.ts";

/** Milliseconds between the end of a window and its mail, in which its last events are handled. */
const graceMs = 10_000;

/** Times (ISO 8601) of a window: its drafts began to wait at `from` or later, and before `to`. */
type Window = { from: string; to: string };

/** Mail about one window to one member. `position`: log position that the read model must have reached. */
type Payload = Window & { userId: string; draftMail: DraftMailReader["draftMail"]; position: number; tries: number };

/**
 * Mails members who chose it that drafts wait for a decision. One mail covers a window, so 60 drafts cause one mail, and a version is in
 * one window only. Drafts assigned to another member are not counted; drafts handed over to this member are. Membership and waiting drafts
 * are checked when the mail is sent. The mail has no approval link: the member signs in.
 */
export function mailMembers(deps: Dependencies, provider: MailProvider): Process {
  async function onWaiting(event: Recorded, { timers }: ProcessContext): Promise<void> {
    const key = event.metadata.workspaceId as string;
    for (const { userId, draftMail } of await draftMailReaders(deps, key)) {
      const window = windowOf(event.metadata.at, draftMailWindowMs[draftMail]);
      // The mail about this window may have been sent already: an event that is handled late gets its own.
      const isLate = Date.parse(window.to) + graceMs <= deps.clock.now().getTime();
      const { from, to } = isLate ? windowOf(event.metadata.at, 1) : window;
      const payload: Payload = { from, to, userId, draftMail, position: event.position, tries: 0 };
      await timers.set({
        key,
        name: `${userId} ${isLate ? event.id : to}`,
        dueAt: new Date(Date.parse(to) + graceMs),
        payload,
      });
    }
  }

  async function mail({ key, name, payload }: Timer, context: ProcessContext): Promise<WaitForModels | undefined> {
    const { from, to, userId, draftMail, position, tries } = payload as Payload;
    if (isOldNews(deps, to)) return undefined;
    if (!(await context.reached(position, ["drafts"]))) return { waitFor: position, of: ["drafts"] };
    const reader = (await draftMailReaders(deps, key)).find((each) => each.userId === userId);
    if (reader?.draftMail !== draftMail) return undefined;
    const news = await waitingNews(deps.reads, key, { userId, from, to });
    if (news.first === null) return undefined;
    const { name: workspace } = (await deps.workspaces.load(key)).state;
    const url = `${deps.settings.publicUrl}/review?draft=${news.first}`;
    const eventId = derivedId("draft mail", userId, name);
    const outcome = await sendMemberMail(deps, provider, {
      ...{ workspaceId: key, eventId, to: reader.email },
      ...letter({ workspace, url, ...news }),
    });
    await retryMemberMail(outcome, { key, name, tries, payload }, context);
    return undefined;
  }

  return {
    name: "mailMembers",
    begins: "now",
    onlyNews: true,
    categories: ["draft"],
    keyOf: ({ metadata }) => metadata.workspaceId as string,
    on: {
      DraftSubmitted: onWaiting,
      DraftEdited: onWaiting,
      DraftReturnedToPending: onWaiting,
      DraftAssigned: onWaiting,
    },
    onTimer: mail,
  };
}

/** Returns the window of this length that contains a time. */
function windowOf(at: string, lengthMs: number): Window {
  const start = Math.floor(Date.parse(at) / lengthMs) * lengthMs;
  return { from: new Date(start).toISOString(), to: new Date(start + lengthMs).toISOString() };
}

type Waiting = { workspace: string; total: number; isNew: number; handedOver: number; url: string };

/** Contains numbers and the workspace's name, and nothing that a customer or an agent wrote. */
function letter({ workspace, total, isNew, handedOver, url }: Waiting): NoticeWords {
  const waiting = `${counted(total, "draft")} ${total === 1 ? "waits" : "wait"} for a decision`;
  const isOrAre = (count: number) => `${count} of them ${count === 1 ? "is" : "are"}`;
  const news = isNew === total || isNew === 0 ? "" : ` ${isOrAre(isNew)} new.`;
  const handed = handedOver === 0 ? "" : ` ${isOrAre(handedOver)} handed over to you.`;
  return {
    subject: waiting,
    paragraphs: [`In the workspace ${quoteName(workspace)} on Countersign, ${waiting}.${news}${handed}`],
    button: { label: "Review the drafts", url },
    facts: [
      "The page asks you to sign in. This mail decides nothing.",
      "You chose this mail in the console, under Your profile, and can turn it off there.",
    ],
  };
}
