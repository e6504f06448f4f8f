import { expect } from "chai";
import {
  foundInWords,
  receivingName,
  statusInWords,
  takesOverMail,
  unreachableHost,
} from "#src/http/console/domains/domainWords.ts";
import type { PageContext } from "#src/http/console/framework/pageContext.ts";
import { checklistOf } from "#src/http/console/identities/checklist.ts";
import { consequencesOf } from "#src/http/console/identities/deletePage.ts";
import { asSentence, inPageWords } from "#src/http/console/identities/identityWords.ts";
import { signaturePreview } from "#src/http/console/identities/signature.ts";
import { outcomeOf } from "#src/http/console/identities/testPage.ts";
import { identityContextOf, readWorkspaceContext } from "#src/http/console/identities/workspaceContext.ts";
import { createCostlyWork } from "#src/platform/threadPool/costlyWork.ts";
import { Rejected } from "#streams/decider.ts";
import { sharedThreads } from "#test/support/sharedThreads.ts";

describe("the setup checklist of a workspace", () => {
  const none = { ownDomain: "none", sandbox: true, identity: undefined, reached: false, keys: 0 } as const;
  const identity = { id: "i", hasChannel: true };
  const open = (have: object) =>
    checklistOf({ ...none, ...have })
      ?.filter(({ done }) => !done)
      .map(({ title }) => title);

  for (const [what, have, left] of [
    ["nothing is there", {}, ["A domain", "An identity", "An approval channel", "A test", "A key for the agent"]],
    [
      "a domain waits",
      { ownDomain: "pending" },
      ["A domain", "An identity", "An approval channel", "A test", "A key for the agent"],
    ],
    [
      "a domain is verified",
      { ownDomain: "verified" },
      ["An identity", "An approval channel", "A test", "A key for the agent"],
    ],
    [
      "an identity is in the sandbox",
      { identity: { ...identity, hasChannel: false } },
      ["An approval channel", "A test", "A key for the agent"],
    ],
    ["there is no sandbox", { sandbox: false, identity, keys: 1, reached: true }, ["A domain"]],
    ["the reader may not see keys", { identity, keys: undefined }, ["A test"]],
    ["all is done", { identity, reached: true, keys: 1 }, undefined],
  ] as [string, object, string[] | undefined][]) {
    it(`the setup checklist lists the remaining steps when ${what}`, () => {
      expect(open(have)).to.deep.equal(left);
    });
  }
});

describe("the surroundings of an identity", () => {
  const drafts = [
    { identity_id: "a", notification_status: { state: "none", channel: null, error: null } },
    { identity_id: "a", notification_status: { state: "failed", channel: "email", error: "550" } },
    { identity_id: "a", notification_status: { state: "sent", channel: "email", error: null } },
  ];
  const answers: Record<string, unknown> = {
    "GET /v1/domains": {
      data: [{ id: "d", domain_name: "x.example", inbound_subdomain: "mail", sandbox: false, status: "failed" }],
    },
    "GET /v1/assistants": { data: [] },
    "GET /v1/workspaces/me": { sending_paused: true, require_human_approval: false },
    "GET /v1/drafts": { data: drafts },
  };
  const visitWith = (rights: readonly string[]) =>
    ({
      may: (scope: string) => rights.includes(scope),
      ask: async (line: string) => answers[line],
    }) as unknown as PageContext;
  const identity = { id: "a", domain_id: "d", assistant_id: null };

  it("the surroundings of an identity are its domain, its workspace and its last notification", async () => {
    const all = ["read:domains", "read:assistants", "read:workspace", "read:threads"];
    const around = identityContextOf(await readWorkspaceContext(visitWith(all)), identity);
    expect(around.domain).to.deep.equal({ id: "d", name: "mail.x.example", status: "failed" });
    expect(around.workspace).to.include({ sending_paused: true });
    expect(around.notified).to.include({ state: "failed", error: "550" });
  });

  it("the surroundings of an identity contain nothing that the reader may not see", async () => {
    const around = identityContextOf(await readWorkspaceContext(visitWith([])), identity);
    expect(Object.values(around).filter((each) => each !== undefined)).to.deep.equal([]);
  });
});

