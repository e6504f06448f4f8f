import { expect } from "chai";
import { openedChannel, sealChannels } from "#src/commands/approvals/approvalChannels.ts";
import { addressOf, isStillChannelOf } from "#src/commands/approvals/channelAddresses.ts";
import type { Dependencies } from "#src/commands/dependencies.ts";
import { createKeyRing, newRingKey } from "#src/platform/secrets/keyRing.ts";
import { fold } from "#streams/decider.ts";
import { type Identity, identityDecider } from "#streams/identity/decider.ts";
import { defaultSettings } from "#streams/identity/defaults.ts";
import type { ApprovalChannel } from "#streams/identity/events.ts";

const first = `42:first-secret-${"a".repeat(30)}`;
const workspaceId = "0199aaaa-0000-7000-8000-000000000001";
const deps = {
  keyRing: createKeyRing(newRingKey("test")),
  settings: { slackAllowedHosts: ["hooks.slack.com"] },
} as unknown as Dependencies;

const identityWith = (approvalChannel: ApprovalChannel): Identity => ({
  ...identityDecider.initial,
  ...defaultSettings,
  ...{ exists: true, workspaceId },
  ...sealChannels(deps, { workspaceId, given: { approvalChannel }, stored: null }),
});
const telegram = (bot_token: string, chat_id: string) => ({
  type: "telegram" as const,
  config: { bot_token, chat_id },
});
const slack = (webhook_url: string, more: Record<string, string> = {}) => ({
  type: "slack" as const,
  config: { webhook_url, ...more },
});

/** Returns the address to which a request through this channel is bound. */
const boundTo = (channel: ApprovalChannel) =>
  ({ slot: "primary", type: channel.type, address: addressOf(channel) }) as const;

describe("the chat that a button is bound to", () => {
  const url = "https://hooks.slack.com/services/T1/B1/first-secret";
  const asked = boundTo(telegram(first, "-100"));

  it("a button works while its channel is the same, whatever its bot's newest token", () => {
    expect(isStillChannelOf(deps, identityWith(telegram(first, "-100")), asked)).to.equal(true);
    expect(
      isStillChannelOf(deps, identityWith(telegram(`42:second-secret-${"b".repeat(30)}`, "-100")), asked),
    ).to.equal(true);
    const ofSlack = boundTo(slack(url));
    expect(isStillChannelOf(deps, identityWith(slack(url, { signing_secret: "later" })), ofSlack)).to.equal(true);
  });

  it("a button expires with another chat, another bot, another webhook or another kind of channel", () => {
    for (const other of [telegram(first, "-101"), telegram(`43:first-secret-${"a".repeat(30)}`, "-100"), slack(url)])
      expect(isStillChannelOf(deps, identityWith(other), asked), JSON.stringify(other)).to.equal(false);
    const ofSlack = boundTo(slack(url));
    for (const other of [slack(`${url}x`), slack(url, { channel: "#other" })])
      expect(isStillChannelOf(deps, identityWith(other), ofSlack), JSON.stringify(other)).to.equal(false);
  });

  it("a button still works when the provider renames its chat, also twice, but not in a chat that is set later", () => {
    const moves = [
      { from: "-100", to: "-1001" },
      { from: "-1001", to: "-1002" },
    ];
    const move = (identity: Identity, { from, to }: (typeof moves)[number]) =>
      identityDecider.decide({ type: "MoveChat", from, to }, identity).reduce(identityDecider.evolve, identity);
    const moved = moves.reduce(move, identityWith(telegram(first, "-100")));
    const opened = openedChannel(deps, { workspaceId, slot: "primary" }, moved.approvalChannel as ApprovalChannel);
    expect(opened.config).to.deep.equal({ bot_token: first, chat_id: "-1002" });
    expect(isStillChannelOf(deps, moved, asked)).to.equal(true);
    expect(isStillChannelOf(deps, { ...moved, ...identityWith(telegram(first, "-7")) }, asked)).to.equal(false);
    const set = { ...moved, approvalChannel: identityWith(telegram(first, "-7")).approvalChannel };
    expect(isStillChannelOf(deps, set, asked)).to.equal(false);
    expect(identityDecider.decide({ type: "MoveChat", from: "-8", to: "-9" }, set)).to.deep.equal([]);
  });

  it("the stored address of a button's chat holds no secret", () => {
    expect(addressOf(telegram(first, "-100"))).to.equal("42:-100");
    expect(addressOf(slack(url))).not.to.contain("secret");
    expect(fold(identityDecider, []).movedChats).to.deep.equal({});
  });
});
