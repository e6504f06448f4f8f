import { expect } from "chai";
import { channelInWords, channelTypes, type ShownChannel } from "#src/http/console/identities/channelFields.ts";
import { fields, fieldsOf } from "#src/http/console/identities/fields.ts";
import {
  baseOf,
  bodyOf,
  changesOf,
  conflictsOf,
  emptyForm,
  errorPlace,
  filledIn,
  readBase,
} from "#src/http/console/identities/readForm.ts";
import { riskySettingsOf } from "#src/http/console/identities/riskySettings.ts";
import { firstFault, storyOf, storySentence } from "#src/http/console/identities/story.ts";
import { compileCheck } from "#src/http/framework/validation/validation.ts";
import { ApprovalChannel, CreateIdentity, UpdateIdentity } from "#src/http/schemas/identities.ts";

const ann: ShownChannel = { type: "email", config: { to: "ann@office.example" } };
const bob: ShownChannel = { type: "telegram", config: { bot_token: "****abcd", chat_id: "-100200" } };
const slack: ShownChannel = {
  type: "slack",
  config: { webhook_url: "****/xyz", signing_secret: "****1111", bot_token: "****2222", channel: "#approvals" },
};

const identity = {
  id: "22222222-2222-7222-8222-222222222222",
  updated_at: "2026-01-01T12:00:00.000Z",
  email_address: "support@example.com",
  domain_id: "33333333-3333-7333-8333-333333333333",
  local_part: "support",
  status: "active" as const,
  display_name: "Support",
  reply_to_email: null,
  assistant_id: null,
  signature_text: "Kind regards\nSupport",
  signature_html: "<p>Kind regards</p>",
  thread_history_depth: 10,
  can_send_cold: false,
  require_human_approval: true,
  auto_approve_replies: false,
  send_on_channel_approval: true,
  approvals_required: 1,
  confirm_code: false,
  edit_by_channel: false,
  approval_channel: ann as ShownChannel | null,
  secondary_approval_channel: null as ShownChannel | null,
  escalation_delay_minutes: null as number | null,
  covered_recipients: ["a@customer.example", "b@customer.example"],
};
const filled = (different: object = {}) => {
  const form = new URLSearchParams();
  for (const part of ["mail", "approval"] as const) {
    for (const [name, value] of filledIn({ ...identity, ...different }, part)) form.set(name, value);
  }
  return form;
};
const withValues = (form: URLSearchParams, values: Record<string, string>) => {
  for (const [name, value] of Object.entries(values)) form.set(name, value);
  return form;
};

