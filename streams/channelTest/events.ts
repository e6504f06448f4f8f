import type { Event } from "../event.ts";

/** Which channel of an identity is tried, and whom it reached when the test was asked for (compared alone, no secret). */
export type TestedChannel = { slot: "primary" | "secondary"; type: "telegram" | "slack" | "email"; address: string };

/** A test notification through an approval channel: asked for, perhaps tried several times, and how it ended. Times are ISO 8601 UTC. */
export type ChannelTestEvent =
  | Event<"ChannelTestRequested", { workspaceId: string; identityId: string; channel: TestedChannel; at: string }>
  /** `error`: why nobody was reached, in words that may quote the provider. `final`: it is not tried again. */
  | Event<"ChannelTestFailed", { error: string; final: boolean; at: string }>
  | Event<"ChannelTestDelivered", { at: string }>;

export const channelTestStream = (id: string): string => `channelTest-${id}`;
