import type { AuditFields } from "../auditFields.ts";
import type { ChannelTestEvent } from "./events.ts";

export const channelTestFields: AuditFields<ChannelTestEvent> = {
  workspaceId: "open",
  identityId: "open",
  channel: { slot: "open", type: "open", address: "salted" },
  at: "open",
  error: "salted",
};
