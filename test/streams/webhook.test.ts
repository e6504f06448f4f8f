import { expect } from "chai";
import { fold, Rejected } from "#streams/decider.ts";
import { webhookDecider } from "#streams/webhook/decider.ts";
import type { WebhookEvent } from "#streams/webhook/events.ts";

const secret = (id: string) => ({ id, sealed: `sealed-${id}` });
const created: WebhookEvent = {
  type: "WebhookCreated",
  data: {
    workspaceId: "w",
    url: "https://hooks.example.com/",
    events: ["draft.stale"],
    identityIds: null,
    description: null,
    status: "active",
    secret: secret("s1"),
  },
};
const rotated = (id: string, previousUntil = "2026-01-02T00:00:00.000Z"): WebhookEvent => ({
  type: "WebhookSecretRotated",
  data: { secret: secret(id), previousUntil },
});
const given = (...events: WebhookEvent[]) => fold(webhookDecider, events);
const { decide } = webhookDecider;

describe("a webhook", () => {
  it("a webhook is made once", () => {
    const { workspaceId, ...rest } = created.data as Extract<WebhookEvent, { type: "WebhookCreated" }>["data"];
    const command = { type: "CreateWebhook", webhook: { workspaceId, ...rest } } as const;
    expect(decide(command, webhookDecider.initial)).to.deep.equal([created]);
    expect(decide(command, given(created))).to.deep.equal([]);
  });

  it("an update of a webhook records only what changes", () => {
    const update = (changes: object) => decide({ type: "UpdateWebhook", changes }, given(created));
    expect(update({ url: "https://hooks.example.com/", events: ["draft.stale"] })).to.deep.equal([]);
    expect(update({ events: ["draft.rejected"], description: null })).to.deep.equal([
      { type: "WebhookUpdated", data: { changes: { events: ["draft.rejected"] } } },
    ]);
  });

  it("a webhook keeps its earlier secrets, newest first, and rotates once for each request", () => {
    const state = given(created, rotated("s2"), rotated("s3"));
    expect(state.secret.id).to.equal("s3");
    expect(state.previous.map((each) => each.secret.id)).to.deep.equal(["s2", "s1"]);
    for (const id of ["s1", "s2", "s3"]) {
      const command = { type: "RotateSecret", secret: secret(id), previousUntil: "2026-01-03T00:00:00.000Z" } as const;
      expect(decide(command, state), id).to.deep.equal([]);
    }
  });

  it("a webhook is disabled once, can be enabled again, and stays deleted", () => {
    const disabled: WebhookEvent = { type: "WebhookDisabled", data: { because: "410" } };
    expect(decide({ type: "DisableWebhook", because: "410" }, given(created))).to.deep.equal([disabled]);
    expect(decide({ type: "DisableWebhook", because: "410" }, given(created, disabled))).to.deep.equal([]);
    const enable = { type: "UpdateWebhook", changes: { status: "active" } } as const;
    expect(decide(enable, given(created, disabled))).to.have.length(1);
    expect(given(created, disabled).disabledBecause).to.equal("410");
    const [enabled] = decide(enable, given(created, disabled));
    expect(given(created, disabled, enabled!).disabledBecause).to.equal(null);
    const renamed: WebhookEvent = { type: "WebhookUpdated", data: { changes: { description: "ours" } } };
    expect(given(created, disabled, renamed).disabledBecause).to.equal("410");
    const gone = given(created, { type: "WebhookDeleted", data: {} });
    expect(() => decide(enable, gone)).to.throw(Rejected, "no such webhook");
    expect(() => decide({ type: "DeleteWebhook" }, gone)).to.throw(Rejected);
    expect(() => decide({ type: "DeleteWebhook" }, webhookDecider.initial)).to.throw(Rejected);
  });
});
