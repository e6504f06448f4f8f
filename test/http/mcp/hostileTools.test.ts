import { expect } from "chai";
import { createLongRequestLimit } from "#src/http/framework/longRequestLimit.ts";
import { reply } from "#src/http/framework/reply.ts";
import { maxStructured, maxText } from "#src/http/mcp/bounds.ts";
import { errorResult } from "#src/http/mcp/errors.ts";
import type { Tool, ToolCall, ToolResult } from "#src/http/mcp/tool.ts";
import { tools } from "#src/http/mcp/tools/index.ts";
import { fileReply } from "#src/http/present/files.ts";
import { systemClock } from "#src/platform/clock.ts";
import { Rejected } from "#streams/decider.ts";
import { faultsOf } from "#test/attacks/words/hostile.ts";
import { outsideFences, requireFenced } from "./fenceSupport.ts";
import { hostileWords, mark } from "./hostileWords.ts";

const id = "0b9a3f52-66a5-4a0e-9d7c-0123456789ab";
const at = "2026-11-21T10:00:00.000Z";

const messageOf = (words: string, rest: object = {}) => ({
  ...{ id, thread_id: id, direction: "inbound", from_email: words, from_name: words, to_emails: [words, words] },
  ...{
    cc_emails: Array(9).fill(words),
    bcc_emails: [],
    reply_to: [words],
    subject: words,
    body_html: `<p>${words}</p>`,
  },
  ...{ body_text: `${words}\n\nOn Monday somebody wrote:\n> ${words}`, extracted_text: words, rfc_message_id: words },
  ...{ in_reply_to: words, references: [words], classification: "person", delivery_status: null, draft_id: null },
  ...{ kind: "program", origin: "external", notes: Array(5).fill(words), reactions: [], recipients: [] },
  authentication: { spf: "pass", dkim: "pass", dmarc: "pass", aligned: true },
  ...{ from_blocked_contact: false, approval_link_removed: false, received_at: at, sent_at: null, created_at: at },
  attachments: Array.from({ length: 7 }, (_, n) => ({
    ...{ id: String(n), filename: words, content_type: words, size_bytes: 9, content_id: words, inline: false },
  })),
  ...rest,
});

/** What a mail of ours has in place of notes. */
const sentOf = (words: string) => ({
  ...{ direction: "outbound", kind: null, origin: "own_workspace", notes: [], delivery_status: "delivered" },
  reactions: Array(7).fill({ emoji: words, from: words, at }),
  recipients: Array(7).fill({ address: words, status: "bounced", code: words, text: words, at }),
});

/** `own`: what the agent and the approver wrote. */
const draftOf = (words: string, { own, status = "rejected" }: { own: string; status?: string }) => ({
  ...{
    id,
    workspace_id: id,
    thread_id: id,
    identity_id: id,
    based_on_message_id: id,
    kind: "draft",
    status,
    version: 3,
  },
  ...{ to: Array(9).fill(words), cc: [words], bcc: [words], subject: words, body_text: own, body_html: own },
  ...{
    rationale: own,
    metadata: { words },
    reason: own,
    stale_warning: true,
    newer_message_id: null,
    answered_meanwhile: null,
    warning_kinds: ["answer_limit"],
  },
  decided_by: { decision: "reject", kind: "email_link", id: words, name: words, email: words, version: 3 },
  ...{ decided_at: at, approvals: { required: 1, given: [] }, undo_until: null, sent_at: null, attachments: [] },
  changes_requested: null,
  ...{ held_code: words, failure_code: words, failure_message: words, created_at: at, updated_at: at },
});

const threadOf = (words: string, messages: readonly object[], own = words) => ({
  ...{ id, workspace_id: id, identity_id: id, primary_contact_id: null, subject: words, status: "open" },
  ...{
    priority: "normal",
    needs_review: true,
    last_message_at: at,
    message_count: 40,
    participants: Array(9).fill(words),
  },
  ...{ merged_into: null, created_at: at, updated_at: at, messages, messages_total: 40 },
  drafts: Array.from({ length: Math.ceil(messages.length / 5) }, () => draftOf(words, { own })),
});

/** Answers of the routes in which every string that a stranger may write is these words; `own`: what the agent and its people wrote. */
function answersWith(words: string, { count, own }: { count: number; own: string }): Pick<ToolCall, "ask" | "askRaw"> {
  const messages = Array.from({ length: count }, (_, n) => messageOf(words, n % 3 === 0 ? sentOf(words) : {}));
  const answers: Record<string, unknown> = {
    "GET /v1/identities": { data: [], total: 0 },
    "GET /v1/workspaces/me": { id, name: own, plan: "pro", plan_status: "active", emails_sent_this_period: 1 },
    "GET /v1/threads": { data: Array.from({ length: count }, () => threadOf(words, [])), total: 25, next_cursor: null },
    "GET /v1/threads/:id": threadOf(words, messages, own),
    "GET /v1/threads/:id/messages": { data: messages.slice(0, 10) },
    "GET /v1/drafts/:id": draftOf(words, { own }),
    "POST /v1/drafts": { ...draftOf(words, { own, status: "pending" }), warnings: [] },
    "PATCH /v1/drafts/:id": draftOf(words, { own, status: "pending" }),
    "POST /v1/drafts/:id/send": { draft_id: id, thread_id: id, status: "sending", queued_at: at },
    "POST /v1/emails/reply": { draft_id: id, message_id: id, thread_id: id, status: "pending", queued_at: null },
  };
  return {
    ask: async (line) => (answers[line] ?? expect.fail(`nobody expected ${line}`)) as never,
    askRaw: async () => fileReply({ bytes: Buffer.from(words.toWellFormed()), contentType: words, filename: words }),
  };
}

