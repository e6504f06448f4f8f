import type { Event } from "../event.ts";

/** The tested channel of an identity, and the channel's address when the test was requested (used only for comparison; not a secret). */
export type TestedChannel = { slot: "primary" | "secondary"; type: "telegram" | "slack" | "email"; address: string };

/** A test notification through an approval channel: its request, perhaps several attempts, and the result. Times are ISO 8601 UTC. */
export type ChannelTestEvent =
  | Event<"ChannelTestRequested", { workspaceId: string; identityId: string; channel: TestedChannel; at: string }>
  /** `error`: why no approver was reached; may quote the provider. `final`: no further attempt follows. */
  | Event<"ChannelTestFailed", { error: string; final: boolean; at: string }>
  | Event<"ChannelTestDelivered", { at: string }>;

export const channelTestStream = (id: string): string => `channelTest-${id}`;
