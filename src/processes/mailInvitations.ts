import { unlinked } from "#src/channels/email/excerpt.ts";
import type { NoticeWords } from "#src/channels/email/noticeMail.ts";
import type { Dependencies } from "#src/commands/dependencies.ts";
import { invitationLink } from "#src/commands/members/invitations.ts";
import { memberState } from "#src/commands/members/members.ts";
import { shortLine } from "#src/html/visible.ts";
import type { MailProvider } from "#src/mail/mailProvider.ts";
import { type Actor, idOf, type Recorded } from "#streams/event.ts";
import type { MemberEvent } from "#streams/member/events.ts";
import type { Role } from "#streams/member/roles.ts";
import { isOldNews } from "./oldNews.ts";
import type { Process, ProcessContext } from "./process.ts";
import { quoteName, retryMemberMail, sendMemberMail } from "./sendMemberMail.ts";

/** Data stored for another try. The link is not stored, because each try makes a new one. */
type PendingInvitation = { workspaceId: string; memberId: string; eventId: string; at: string; by: Inviter | null };

/** The person who invites; the name is null if they have none. */
type Inviter = { name: string | null; email: string };

/**
 * Mails an invitation link to each invited person, and a new link when an invitation is renewed. Invitations by the operator are not
 * mailed, because the operator hands the link over. If the mail is sent twice, only the link in the later mail is valid.
 */
export function mailInvitations(deps: Dependencies, provider: MailProvider): Process {
  async function mail(invited: PendingInvitation, tries: number, context: ProcessContext): Promise<void> {
    const { workspaceId, memberId, eventId, at, by } = invited;
    const member = await memberState(deps, { workspaceId, memberId });
    // The invitation was withdrawn or accepted meanwhile, or is too old to be mailed.
    if (member?.status !== "invited" || isOldNews(deps, at)) return;
    const link = await invitationLink(deps, { workspaceId, memberId });
    const { name } = (await deps.workspaces.load(workspaceId)).state;
    const words = letter({ workspace: name, role: member.role, by, link });
    const outcome = await sendMemberMail(deps, provider, { workspaceId, eventId, to: member.email, ...words });
    await retryMemberMail(outcome, { key: workspaceId, name: memberId, tries, payload: { invited } }, context);
  }

  async function onInvited(event: Recorded, context: ProcessContext): Promise<void> {
    const { actor, at } = event.metadata;
    if (actor.kind === "operator") return;
    const { memberId } = (event as Recorded<MemberEvent>).data;
    const by = actor.kind === "session" && actor.email ? { name: nameOf(actor), email: actor.email } : null;
    await mail({ workspaceId: idOf(event.stream), memberId, eventId: event.id, at, by }, 0, context);
  }

  return {
    name: "mailInvitations",
    begins: "now",
    onlyNews: true,
    categories: ["member"],
    keyOf: (event) => idOf(event.stream),
    on: { MemberInvited: onInvited, InvitationRenewed: onInvited },
    onTimer: ({ payload }, context) => mail(payload.invited as PendingInvitation, payload.tries as number, context),
  };
}

const nameOf = ({ name, email }: Actor): string | null => (name === undefined || name === email ? null : name);

/** Begins with who invites. The address stays beside the name: everyone chooses their own name, but an address is confirmed. */
const inWords = ({ name, email }: Inviter): string =>
  name === null ? quoteName(email) : `${quoteName(name)} (${unlinked(shortLine(email, 80))})`;

function letter({ workspace, role, by, link }: Pick<PendingInvitation, "by"> & InvitedTo): NoticeWords {
  const who = by === null ? "You are invited" : `${inWords(by)} invites you`;
  return {
    subject: "You are invited to a workspace",
    paragraphs: [
      `${who} to the workspace ${quoteName(workspace)} on Countersign, as an ${role}.`,
      "Countersign holds the mail of automated agents until a person approves it.",
    ],
    button: { label: "Accept the invitation", url: link },
    facts: [
      "The invitation is for this address, and expires in seven days. If you did not expect it, ignore this mail.",
    ],
  };
}

type InvitedTo = { workspace: string; role: Role; link: string };