describe("the consequences of deleting an identity", () => {
  const counts = { pending: 0, approved: 0, sending: 0, held: 0 };
  const words = (status: "active" | "disabled", different: object = {}) =>
    consequencesOf({ status }, { ...counts, ...different }).join("\n");

  it("the page that deletes an identity names its waiting drafts, its mail on the way and its held mail", () => {
    expect(words("active")).not.to.match(/draft waits|being sent|held/);
    expect(words("active", { pending: 1, approved: 1 })).to.include("2 drafts wait and can no longer be sent");
    expect(words("active", { sending: 1 }))
      .to.include("1 mail is being sent")
      .and.to.include("identity_deleted");
    expect(words("active", { held: 3 })).to.include("as soon as the plan's quota allows it");
    expect(words("disabled", { held: 1 })).to.include("enable the identity before you delete it");
  });
});

describe("the outcome of a test notification", () => {
  it("the outcome of a test notification shows the provider's words without their markup", () => {
    expect(outcomeOf({ status: "running", error: null }).title).to.equal("The test is on its way");
    const again = outcomeOf({ status: "running", error: "Slack: <b>busy</b>" });
    expect([again.tone, String(again.says)]).to.deep.equal([
      "wait",
      'It will be tried again automatically. <bdi class="code">Slack: &lt;b&gt;busy&lt;/b&gt;.</bdi>',
    ]);
    expect(outcomeOf({ status: "failed", error: "550" }).tone).to.equal("bad");
    expect(outcomeOf({ status: "succeeded", error: null }).tone).to.equal("good");
  });

  it("a provider's error becomes one sentence of at most 600 characters", () => {
    expect(asSentence("busy\nnow")).to.equal("Busy now.");
    expect(asSentence("x".repeat(900))).to.have.length(600);
    expect(inPageWords("approvals_required is 3, and some_thing too")).to.equal(
      "“Approvals required” is 3, and some_thing too.",
    );
  });
});

describe("the preview of a signature", () => {
  const previewOf = (typed: string) =>
    signaturePreview({ costlyWork: createCostlyWork(sharedThreads()) }, "workspace", typed);

  it("the preview of a signature shows what would be stored, names what would be removed, and refuses empty results", async () => {
    const preview = String(await previewOf('<p style="color:red">Hi</p><script>x</script>'));
    expect(preview).to.include("element “script”").and.to.include('sandbox=""');
    expect(preview).not.to.match(/<script|&lt;script/);
    const refusal = await previewOf("<script>x</script>").catch((error) => error);
    expect(refusal).to.be.instanceOf(Rejected);
    expect(refusal.message).to.include("signature_html");
    expect(String(await previewOf(" "))).to.include("no HTML signature");
  });
});

describe("the status of a domain in words", () => {
  const domain = { domain_name: "x.example", inbound_subdomain: null, has_existing_mx: true } as any;
  it("a domain's status counts its found records and names its receiving address", () => {
    const records = ["verified", "failed", "temporary_failure"].map((status) => ({ status })) as any;
    expect(foundInWords(records)).to.equal("1 of 3 records found");
    expect(receivingName({ ...domain, inbound_subdomain: "mail" })).to.equal("mail.x.example");
    const verified = (dns_records: any) => statusInWords({ status: "verified", sandbox: false, dns_records });
    expect(verified(records)).to.include({ short: "verified, but 1 record is wrong", tone: "wait" });
    expect(verified([...records, records[1]]).short).to.equal("verified, but 2 records are wrong");
    expect(verified([records[0], records[2]])).to.include({ short: "verified", tone: "good" });
    expect(statusInWords({ status: "verified", sandbox: true }).short).to.equal("works at once");
    expect(
      [domain, { ...domain, inbound_subdomain: "mail" }, { ...domain, has_existing_mx: null }].map(takesOverMail),
    ).to.deep.equal([true, false, false]);
  });

  it("a domain whose MX record no other mail server can reach is shown with that record's host", () => {
    const mx = (value: string) => [{ type: "TXT", value: "localhost" } as const, { type: "MX", value } as const];
    expect(["localhost", "127.0.0.1", "mx.service.example"].map((host) => unreachableHost(mx(host)))).to.deep.equal([
      "localhost",
      "127.0.0.1",
      undefined,
    ]);
  });
});