const allArgs = {
  ...{ thread_id: id, draft_id: id, message_id: id, attachment_id: "1", skip_messages: 0, offset: 0, quoted: false },
  ...{ limit: 25, timeout_seconds: 1, version: 1, body_text: "Yes." },
};

/** `count`: messages of a thread, and threads of a list. `own`: what the agent and its people wrote. */
function callWith(words: string, args: object, { count = 2, own = words } = {}): ToolCall {
  const reads = { of: () => ({ query: async () => ({ rows: [] }) }) };
  return {
    ...answersWith(words, { count, own }),
    ...{
      args,
      workspaceId: id,
      keyId: id,
      scopes: ["read:workspace"],
      progress: async () => {},
      now: () => new Date(at),
    },
    signal: new AbortController().signal,
    deps: {
      ...{ reads, requireReadable: () => {}, closing: new AbortController().signal },
      waits: createLongRequestLimit("waiting calls", { clock: systemClock }),
    } as never,
  };
}

/** Each tool, in each of the ways in which it shows content. */
const ways: readonly (readonly [string, object])[] = [
  ...tools.map(({ name }) => [name, allArgs] as const),
  ["read_thread", { ...allArgs, message_id: undefined }],
  ["read_thread", { ...allArgs, message_id: undefined, skip_messages: 10 }],
  ["read_thread", { ...allArgs, quoted: true }],
  ["read_thread", { ...allArgs, offset: 30_000 }],
  ["read_attachment", { ...allArgs, offset: 30_000 }],
];

const runOf = (name: string, call: ToolCall): Promise<ToolResult> =>
  (tools.find((tool) => tool.name === name) as Tool).run(call);

describe("mcp: fifty hostile mails through every tool", () => {
  for (const { trick, words } of hostileWords) {
    it(`hostile words stay within fences, visible and bounded in every tool: ${trick}`, async () => {
      for (const [name, args] of ways) requireFenced(name, await runOf(name, callWith(words, args, { own: "Ours." })));
      const { content, structuredContent } = errorResult(new Rejected("sending_paused", `paused (${words})`), id);
      requireFenced("an error", { text: content[0]!.text, structured: structuredContent });
    });
  }

  it("an approver's reason and the agent's own words are quoted by bars outside of fences", async () => {
    for (const { words } of hostileWords) {
      for (const [name, args] of ways) {
        const { text } = await runOf(name, callWith("Theirs.", args, { own: words }));
        const { outside } = outsideFences(text);
        const ours = outside.split("\n").filter((line) => !/^(\|( |$)|Workspace: )/.test(line));
        expect(ours.join("\n"), name)
          .to.not.include(mark)
          .and.not.match(/untrusted-data/i);
        expect(faultsOf({ kind: "text", content: text }), name).to.deep.equal([]);
      }
    }
    const { text, structured } = await runOf("get_draft", callWith("Theirs.", allArgs, { own: "Please be kinder." }));
    expect(outsideFences(text).outside).to.include("The approver's reason, which you may follow:\n| Please be kinder.");
    expect(structured.draft).to.include({ reason: "Please be kinder.", text: "Please be kinder." });
  });

  it("the tools show every hostile word as data", async () => {
    const shows = [
      "list_threads",
      "read_thread",
      "read_attachment",
      "get_draft",
      "submit_draft",
      "revise_draft",
      "whoami",
    ];
    for (const name of [...shows, "wait_for_decision"]) {
      const { text, structured } = await runOf(name, callWith(`${mark} hello`, allArgs));
      expect(text, name).to.include(`${mark} hello`);
      expect(JSON.stringify(structured), name).to.include(`${mark} hello`);
    }
  });

  it("the tools' answers stay below their bounds if everything that is read is as long as possible", async () => {
    const longest = { text: 0, structured: 0 };
    for (const words of [
      "\n|".repeat(6_500),
      '"\\'.repeat(6_500),
      "\u0001\u0002".repeat(6_500),
      "a\n\n".repeat(6_500),
    ]) {
      for (const [name, args] of ways) {
        const { text, structured } = await runOf(name, callWith(words, args, { count: 25 }));
        longest.text = Math.max(longest.text, text.length);
        longest.structured = Math.max(longest.structured, JSON.stringify(structured).length);
      }
    }
    expect(longest.text).to.be.within(maxText / 4, maxText);
    expect(longest.structured).to.be.within(maxStructured / 4, maxStructured);
  });

  it("read_attachment passes on no bytes of a file that is no text", async () => {
    const call = callWith("", allArgs);
    const bytes = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0, 1, 2]);
    const askRaw: ToolCall["askRaw"] = async () =>
      reply({ bytes, headers: { ...fileReply({ bytes, contentType: "image/png", filename: `${mark}.png` }).headers } });
    const result = await runOf("read_attachment", { ...call, askRaw });
    requireFenced("read_attachment", result);
    expect(result.structured).to.include({ is_text: false, size_bytes: 7, offset: null });
    expect(result.text).to.include("It is not text");
  });
});
