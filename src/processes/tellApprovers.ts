import { activeIdentities } from "#projections/identities/queries.ts";
import type { Dependencies } from "#src/commands/dependencies.ts";
import { loadThread } from "#src/commands/threads/threads.ts";
import { readEvents } from "#src/eventStore/eventStore.ts";
import { shortLine } from "#src/html/visible.ts";
import type { MailProvider } from "#src/mail/mailProvider.ts";
import { noThread } from "#src/mail/out/messageIds.ts";
import { fold } from "#streams/decider.ts";
import { idOf, type Recorded } from "#streams/event.ts";
import { type Identity, identityDecider } from "#streams/identity/decider.ts";
import type { IdentityEvent, IdentitySettings } from "#streams/identity/events.ts";
import { workspaceDecider } from "#streams/workspace/decider.ts";
import { type WorkspaceEvent, workspaceStream } from "#streams/workspace/events.ts";
import { createApproverNews, newsSource } from "./approverNews.ts";
import type { Process, ProcessContext, WaitForModels } from "./process.ts";

/**
 * Mails approvers what they could not see otherwise: that it is unknown if a reply was sent, and the evidence found later (src/sendPath.md,
 * "Steps"); and that an identity no longer requires human approval or has changed its approvers.
 */
export function tellApprovers(deps: Dependencies, provider: MailProvider): Process {
  const { tell, onTimer } = createApproverNews(deps, provider);

  const aboutDraft = (textOf: (data: Record<string, unknown>) => string | null) => {
    return async (event: Recorded, context: ProcessContext) => {
      const happened = textOf(event.data);
      if (happened === null) return;
      const draftId = idOf(event.stream);
      const { state: draft } = await deps.drafts.load(draftId);
      const { identityId, threadId } = draft;
      const { state: identity } = await deps.identities.load(identityId);
      const subject = "About a reply that was approved";
      const { state: thread } = await loadThread(deps, threadId);
      const text = `${happened}\n\nThis is about the reply from ${quoted(identity.emailAddress)} on ${quoted(thread.subject)}.`;
      for (const to of mailboxesOf(identity)) {
        await tell({ identityId, threadId, draftId, ...newsSource(event), to, subject, text }, context);
      }
    };
  };

  async function onIdentityUpdated(event: Recorded, context: ProcessContext): Promise<void> {
    const { changes } = event.data as { changes: Partial<IdentitySettings> };
    const identityId = idOf(event.stream);
    const before = await identityBefore(deps, event);
    if (!before.requireHumanApproval && !(await workspaceRequiredAt(deps, event))) return;
    const what = loosened(changes);
    if (what.length === 0) return;
    const address = quoted(before.emailAddress);
    const text = `For ${address}, ${what.join(" and ")}. If you did not expect this, check it: drafts from this address may now be approved elsewhere.`;
    const subject = "Approval settings changed";
    for (const to of mailboxesOf(before)) {
      await tell({ identityId, threadId: noThread, ...newsSource(event), to, subject, text }, context);
    }
  }

  /**
   * Mails the approvers when the workspace no longer requires human approval. Each mailbox gets one mail, however many identities it
   * approves for. Identities that require human approval themselves are skipped.
   */
  async function onWaived(event: Recorded, context: ProcessContext): Promise<WaitForModels | undefined> {
    if (!(await context.reached(event.position, ["identities"])))
      return { waitFor: event.position, of: ["identities"] };
    const told = new Set<string>();
    const subject = "Human approval is no longer required";
    const text =
      "Your workspace no longer requires human approval: API keys, rules and settings may now approve drafts. If you did not expect this, check it.";
    for (const { id: identityId } of await activeIdentities(deps.reads, idOf(event.stream))) {
      const { state: identity } = await deps.identities.load(identityId);
      for (const to of identity.requireHumanApproval ? [] : mailboxesOf(identity)) {
        if (told.has(to)) continue;
        told.add(to);
        await tell({ identityId, threadId: noThread, ...newsSource(event), to, subject, text }, context);
      }
    }
    return undefined;
  }

  return {
    name: "tellApprovers",
    onlyNews: true,
    categories: ["draft", "identity", "workspace"],
    keyOf: (event) => idOf(event.stream),
    on: {
      DraftFailed: aboutDraft(({ code }) =>
        code === "unconfirmed"
          ? "We do not know whether an approved reply was sent: the mail provider did not answer. We will not send it again automatically. Please check whether it arrived. If it did not, let the agent write a new one."
          : null,
      ),
      LateEvidence: aboutDraft(({ outcome }) =>
        outcome === "accepted"
          ? "We wrote to you that we did not know whether a reply was sent. It was sent: the mail provider has now confirmed that it accepted it."
          : "We wrote to you that we did not know whether a reply was sent. It was not sent: the mail provider refused it.",
      ),
      IdentityUpdated: onIdentityUpdated,
      HumanApprovalWaived: onWaived,
    },
    onTimer,
  };
}

/** Quotes an address chosen by a tenant. Subjects never contain one. */
const quoted = (address: string): string => `“${shortLine(address, 100)}”`;

const loosened = (changes: Partial<IdentitySettings>): string[] => [
  ...(changes.approvalsRequired === undefined
    ? []
    : [`the number of approvals that a draft needs was changed to ${changes.approvalsRequired}`]),
  ...(changes.requireHumanApproval === false ? ["human approval is no longer required"] : []),
  ...("approvalChannel" in changes ? ["the approval channel was changed"] : []),
  ...("secondaryApprovalChannel" in changes ? ["the secondary approval channel was changed"] : []),
  ...(changes.confirmCode === false ? ["approval pages no longer ask for the code of the approval mail"] : []),
  ...(changes.editByChannel === true ? ["approvers may now change the text of a draft where they are asked"] : []),
  ...("aliases" in changes ? ["the addresses that are forwarded to it were changed"] : []),
  ...("coveredRecipients" in changes
    ? ["the list of recipients who may be answered automatically without proof was changed"]
    : []),
];

const mailboxesOf = (identity: Identity): string[] => {
  const channels = [identity.approvalChannel, identity.secondaryApprovalChannel];
  return [...new Set(channels.flatMap((channel) => (channel?.type === "email" ? [channel.config.to as string] : [])))];
};

/** Returns true if the workspace required human approval right before an event of its identity. */
async function workspaceRequiredAt(deps: Dependencies, { metadata, position }: Recorded): Promise<boolean> {
  const events = await readEvents<WorkspaceEvent>(deps.store, workspaceStream(metadata.workspaceId as string));
  const before = events.filter((event) => event.position < position);
  return fold(workspaceDecider, before).requireHumanApproval;
}

/** Returns the identity's state right before one of its own events. */
async function identityBefore(deps: Dependencies, event: Recorded): Promise<Identity> {
  const events = await readEvents<IdentityEvent>(deps.store, event.stream, { count: event.revision });
  return fold(identityDecider, events);
}