describe("the forms of an identity", () => {
  it("the identity forms have exactly the fields that the API accepts", () => {
    const creation = fieldsOf("new").map(({ name }) => name);
    expect(creation).to.have.members(Object.keys(CreateIdentity.properties));
    const changes = [...fieldsOf("mail"), ...fieldsOf("approval")].map(({ name }) => name);
    expect([...changes, "status"]).to.have.members(Object.keys(UpdateIdentity.properties));
    expect(fields.map(({ name }) => name)).to.deep.equal([...new Set(creation)]);
  });

  it("the identity forms have exactly the fields of each approval channel that the API accepts", () => {
    const { oneOf } = ApprovalChannel as unknown as { oneOf: { properties: Record<string, any> }[] };
    for (const { properties } of oneOf) {
      const { label, fields } = channelTypes[properties.type.const as keyof typeof channelTypes];
      expect(
        fields.map(({ name }) => name),
        label,
      ).to.have.members(Object.keys(properties.config.properties));
      const required = fields.filter((field) => field.required).map(({ name }) => name);
      expect(required, label).to.have.members(properties.config.required);
    }
    expect(Object.keys(channelTypes)).to.have.members(oneOf.map(({ properties }) => properties.type.const));
  });

  it("the identity forms mark as secret exactly the channel fields that the API masks", async () => {
    const { secretFields } = await import("#src/commands/approvals/approvalChannels.ts");
    const marked = Object.values(channelTypes).flatMap(({ fields }) => fields.filter(({ secret }) => secret));
    expect([...new Set(marked.map(({ name }) => name))]).to.have.members(secretFields);
    const open = Object.values(channelTypes).flatMap(({ fields }) => fields.filter(({ secret }) => !secret));
    expect(open.filter(({ name }) => secretFields.includes(name))).to.deep.equal([]);
  });

  it("the form for a new identity passes the API's schema, empty and with every channel", () => {
    const check = compileCheck(CreateIdentity);
    const values = { domain_id: identity.domain_id, local_part: "support", display_name: "Support" };
    check(bodyOf(withValues(emptyForm(), values), "new"));
    for (const channel of [ann, bob, slack]) {
      const form = filled({ approval_channel: channel, secondary_approval_channel: channel });
      const body = bodyOf(withValues(form, values), "new");
      check(body);
      expect([body.approval_channel, body.secondary_approval_channel]).to.deep.equal([channel, channel]);
    }
  });

  it("an untouched identity form sends no changes, whatever its values are", () => {
    for (const different of [
      {},
      { approval_channel: slack, secondary_approval_channel: bob, escalation_delay_minutes: 90 },
      { display_name: "Ann\u202e\u200b", signature_text: "\n  a\tb\r\nc\u2028d", covered_recipients: [] },
    ]) {
      for (const part of ["mail", "approval"] as const) {
        expect(
          changesOf(filledIn({ ...identity, ...different }, part), baseOf({ ...identity, ...different }, part), part),
        ).to.deep.equal({});
      }
    }
    expect(changesOf(new URLSearchParams(), baseOf(identity, "approval"), "approval")).to.deep.equal({});
  });

  for (const [name, typed, wanted] of [
    ["assistant_id", { assistant_id: identity.id }, { assistant_id: identity.id }],
    ["signature_text", { signature_text: "a\r\n b" }, { signature_text: "a\n b" }],
    [
      "an emptied signature",
      { signature_text: " ", signature_html: "" },
      { signature_text: null, signature_html: null },
    ],
    ["thread_history_depth", { thread_history_depth: "3" }, { thread_history_depth: 3 }],
    ["what is no number", { thread_history_depth: "three" }, { thread_history_depth: "three" }],
  ] as [string, Record<string, string>, object][]) {
    it(`the form of an identity's mail sends ${name} when it was changed`, () => {
      expect(changesOf(withValues(filledIn(identity, "mail"), typed), baseOf(identity, "mail"), "mail")).to.deep.equal(
        wanted,
      );
    });
  }

  for (const [name, typed, wanted] of [
    ["display_name", { display_name: " Sales " }, { display_name: "Sales" }],
    ["an emptied display_name", { display_name: "" }, { display_name: "" }],
    ["reply_to_email", { reply_to_email: "x@example.com" }, { reply_to_email: "x@example.com" }],
    ["require_human_approval", { require_human_approval: "false" }, { require_human_approval: false }],
    ["auto_approve_replies", { auto_approve_replies: "true" }, { auto_approve_replies: true }],
    ["send_on_channel_approval", { send_on_channel_approval: "false" }, { send_on_channel_approval: false }],
    ["approvals_required", { approvals_required: "2" }, { approvals_required: 2 }],
    ["confirm_code", { confirm_code: "true" }, { confirm_code: true }],
    ["edit_by_channel", { edit_by_channel: "true" }, { edit_by_channel: true }],
    ["escalation_delay_minutes", { escalation_delay_minutes: "90" }, { escalation_delay_minutes: 90 }],
    [
      "covered_recipients",
      { covered_recipients: "a@customer.example\r\n\r\n" },
      { covered_recipients: ["a@customer.example"] },
    ],
    ["no channel", { "approval_channel.type": "none" }, { approval_channel: null }],
    [
      "a channel of another type",
      {
        "approval_channel.type": "telegram",
        "approval_channel.telegram.bot_token": "1:a",
        "approval_channel.telegram.chat_id": "5",
        "approval_channel.telegram.allowed_users": "",
      },
      { approval_channel: { type: "telegram", config: { bot_token: "1:a", chat_id: "5" } } },
    ],
    [
      "a second channel",
      { "secondary_approval_channel.type": "email", "secondary_approval_channel.email.to": "cy@office.example" },
      { secondary_approval_channel: { type: "email", config: { to: "cy@office.example" } } },
    ],
  ] as [string, Record<string, string>, object][]) {
    it(`the form of an identity's approval sends only ${name} when it was changed`, () => {
      expect(
        changesOf(withValues(filledIn(identity, "approval"), typed), baseOf(identity, "approval"), "approval"),
      ).to.deep.equal(wanted);
    });
  }

  it("the form sends a channel with its masked secrets when another field of the channel changes", () => {
    const before = { ...identity, approval_channel: bob };
    const form = withValues(filledIn(before, "approval"), { "approval_channel.telegram.chat_id": "7" });
    expect(changesOf(form, baseOf(before, "approval"), "approval")).to.deep.equal({
      approval_channel: { type: "telegram", config: { bot_token: "****abcd", chat_id: "7" } },
    });
  });

  it("the form returns its base values, and finds the fields that were changed by another member meanwhile", () => {
    const base = baseOf(identity, "approval");
    const form = withValues(filledIn(identity, "approval"), { display_name: "Mine", base: JSON.stringify(base) });
    expect(readBase(form)).to.deep.equal(base);
    for (const wrong of ["", "[1]", "null", "{"])
      expect(readBase(withValues(form, { base: wrong })), wrong).to.equal(undefined);
    const changes = changesOf(form, base, "approval");
    const now = (different: object) => baseOf({ ...identity, ...different }, "approval");
    expect(conflictsOf(changes, base, now({}))).to.deep.equal([]);
    expect(conflictsOf(changes, base, now({ reply_to_email: "x@example.com" }))).to.deep.equal([]);
    expect(conflictsOf(changes, base, now({ display_name: "Mine" }))).to.deep.equal([]);
    expect(conflictsOf(changes, base, now({ display_name: "Theirs" }))).to.deep.equal(["display_name"]);
  });

  it("the form shows a refusal at its input, in the chosen channel type", () => {
    const refused = (field: string) => ({ field, message: `${field}: expected something else` });
    const form = filled({ approval_channel: slack });
    const placed = (field: string) => errorPlace(form, refused(field))?.input;
    expect(placed("approval_channel.config.bot_token")).to.equal("approval_channel.slack.bot_token");
    expect(placed("approval_channel.config.nonsense")).to.equal("approval_channel.type");
    expect(placed("covered_recipients[3]")).to.equal("covered_recipients");
    expect(placed("local_part")).to.equal("local_part");
    expect(placed("body")).to.equal(undefined);
    expect(errorPlace(form, refused("local_part"))?.sentence).to.equal("Expected something else.");
  });
});

