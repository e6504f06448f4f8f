import { createTransport } from "nodemailer";
import { createWriter } from "../support/zipfMail.ts";
import { concurrently } from "./bench.ts";

const connections = 8;
const writer = createWriter(1);
let written = 0;

/** Writes mails of about 2.5 KB in conversations of this length. */
function write(count: number, conversationLength: number): Buffer[] {
  const from = written;
  written += count;
  return Array.from({ length: count }, (_, index) => mail(from + index, index % conversationLength));
}

/** Writes one mail. `place`: its index in its conversation. */
function mail(number: number, place: number): Buffer {
  const id = (of: number): string => `<bench.${of}@customer.example>`;
  const first = number - place;
  const lines = [
    `From: Customer ${first} <customer${first}@customer.example>`,
    "To: support@agents.localhost",
    `Subject: ${place > 0 ? "Re: " : ""}Order ${first}`,
    `Message-ID: ${id(number)}`,
    "Date: Thu, 01 Jan 2026 10:00:00 +0000",
    ...(place > 0 ? [`In-Reply-To: ${id(number - 1)}`, `References: ${id(first)} ${id(number - 1)}`] : []),
    "Content-Type: text/plain; charset=utf-8",
    "",
    ...Array.from({ length: 30 }, () => writer.sentence(12)),
    "",
  ];
  return Buffer.from(lines.join("\r\n"));
}

type Mails = { count: number; conversationLength?: number };

/** Hands `count` new mails over through eight connections; resolves when all of them were accepted. */
export async function sendMails(smtpPort: number, to: string, { count, conversationLength = 4 }: Mails): Promise<void> {
  const mails = write(count, conversationLength);
  const transport = createTransport({
    ...{ host: "127.0.0.1", port: smtpPort, ignoreTLS: true },
    ...{ pool: true, maxConnections: connections, maxMessages: Number.POSITIVE_INFINITY },
  });
  const envelope = { from: "customer@customer.example", to };
  await concurrently(connections, count, (n) => transport.sendMail({ envelope, raw: mails[n]! }));
  transport.close();
}
