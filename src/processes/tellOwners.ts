import type { NoticeWords } from "#src/channels/email/noticeMail.ts";
import type { Dependencies } from "#src/commands/dependencies.ts";
import { memberState } from "#src/commands/members/members.ts";
import type { MailProvider } from "#src/mail/mailProvider.ts";
import { idOf, type Recorded } from "#streams/event.ts";
import type { MemberEvent } from "#streams/member/events.ts";
import type { WebhookEvent } from "#streams/webhook/events.ts";
import { createOwnerNews } from "./ownerNews.ts";
import type { Process, ProcessContext } from "./process.ts";
import { quoteName } from "./sendMemberMail.ts";

type Joining = Extract<MemberEvent, { type: "InvitationAccepted" | "MemberJoined" }>;
type Disabling = Extract<WebhookEvent, { type: "WebhookDisabled" }>;

/** Mails a workspace's owners about each new member, and about each webhook that the service disables. */
export function tellOwners(deps: Dependencies, provider: MailProvider): Process {
  const news = createOwnerNews(deps, provider);

  /** `about`: the user whom the news is about; if they are an owner, they are not told. */
  const tellAll = (event: Recorded, { about, ...words }: NoticeWords & { about?: string }, context: ProcessContext) =>
    news.tell(
      {
        ...{ workspaceId: workspaceOf(event), eventId: event.id, happenedAt: event.metadata.at, words },
        ...(about !== undefined && { except: about }),
      },
      context,
    );

  const nameOf = async (event: Recorded): Promise<string> =>
    quoteName((await deps.workspaces.load(workspaceOf(event))).state.name);

  async function onJoined(event: Recorded<Joining>, context: ProcessContext): Promise<void> {
    const { memberId, userId } = event.data;
    const member = await memberState(deps, { workspaceId: workspaceOf(event), memberId });
    if (!member) return;
    const { email, name } = (await deps.users.load(userId)).state;
    const url = `${deps.settings.publicUrl}/settings/members`;
    const joined = { name, address: email ?? member.email, role: member.role, workspace: await nameOf(event), url };
    await tellAll(event, { ...joinedLetter(joined), about: userId }, context);
  }

  async function onWebhookDisabled(event: Recorded<Disabling>, context: ProcessContext): Promise<void> {
    const id = idOf(event.stream);
    const { url: target, description } = (await deps.webhooks.load(id)).state.settings;
    const named = `${quoteName(new URL(target).host)}${description ? ` (${quoteName(description)})` : ""}`;
    const url = `${deps.settings.publicUrl}/docs/contract#webhooks`;
    const disabled = { id, named, because: event.data.because, workspace: await nameOf(event), url };
    await tellAll(event, disabledLetter(disabled), context);
  }

  return {
    name: "tellOwners",
    begins: "now",
    onlyNews: true,
    categories: ["member", "webhook"],
    keyOf: workspaceOf,
    on: { InvitationAccepted: onJoined, MemberJoined: onJoined, WebhookDisabled: onWebhookDisabled },
    onTimer: news.onTimer,
  };
}

const workspaceOf = ({ metadata, stream }: Recorded): string => metadata.workspaceId ?? idOf(stream);

type Joined = { name: string | null; address: string; role: string; workspace: string; url: string };

function joinedLetter({ name, address, role, workspace, url }: Joined): NoticeWords {
  const who = name === null || name === address ? "" : `${quoteName(name)}, `;
  return {
    subject: "A new member joined your workspace",
    paragraphs: [
      `${who}${quoteName(address)} joined the workspace ${workspace} on Countersign, as ${role}.`,
      "If you did not expect this, remove them in the console, under Settings, Members.",
    ],
    button: { label: "Open the members", url },
  };
}

type Disabled = { id: string; named: string; because: string; workspace: string; url: string };

const disabledLetter = ({ id, named, because, workspace, url }: Disabled): NoticeWords => ({
  subject: "A webhook of your workspace was disabled",
  paragraphs: [
    `The webhook to ${named} of the workspace ${workspace} on Countersign was disabled, because ${because}. Nothing is sent to it until it is enabled again.`,
    "Events that it does not get are kept as skipped deliveries for 30 days. Once the receiver works again, set the webhook's status to active, and send them again.",
  ],
  button: { label: "How to enable it and send them again", url },
  facts: [`The webhook's id is ${id}.`],
});