describe("the sentence about a mail's way through an identity", () => {
  const around = {
    domain: { id: "d", name: "example.com", status: "verified" as const },
    workspace: { sending_paused: false, require_human_approval: false },
  };
  const told = (different: object = {}, more: object = {}) =>
    storySentence(storyOf({ ...identity, ...different }, { ...around, ...more }));
  const fault = (different: object = {}, more: object = {}) =>
    firstFault(storyOf({ ...identity, ...different }, { ...around, ...more }))?.text;

  it("the way of a mail through an identity is one sentence", () => {
    expect(told()).to.equal(
      "Mail to support@example.com → the agent drafts → ann@office.example (mail) approves → it leaves",
    );
    expect(fault()).to.equal(undefined);
  });

  for (const [what, different, more, words] of [
    ["keys", { require_human_approval: false }, {}, "ann@office.example (mail) or an API key approves"],
    ["nobody", { require_human_approval: false, auto_approve_replies: true }, {}, "→ nobody approves → it leaves"],
    [
      "a workspace that requires people",
      { require_human_approval: false, auto_approve_replies: true },
      { workspace: { sending_paused: false, require_human_approval: true } },
      "→ ann@office.example (mail) approves →",
    ],
    [
      "several",
      { approvals_required: 2, secondary_approval_channel: bob },
      {},
      "→ 2 approvals are given, by ann@office.example (mail), chat -100200 (Telegram), members →",
    ],
    [
      "a second one",
      { secondary_approval_channel: slack, escalation_delay_minutes: 120 },
      {},
      "→ ann@office.example (mail), after 2 hours also #approvals (Slack), approves →",
    ],
    ["nobody who is told", { approval_channel: null }, {}, "→ a member approves here →"],
    ["approval without sending", { send_on_channel_approval: false }, {}, "approves → a member sends it"],
    ["an assistant", {}, { assistant: { name: "Robin", status: "active" } }, "→ Robin drafts →"],
  ] as [string, object, object, string][]) {
    it(`the sentence about a mail's way names ${what}`, () => {
      expect(told(different, more)).to.include(words);
    });
  }

  for (const [what, different, more, words] of [
    ["disabled", { status: "disabled" }, {}, /disabled: received mail is held/],
    [
      "on a domain that is not verified",
      {},
      { domain: { ...around.domain, status: "failed" } },
      /domain example\.com is not verified/,
    ],
    ["without a channel", { approval_channel: null }, {}, /no approval channel/],
    [
      "not reaching its approver",
      {},
      { notified: { state: "failed", channel: "email", error: "550 no such user" } },
      /not reached last time \(550 no such user\)/,
    ],
    [
      "trying its approver again",
      {},
      { notified: { state: "retrying", channel: "email", error: null } },
      /will try again\.$/,
    ],
    ["in a paused workspace", {}, { workspace: { sending_paused: true, require_human_approval: false } }, /paused/],
    ["run by a disabled assistant", {}, { assistant: { name: "Robin", status: "disabled" } }, /assistant is disabled/],
  ] as [string, object, object, RegExp][]) {
    it(`the identity page warns about an identity that is ${what}`, () => {
      expect(fault(different, more)).to.match(words);
    });
  }

  it("the sentence about a mail's way shows no markup, hidden characters or secrets of stored words", () => {
    const error = `<b>gone</b>\u202e${"x".repeat(500)}`;
    const found = fault({}, { notified: { state: "failed", channel: "slack", error } })!;
    expect(found).to.include("[U+202E]").and.to.have.length.below(400);
    expect(
      channelInWords({ type: "slack", config: { webhook_url: "https://secret.example", channel: "a\u200bb" } }),
    ).to.equal("a[U+200B]b (Slack)");
    expect(channelInWords({ type: "slack", config: { webhook_url: "https://secret.example" } })).not.to.include(
      "secret",
    );
  });
});

