import type { Decider } from "../decider.ts";
import { stream } from "../stream.ts";
import { unreachable } from "../unreachable.ts";
import { type ChannelTestEvent, channelTestStream, type TestedChannel } from "./events.ts";

export type ChannelTest = {
  exists: boolean;
  workspaceId: string;
  identityId: string;
  channel: TestedChannel | null;
  /** `retrying`: an attempt failed, and another follows. */
  status: "running" | "retrying" | "delivered" | "failed";
  /** Error of the last attempt. */
  error: string | null;
  requestedAt: string;
  endedAt: string | null;
};

export type ChannelTestCommand =
  | { type: "RequestChannelTest"; workspaceId: string; identityId: string; channel: TestedChannel; at: string }
  | { type: "RecordTestFailed"; error: string; final: boolean; at: string }
  | { type: "RecordTestDelivered"; at: string };

const initial: ChannelTest = {
  exists: false,
  workspaceId: "",
  identityId: "",
  channel: null,
  status: "running",
  error: null,
  requestedAt: "",
  endedAt: null,
};

/** A test has one result: if the same attempt runs a second time, its result changes nothing. */
function decide(command: ChannelTestCommand, test: ChannelTest): ChannelTestEvent[] {
  const { type, ...data } = command;
  if (type === "RequestChannelTest") {
    return test.exists ? [] : [{ type: "ChannelTestRequested", data } as ChannelTestEvent];
  }
  if (!test.exists || test.endedAt !== null) return [];
  switch (type) {
    case "RecordTestFailed":
      return [{ type: "ChannelTestFailed", data } as ChannelTestEvent];
    case "RecordTestDelivered":
      return [{ type: "ChannelTestDelivered", data } as ChannelTestEvent];
    default:
      return unreachable(type);
  }
}

function evolve(test: ChannelTest, event: ChannelTestEvent): ChannelTest {
  switch (event.type) {
    case "ChannelTestRequested": {
      const { at, ...asked } = event.data;
      return { ...test, ...asked, exists: true, requestedAt: at };
    }
    case "ChannelTestFailed": {
      const { error, final, at } = event.data;
      return { ...test, error, status: final ? "failed" : "retrying", endedAt: final ? at : null };
    }
    case "ChannelTestDelivered":
      return { ...test, status: "delivered", error: null, endedAt: event.data.at };
    default:
      return unreachable(event);
  }
}

export const channelTestDecider: Decider<ChannelTest, ChannelTestCommand, ChannelTestEvent> = {
  category: "channelTest",
  initial,
  evolve,
  decide,
};

export const channelTests = stream({ decider: channelTestDecider, name: channelTestStream });
