import { setTimeout as sleep } from "node:timers/promises";
import { openMailer } from "#test/mail/in/smtpSender.ts";
import type { Installation, RunningInstance } from "#test/support/installation.ts";
import { askQuestion, sendMail, submit, type Tenant } from "#test/support/tenant.ts";

/** Milliseconds between costly requests: the limits of a workspace with the usual rates of 60 reads and 20 writes per key. */
const everyMs = { read: 60_000 / 300, write: 60_000 / 100, mail: 5_000 };
/** Maximum number of concurrent requests. */
const mostUnderWay = 50;
/** Calls of wait_for_decision that a key may have pending. */
const waits = 5;

const lines = (letter: string): string => `${letter}\n`.repeat(125_000);
const styled = '<a href="https://x.example/">a</a><span style="color:red;background:#123456">b</span>';
const longText = "order ".repeat(150_000);

/** A rule with the greatest number of conditions, each of them slow to search for. */
const rule = {
  name: "Costly",
  trigger_event: "email.received",
  conditions: {
    operator: "OR",
    conditions: Array.from({ length: 70 }, (_, n) => ({
      ...{ field: "message.body_text", op: "contains", value: `${"order ".repeat(11)}${n}` },
    })),
  },
  actions: [{ type: "set_priority", priority: "high" }],
};

/**
 * Simulates one tenant that makes costly requests at its rate limits: comparing long versions, reducing long HTML, back-testing a costly
 * rule over long mail, calls and waits and batches by MCP. Returns a function that ends it, and resolves with the number of answers by
 * status.
 */
export async function startAttack(
  installation: Installation,
  { tenant, instance }: { tenant: Tenant; instance: RunningInstance },
): Promise<() => Promise<Record<string, number>>> {
  const client = tenant.at(instance);
  const ended = new AbortController();
  const statuses: Record<string, number> = {};
  const underWay = new Set<Promise<void>>();

  const ask = async (method: string, path: string, json?: unknown): Promise<void> => {
    const headers = {
      ...{ Authorization: `Bearer ${tenant.key}`, "Content-Type": "application/json" },
      Accept: "application/json, text/event-stream",
    };
    const body = json === undefined ? null : JSON.stringify(json);
    const answer = await fetch(new URL(path, instance.url), { method, headers, body, signal: ended.signal }).catch(
      () => undefined,
    );
    await answer?.arrayBuffer().catch(() => undefined);
    const status = String(answer?.status ?? "ended");
    statuses[status] = (statuses[status] ?? 0) + 1;
  };
  const call = (name: string, given: object) => ({
    ...{ jsonrpc: "2.0", id: 1, method: "tools/call" },
    params: { name, arguments: given },
  });

  const mailer = await openMailer(instance.smtpPort);
  const question = await askQuestion(installation, tenant, { mailer, text: longText });
  mailer.close();
  const draft = await submit(client, question, lines("a"));
  await client.ask(`PATCH /v1/drafts/${draft.id}`, { body_text: lines("b") });
  await client.ask("POST /v1/rules", rule);
  const html = {
    ...{ thread_id: question.threadId, identity_id: tenant.identity.id, based_on_message_id: question.messageId },
    body_html: styled.repeat(2_500),
  };
  const reads = [
    () => ask("GET", `/v1/drafts/${draft.id}/diff?from=1&to=2`),
    () => ask("POST", "/v1/rules/test", { rule }),
    () => ask("POST", "/mcp", call("list_threads", {})),
    () => ask("POST", "/mcp", Array(100).fill(call("list_threads", {}))),
  ];
  const longMail = async (): Promise<void> => {
    const sender = await openMailer(instance.smtpPort);
    await sendMail(tenant, { mailer: sender, text: longText }).finally(() => sender.close());
  };

  const again = async (ms: number, work: (n: number) => Promise<void>): Promise<void> => {
    for (let n = 0; !ended.signal.aborted; n++) {
      if (underWay.size < mostUnderWay) {
        const done: Promise<void> = work(n)
          .catch(() => undefined)
          .finally(() => underWay.delete(done));
        underWay.add(done);
      }
      await sleep(ms);
    }
  };
  for (let n = 0; n < waits; n++)
    void ask("POST", "/mcp", call("wait_for_decision", { draft_id: draft.id, timeout_seconds: 600 }));
  const loops = [
    again(everyMs.read, (n) => reads[n % reads.length]!()),
    again(everyMs.write, () => ask("POST", "/v1/drafts", html)),
    again(everyMs.mail, longMail),
  ];
  return async () => {
    ended.abort();
    await Promise.all(loops);
    await Promise.all(underWay);
    return statuses;
  };
}