describe("warnings about an identity's settings", () => {
  const around = { workspace: { sending_paused: false, require_human_approval: false } };
  const found = (different: object, more: object = around) =>
    riskySettingsOf({ ...identity, covered_recipients: [], ...different }, more as any).map(({ text }) => text);

  it("an identity whose drafts a person approves has no warning", () => {
    expect(found({})).to.deep.equal([]);
  });

  for (const [what, different, words] of [
    [
      "replies that nobody sees",
      { require_human_approval: false, auto_approve_replies: true },
      /sent without a person's approval/,
    ],
    ["keys that approve", { require_human_approval: false }, /API key .* can approve/],
    ["nobody who is asked", { approval_channel: null }, /no approver is notified/],
    ["a switch without effect", { auto_approve_replies: true }, /no effect: a person/],
    [
      "a switch without effect under a quorum",
      { require_human_approval: false, auto_approve_replies: true, approvals_required: 2 },
      /no effect: several/,
    ],
    ["cold mail by a key", { require_human_approval: false, can_send_cold: true }, /conversations with anyone/],
    ["covered recipients", { require_human_approval: false, covered_recipients: ["a@b.example"] }, /forges/],
    ["a code that nobody is asked for", { approval_channel: slack, confirm_code: true }, /code has no effect/],
    ["one approver twice", { secondary_approval_channel: ann }, /same approver/],
  ] as [string, object, RegExp][]) {
    it(`a warning about an identity's settings names ${what}`, () => {
      expect(found(different).join("\n")).to.match(words);
    });
  }
});
