import { once } from "node:events";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { expect } from "chai";
import express from "express";
import type { DecideRequest, DecisionResult } from "#src/channels/approvalDecisions.ts";
import { Unavailable } from "#src/eventStore/eventStore.ts";
import { slackInteractions } from "#src/http/hooks/slack/interactions.ts";
import { carded, ordinary } from "#test/channels/email/examples.ts";
import { signedCall, user } from "#test/support/slack/slack.ts";

const secret = "a-secret";
const token = "T0ken_of-256-bits-as-base64url-43-letters-x";

describe("acknowledgement of a press in Slack", () => {
  let server: Server;
  let decide: (request: DecideRequest) => Promise<DecisionResult>;
  let rejected = false;
  const happened: string[] = [];
  before(async () => {
    const app = express().use(
      slackInteractions({
        find: async () => carded({ ...ordinary, superseded: false, action: "approve" as const, closed: null }),
        decide: (request) => decide(request),
        previewEdit: async () => ({ kind: "unknown" }),
        question: async () =>
          ({ asked: { decision: "approve", channel: { type: "slack" } }, channel: null, message: null }) as any,
        replies: {
          conclude: async (_, { sentence }) => void happened.push(`concluded: ${sentence}`),
          tell: async (_, { sentence }) => void happened.push(`told: ${sentence}`),
          openReasonForm: async () => true,
          openEditForm: async () => true,
        },
        signingSecret: secret,
        publicUrl: "https://c.example",
        clock: { now: () => new Date() },
        countUnknown: async () => {},
        onError: () => {
          rejected = true;
        },
        acknowledgeWithinMs: 20,
      }),
    );
    server = app.listen(0, "127.0.0.1");
    await once(server, "listening");
  });
  after(() => {
    server.closeAllConnections();
    server.close();
  });
  beforeEach(() => {
    happened.length = 0;
    rejected = false;
  });

  async function press(): Promise<number> {
    const action = { action_id: "approve", value: token };
    const payload = { type: "block_actions", user, actions: [action], response_url: "https://hooks.slack.com/x" };
    const { port } = server.address() as AddressInfo;
    const { body, headers } = signedCall(payload, secret);
    const answer = await fetch(`http://127.0.0.1:${port}/hooks/slack/interactions`, { method: "POST", body, headers });
    happened.push(`answered ${answer.status}`);
    return answer.status;
  }
  const settled = async (isSo: () => boolean) => {
    while (!isSo()) await new Promise((resolve) => setImmediate(resolve));
  };

  it("a press in Slack is acknowledged after its decision, and then the card changes", async () => {
    decide = async (request) => {
      happened.push(`decided by ${request.by?.name}`);
      return { kind: "approved", sending: true };
    };
    expect(await press()).to.equal(200);
    await settled(() => happened.some((each) => each.startsWith("concluded")));
    expect(happened[0]).to.equal("decided by ada");
  });

  it("a press whose decision takes long is acknowledged before it, and the card changes only afterwards", async () => {
    let end: (result: DecisionResult) => void = () => {};
    decide = () => new Promise((resolve) => (end = resolve));
    expect(await press()).to.equal(200);
    expect(happened).to.deep.equal(["answered 200"]);
    end({ kind: "approved", sending: true });
    await settled(() => happened.length === 2);
    expect(happened[1]).to.match(/^concluded: Approved by “ada”/);
  });

  it("a press that cannot be recorded is answered with an error, and the card keeps its buttons", async () => {
    decide = async () => {
      throw new Unavailable("the database is away");
    };
    expect(await press()).to.equal(503);
    expect(happened[0]).to.match(/^told: Your decision could not be recorded/);
    decide = async () => {
      throw new Error("a bug");
    };
    expect(await press()).to.equal(500);
    expect(rejected).to.equal(true);
    expect(happened.filter((each) => each.startsWith("concluded"))).to.deep.equal([]);
  });
});
