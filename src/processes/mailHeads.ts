import type { NoticeWords } from "#src/channels/email/noticeMail.ts";
import type { Dependencies } from "#src/commands/dependencies.ts";
import { derivedId } from "#src/commands/ids.ts";
import { headReader } from "#src/commands/members/headMail.ts";
import type { MailProvider } from "#src/mail/mailProvider.ts";
import type { SignedHead } from "#src/platform/audit/heads.ts";
import type { Recorded } from "#streams/event.ts";
import type { MemberEvent } from "#streams/member/events.ts";
import type { Process, ProcessContext, Timer } from "./process.ts";
import { quoteName, retryMemberMail, sendMemberMail } from "./sendMemberMail.ts";

const dayMs = 24 * 3_600_000;

/** `day`: identifies the mail of a day and its tries. `mailed`: the head that was mailed last; null before the first mail. */
type Payload = { day: string; mailed: { epoch: number; size: number } | null; tries: number };

type HeadMailChosen = Recorded<Extract<MemberEvent, { type: "HeadMailChosen" }>>;

/**
 * Mails the newest signed head of the audit tree once a day to members who chose it, if it is not the head that was mailed last. Each member
 * has one timer, which sets itself for the next day, and ends when the member chose no mail or was removed. Role and account are judged when
 * the mail is sent.
 */
export function mailHeads(deps: Dependencies, provider: MailProvider): Process {
  async function onChosen({ id, data, metadata }: HeadMailChosen, { timers }: ProcessContext): Promise<void> {
    const [key, name] = [metadata.workspaceId as string, data.memberId];
    if (data.headMail === "off") return timers.cancel(key, name);
    const payload: Payload = { day: id, mailed: null, tries: 0 };
    await timers.set({ key, name, inMs: 0, payload });
  }

  async function mail({ key, name, payload }: Timer, context: ProcessContext): Promise<void> {
    const { day, mailed, tries } = payload as Payload;
    const reader = await headReader(deps, { workspaceId: key, memberId: name });
    if (reader?.headMail !== "daily") return;
    const tomorrow = async (last: Payload["mailed"]): Promise<void> => {
      const dueAt = new Date(deps.clock.now().getTime() + dayMs);
      await context.timers.set({ key, name, dueAt, payload: { day: dueAt.toISOString(), mailed: last, tries: 0 } });
    };
    const head = await deps.auditHeads.newest(key);
    const isMailed = head?.epoch === mailed?.epoch && head?.size === mailed?.size;
    if (reader.email === null || head === undefined || isMailed) return tomorrow(mailed);
    const { name: workspace } = (await deps.workspaces.load(key)).state;
    const verifierKey = (await deps.auditHeads.verifierKeyOf(head)) ?? "";
    const url = `${deps.settings.publicUrl}/audit/heads`;
    const outcome = await sendMemberMail(deps, provider, {
      ...{ workspaceId: key, eventId: derivedId("head mail", name, day), to: reader.email },
      ...letter(head, { workspace, verifierKey, url }),
    });
    await tomorrow(outcome.sent ? { epoch: head.epoch, size: head.size } : mailed);
    // Another try moves the timer to an earlier time.
    await retryMemberMail(outcome, { key, name, tries, payload }, context);
  }

  return {
    name: "mailHeads",
    begins: "now",
    onlyNews: true,
    categories: ["member"],
    keyOf: ({ metadata }) => metadata.workspaceId as string,
    on: { HeadMailChosen: onChosen },
    onTimer: mail,
  };
}

/** Contains the signed note, the key and the workspace's name, and nothing that a customer or an agent wrote. */
function letter(
  { checkpoint, size, signedAt }: SignedHead,
  { workspace, verifierKey, url }: { workspace: string; verifierKey: string; url: string },
): NoticeWords {
  return {
    subject: `Signed head of the audit tree: ${size} entries`,
    paragraphs: [
      `The newest signed head of the workspace ${quoteName(workspace)} on Countersign, signed at ${signedAt.toISOString()}:`,
      checkpoint.trimEnd(),
      `Key of the service's signature:\n${verifierKey}`,
      "Keep this mail: a copy that the service cannot reach shows later whether the history up to this entry was changed. Save the lines from the name of the tree to the last signature in a file, fetch evidence of a draft, and run node verify.mjs evidence --expect FILE.",
    ],
    button: { label: "See the signed heads", url },
    facts: ["You chose this mail in the console, under Your profile, and can turn it off there."],
  };
}
