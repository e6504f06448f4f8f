import { setTimeout as pause } from "node:timers/promises";
import { renderNoticeMail } from "#src/channels/email/noticeMail.ts";
import { Unavailable } from "#src/eventStore/eventStore.ts";
import type { MailProvider } from "#src/mail/mailProvider.ts";
import { noThread } from "#src/mail/out/messageIds.ts";
import { mailboxOf } from "#src/mail/out/quota/notificationQuota.ts";
import { renderNotice } from "#src/mail/out/render.ts";
import { Rejected } from "#streams/decider.ts";
import type { Dependencies } from "../dependencies.ts";
import { requireNotPaused } from "../installation.ts";
import type { AccountLetter, AccountMail } from "./accountLetters.ts";

/** Milliseconds before each try, the first included. */
const schedule = [0, 5_000, 30_000];

type MailDeps = Pick<
  Dependencies,
  "ids" | "clock" | "messageIds" | "mailMeasure" | "installations" | "settings" | "log" | "countWithheld"
>;

export function accountMail(deps: MailDeps, provider: MailProvider, { waits = schedule } = {}): AccountMail {
  const closing = new AbortController();
  const under = new Set<Promise<void>>();

  async function deliver(write: () => Promise<AccountLetter | undefined>): Promise<void> {
    const letter = await write();
    if (!letter) return;
    const attemptId = deps.ids.uuid();
    let error = "";
    for (const wait of waits) {
      if (wait > 0) await pause(wait, undefined, { signal: closing.signal });
      const failed = await handOver(deps, provider, { letter, attemptId });
      if (failed === undefined) return;
      error = failed.error;
      if (!failed.again) break;
    }
    deps.log?.warn?.({ reason: error }, "a mail about an account was not sent: the person has to request it again");
  }

  return {
    async admit(kind, address) {
      const mailbox = `account ${kind} ${mailboxOf(address)}`;
      // No workspace is involved, so each mailbox counts as a separate workspace.
      const place = await deps.mailMeasure?.take({
        ...{ attemptId: deps.ids.uuid(), measure: "notices", mailbox, workspaceId: mailbox },
      });
      if (!place || place.taken) return;
      deps.countWithheld?.("account", "mailbox_full");
      const retryAfter = Math.ceil(place.inMs / 1000);
      const minutes = Math.ceil(retryAfter / 60);
      const sentence = `this address has used up its hourly quota of mail: use the link in the newest mail, or wait ${minutes} min`;
      throw new Rejected("rate_limited", sentence, { retryAfter });
    },
    later(write) {
      const work = deliver(write).catch((error: Error) => {
        if (closing.signal.aborted) return;
        const reason = error.name;
        deps.log?.warn?.({ reason }, "a mail about an account was not sent: the person has to request it again");
      });
      under.add(work);
      void work.finally(() => under.delete(work));
    },
    async close() {
      closing.abort();
      await Promise.all(under);
    },
  };
}

/** Returns why the letter was not sent; undefined if it may have been sent. The reason does not contain the letter's text. */
async function handOver(
  deps: MailDeps,
  provider: MailProvider,
  { letter, attemptId }: { letter: AccountLetter; attemptId: string },
): Promise<{ error: string; again: boolean } | undefined> {
  try {
    await requireNotPaused(deps);
    const mail = await written(deps, { letter, attemptId });
    const connection = await provider.connect();
    const isAllowed = () => requireNotPaused(deps).then(() => true);
    const outcome = await connection.handOver({ attemptId, ...mail }, isAllowed);
    // A mail that may have been sent is not sent again, because a person who gets none can request it again.
    if (outcome.kind === "accepted" || outcome.kind === "unknown") return undefined;
    return { error: outcome.kind, again: outcome.kind !== "refused" || outcome.retryable };
  } catch (error) {
    const { name, message } = error as Error;
    return { error: error instanceof Unavailable ? message : name, again: true };
  }
}

async function written(deps: MailDeps, { letter, attemptId }: { letter: AccountLetter; attemptId: string }) {
  const { to, subject, lead: paragraphs, button, facts } = letter;
  const address = deps.settings.approvalsFrom;
  const domain = address.slice(address.lastIndexOf("@") + 1);
  const messageId = deps.messageIds.mint({ identityId: noThread, threadId: noThread, attemptId, domain });
  const from = { name: "Countersign", address };
  const bodies = renderNoticeMail({ subject, paragraphs, button, facts });
  const rendered = await renderNotice({ from, to, subject, ...bodies, messageId, date: deps.clock.now() });
  return { messageId, ...rendered };
}
