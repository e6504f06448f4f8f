import { channelTestDecider } from "#streams/channelTest/decider.ts";
import type { ChannelTestEvent } from "#streams/channelTest/events.ts";
import { given } from "#test/support/given.ts";

const at = "2026-01-01T12:00:00.000Z";
const data = {
  workspaceId: "w",
  identityId: "i",
  channel: { slot: "primary", type: "email", address: "ann@approvers.example" },
  at,
} as const;
const requested: ChannelTestEvent = { type: "ChannelTestRequested", data };
const failed = (final: boolean): ChannelTestEvent => ({
  type: "ChannelTestFailed",
  data: { error: "busy", final, at },
});
const delivered: ChannelTestEvent = { type: "ChannelTestDelivered", data: { at } };
const request = { type: "RequestChannelTest", ...data } as const;
const fail = (final: boolean) => ({ type: "RecordTestFailed", error: "busy", final, at }) as const;
const deliver = { type: "RecordTestDelivered", at } as const;

describe("a test notification", () => {
  it("a test notification is requested once", () => {
    given(channelTestDecider).when(request).then(requested);
    given(channelTestDecider, requested).when(request).then();
  });

  it("a test notification may fail and be tried again until it is delivered", () => {
    given(channelTestDecider, requested).when(fail(false)).then(failed(false));
    given(channelTestDecider, requested, failed(false)).when(deliver).then(delivered);
  });

  it("a test notification ends once, and a late result of another try changes nothing", () => {
    for (const end of [delivered, failed(true)]) {
      given(channelTestDecider, requested, end).when(deliver).then();
      given(channelTestDecider, requested, end).when(fail(true)).then();
    }
  });

  it("a result is not recorded for a test notification that was not requested", () => {
    given(channelTestDecider).when(deliver).then();
    given(channelTestDecider).when(fail(true)).then();
  });
});
