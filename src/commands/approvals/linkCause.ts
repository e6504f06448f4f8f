import type { DecideRequest } from "#src/channels/approvalDecisions.ts";
import type { Draft } from "#streams/draft/draft.ts";
import type { ApprovalRequest } from "#streams/draft/events.ts";
import type { Dependencies } from "../dependencies.ts";
import type { Cause } from "../handle.ts";

/** Returns the cause of what a press on a link's page, or on a button in a chat, appends. */
export function causeOfPress(
  deps: Pick<Dependencies, "ids">,
  { draft, asked }: { draft: Draft; asked: Pick<ApprovalRequest, "channel" | "notificationId"> },
  request: Pick<DecideRequest, "by" | "ip" | "userAgent" | "requestId">,
): Cause {
  const { type, address } = asked.channel;
  // The link of a mailbox identifies its owner; a link in a chat may be used by any member.
  const linkHolder = (type === "email" ? address : null) ?? asked.notificationId;
  const requestId = request.requestId ?? deps.ids.uuid();
  return {
    actor: {
      ...(request.by ?? { kind: "email_link", id: linkHolder }),
      channel: type,
      ip: request.ip,
      userAgent: request.userAgent,
      requestId,
    },
    workspaceId: draft.workspaceId,
    correlationId: requestId,
    causationId: requestId,
  };
}
