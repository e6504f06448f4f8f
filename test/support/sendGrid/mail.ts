import { judgeBy } from "./description.ts";
import { type MockAnswer, type MockCall, type MockHandlers, problem } from "./mockSendGrid.ts";

/** Our own schema, used if the provider's description is missing: the part of it that our requests use. */
const address = {
  type: "object",
  properties: { email: { type: "string" }, name: { type: "string" } },
  required: ["email"],
};
const addresses = { type: "array", items: address };
const filled = { type: "string", minLength: 1 };
const smallSchema = {
  type: "object",
  properties: {
    personalizations: {
      type: "array",
      items: {
        type: "object",
        properties: { to: addresses, cc: addresses, bcc: addresses, custom_args: { type: "object" } },
        required: ["to"],
      },
    },
    from: address,
    reply_to: address,
    subject: filled,
    content: {
      type: "array",
      items: { type: "object", properties: { type: filled, value: filled }, required: ["type", "value"] },
    },
    attachments: {
      type: "array",
      items: {
        type: "object",
        properties: {
          content: filled,
          type: filled,
          filename: { type: "string" },
          disposition: { enum: ["inline", "attachment"] },
          content_id: { type: "string" },
        },
        required: ["content", "filename"],
      },
    },
    headers: { type: "object" },
    custom_args: { type: "string" },
  },
  required: ["personalizations", "from", "subject", "content"],
};

const pointer = "/components/requestBodies/PostMailSend/content/application~1json/schema";
const complaintAbout = judgeBy({ file: "tsg_mail_v3.json", pointer }, smallSchema);
const isLogsQuery = judgeBy(
  { file: "tsg_logs_v3.json", pointer: "/components/schemas/EmailLogsGetMessagesByFilterRequest" },
  { type: "object", properties: { query: { type: "string" }, limit: { type: "integer", minimum: 1, maximum: 1000 } } },
);

/** An accepted mail. `id`: the value of X-Message-Id. */
export type MockMail = { id: string; body: any; takenAt: Date };

const forbiddenHeaders =
  /^(x-sg-id|x-sg-eid|received|dkim-signature|content-type|content-transfer-encoding|to|from|subject|reply-to|cc|bcc)$/i;

/** Checks the rules that the description has only in prose: unique addresses, no reserved header, attachment types without parameters. */
function complaintInWords(body: any): string | undefined {
  const [personalization] = body.personalizations;
  const named = ["to", "cc", "bcc"].flatMap((field) => personalization[field] ?? []).map(({ email }) => email);
  if (new Set(named.map((email: string) => email.toLowerCase())).size !== named.length)
    return "Each email address in the personalization block should be unique between to, cc, and bcc.";
  const forbidden = Object.keys(body.headers ?? {}).find((name) => forbiddenHeaders.test(name));
  if (forbidden) return `the header ${forbidden} cannot be set`;
  if ((body.attachments ?? []).some(({ type = "" }) => /[;\r\n]/.test(type)))
    return "The attachment type cannot contain ';', or CRLF characters.";
  return undefined;
}

/** Mocks mail/send, the email logs and the key's scopes. It delivers nothing. */
export function mockMail({ now = () => new Date() }: { now?: () => Date } = {}) {
  const taken: MockMail[] = [];
  let logs: "readable" | "not bought" = "readable";
  let statusOf = (_: MockMail): string => "delivered";

  function send({ body }: MockCall): MockAnswer {
    const complaint = complaintAbout(body) ?? complaintInWords(body);
    if (complaint) return problem(400, complaint);
    const id = `mock${String(taken.length + 1).padStart(6, "0")}`;
    taken.push({ id, body, takenAt: now() });
    return { status: 202, headers: { "x-message-id": id } };
  }

  function search({ body }: MockCall): MockAnswer {
    if (logs === "not bought") return problem(403, "access forbidden");
    const [, to, since] =
      /^to_email = '([^']+)' AND sg_message_id_created_at >= TIMESTAMP "([^"]+)"$/.exec(body?.query ?? "") ?? [];
    if (isLogsQuery(body) || !to || !since) return problem(400, "invalid query");
    const messages = taken
      .filter(({ body, takenAt }) => body.personalizations[0].to[0].email === to && takenAt >= new Date(since))
      .slice(0, body.limit ?? 10)
      .map((mail) => summary(mail, statusOf(mail)));
    return { status: 200, body: { messages } };
  }

  function detail({ params }: MockCall): MockAnswer {
    const mail = taken.find(({ id }) => `${id}.recvd-1` === params.id);
    if (!mail) return problem(404, "message not found");
    const { custom_args } = mail.body.personalizations[0];
    return {
      status: 200,
      body: { ...summary(mail, statusOf(mail)), api_key_id: "", client_ip: "", events: [], custom_args },
    };
  }

  const handlers: MockHandlers = {
    "POST /v3/mail/send": send,
    "POST /v3/logs": search,
    "GET /v3/logs/:id": detail,
    "GET /v3/scopes": () => ({ status: 200, body: { scopes: ["mail.send"] } }),
  };
  return {
    handlers,
    taken: taken as readonly MockMail[],
    setLogs(next: typeof logs): void {
      logs = next;
    },
    setStatus(next: string): void {
      statusOf = () => next;
    },
  };
}

const summary = ({ id, body, takenAt }: MockMail, status: string) => ({
  from_email: body.from.email,
  sg_message_id: `${id}.recvd-1`,
  subject: body.subject,
  to_email: body.personalizations[0].to[0].email,
  status,
  sg_message_id_created_at: takenAt.toISOString(),
});
