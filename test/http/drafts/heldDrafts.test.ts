import { expect } from "chai";
import type { InProcess } from "#test/support/inProcess.ts";
import { type StoryTenant, startStory } from "#test/support/story/story.ts";

describe("http: an approved draft that cannot be sent yet", () => {
  let service: InProcess;
  let tenant: StoryTenant;

  before(async () => {
    ({ service, tenant } = await startStory({}, { identity: { autoApproveReplies: true } }));
  });
  after(() => service?.stop());

  const pauseSending = (sending_paused: boolean) => tenant.ask("PATCH /v1/workspaces/me", { json: { sending_paused } });
  const setIdentity = (status: string) =>
    tenant.ask(`PATCH /v1/identities/${tenant.identity.id}`, { json: { status } });

  /** A draft that the identity's setting approved, held because sending is paused. */
  async function heldByPause() {
    await pauseSending(true);
    const draft = await tenant.draft(await tenant.mail());
    expect(draft.json.status).to.equal("approved");
    const held = await draft.becomes(({ held_code }) => held_code === "sending_paused");
    expect(held.status).to.equal("approved");
    return draft;
  }

  it("an approved draft says that sending is paused, and is sent when the pause ends [d2 sending_paused]", async () => {
    const draft = await heldByPause();
    await pauseSending(false);
    expect((await draft.becomes("sent")).held_code).to.equal(null);
  });

  it("an approved draft says that its identity is not active, and is sent by itself once the identity is active [3 identity disabled]", async () => {
    // The pause keeps it from being sent before its identity is disabled.
    const draft = await heldByPause();
    await setIdentity("disabled");
    await pauseSending(false);
    await draft.becomes(({ held_code }) => held_code === "identity_not_active");
    await setIdentity("active");
    expect((await draft.becomes("sent")).held_code).to.equal(null);
  });
});
