import { draftIdsOfIdentity } from "#projections/drafts/queries.ts";
import { livingIdentities } from "#projections/identities/queries.ts";
import { unlinked } from "#src/channels/email/excerpt.ts";
import type { Dependencies } from "#src/commands/dependencies.ts";
import { derivedId } from "#src/commands/ids.ts";
import { sendNotice } from "#src/commands/serviceMail/sendNotice.ts";
import { html } from "#src/html/html.ts";
import { shortLine } from "#src/html/visible.ts";
import type { MailProvider } from "#src/mail/mailProvider.ts";
import { mailboxOf } from "#src/mail/out/measure/measure.ts";
import { Rejected } from "#streams/decider.ts";
import type { Draft } from "#streams/draft/draft.ts";
import { idOf, type Recorded } from "#streams/event.ts";
import type { ApprovalChannel } from "#streams/identity/events.ts";
import { isOldNews } from "./oldNews.ts";
import { reachAgainAfter } from "./peopleRetries.ts";
import type { Process, ProcessContext, WaitFor } from "./process.ts";

/** For the Message-ID of a mail that belongs to no thread. */
const noThread = "00000000-0000-0000-0000-000000000000";

type News = {
  eventId: string;
  happenedAt: string;
  workspaceId: string;
  identityId: string;
  /** Who stopped their mail. */
  address: string;
  to: string;
};

/**
 * An approver stopped the workspace's mail to an address: those who are named beside it, for the same sender, are told. When it may come again,
 * what that address was not reached about is asked again.
 */
export function tellOfStops(deps: Dependencies, provider: MailProvider): Process {
  async function onStopped(event: Recorded, context: ProcessContext): Promise<WaitFor | undefined> {
    if (!(await context.reached(event.position, ["identities"])))
      return { waitFor: event.position, of: ["identities"] };
    const { workspaceId, address } = event.data as { workspaceId: string; address: string };
    const news = { eventId: event.id, happenedAt: event.metadata.at, workspaceId, address };
    const told = new Set([mailboxOf(address)]);
    for (const { identityId, mailboxes } of await identitiesNaming(deps, workspaceId, address)) {
      for (const to of mailboxes) {
        if (told.has(mailboxOf(to))) continue;
        told.add(mailboxOf(to));
        await tell({ ...news, identityId, to }, 0, context);
      }
    }
    return undefined;
  }

  async function tell(news: News, tries: number, { timers }: ProcessContext): Promise<void> {
    const { eventId, happenedAt, workspaceId, identityId, to } = news;
    if (isOldNews(deps, happenedAt)) return;
    const origin = { identityId, threadId: noThread, attemptId: derivedId("stop-notice", eventId, to) };
    const notice = { kind: "notice", workspaceId, origin, to, ...letter(news) } as const;
    const outcome = await sendNotice(deps, provider, notice);
    const inMs = reachAgainAfter(tries);
    if (outcome.sent || !outcome.again || inMs === undefined) return;
    await timers.set({ key: idOfMailbox(news), name: origin.attemptId, inMs, payload: { news, tries: tries + 1 } });
  }

  async function onResumed(event: Recorded, { cause, reached }: ProcessContext): Promise<WaitFor | undefined> {
    if (!(await reached(event.position, ["identities", "drafts"])))
      return { waitFor: event.position, of: ["identities", "drafts"] };
    const { workspaceId, address } = event.data as { workspaceId: string; address: string };
    for (const { identityId } of await identitiesNaming(deps, workspaceId, address)) {
      for (const draftId of await draftIdsOfIdentity(deps.reads, workspaceId, { identityId, statuses: ["pending"] })) {
        const { state: draft } = await deps.drafts.load(draftId);
        if (wasReached(draft, address)) continue;
        const command = { type: "RequestNotify", at: deps.clock.now().toISOString(), throttleSeconds: 0 } as const;
        // It may have been decided meanwhile.
        await deps.drafts.handle(draftId, command, cause).catch((error) => {
          if (!(error instanceof Rejected)) throw error;
        });
      }
    }
    return undefined;
  }

  return {
    name: "tellOfStops",
    onlyNews: true,
    categories: ["serviceMail"],
    keyOf: (event) => idOf(event.stream),
    on: { ServiceMailStopped: onStopped, ServiceMailResumed: onResumed },
    onTimer: (timer, context) => tell(timer.payload.news as News, timer.payload.tries as number, context),
  };
}

const idOfMailbox = ({ workspaceId, address }: News): string => derivedId("mailbox", workspaceId, mailboxOf(address));

/** The subject holds nothing that a tenant wrote, and the address is no link. */
function letter({ address }: News): { subject: string; text: string; html: string } {
  const text = `Mail from your workspace to “${unlinked(shortLine(address, 254))}” was stopped by the link under it. Requests for approval do not reach that address any more. Drafts that wait for it come to you where you are named as the second approver; other drafts wait. Name another address, or have it let mail come again by the same link.`;
  return { subject: "An approver stopped our mail", text, html: html`<p>${text}</p>`.toString() };
}

/** The workspace's identities of whose approvers one is this mailbox, with the addresses of all of them. */
async function identitiesNaming(deps: Dependencies, workspaceId: string, address: string) {
  const found: { identityId: string; mailboxes: string[] }[] = [];
  for (const { id: identityId } of await livingIdentities(deps.reads, workspaceId)) {
    const { state } = await deps.identities.load(identityId);
    const mailboxes = [state.approvalChannel, state.secondaryApprovalChannel].flatMap(addressOf);
    if (mailboxes.some((each) => mailboxOf(each) === mailboxOf(address))) found.push({ identityId, mailboxes });
  }
  return found;
}

const addressOf = (channel: ApprovalChannel | null): string[] =>
  channel?.type === "email" ? [channel.config.to as string] : [];

/** Whether this mailbox was reached about the draft's version. */
const wasReached = ({ notified, version }: Draft, address: string): boolean =>
  Object.values(notified.open).some(
    ({ channel, causedBy, version: asked }) =>
      asked === version &&
      typeof channel.address === "string" &&
      mailboxOf(channel.address) === mailboxOf(address) &&
      notified.answered.includes(`${causedBy} ${channel.slot}`),
  );
