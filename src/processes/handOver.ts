import { withdrawalOf } from "#src/commands/approvals/approvalStanding.ts";
import type { Dependencies } from "#src/commands/dependencies.ts";
import { loadContent } from "#src/commands/drafts/draftContents.ts";
import type { Cause } from "#src/commands/handle.ts";
import { signedMail } from "#src/commands/sends/signing.ts";
import { crashPoint } from "#src/crashPoints.ts";
import { Unavailable } from "#src/eventStore/eventStore.ts";
import { CredentialsRefused, type Outcome, type ReadyConnection } from "#src/mail/mailProvider.ts";
import { filesOf, type RenderedMail, renderMail } from "#src/mail/out/render.ts";
import { Rejected } from "#streams/decider.ts";
import { type Draft, isReduced, type SendingDraft } from "#streams/draft/draft.ts";
import { claimGoodForMs, type DeliverySettings } from "./deliverySettings.ts";

/** Right before the first byte of content the claim is looked at once more: over this age nothing is written. */
const claimUsableForMs = 10_000;

/** Mails kept in memory between their writing and their claim. */
const maxPrepared = 4;

/** Nothing was handed over, and nothing will be: what approved the mail automatically no longer does. */
export type Withdrawn = { code: "approval_withdrawn"; message: string };

/** Why no provider could take the mail, as the draft's failure code and in words. */
export type NotConnected = { code: "provider_unavailable" | "provider_credentials"; message: string };

export type HandOver = {
  handOver(
    draftId: string,
    draft: SendingDraft,
    cause: Cause,
  ): Promise<"recorded" | "claim_too_old" | NotConnected | Withdrawn>;
  /** Writes the mail of an attempt before it is claimed: a large one takes longer than a claim is good for. */
  prepare(draft: Draft, attemptId: string): Promise<void>;
};

type Frozen = RenderedMail & { messageId: string; mimeSha256: string };

/**
 * One hand-over under a claim made in this process: everything slow comes before `DeliveryStarted`, and what the provider answered is
 * recorded however long the event store is away. A run that finds the attempt already started hands nothing over.
 */
export function handOver(deps: Dependencies, { provider, instanceId }: DeliverySettings): HandOver {
  const prepared = new Map<string, Frozen>();

  async function handOverOnce(draftId: string, draft: SendingDraft, cause: Cause) {
    const attemptId = draft.attemptId;
    const connection = await connect();
    if ("code" in connection) return connection;
    crashPoint("deliver:connected");
    let mail: Frozen;
    try {
      mail = prepared.get(attemptId) ?? (await freeze(draft, attemptId));
      const because = await withdrawalOf(deps, draftId, draft);
      if (because !== null) {
        connection.discard();
        return { code: "approval_withdrawn", message: because } as const;
      }
      prepared.delete(attemptId);
      if (deps.freshClaims.age(attemptId) > claimGoodForMs) {
        connection.discard();
        return "claim_too_old";
      }
      await start({ draftId, draft, attemptId }, mail, cause);
    } catch (error) {
      connection.discard();
      // Started by somebody else a moment ago: how that ends is theirs to record.
      if (error instanceof Rejected) return "recorded";
      throw error;
    }
    crashPoint("deliver:started");
    const isUsable = () => deps.freshClaims.age(attemptId) <= claimUsableForMs;
    let withheld = false;
    const mayWrite = async () => {
      if (!isUsable()) return false;
      withheld = !(await isStanding(draftId, draft));
      return !withheld && isUsable();
    };
    const { envelope, mime, messageId } = mail;
    const outcome = await connection.handOver({ attemptId, envelope, messageId, mime }, mayWrite);
    deps.freshClaims.forget(attemptId);
    crashPoint("deliver:handed-over");
    await record(attemptId, outcomeEvent(outcome, withheld), cause);
    crashPoint("deliver:recorded");
    return "recorded";
  }

  /** If that cannot be found out, nothing is written, and the hand-over is retried. */
  const isStanding = (draftId: string, draft: Draft): Promise<boolean> =>
    withdrawalOf(deps, draftId, draft).then(
      (because) => because === null,
      () => false,
    );

  async function connect(): Promise<ReadyConnection | NotConnected> {
    try {
      return await provider.connect();
    } catch (error) {
      if (!(error instanceof Unavailable)) throw error;
      return error instanceof CredentialsRefused
        ? { code: "provider_credentials", message: "the mail provider rejects the service's credentials" }
        : { code: "provider_unavailable", message: "the mail provider cannot be reached" };
    }
  }

  /** The very bytes that will leave, stored before anything does. */
  async function freeze(draft: Draft, attemptId: string): Promise<Frozen> {
    const content = await loadContent(deps.blobs, draft.stored);
    const domain = content.from.address.slice(content.from.address.lastIndexOf("@") + 1);
    const { identityId, threadId } = draft;
    const messageId = deps.messageIds.mint({ identityId, threadId, attemptId, domain });
    const attachments = new Map<string, Buffer>();
    for (const sha256 of filesOf(content, isReduced(draft))) {
      const bytes = await deps.blobs.get(sha256);
      if (!bytes) throw new Error(`the attached file ${sha256} is missing`);
      attachments.set(sha256, bytes);
    }
    const { mime: plain, envelope } = await renderMail({ content, messageId, date: deps.clock.now(), attachments });
    const mime = await signedMail(deps, identityId, plain);
    return { mime, envelope, messageId, mimeSha256: await deps.blobs.put(mime) };
  }

  async function start(
    { draftId, draft, attemptId }: { draftId: string; draft: Draft; attemptId: string },
    mail: { messageId: string; mimeSha256: string },
    cause: Cause,
  ): Promise<void> {
    const started = {
      draftId,
      threadId: draft.threadId,
      version: draft.version,
      contentSha256: draft.contentSha256,
      provider: provider.name,
      rfcMessageId: mail.messageId,
      mimeSha256: mail.mimeSha256,
      instanceId,
      fence: deps.ids.uuid(),
    };
    await deps.deliveries.handle(attemptId, { type: "StartDelivery", started }, cause);
  }

  /** An answer must not get lost because the log is away for a while: it is all the evidence there is. */
  async function record(attemptId: string, outcome: ReturnType<typeof outcomeEvent>, cause: Cause): Promise<void> {
    const command = { type: "RecordOutcome", outcome } as const;
    for (;;) {
      try {
        await deps.deliveries.handle(attemptId, command, cause);
        return;
      } catch (error) {
        if (!(error instanceof Unavailable)) throw error;
        await new Promise((resolve) => setTimeout(resolve, 500));
      }
    }
  }

  return {
    handOver: handOverOnce,
    async prepare(draft, attemptId) {
      const mail = await freeze(draft, attemptId);
      const [oldest] = prepared.keys();
      if (oldest !== undefined && prepared.size >= maxPrepared) prepared.delete(oldest);
      prepared.set(attemptId, mail);
    },
  };
}

function outcomeEvent(outcome: Outcome, withheld: boolean) {
  switch (outcome.kind) {
    case "accepted": {
      const { response, providerId = null, rejectedRecipients = [] } = outcome;
      return { type: "DeliveryAccepted", data: { response, providerId, rejectedRecipients } } as const;
    }
    case "refused": {
      const { retryable, code, message } = outcome;
      return { type: "DeliveryRefused", data: { retryable, code, message } } as const;
    }
    case "not_handed_over":
      return {
        type: "DeliveryNotHandedOver",
        data: { message: outcome.message, ...(withheld && { withheld }) },
      } as const;
    case "unknown":
      return { type: "DeliveryUnknown", data: { message: outcome.message } } as const;
  }
}
