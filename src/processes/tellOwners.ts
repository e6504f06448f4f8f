import type { NoticeWords } from "#src/channels/email/noticeMail.ts";
import type { Dependencies } from "#src/commands/dependencies.ts";
import { activeOwners, memberState } from "#src/commands/members/members.ts";
import type { MailProvider } from "#src/mail/mailProvider.ts";
import { idOf, type Recorded } from "#streams/event.ts";
import type { MemberEvent } from "#streams/member/events.ts";
import { isOldNews } from "./oldNews.ts";
import type { Process, ProcessContext } from "./process.ts";
import { type MemberMail, quoteName, retryMemberMail, sendMemberMail } from "./sendMemberMail.ts";

type OwnerNews = { mail: MemberMail; happenedAt: string };
type Joining = Extract<MemberEvent, { type: "InvitationAccepted" | "MemberJoined" }>;

/** Mails every owner about each new member. */
export function tellOwners(deps: Dependencies, provider: MailProvider): Process {
  async function tell(news: OwnerNews, tries: number, context: ProcessContext): Promise<void> {
    const { mail, happenedAt } = news;
    if (isOldNews(deps, happenedAt)) return;
    const outcome = await sendMemberMail(deps, provider, mail);
    const name = `${mail.eventId} ${mail.to}`;
    await retryMemberMail(outcome, { key: mail.workspaceId, name, tries, payload: { news } }, context);
  }

  async function onJoined(event: Recorded, context: ProcessContext): Promise<void> {
    const workspaceId = idOf(event.stream);
    const { memberId, userId } = (event as Recorded<Joining>).data;
    const member = await memberState(deps, { workspaceId, memberId });
    if (!member) return;
    const { email, name } = (await deps.users.load(userId)).state;
    const { name: workspace } = (await deps.workspaces.load(workspaceId)).state;
    const url = `${deps.settings.publicUrl}/settings/members`;
    const words = letter({ name, address: email ?? member.email, role: member.role, workspace, url });
    for (const owner of await activeOwners(deps, workspaceId)) {
      if (owner.userId === userId) continue;
      const mail = { workspaceId, eventId: event.id, to: owner.email, ...words };
      await tell({ mail, happenedAt: event.metadata.at }, 0, context);
    }
  }

  return {
    name: "tellOwners",
    begins: "now",
    onlyNews: true,
    categories: ["member"],
    keyOf: (event) => idOf(event.stream),
    on: { InvitationAccepted: onJoined, MemberJoined: onJoined },
    onTimer: ({ payload }, context) => tell(payload.news as OwnerNews, payload.tries as number, context),
  };
}

type Joined = { name: string | null; address: string; role: string; workspace: string; url: string };

function letter({ name, address, role, workspace, url }: Joined): NoticeWords {
  const who = name === null || name === address ? "" : `${quoteName(name)}, `;
  return {
    subject: "A new member joined your workspace",
    paragraphs: [
      `${who}${quoteName(address)} joined the workspace ${quoteName(workspace)} on Countersign, as ${role}.`,
      "If you did not expect this, remove them in the console, under Settings, Members.",
    ],
    button: { label: "Open the members", url },
  };
}
